//! Clients of MGP and MCP servers: typed calls, in every revision, over every transport.
//!
//! ```
//! # #[derive(Clone)]
//! # struct Server;
//! # impl tower_service::Service<mgp_types::Request> for Server {
//! #     type Response = mgp_types::Response;
//! #     type Error = mgp_types::Error;
//! #     type Future = std::future::Ready<Result<mgp_types::Response, mgp_types::Error>>;
//! #     fn poll_ready(
//! #         &mut self, _: &mut std::task::Context<'_>,
//! #     ) -> std::task::Poll<Result<(), mgp_types::Error>> { std::task::Poll::Ready(Ok(())) }
//! #     fn call(&mut self, request: mgp_types::Request) -> Self::Future {
//! #         let json = match request.method.as_str() {
//! #             "server/discover" => r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}"#,
//! #             _ => r#"{"resultType":"complete","content":[{"type":"text","text":"3"}]}"#,
//! #         };
//! #         std::future::ready(Ok(mgp_types::Response::new(mgp_types::RawJson::parse(json).unwrap())))
//! #     }
//! # }
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! # let server = |_: mgp_types::Outbox| Server;
//! use mgp_client_sdk::{Client, Elicited};
//!
//! let client = Client::builder("my-app", "1.0.0")
//!     .on_elicitation(|form, _| async move { Elicited::accept_defaults(&form) })
//!     .in_process(server)
//!     .await?;
//! let sum = client.call_tool("add", serde_json::json!({"a": 1, "b": 2})).await?;
//! assert_eq!(sum.content[0].as_text(), Some("3"));
//! client.close().await?;
//! # Ok::<(), mgp_types::Error>(())
//! # }).unwrap();
//! ```
//!
//! The client finds out the era of the server and speaks the newest revision that both know; calls are the same in both
//! eras. The crate implements MGP §2 (negotiation) and the client's side of MCP.
//!
//! | | |
//! |---|---|
//! | [`Client`], [`ClientBuilder`] | a connection to a server, and what it is made from |
//! | [`Call`] | a call before it is sent: its time limits, progress, metadata |
//! | [`Pages`] | lists, page by page |
//! | [`Subscription`], [`Change`] | what changes at the server |
//! | [`Task`], [`StartedTool`] | tools that go on as tasks |
//! | [`StreamedCall`], [`StreamPart`] | results that are read while they are made |
//! | [`EventStream`], [`EventItem`] | what happens at the server |
//! | [`Supervisor`], [`Supervised`] | servers that are kept alive |
//! | [`Elicited`], [`IntoReply`] | what handlers answer |
//! | `ApprovalQuestion`, `ApprovalTreatment`, `UserAdvice`, `ResultHints` | what a host asks and tells its user (feature `ext`) |
//! | `Saga`, `SagaStep`, `SagaOutcome` | calls at several servers that are taken back together (feature `ext`) |
//! | [`ConnectionHandle`], [`ClientAccept`], [`ClientCore`] | for transports of your own |
//! | [`mcp`], [`mgp`], [`types`], [`json!`] | bodies and words of the protocols, all of `mgp-types`, and arguments |
//!
//! Features: `stdio` (default) for servers as child processes, `http` (default) for servers behind HTTP, `tls` for
//! `https` URLs, `oauth` for servers that want authorization (OAuth 2.1: `oauth::OAuth`), `unix` for servers behind Unix sockets, `ext` for optional extensions. These are hints of calls
//! (`Call::intent`), tools by version (`Client::find_tool`, `Client::call_listed`), output schemas (`Call::check_output`), binary
//! arguments (`Call::attach`), envelopes (`Call::in_envelope`), scopes (`ClientBuilder::scopes`, `Client::negotiate_scopes`,
//! `Call::with_scopes`), the manifest of a server (`Client::manifest`), questions to a person before a call
//! (`ClientBuilder::on_approval`), errors that a user can do something about (`Client::user_advice`), recommendations of
//! servers (`Client::recommend_servers`), calls that happen once (`Call::idempotent`), transactions
//! (`Client::begin_transaction`, `Call::in_transaction`), sagas, and what a client carries for servers: the state of conversations (`ClientBuilder::session_state`), and places that interrupted calls go on
//! from (`Call::resume`).
//!
//! Layers of [`tower`](https://docs.rs/tower) go around the connection by [`ClientBuilder::layer`], and around
//! the handlers by [`ClientBuilder::inbound_layer`].

