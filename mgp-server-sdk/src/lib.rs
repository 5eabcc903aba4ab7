//! Servers of MCP and MGP: typed tools, resources and prompts, in both eras and over any transport.
//!
//! The crate implements the server's side of every revision of MCP, and turns on MGP (§2) with one line. A tool is an
//! async function over a struct:
//!
//! ```
//! use mgp_server_sdk::{Error, Server, Tool, schemars};
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Add {
//!     /// First summand.
//!     a: i64,
//!     b: i64,
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let server = Server::new("calculator", "1.0.0")
//!     .tool(Tool::new("add", "Adds two integers."), async |Add { a, b }: Add| a + b);
//! # let (near, far) = tokio::io::duplex(4096);
//! # drop(near);
//! # let (input, output) = tokio::io::split(far);
//! server.serve_io(input, output).await?; // or serve_stdio, serve_http, serve_unix
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`Server`] | what is offered, the layers around it, and the ways to serve it |
//! | [`Tool`], [`ToolHandler`], [`IntoToolResult`] | tools: descriptions, functions, results |
//! | [`ToolError`], [`Json`] | failures for the model to read, structured results |
//! | [`Resource`], [`ResourceTemplate`], [`IntoContents`] | what clients can read |
//! | [`Prompt`], [`IntoPrompt`], [`CompletionRequest`] | prompts, and the completion of arguments |
//! | [`Cx`], [`Ask`], [`Elicited`] | progress, logs and questions during a call |
//! | [`TaskMode`], [`TaskLimits`] | calls that go on after they were answered |
//! | [`TaskStore`], [`TaskRun`] | the same for services that are no [`Server`] |
//! | [`ServerHandle`] | changes what is offered while the server runs |
//! | [`Server::streaming`], [`Server::events`], [`Server::callbacks`], [`Server::lifecycle`] | sections of MGP |
//! | [`Publisher`], [`Callback`], [`ServerLifecycle`] | what handlers and applications do with them |
//! | [`MethodHandler`], [`NotificationHandler`] | methods of your own |
//! | [`ServerCore`], [`Router`], [`ServerAccept`] | the same as tower services, for stacks of your own |
//!
//! One handler serves both eras: a question ([`Cx::ask`]) is a request in the one and a result in the other, changes
//! are pushed in the one and listened for in the other, and handlers see neither.
//!
//! Arguments are checked before a handler runs, by reading them into its type and, where the schema demands more than a
//! type can, by a validator that never fetches anything. A fault comes back as a result that names its place, for the
//! model to mend.
//!
//! The [`guides`] show a dangerous tool, an error with a hint and a streaming tool, each with the messages that clients
//! see.
//!
//! **Cancellation.** When a client cancels a call or disconnects, the future of the handler is dropped at its next
//! `await`. Put cleanup into the `Drop` of a value that the handler holds. Work that must continue belongs in a spawned
//! future, or in a task ([`TaskMode`]).
//!
//! **Other servers.** [`Server::proxy`] stands in front of another server, such as a guard with layers of its own, and
//! [`Server::fallback`] answers what the server does not know.
//!
//! **HTTP.** [`Server::serve_http_with`] takes the names of hosts, TLS and limits. `mgp_transport::http::HttpServer` of
//! [`Server::accept`] is a tower service of HTTP requests, which any router of hyper or axum mounts at a path
//! (`Router::route_service`).
//!
//! Layers are ordinary tower layers over [`mgp_types::RpcService`]; see [`Server::layer`].
//!
//! # Features
//!
//! * `stdio` (default): [`Server::serve_stdio`].
//! * `http` (default): [`Server::serve_http`], [`Cx::http_parts`], and the check of headers that repeat
//!   arguments.
//! * `tls`: HTTPS, by `HttpConfig::tls`.
//! * `validate`: arguments are checked against schemas, not only read. Without it, a server with a tool whose schema
//!   demands more than its types does not start, unless the tool is [`Tool::unvalidated`].
//! * `unix`: `Server::serve_unix`.
//! * `ext`: tools made of a `Signature`, field by field, with validators of your own (`Server::validator`); the method
//!   `tools/validate` (`Server::offer_validation`); time limits (`Server::timeouts`) and resources that are read once for
//!   many (`ResourceCache`); hints of calls: what a tool declares of its costs (`Tool::declare`), and what a result cost and
//!   comes from (`Cx::cost`, `Cx::source`); the manifest of the server (`Server::offer_manifest`), many calls in one request
//!   (`Server::batch_calls`), and failures that say what to do next (`ToolError::structured`). The example `registry` shows the
//!   first of them. Also what clients carry for the server: state (`Cx::session_state`), places that a long call goes on from
//!   (`Cx::checkpoint`), confirmations (`Tool::confirm`), and references to data (`Cx::refer_to`). Calls with a key are carried
//!   out once (`Server::idempotency`), and calls are taken back together (`Server::transactions`). Clients subscribe to events with
//!   filters and a time (`Server::events`). Implies `validate`.

