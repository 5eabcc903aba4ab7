//! Errors that refuse a request, with the recovery advice of their code.

#[cfg(any(feature = "access", feature = "auth", feature = "permission", feature = "scope"))]
use std::borrow::Cow;
#[cfg(feature = "limit")]
use std::time::Duration;

use mgp_types::Error;
#[cfg(feature = "limit")]
use mgp_types::code;
use mgp_types::mgp::Recovery;
#[cfg(feature = "limit")]
use mgp_types::mgp::RetryStrategy;
#[cfg(feature = "permission")]
use mgp_types::{Object, RawJson};

/// Returns an error of `code` with the recovery advice that every error of this code has.
#[cfg(any(feature = "access", feature = "auth", feature = "permission", feature = "scope"))]
pub(crate) fn refusal(code: i64, message: impl Into<Cow<'static, str>>) -> Error {
    let error = Error::new(code, message);
    match Recovery::for_code(code) {
        Some(recovery) => error.with_recovery(recovery),
        None => error,
    }
}

/// Returns the recovery advice of `code`, with `members` as details: the reason, and what to do next.
#[cfg(feature = "permission")]
pub(crate) fn advice(code: i64, members: &[(&'static str, &str)]) -> Recovery {
    let mut details = Object::new();
    for (name, text) in members {
        details.set(*name, RawJson::from_value(text).unwrap_or_else(|_| RawJson::null()));
    }
    Recovery::for_code(code).unwrap_or_default().with_details(&details)
}

/// Returns the error 3000, to be retried after `wait`; `setting` sets how many calls there may be. It does not tell whose limit was reached: that may be one that
/// others used up.
#[cfg(feature = "limit")]
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
