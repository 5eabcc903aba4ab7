use std::time::Duration;

use mgp_types::mgp::{Recovery, RetryStrategy, ServerState};
use mgp_types::{Error, code};

use super::gate::Inside;
use super::run::millis;

/// Why a call is not let in, and when to try again.
///
/// `drains_for` is how long the server still finishes other calls.
pub(super) fn not_admitted(inside: Inside, drains_for: impl FnOnce() -> Duration) -> Error {
    match inside.state() {
        _ if inside.is_ended() => stopped(),
        ServerState::Draining | ServerState::Disconnected => {
            refused(code::SERVER_DRAINING, "the server is shutting down", drains_for())
        }
        ServerState::Restarting => {
            refused(code::SERVER_RESTARTING, "the server is restarting", Duration::ZERO)
        }
        _ => refused(code::SERVER_NOT_READY, "the server is not ready", Duration::ZERO),
    }
}

/// What a call is answered that was not finished in time.
pub(super) fn stopped() -> Error {
    refused(code::SERVER_DRAINING, "the server has shut down", Duration::ZERO)
}

/// Who may not stop the server.
pub(super) fn not_permitted() -> Error {
    let error = Error::new(code::PERMISSION_DENIED, "the caller may not shut the server down");
    with_recovery(error, |recovery| recovery)
}

fn refused(code: i64, message: &'static str, busy_for: Duration) -> Error {
    // Even once the server is gone, the next one needs a moment.
    let wait = millis(busy_for.max(LEAST_WAIT));
    with_recovery(Error::new(code, message), |recovery| {
        recovery.with_retry_after_ms(wait).with_retry_strategy(RetryStrategy::ExponentialBackoff)
    })
}

fn with_recovery(error: Error, advise: impl FnOnce(Recovery) -> Recovery) -> Error {
    match Recovery::for_code(error.code()) {
        Some(recovery) => error.with_recovery(advise(recovery)),
        None => error,
    }
}

const LEAST_WAIT: Duration = Duration::from_secs(1);
