//! Streamed results, progress and cancellation (MGP §12).
//!
//! A tool whose caller asked for streaming sends parts of its result as they come; its final answer is complete all the
//! same. At the server, a layer around the router numbers, paces and keeps the chunks; at the client, a reader puts
//! them in order.
//!
//! ```
//! use mgp_stream::call::{StreamPart, StreamLayer, StreamReader};
//! use mgp_types::{Error, Method, Object, Request, Response};
//! use tower_layer::Layer;
//! # use std::{future::{Ready, ready, poll_fn}, pin::Pin, task::{Context, Poll}};
//! # use futures_core::Stream;
//! # #[derive(Clone)]
//! # struct Router;
//! # impl tower_service::Service<Request> for Router {
//! #     type Response = Response;
//! #     type Error = Error;
//! #     type Future = Ready<Result<Response, Error>>;
//! #     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> { Poll::Ready(Ok(())) }
//! #     fn call(&mut self, _: Request) -> Self::Future { ready(Ok(Response::empty())) }
//! # }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let service = StreamLayer::new().layer(Router);
//! let mut reader = StreamReader::open(service, Request::call(Method::TOOLS_CALL, Object::new()));
//! while let Some(part) = poll_fn(|cx| Pin::new(&mut reader).poll_next(cx)).await {
//!     if let StreamPart::Chunk(chunk) = part {
//!         println!("{:?}", chunk.content);
//!     }
//! }
//! let answer = reader.finish().await?;
//! assert_eq!(answer.result.as_bytes(), b"{}");
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`StreamLayer`] | at the server: chunks, the complete answer, cancellation, pace and gaps |
//! | [`FIRST_INDEX`] | at the server: the number of the first chunk of a call that goes on with another one |
//! | [`Progress`] | at the server: reports of progress |
//! | [`CancelsUpstream`] | at a gateway: the way to cancel calls at the servers behind it |
//! | [`StreamReader`] | at the client: one call, read while it runs |
//! | [`ChunkAssembly`] | chunks in order, without IO |
//! | [`summary`] | the summary of a stream, read from its result |

mod active;
mod assembly;
mod complete;
mod content;
mod feed;
mod layer;
mod pace;
mod progress;
mod reader;
mod registry;
mod split;

pub use self::active::FIRST_INDEX;
pub use self::assembly::{ChunkAssembly, StreamPart};
pub use self::complete::summary;
pub use self::layer::{CancelsUpstream, StreamFuture, StreamLayer, StreamService};
pub use self::progress::Progress;
pub use self::reader::StreamReader;

#[cfg(test)]
mod tests;
