//! The transports of MGP and MCP, and the two eras of the protocol, behind one service trait.
//!
//! The crate implements MGP §1.4 (every transport of MCP) and the lifecycle of MCP. A server is any
//! [`RpcService`](mgp_types::RpcService); a connection to one is an `RpcService` as well:
//!
//! ```
//! use mgp_transport::{ConnectionLimits, connect, memory};
//! use mgp_types::{Outbox, Params, Request};
//! use tower_service::Service;
//! # use mgp_types::{Error, Response};
//! # #[derive(Clone)]
//! # struct Pong;
//! # impl Service<Request> for Pong {
//! #     type Response = Response;
//! #     type Error = Error;
//! #     type Future = std::future::Ready<Result<Response, Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
//! #         std::task::Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, _: Request) -> Self::Future {
//! #         std::future::ready(Ok(Response::empty()))
//! #     }
//! # }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let (near, far) = memory::pair(4096);
//! let (_, server) = connect(far.0, far.1, &|_: Outbox| Pong, ConnectionLimits::default());
//! let (mut wire, client) = connect(near.0, near.1, &|_: Outbox| Pong, ConnectionLimits::default());
//! tokio::spawn(server);
//! tokio::spawn(client);
//! let answer = wire.call(Request::call("ping", Params::new())).await?;
//! assert_eq!(answer.result.as_bytes(), b"{}");
//! # Ok::<(), Error>(())
//! # }).unwrap();
//! ```
//!
//! | | |
//! |---|---|
//! | [`connect`], [`Connection`], [`Wire`] | one connection over any byte stream |
//! | [`OriginatingCall`] | which call a question of the server belongs to, where that is known |
//! | [`Accept`] | what makes the service for each connection |
//! | [`era`] | sessions until 2025-11-25, stateless requests from 2026-07-28; nothing above it knows |
//! | [`mrtr`] | questions to the client as results, where it cannot be asked directly |
//! | [`token`] | sealed texts that clients keep for servers: state between rounds, confirmations, places in long calls |
//! | [`TooLong`], [`MemoryBudget`] | a message was longer than its connection takes, or than there is memory for |
//! | [`TraceLayer`] | one span per request |
//! | [`BatchCallsLayer`] | many calls of tools in one request |
//! | [`CatchPanic`] | one broken handler does not end the connection |
//! | [`memory`], `stdio`, `child`, `unix` | byte streams |
//! | `http` | Streamable HTTP and HTTP+SSE |
//!
//! Features: `stdio` (default) for this process' own standard input and output, `child` for servers as child processes,
//! `unix` for Unix domain sockets, `http-client` and `http-server`, `tls` for `https` URLs.

mod about;
mod accept;
mod batch_calls;
mod catch_panic;
#[cfg(feature = "child")]
pub mod child;
mod deliveries;
mod driver;
pub mod era;
#[cfg(any(feature = "http-client", feature = "http-server"))]
pub mod http;
mod limits;
pub mod memory;
pub mod mrtr;
mod result_cache;
mod sent_future;
mod skipped_message;
mod small_cache;
#[cfg(feature = "stdio")]
pub mod stdio;
pub mod token;
mod trace;
#[cfg(all(unix, feature = "unix"))]
pub mod unix;

pub use about::OriginatingCall;
pub use accept::Accept;
pub use batch_calls::{BatchCalls, BatchCallsLayer};
pub use catch_panic::{CatchPanic, CatchPanicFuture};
pub use driver::{Connection, Wire, connect};
pub use limits::{ConnectionLimits, MemoryBudget, SettingNames, TooLong};
pub use result_cache::{PendingResult, ResultCache};
pub use trace::{Trace, TraceFuture, TraceLayer};
