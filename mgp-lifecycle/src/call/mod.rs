//! What becomes of calls: limits of number and time, retries, circuit breakers (MGP §14.6).
//!
//! These layers are for whoever calls servers. Each is of use alone, over any [`RpcService`](mgp_types::RpcService);
//! together they stand in this order, from the caller to the wire:
//!
//! | layer | what it does | why here |
//! |---|---|---|
//! | [`FallbackLayer`] | calls the tool that an error names | outside of access control, validators and confirmation, to which the other tool is subject as well |
//! | [`DeadlineLayer`] | ends a call when nobody waits for it any more | within whatever waits for people; around all attempts and their pauses |
//! | [`RetryLayer`] | makes a call again | around what happens at each attempt |
//! | [`BreakerLayer`] | makes no calls to a server that fails | counts each attempt, and sees those that time out |
//! | [`ConcurrencyLayer`] | limits how many calls run at once | a pause takes no place, and the time in line is not held against the server |
//! | [`AttemptTimeoutLayer`] | ends an attempt without a sign of life | as near to the server as can be, where the time that is left is written into the call |
//!
//! What one layer tells the others is on the request and the error: the [`Deadline`], and the mark [`Unsent`] of a call
//! that was refused on the way.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::time::Duration;
//!
//! use mgp_lifecycle::call::{
//!     AttemptTimeoutLayer, BreakerLayer, ConcurrencyLayer, DeadlineLayer, RetryLayer,
//! };
//! use mgp_types::mgp::{Recovery, code};
//! use mgp_types::{Error, Object, Request, Response};
//! use tower_layer::Layer;
//! use tower_service::Service;
//!
//! # use std::sync::Arc;
//! # use std::sync::atomic::{AtomicU32, Ordering};
//! # #[derive(Clone, Default)]
//! # struct BusyOnce(Arc<AtomicU32>);
//! # impl Service<Request> for BusyOnce {
//! #     type Response = Response;
//! #     type Error = Error;
//! #     type Future = std::future::Ready<Result<Response, Error>>;
//! #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
//! #         std::task::Poll::Ready(Ok(()))
//! #     }
//! #     fn call(&mut self, _: Request) -> Self::Future {
//! #         let busy = Error::new(code::RATE_LIMITED, "too many requests");
//! #         let advice = Recovery::for_code(code::RATE_LIMITED).unwrap_or_default().with_retry_after_ms(5);
//! #         std::future::ready(match self.0.fetch_add(1, Ordering::Relaxed) {
//! #             0 => Err(busy.with_recovery(advice)),
//! #             _ => Ok(Response::empty()),
//! #         })
//! #     }
//! # }
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build()?;
//! # runtime.block_on(async {
//! # let server = BusyOnce::default();
//! # let seen = server.clone();
//! let server = AttemptTimeoutLayer::new(Duration::from_secs(30), Duration::from_mins(10)).layer(server);
//! let server = ConcurrencyLayer::new(NonZeroUsize::MIN.saturating_add(15)).layer(server);
//! let server = BreakerLayer::default().layer(server);
//! let server = RetryLayer::default().layer(server);
//! let mut server = DeadlineLayer::new(Duration::from_mins(15)).layer(server);
//!
//! // The server is busy when it is called first, and says so.
//! let response = server.call(Request::call("tools/call", Object::parse(r#"{"name":"add"}"#)?)).await;
//! assert!(response.is_ok());
//! # assert_eq!(seen.0.load(Ordering::Relaxed), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod asked;
mod attempt;
mod breaker;
mod concurrency;
mod deadline;
mod event;
mod fallback;
mod kept;
mod retry;
mod witness;

#[cfg(test)]
mod tests;

pub use self::attempt::{AttemptFuture, AttemptTimeout, AttemptTimeoutLayer};
pub use self::breaker::{BreakerFuture, BreakerLayer, BreakerService, BreakerSettings, BreakerState};
pub use self::concurrency::{Concurrency, ConcurrencyFuture, ConcurrencyLayer};
pub use self::deadline::{Deadline, DeadlineFuture, DeadlineLayer, DeadlineService};
pub use self::fallback::{Fallback, FallbackFuture, FallbackLayer};
pub use self::retry::{Retry, RetryBudget, RetryFuture, RetryLayer, RetryPolicy};
pub use crate::refusal::Unsent;
