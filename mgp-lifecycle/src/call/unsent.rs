use std::borrow::Cow;
use std::error::Error as _;
use std::time::Duration;

use mgp_types::Error;
use mgp_types::mgp::{Recovery, RetryStrategy};

/// The cause of an error that a call met before it was sent: whatever it does, it has not done it.
///
/// Whoever refuses a call on the way to its server gives it as the [source](Error::with_source) of the refusal. A code
/// alone cannot tell: 5002 may come from a server that was halfway through. Where the mark is missing, the call may have
/// been carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the call was not sent")]
#[expect(clippy::exhaustive_structs, reason = "a mark says nothing but that it is there")]
pub struct Unsent;

impl Unsent {
    /// Whether this is why `error` came about.
    pub fn is_cause_of(error: &Error) -> bool {
        error.source().is_some_and(<dyn std::error::Error>::is::<Self>)
    }
}

/// The refusal of a call that was not sent and may come again after `wait`.
pub(super) fn refuse(code: i64, message: impl Into<Cow<'static, str>>, wait: Duration) -> Error {
    Error::new(code, message)
        .with_source(Unsent)
        .with_recovery(advice(code).with_retry_after_ms(millis_up(wait)))
}

/// What is true of every error with this code, with the strategy that suits all that passes by itself.
pub(super) fn advice(code: i64) -> Recovery {
    Recovery::for_code(code).unwrap_or_default().with_retry_strategy(RetryStrategy::ExponentialBackoff)
}

/// Whole milliseconds, rounded up: who waits that long has waited long enough.
pub(super) fn millis_up(time: Duration) -> u64 {
    u64::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_marked_error_says_that_nothing_was_sent() {
        let refused = refuse(3001, "no room", Duration::from_micros(1500));
        assert!(Unsent::is_cause_of(&refused));
        assert!(!Unsent::is_cause_of(&Error::new(3001, "no room")));
        assert!(!Unsent::is_cause_of(&Error::new(3001, "no room").with_source(std::fmt::Error)));
        let recovery = refused.recovery().unwrap();
        assert!(recovery.may_retry());
        assert_eq!(recovery.retry_after_ms, Some(2));
    }
}
