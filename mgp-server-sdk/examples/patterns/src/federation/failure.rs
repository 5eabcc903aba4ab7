//! What a failure of an instance is told as: one of MGP's codes for external services (§14.3), under the instance's name.

use std::error::Error as _;

use mgp_transport::http::HttpStatus;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Origin, RawJson, code};
use serde::Serialize;

use super::instance::Instance;

/// Returns the error that tells a caller of a failure of `instance`:
///
/// * 5002 where the instance is not there, or is not who it should be;
/// * 5001 where it did not answer in time;
/// * 5000 where it answered with an error. The answer stands in the `details`, and its advice on trying again is kept.
pub(super) fn upstream(instance: &Instance, error: Error) -> Error {
    let name = &instance.name;
    if error.origin() == Origin::Cancelled {
        return error;
    }
    let code = code_of(&error);
    let (message, advice) = match refusal(instance, &error) {
        Some(refusal) => (refusal, Some(false)),
        None if error.origin() == Origin::Peer => {
            (format!("the instance `{name}` answered: {}", shortened(error.message())), None)
        }
        None => (format!("the instance `{name}` failed: {}", shortened(error.message())), None),
    };
    let theirs = error.recovery();
    let mut recovery = Recovery::for_code(code).unwrap_or_default();
    recovery.retryable = advice.or_else(|| theirs.as_ref()?.retryable).or(recovery.retryable);
    recovery.retry_after_ms = theirs.as_ref().and_then(|theirs| theirs.retry_after_ms);
    recovery.details = RawJson::from_value(&FailureDetails {
        instance: name.as_str(),
        code: (error.origin() == Origin::Peer).then(|| error.code()),
        details: theirs.and_then(|theirs| theirs.details),
    })
    .ok();
    tracing::debug!(instance = name.as_str(), %error, source = ?error.source(), "an instance failed");
    Error::new(code, message).with_recovery(recovery)
}

/// The facts about a failure that programs read.
#[derive(Serialize)]
struct FailureDetails<'a> {
    instance: &'a str,
    /// The code with which the instance answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<RawJson>,
}

fn code_of(error: &Error) -> i64 {
    match (error.origin(), error.code()) {
        (Origin::Timeout, _) | (Origin::Peer, code::TIMEOUT | code::UPSTREAM_TIMEOUT) => {
            code::UPSTREAM_TIMEOUT
        }
        (Origin::Connection, _)
        | (
            Origin::Peer,
            code::SERVER_NOT_READY
            | code::SERVER_DRAINING
            | code::SERVER_RESTARTING
            | code::UPSTREAM_UNAVAILABLE,
        ) => code::UPSTREAM_UNAVAILABLE,
        _ => code::UPSTREAM_ERROR,
    }
}

/// Returns what is wrong where one side does not accept the identity of the other.
fn refusal(instance: &Instance, error: &Error) -> Option<String> {
    let name = &instance.name;
    if let Some(status) = HttpStatus::of(error).filter(|status| matches!(status.code(), 401 | 403)) {
        let (status, variable) = (status.code(), &instance.key.variable);
        return Some(format!(
            "the instance `{name}` refuses the key in `{variable}` (HTTP {status}): its operator issues another one by \
             `mgp keys new`"
        ));
    }
    let fault = causes(error).find(|cause| cause.contains(UNTRUSTED))?;
    Some(format!(
        "the instance `{name}` does not prove to be {}: {}; `--ca {name}=FILE` names the authority of its certificate",
        instance.url.as_str(),
        shortened(&fault)
    ))
}

fn causes(error: &Error) -> impl Iterator<Item = String> {
    let mut next = error.source();
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause.to_string())
    })
}

/// Returns the beginning of a text that somebody else wrote, for a message.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(LONGEST_QUOTED).collect()
}

/// The number of characters of somebody else's text that a message quotes.
const LONGEST_QUOTED: usize = 500;

/// The words with which TLS refuses a certificate.
const UNTRUSTED: &str = "invalid peer certificate";

#[cfg(test)]
mod tests {
    use mgp_types::mgp::RetryStrategy;
    use serde_json::{Value, json};

    use super::*;
    use crate::federation::instance::instances;

    fn translate(error: Error) -> Error {
        let urls = ["prod=https://example.com/mcp".parse().unwrap()];
        let keys = ["prod=PATH".parse().unwrap()];
        upstream(&instances(&urls, &keys, &[]).unwrap()[0], error)
    }

    fn answer(code: i64) -> Error {
        Error::from_origin(Origin::Peer, code, "no")
    }

    // covers: P-3-14, P-3-15, P-3-16
    #[test]
    fn a_failure_of_an_instance_has_a_code_of_external_services() {
        for (error, expected) in [
            (Error::disconnected("refused"), 5002),
            (answer(2001), 5002),
            (answer(5002), 5002),
            (Error::timeout("late"), 5001),
            (answer(3003), 5001),
            (answer(5001), 5001),
            (Error::misbehaved("no JSON"), 5000),
            (answer(1001), 5000),
            (answer(4001), 5000),
            (answer(-32603), 5000),
        ] {
            let translated = translate(error.clone());
            assert_eq!(translated.code(), expected, "{error:?}");
            assert!(translated.message().contains("`prod`"), "{translated}");
        }
    }

    #[test]
    fn what_the_instance_said_of_trying_again_is_kept() {
        let theirs = Recovery::for_code(3000).unwrap().with_retry_after_ms(5000);
        let translated =
            translate(answer(3000).with_recovery(theirs.with_retry_strategy(RetryStrategy::FixedDelay)));
        let recovery = translated.recovery().unwrap();
        assert_eq!((recovery.retryable, recovery.retry_after_ms), (Some(true), Some(5000)));
        let details: Value = recovery.details.unwrap().to().unwrap();
        assert_eq!(details, json!({"instance": "prod", "code": 3000}));
    }

    #[test]
    fn a_call_that_its_caller_took_back_is_no_failure_of_the_instance() {
        assert_eq!(translate(Error::cancelled()).origin(), Origin::Cancelled);
    }
}
