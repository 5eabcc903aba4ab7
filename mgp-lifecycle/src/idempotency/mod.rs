//! Calls that have their effect once, however often they are made: idempotency keys.
//!
//! A call of a tool that has a key in `_meta.idempotency_key`, or in the HTTP header `X-Idempotency-Key`, is carried out when
//! it comes first. When it comes again it waits for the first one, or is answered with what that one was answered. A key
//! belongs to its caller, its server and its tool, and stands for the arguments of its first call: another call with it is
//! refused with 4020.
//!
//! | outcome of the first call | when the call comes again |
//! |---|---|
//! | a result, also one of a tool that failed for good | the same result, with `was_replay` |
//! | an error that stays, such as 4000 | the same error |
//! | an error before the call was carried out, such as 1000 or 3000 | the call is carried out |
//! | an error that the server says will pass, and questions of the server | the call is carried out |
//! | any error of a tool that may be called twice by its own word | the call is carried out |
//! | nobody knows: no answer came, or the process ended meanwhile | 4020; the caller looks what happened, and takes a new key |
//! | a result of more than a mebibyte | 4020, which tells that the call was carried out |
//!
//! With a [store](crate::store), the key is on the disk before the call is carried out, and the outcome before the caller has
//! it; without one, keys are forgotten with the process. A call goes on when its caller gives up, so that there is an outcome
//! for the next attempt. Keys that hold are never given up for others: a caller that has too many is refused with 3001.
//!
//! Kernels that share a store decide together which call came first. A call that comes again at another kernel waits for the
//! first one there; nobody knows how the calls of a kernel ended that runs no more.
//!
//! ```
//! use mgp_lifecycle::idempotency::{IdempotencyBook, IdempotencyLayer};
//! use mgp_types::{Error, Object, Request, Response};
//! use tower_layer::Layer;
//! use tower_service::Service;
//!
//! # use std::sync::Arc;
//! # use std::sync::atomic::{AtomicU32, Ordering};
//! # #[derive(Clone, Default)]
//! # struct Payments(Arc<AtomicU32>);
//! # impl Service<Request> for Payments {
//! #     type Response = Response;
//! #     type Error = Error;
//! #     type Future = std::future::Ready<Result<Response, Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
//! #         std::task::Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, _: Request) -> Self::Future {
//! #         self.0.fetch_add(1, Ordering::Relaxed);
//! #         std::future::ready(Ok(Response::empty()))
//! #     }
//! # }
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! # let payments = Payments::default();
//! # let seen = payments.clone();
//! let mut server = IdempotencyLayer::new(IdempotencyBook::in_memory()).layer(payments);
//! let pay = || Object::parse(r#"{"name":"pay","arguments":{"euro":5},"_meta":{"idempotency_key":"order-7"}}"#);
//! for _ in 0..3 {
//!     server.call(Request::call("tools/call", pay()?)).await?;
//! }
//! // The payment was made once.
//! # assert_eq!(seen.0.load(Ordering::Relaxed), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod book;
mod call_table;
mod layer;
mod outcome;
mod refusal;
mod store;

#[cfg(test)]
mod tests;

pub use self::book::IdempotencyBook;
pub use self::layer::{IdempotencyLayer, IdempotencyService};
