//! The sending of calls to servers: limits of number and time, retries, circuit breakers (MGP §14.6).
//!
//! A call on its way to a server passes a [`SendingLayer`]: one loop of sections that can be set or left out. From the caller
//! to the wire:
//!
//! | section | what it does | why here |
//! |---|---|---|
//! | [`FallbackLayer`] | calls the tool that an error names | outside of access control, validators and confirmation, to which the other tool is subject as well |
//! | [`deadline`](SendingLayer::deadline) | ends a call when nobody waits for it any more | within all that waits for people; around all attempts and their pauses |
//! | [`retry`](SendingLayer::retry) | makes a call again | around what happens at each attempt; a pause takes no place |
//! | [`places`](SendingLayer::places) | limits how many calls run at once | the time in line is held neither against the server nor against the attempt |
//! | [`breaker`](SendingLayer::breaker) | makes no calls to a server that fails | counts each attempt, and sees those that time out; asked once a place is free, and before anybody stands in line |
//! | [`attempt_timeout`](SendingLayer::attempt_timeout) | ends an attempt without a sign of life | as near to the server as can be, where the time that is left is written into the call |
//!
//! The request and the error carry marks for others: the [`Deadline`], and [that it was not executed](mgp_types::Error::is_not_executed) for a call that was refused on the way.
//!
//! The parts that decide know no clock and no runtime: the budget and the policy of retries, the breaker, the time of a
//! call and of an attempt. `sending/attempts.rs` puts them together in the steps of a call.
//!
//! ```
//! use std::num::NonZeroUsize;
//! use std::time::Duration;
//!
//! use mgp_lifecycle::call::{BreakerSettings, ConcurrencyLimit, RetryPolicy, SendingLayer, SharedBreaker};
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
//! let sending = SendingLayer::new()
//!     .deadline(Duration::from_mins(15))
//!     .retry(RetryPolicy::default())
//!     .places(ConcurrencyLimit::new(NonZeroUsize::MIN.saturating_add(15)))
//!     .breaker(SharedBreaker::new(BreakerSettings::default()))
//!     .attempt_timeout(Duration::from_secs(30), Duration::from_mins(10));
//! let mut server = sending.layer(server);
//!
//! // The server is busy when it is called first, and says so.
//! let response = server.call(Request::call("tools/call", Object::parse(r#"{"name":"add"}"#)?)).await;
//! assert!(response.is_ok());
//! # assert_eq!(seen.0.load(Ordering::Relaxed), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod breaker;
mod concurrency;
mod deadline;
mod event;
mod fallback;
mod retry;
mod sending;

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::breaker::BreakerState;
pub use self::breaker::{BreakerSettings, SharedBreaker};
pub use self::concurrency::ConcurrencyLimit;
pub use self::deadline::Deadline;
pub use self::fallback::{Fallback, FallbackFuture, FallbackLayer};
#[cfg(test)]
pub(crate) use self::retry::RetryBudget;
pub use self::retry::RetryPolicy;
#[cfg(feature = "ext")]
pub(crate) use self::retry::{is_harmless, may_be_executed};
pub use self::sending::{Sending, SendingFuture, SendingLayer};
