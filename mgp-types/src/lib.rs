//! The data types of MGP, the Model General Protocol, its errors, and the service trait that all requests pass.
//!
//! MGP is a strict superset of MCP: this crate holds both, for every revision of MCP, and implements MGP §2
//! (negotiation), §14 (errors) and the wire forms of the other sections. The crate does no IO and needs no runtime.
//! Messages stay the bytes they came in until a layer asks for a typed value:
//!
//! ```
//! use mgp_types::frame::{Frame, Message, decode};
//! use mgp_types::mcp::CallToolParams;
//! use mgp_types::{Method, Request};
//!
//! let line = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#;
//! let Frame::Single(Ok(Message::Call { method, params, .. })) = decode(&line.into()) else {
//!     panic!("not a call");
//! };
//! let request = Request::call(method, params);
//! assert_eq!(request.method, Method::TOOLS_CALL);
//! assert_eq!(request.params.text("name").as_deref(), Some("add"));
//! assert_eq!(request.body::<CallToolParams>()?.name, "add");
//! # Ok::<(), mgp_types::Error>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`Request`], [`Response`], [`Error`] | what flows through a stack of layers |
//! | [`RpcService`], [`BoxedService`] | what every layer, server and connection is, and one whose type is forgotten |
//! | [`Gate`], [`Flow`], [`GateLayer`] | a decision about requests, what it comes to, and the layer that is made of it |
//! | [`AgentGroups`] | groups of agents, and who is a member |
//! | [`Context`], [`Session`], [`Outbox`] | what is known about a request, its peer, and the way back |
//! | [`MethodRule`] | which gates a method passes on its way to a server |
//! | [`RawJson`], [`Object`] | JSON as bytes: valid, shared, split no further than needed |
//! | [`frame`] | JSON-RPC messages to and from bytes |
//! | [`mcp`] | the bodies of MCP, of all five revisions |
//! | [`mgp`] | what MGP adds: negotiation, the words of each section, error codes, recovery |
//! | [`ext`] | optional extensions beside MGP: envelopes, manifests, hints, scopes, errors that say what to do |
//! | [`canonical`] | the canonical form of a JSON value, and its digest |
//! | [`secret`] | the secrets in a text, and the names under which they stand |
//!
//! The feature `secret` brings the module of this name; without it nothing of that is compiled.

mod agent_groups;
pub mod canonical;
mod client_folders;
mod client_session;
mod context;
mod error;
pub mod ext;
mod extensions;
pub mod frame;
mod gate;
mod id;
mod input;
pub mod json;
mod macros;
pub mod mcp;
mod method;
mod method_rule;
pub mod mgp;
mod outbox;
mod passed_methods;
mod peer_certificate;
mod principal;
mod random;
mod request;
mod response;
mod revision;
#[cfg(feature = "secret")]
pub mod secret;
mod service;
mod session;
mod text;
mod uri_template;
mod validity;
mod words;

pub use agent_groups::{AgentGroup, AgentGroups, GroupMembership, TokenStatement};
pub use client_folders::{ClientFolders, RootsQuestion};
pub use client_session::{ClientSession, ClientSessionId, LOCAL_AGENT, agent_family};
pub use context::{Context, WaitListener};
pub use error::{AuthorizationDemand, Error, Origin};
pub use extensions::Extensions;
pub use gate::{AskedRule, Flow, Gate, GateLayer, Gated, GatedFuture, RuleAnswer};
pub use id::Id;
pub use input::{InputExchange, InputQuestion};
pub use json::{JsonError, JsonFault, Object, RawJson};
pub use mcp::CacheScope;
pub use method::{CallSide, Method};
pub use method_rule::{
    GateKind, JudgedRequest, KeyPermission, MessageSender, MethodEffect, MethodRule, RequestConcern, WorkRole,
};
pub use mgp::code;
pub use outbox::{BoxFuture, Outbox, OutboxPort, StreamId};
pub use passed_methods::{InvalidMethodPattern, MethodPattern, PassedMethods};
pub use peer_certificate::PeerCertificate;
pub use principal::{Principal, PrincipalKind, PrincipalRole};
pub use random::{random_bytes, random_letters, random_name};
pub use request::{Params, Request, RequestKind};
pub use response::{CacheHint, CallEnding, Response, ResponseContext, ResultJson, ResultKind, ResultShape};
pub use revision::{Revision, UnknownRevision};
pub use service::{BoxedService, RpcService, call_once};
pub use session::{Session, Severity};
pub use text::{folded, hex, is_hidden, shell_word};
pub use uri_template::UriTemplate;
pub use validity::{RunningCalls, Validity, ValidityWatch};
pub use words::{WordLists, word_lists, words};
