//! The error of a request that exceeds a rate limit.

use std::time::Duration;

use mgp_types::mgp::{Recovery, RetryStrategy};
use mgp_types::{Error, code};

/// Returns the error 3000, to be retried after `wait`; `setting` sets how many calls there may be. It does not tell whose
/// limit was reached: that may be one that others used up.
pub(crate) fn limited(wait: Duration, setting: Option<&str>) -> Error {
    let millis = u64::try_from(wait.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    let recovery = Recovery::for_code(code::RATE_LIMITED).unwrap_or_default();
    let raise = setting.map(|setting| format!("; {setting} set how many there may be")).unwrap_or_default();
    let secs = millis.div_ceil(1_000);
    let message = format!("too many calls; wait, then try again: the next one passes in {secs} s{raise}");
    Error::new(code::RATE_LIMITED, message).with_recovery(
        recovery.with_retry_after_ms(millis).with_retry_strategy(RetryStrategy::ExponentialBackoff),
    )
}
