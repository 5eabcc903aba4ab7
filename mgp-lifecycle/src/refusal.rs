//! Errors that refuse a call, with advice about trying again (§14.3 to §14.5).

use std::borrow::Cow;
use std::time::Duration;

use mgp_types::mgp::{Recovery, RetryStrategy, ServerState};
use mgp_types::{Error, code};

use crate::span::millis_up;

/// The time to wait for a condition that may be over at any time. Even once a server is gone, the next one needs a
/// moment.
const LEAST_WAIT: Duration = Duration::from_millis(500);

/// Returns the refusal of a call to a server that takes none: 2000, 2001 or 2002, by the server's state.
///
/// The server is expected `back` after the time, or never.
pub(crate) fn not_admitted(state: ServerState, back: Option<Duration>) -> Error {
    let (code, message) = match state {
        ServerState::Registered => (code::SERVER_NOT_READY, "the server was not started"),
        ServerState::Disconnected => (code::SERVER_NOT_READY, "the server is stopped"),
        ServerState::Error => (code::SERVER_NOT_READY, "the server is down"),
        ServerState::Connecting | ServerState::Connected => {
            (code::SERVER_NOT_READY, "the server is not ready")
        }
        ServerState::Draining => (code::SERVER_DRAINING, "the server is shutting down"),
        ServerState::Restarting => (code::SERVER_RESTARTING, "the server is restarting"),
    };
    match back {
        // A server that drains may have a successor elsewhere.
        None if code == code::SERVER_DRAINING => unsent(code, message, LEAST_WAIT),
        None => {
            Error::new(code, message).not_executed().with_recovery(recovery_for(code).with_retryable(false))
        }
        Some(wait) => unsent(code, message, wait.max(LEAST_WAIT)),
    }
}

/// Returns 2001 for a call that comes after the end of its server.
pub(crate) fn gone() -> Error {
    unsent(code::SERVER_DRAINING, "the server has shut down", LEAST_WAIT)
}

/// Returns 2001 for a call that was in progress when its server ended.
///
/// The call may have had its effect, which 2001 otherwise denies; so the error says that the call must not be repeated.
pub(crate) fn cut_off() -> Error {
    Error::new(code::SERVER_DRAINING, "the server shut down before the call was done")
        .with_recovery(recovery_for(code::SERVER_DRAINING).with_retryable(false))
}

/// Returns 1000 for a caller that may not stop the server.
pub(crate) fn may_not_stop() -> Error {
    Error::new(code::PERMISSION_DENIED, "the caller may not shut the server down").with_usual_recovery()
}

/// Returns 3003 for a call whose time is over. The call may have had its effect.
pub(crate) fn timed_out(message: impl Into<Cow<'static, str>>) -> Error {
    Error::timeout(message).with_recovery(passing(code::TIMEOUT))
}

/// Returns the refusal of a call that was not sent and may be repeated after `wait`.
pub(crate) fn unsent(code: i64, message: impl Into<Cow<'static, str>>, wait: Duration) -> Error {
    Error::new(code, message).not_executed().with_recovery(passing(code).with_retry_after_ms(millis_up(wait)))
}

/// Puts into the data of an error what it says to clients that know its code by a word, whether or not they speak MGP.
#[cfg(feature = "ext")]
pub(crate) fn in_words(error: Error) -> Error {
    let data = mgp_types::ext::StructuredError::of(&error).to_object().to_raw();
    error.with_data(data)
}

/// Returns 3001 for a call of which nothing was done, because `problem` says what could not be stored first.
#[cfg(feature = "ext")]
pub(crate) fn not_stored(problem: &str, error: &crate::store::StoreError) -> Error {
    tracing::error!(%error, "{problem}");
    let rest = if matches!(error, crate::store::StoreError::Full) {
        " because the disk is full; nothing was done: free some space"
    } else {
        "; nothing was done, and the operator has to look at the store"
    };
    let message = format!("{problem}{rest}");
    in_words(unsent(code::RESOURCE_EXHAUSTED, message, Duration::from_mins(1)))
}

/// Returns the advice for every error with this code.
fn recovery_for(code: i64) -> Recovery {
    Recovery::for_code(code).unwrap_or_default()
}

/// Returns the advice for this code, with the strategy for conditions that pass by themselves.
fn passing(code: i64) -> Recovery {
    recovery_for(code).with_retry_strategy(RetryStrategy::ExponentialBackoff)
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::Category;

    use super::*;

    #[test]
    fn only_a_marked_error_says_that_nothing_was_sent() {
        let refused = unsent(3001, "no room", Duration::from_micros(1500));
        assert!(refused.is_not_executed());
        assert!(!Error::new(3001, "no room").is_not_executed());
        let recovery = refused.recovery().unwrap();
        assert!(recovery.may_retry());
        assert_eq!(recovery.retry_after_ms, Some(2));
    }

    // covers: MGP-14.3-07..09
    #[test]
    fn each_state_that_takes_no_calls_has_its_code_and_says_whether_to_come_back() {
        for &state in ServerState::ALL {
            let expected = match state {
                ServerState::Draining => 2001,
                ServerState::Restarting => 2002,
                _ => 2000,
            };
            let never = not_admitted(state, None);
            let soon = not_admitted(state, Some(Duration::ZERO));
            let later = not_admitted(state, Some(Duration::MAX));
            for error in [&never, &soon, &later] {
                assert_eq!((error.code(), error.is_not_executed()), (expected, true), "{state}");
                assert_eq!(error.recovery().unwrap().category, Some(Category::Lifecycle));
            }
            let advice = |error: &Error| {
                error.recovery().map(|recovery| (recovery.may_retry(), recovery.retry_after_ms))
            };
            let comes_back = state == ServerState::Draining;
            assert_eq!(advice(&never), Some((comes_back, comes_back.then_some(500))), "{state}");
            assert_eq!(advice(&soon), Some((true, Some(500))));
            assert_eq!(advice(&later), Some((true, Some(u64::MAX))));
        }
    }

    #[test]
    fn a_call_that_was_begun_is_not_to_be_made_again() {
        let error = cut_off();
        assert_eq!((error.code(), error.recovery().unwrap().retryable), (2001, Some(false)));
        assert!(!error.is_not_executed());
        assert!(gone().recovery().unwrap().may_retry());
    }
}
