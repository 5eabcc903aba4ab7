use std::time::Duration;

use mgp_types::mgp::{Category, Recovery, ServerState};
use mgp_types::{Error, code};
use tokio::time::Instant;

use super::shared::{Outlook, Standing};

/// The error for whoever calls a server that takes no calls (§14.3): it says whether and when to try again.
pub(super) fn refusal(standing: Standing, now: Instant) -> Error {
    let (code, message) = match standing.state {
        ServerState::Registered => (code::SERVER_NOT_READY, "the server was not started"),
        ServerState::Disconnected => (code::SERVER_NOT_READY, "the server is stopped"),
        ServerState::Error => (code::SERVER_NOT_READY, "the server is down"),
        ServerState::Connecting | ServerState::Connected => {
            (code::SERVER_NOT_READY, "the server is not ready")
        }
        ServerState::Draining => (code::SERVER_DRAINING, "the server is shutting down"),
        ServerState::Restarting => (code::SERVER_RESTARTING, "the server is restarting"),
    };
    let recovery = match standing.outlook {
        // A server that drains may have a successor elsewhere; any other comes back only if that is planned.
        Outlook::Never | Outlook::Ended => Recovery::new(Category::Lifecycle, code == code::SERVER_DRAINING),
        Outlook::Soon => again_after(A_MOMENT),
        Outlook::At(time) => again_after(time.saturating_duration_since(now).max(A_MOMENT)),
    };
    Error::new(code, message).with_recovery(recovery)
}

fn again_after(wait: Duration) -> Recovery {
    let millis = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    Recovery::new(Category::Lifecycle, true).with_retry_after_ms(millis)
}

/// What to wait for something that may be over at any time.
const A_MOMENT: Duration = Duration::from_millis(500);
