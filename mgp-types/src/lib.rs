//! Data types, errors and the one service trait of MGP, the Model General Protocol.

mod context;
mod error;
mod extensions;
pub mod frame;
mod id;
mod input;
pub mod json;
pub mod mcp;
mod method;
pub mod mgp;
mod outbox;
mod principal;
mod request;
mod response;
mod revision;
mod service;
mod session;

pub use context::Context;
pub use error::{Error, Origin};
pub use extensions::Extensions;
pub use id::Id;
pub use input::{InputExchange, Question};
pub use json::{JsonError, JsonFault, Object, RawJson};
pub use mcp::CacheScope;
pub use method::Method;
pub use mgp::code;
pub use outbox::{BoxFuture, Outbox, OutboxPort, StreamId};
pub use principal::Principal;
pub use request::{Kind, Params, Request};
pub use response::{CacheHint, Response, ResponseContext, Shape};
pub use revision::{Revision, UnknownRevision};
pub use service::RpcService;
pub use session::{Session, Severity};
