//! Calls that failed are made again where their error says so (§14.6).

mod idempotency;
mod policy;

#[cfg(test)]
mod tests;

use std::time::Duration;

use mgp_types::mgp::AuditEvent;
use mgp_types::{Error, RawJson, Request};

pub(super) use self::idempotency::is_repeatable;
#[cfg(feature = "ext")]
pub(crate) use self::idempotency::{is_harmless, may_be_executed};
pub(crate) use self::policy::RetryBudget;
pub use self::policy::RetryPolicy;
use super::event;
use crate::span::millis_up;

/// Returns the record of an attempt that failed and is made again after `pause`, as the retry of this number.
pub(super) fn event(request: &Request, error: &Error, retry: u32, most: u32, pause: Duration) -> AuditEvent {
    let details = format!(
        r#"{{"attempt":{retry},"max":{most},"after_ms":{},"code":{}}}"#,
        millis_up(pause),
        error.code(),
    );
    let mut event = event::failed(request, "dev.cloto.mgp.request_retried");
    event.details.set("retry", RawJson::from_written(details.into_bytes()));
    event
}