/// Guides: the code of a tool of each kind, and the messages that its clients see. The same pages are in the folder `guides`.
// The tests of `mgp-client-sdk` run these pages, because their asserts need its client.
#[cfg(all(doc, not(doctest)))]
pub mod guides {
    #[doc = include_str!("../guides/dangerous-tool.md")]
    pub mod dangerous_tool {}
    #[doc = include_str!("../guides/error-with-a-hint.md")]
    pub mod error_with_a_hint {}
    #[doc = include_str!("../guides/streaming-tool.md")]
    pub mod streaming_tool {}
}

mod accept;
mod change;
mod cx;
mod error;
mod list;
mod method;
mod preset;
mod prompt;
#[cfg(feature = "ext")]
mod reference;
mod resource;
mod router;
mod schema;
mod server;
mod server_context;
mod server_shared;
#[cfg(feature = "ext")]
mod signature;
mod strings;
mod task;
#[cfg(feature = "ext")]
mod tokens;
mod tool;

pub use mgp_lifecycle::server::{DrainOutcome, ServerLifecycle, ShutdownPolicy};
pub use mgp_stream::callback::{Callback, Confirmation, SelectedOption};
pub use mgp_stream::event::{PublishError, Publisher};
pub use mgp_transport::era::VersionMismatch;
#[cfg(feature = "tls")]
pub use mgp_transport::http::{ClientCertificates, TlsConfig};
#[cfg(feature = "http")]
pub use mgp_transport::http::{HttpConfig, ListenTarget};
pub use mgp_transport::token::SealingKey;
pub use mgp_types::{self as types, Object, RawJson, code, mcp, mgp};
pub use schemars;

pub use self::accept::{ServerAccept, ServerCore};
pub use self::cx::{Ask, AskAll, Cx};
pub use self::error::{Error, Fault, Faults};
pub use self::method::{
    CompletionHandler, CompletionRequest, IntoCompletion, MethodHandler, NotificationHandler,
};
pub use self::prompt::{IntoPrompt, Prompt, PromptHandler};
#[cfg(feature = "ext")]
pub use self::reference::{
    ReferenceAccess, ReferenceAnswer, ReferenceBody, ReferenceData, ReferenceRequest, ReferenceStore,
};
#[cfg(feature = "ext")]
pub use self::resource::ResourceCache;
pub use self::resource::{Blob, IntoContents, Resource, ResourceHandler, ResourceTemplate, Uri, base64};
pub use self::router::{Router, RouterFuture};
#[cfg(feature = "http")]
pub use self::schema::check_repeated_arguments;
pub use self::server::Server;
#[cfg(feature = "ext")]
pub use self::server::{InProcess, TransactionLayer};
pub use self::server_shared::ServerHandle;
#[cfg(feature = "ext")]
pub use self::signature::{
    Constraint, FieldType, InputField, OutputField, Signature, Timeouts, ToolMetadata, ToolValidator,
    Violation,
};
pub use self::task::{TaskLimits, TaskRun, TaskStore};
pub use self::tool::{IntoToolResult, Json, TaskMode, Tool, ToolError, ToolHandler, ToolResult};
pub use mgp_types::mcp::Elicited;