/// The code of the README and the guides, compiled and run as tests. The guides are about servers, but need a client
/// for their asserts.
#[cfg(doctest)]
mod tested_pages {
    #[doc = include_str!("../../README.md")]
    struct Readme;
    #[doc = include_str!("../../mgp-server-sdk/guides/dangerous-tool.md")]
    struct DangerousTool;
    #[doc = include_str!("../../mgp-server-sdk/guides/error-with-a-hint.md")]
    struct ErrorWithAHint;
    #[doc = include_str!("../../mgp-server-sdk/guides/streaming-tool.md")]
    struct StreamingTool;
}

mod builder;
mod cache;
mod call;
#[cfg(feature = "ext")]
mod carried;
mod changes;
#[cfg(feature = "stdio")]
mod child;
mod client;
mod connect;
mod connection_handle;
#[cfg(feature = "ext")]
mod ext;
mod handlers;
#[cfg_attr(not(feature = "http"), allow(dead_code, reason = "only HTTP has headers"))]
mod headers;
#[cfg(feature = "http")]
mod http;
#[cfg(feature = "oauth")]
pub mod oauth;
mod pages;
#[cfg(feature = "ext")]
mod saga;
mod servers;
mod subscription;
mod supervise;
mod tasks;
mod tools;

pub use builder::{ClientAccept, ClientBuilder, ClientCore};
pub use cache::{Cache, CacheGate};
pub use call::{Call, CallFuture};
#[cfg(feature = "ext")]
pub use carried::{Conversation, ConversationReply, SessionStates, StreamCheckpoint};
pub use changes::Change;
pub use client::Client;
pub use connect::PlainStack;
pub use connection_handle::ConnectionHandle;
#[cfg(feature = "ext")]
pub use ext::{ApprovalLayer, ApprovalQuestion, ApprovalService, ApprovalTreatment, ResultHints, UserAdvice};
pub use handlers::{Handlers, IntoReply};
pub use headers::{HeaderMirror, MirroredCall};
#[cfg(feature = "http")]
pub use http::HttpWire;
pub use mgp_lifecycle::supervise::{StandingRequestsService, Supervised, Supervisor};
#[cfg(feature = "ext")]
pub use mgp_lifecycle::transaction::StepStage;
pub use mgp_lifecycle::{RestartSettings, ServerEnd};
pub use mgp_stream::call::StreamPart;
pub use mgp_stream::event::EventItem;
pub use mgp_transport::ConnectionLimits;
#[cfg(feature = "stdio")]
pub use mgp_transport::child::ChildCommand;
pub use mgp_transport::era::{Agreement, EraMemory, EraMode};
#[cfg(feature = "http")]
pub use mgp_transport::http::HttpClientBuilder;
pub use mgp_types::mcp::Elicited;
pub use mgp_types::mgp::RestartPolicy;
pub use mgp_types::{
    self as types, BoxedService, Error, Object, RawJson, Request, Response, Revision, RpcService, mcp, mgp,
};
pub use pages::{PagedList, Pages, StreamedCall};
#[cfg(feature = "ext")]
pub use saga::{Saga, SagaBuilder, SagaEntry, SagaOutcome, SagaStep, UndoCall};
pub use serde_json::json;
pub use subscription::{EventStream, Subscription};
pub use tasks::{StartedTool, Task, TaskState};
