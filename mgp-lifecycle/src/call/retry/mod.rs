//! Calls that failed are made again where their error says so (§14.6).

mod budget;
mod idempotency;
mod policy;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AuditEvent, AuditPort};
use mgp_types::{Error, RawJson, Request};
use tokio::time::Instant;
use tower_layer::Layer;

use self::idempotency::is_repeatable;
#[cfg(feature = "ext")]
pub(crate) use self::idempotency::{is_harmless, may_be_executed};
use super::event;
use super::sending::{Sending, SendingLayer};
use crate::random_source;
use crate::span::millis_up;

pub use self::budget::RetryBudget;
pub use self::policy::RetryPolicy;

/// Makes calls again that ended in an error which says that it passes (§14.6). A layer and the services behind it share the
/// budget.
///
/// Sits within the deadline, and around whatever is to happen at each attempt. Reads the [`Deadline`](crate::call::Deadline)
/// and `context.tool`; wraps `context.outbox` where it is open.
///
/// A call is made again if all of this is true, and else its error is given back untouched:
///
/// * the error says `retryable`, the number of retries is not reached, and the pause is not absurdly long;
/// * a second time can do no harm: the method or tool is known to be repeatable, or the error tells that nothing was
///   carried out;
/// * the caller has seen no part of a result, and was asked nothing;
/// * the pause ends before the deadline;
/// * the budget of all calls pays for it;
/// * the failed attempt is recorded, if attempts are.
///
/// Each attempt is a copy of the request that shares its bytes, on the same stream: a call that is taken back takes
/// the attempt that runs with it. The last attempt that the policy allows is no copy. Allocates for a call with an open outbox, and
/// to record. Dropping the future drops the attempt or the pause; there is none after that.
#[derive(Debug, Clone)]
pub struct RetryLayer(SendingLayer);

impl RetryLayer {
    /// Follows the advice of errors as far as `policy` lets it, within the usual budget.
    pub fn new(policy: RetryPolicy) -> Self {
        Self(SendingLayer::new().retry(policy))
    }

    /// Within another budget, which others may share.
    #[must_use]
    pub fn with_budget(self, budget: RetryBudget) -> Self {
        Self(self.0.retry_budget(budget))
    }

    /// Records each attempt that failed and is made again. An attempt that cannot be recorded is not made again.
    #[must_use]
    pub fn with_audit(self, port: Arc<dyn AuditPort>) -> Self {
        Self(self.0.audit(port))
    }
}

impl Default for RetryLayer {
    fn default() -> Self {
        Self::new(RetryPolicy::default())
    }
}

impl<S> Layer<S> for RetryLayer {
    type Service = Sending<S>;

    fn layer(&self, inner: S) -> Sending<S> {
        self.0.layer(inner)
    }
}

/// Decides whether a call is made again.
#[derive(Debug, Clone)]
pub(super) struct Retries {
    pub(super) policy: RetryPolicy,
    pub(super) budget: RetryBudget,
}

/// An attempt that failed.
#[derive(Debug, Clone, Copy)]
pub(super) struct FailedAttempt<'a> {
    pub(super) request: &'a Request,
    pub(super) error: &'a Error,
    /// The number of retries before this attempt.
    pub(super) retries: u32,
    /// The time until the deadline of the call.
    pub(super) left: Option<Duration>,
    /// True if the caller was shown a part of a result, or asked something.
    pub(super) has_shown: bool,
}

impl Retries {
    /// Returns the pause before the next attempt; `None` if there is none. The budget has paid for it.
    pub(super) fn pause(&self, failed: &FailedAttempt<'_>, now: Instant) -> Option<Duration> {
        let recovery = failed.error.recovery()?;
        let pause = self.policy.pause(&recovery, failed.retries, random_source::draw())?;
        let is_in_time = failed.left.is_none_or(|left| pause < left);
        let may_come_again = !failed.has_shown && is_in_time && is_repeatable(failed.request, failed.error);
        // The budget comes last: what is not made again must not be paid for.
        (may_come_again && self.budget.spend(now)).then_some(pause)
    }

    /// Returns the record of a failed attempt that is made again after `pause`.
    pub(super) fn event(&self, failed: &FailedAttempt<'_>, pause: Duration) -> AuditEvent {
        let asked = failed.error.recovery().and_then(|recovery| recovery.max_retries);
        let details = format!(
            r#"{{"attempt":{},"max":{},"after_ms":{},"code":{}}}"#,
            failed.retries + 1,
            asked.unwrap_or(self.policy.usual_retries).min(self.policy.max_retries),
            millis_up(pause),
            failed.error.code(),
        );
        let mut event = event::failed(failed.request, "dev.cloto.mgp.request_retried");
        event.details.set("retry", RawJson::from_written(details.into_bytes()));
        event
    }
}
