//! The outcome of a call with a key: what is kept of it, and whether the call may be carried out again.

use mgp_types::ext::{StructuredError, projection};
use mgp_types::{CallEnding, Error, Object, Origin, RawJson, Response, code};
use serde::{Deserialize, Serialize};

use crate::call::may_be_executed;

/// The outcome of a call, as it is stored and shared with those who wait for it.
pub(super) type CallOutcome = Result<RawJson, Error>;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredOutcome {
    Result(RawJson),
    Error { code: i64, message: String, data: Option<RawJson> },
}

/// Returns the outcome that is stored and shared with all who wait for it.
pub(super) fn shared(outcome: &Result<Response, Error>) -> CallOutcome {
    outcome.as_ref().map(|response| response.to_raw().detached()).map_err(Error::clone)
}

/// Returns an outcome as JSON; `None` if it has more than `most` bytes.
pub(super) fn stored(outcome: &CallOutcome, most: usize) -> Option<RawJson> {
    let stored = match outcome {
        Ok(result) => StoredOutcome::Result(result.clone()),
        Err(error) => StoredOutcome::Error {
            code: error.code(),
            message: error.message().to_owned(),
            data: error.wire_data(),
        },
    };
    RawJson::from_value(&stored).ok().filter(|raw| raw.as_bytes().len() <= most)
}

/// Reads an outcome that [`stored`] wrote.
pub(super) fn restored(raw: &RawJson) -> Option<CallOutcome> {
    Some(match raw.to().ok()? {
        StoredOutcome::Result(result) => Ok(result),
        StoredOutcome::Error { code, message, data } => {
            Err(data.into_iter().fold(Error::new(code, message), Error::with_data))
        }
    })
}

/// The treatment of a key when its call has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The outcome is kept, and shared with whoever makes the call again.
    Keep,
    /// The call had no effect, or may have it twice: it may be carried out again.
    Release,
    /// Nobody knows whether the call had its effect.
    Unknown,
}

impl Verdict {
    /// Judges the outcome of a call; `is_repeatable` is true of a tool that may be called twice by its own word.
    pub(super) fn on(outcome: &Result<Response, Error>, is_repeatable: bool) -> Self {
        match outcome {
            Ok(response) => match response.result.ending() {
                CallEnding::Asking => Self::Release,
                CallEnding::Failed if will_pass(response) => Self::Release,
                CallEnding::Failed | CallEnding::Done => Self::Keep,
            },
            Err(error) => Self::on_error(error, is_repeatable),
        }
    }

    fn on_error(error: &Error, is_repeatable: bool) -> Self {
        if is_repeatable || error.origin() == Origin::InputRequired || error.is_not_executed() {
            return Self::Release;
        }
        let is_cut_off = (code::SERVER_NOT_READY..=code::SERVER_RESTARTING).contains(&error.code())
            && error.recovery().is_some_and(|recovery| recovery.retryable == Some(false));
        if !may_be_executed(error) && !is_cut_off {
            return Self::Release;
        }
        let nobody_knows = !matches!(error.origin(), Origin::Local | Origin::Peer);
        if nobody_knows || is_cut_off {
            return Self::Unknown;
        }
        let passes = match error.recovery() {
            Some(recovery) => recovery.may_retry(),
            // A call that broke may have broken after its effect.
            None => error.code() != code::INTERNAL_ERROR && projection(error.code()).class.passes(),
        };
        if passes { Self::Release } else { Self::Keep }
    }
}

/// Returns whether a tool says of its failure that it will pass.
fn will_pass(response: &Response) -> bool {
    let meta = Object::from_raw(&response.result).ok().and_then(|result| result.object("_meta"));
    let error = meta.and_then(|meta| StructuredError::read(&meta.get("error")?));
    error.is_some_and(|error| error.category.passes())
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::Recovery;

    use super::*;

    fn on(error: Error) -> Verdict {
        Verdict::on(&Err(error), false)
    }

    fn result(json: &'static str) -> Verdict {
        Verdict::on(&Ok(Response::new(RawJson::parse(json).unwrap())), false)
    }

    #[test]
    fn results_are_kept_but_for_questions_and_failures_that_pass() {
        assert_eq!(result("{}"), Verdict::Keep);
        assert_eq!(result(r#"{"resultType":"task","taskId":"1"}"#), Verdict::Keep);
        assert_eq!(result(r#"{"isError":true,"content":[]}"#), Verdict::Keep);
        assert_eq!(result(r#"{"resultType":"input_required"}"#), Verdict::Release);
        let failed = |class| {
            let json = format!(
                r#"{{"isError":true,"_meta":{{"error":{{"code":"X","message":"m","category":"{class}"}}}}}}"#
            );
            Verdict::on(&Ok(Response::new(RawJson::parse(json).unwrap())), false)
        };
        assert_eq!(failed("transient"), Verdict::Release);
        assert_eq!(failed("rate_limited"), Verdict::Release);
        assert_eq!(failed("permanent"), Verdict::Keep);
    }

    #[test]
    fn an_error_is_kept_if_it_stays_and_unknown_if_nobody_answered() {
        for (code, expected) in [
            (-32602, Verdict::Keep),
            (4000, Verdict::Keep),
            (3002, Verdict::Keep),
            (1000, Verdict::Release),
            (2000, Verdict::Release),
            (3000, Verdict::Release),
            (3001, Verdict::Release),
            (4001, Verdict::Release),
            (5000, Verdict::Release),
            (-32603, Verdict::Keep),
        ] {
            assert_eq!(on(Error::from_origin(Origin::Peer, code, "no")), expected, "{code}");
        }
        for origin in [Origin::Connection, Origin::Timeout, Origin::Misbehaved, Origin::Cancelled] {
            for code in [-32603, 1000, 3003, 5002] {
                assert_eq!(on(Error::from_origin(origin, code, "no")), Verdict::Unknown, "{origin:?} {code}");
            }
        }
        assert_eq!(on(Error::timeout("late").not_executed()), Verdict::Release);
        assert_eq!(on(Error::input_required()), Verdict::Release);
        assert_eq!(Verdict::on(&Err(Error::timeout("late")), true), Verdict::Release);
        assert_eq!(on(crate::refusal::cut_off()), Verdict::Unknown);
    }

    #[test]
    fn a_servers_own_word_about_trying_again_counts() {
        let verdict = |retryable| {
            on(Error::from_origin(Origin::Peer, 5000, "no")
                .with_recovery(Recovery::default().with_retryable(retryable)))
        };
        assert_eq!([verdict(true), verdict(false)], [Verdict::Release, Verdict::Keep]);
    }

    #[test]
    fn an_outcome_is_read_as_it_is_written() {
        let data = RawJson::parse(r#"{"a":1.50}"#).unwrap();
        let error = Error::new(4000, "wrong").with_data(data);
        let raw = stored(&shared(&Err(error)), 1000).unwrap();
        let Some(Err(error)) = restored(&raw) else { panic!("no error") };
        assert_eq!((error.code(), error.message()), (4000, "wrong"));
        assert_eq!(error.data().unwrap().as_bytes(), br#"{"a":1.50}"#);
        let result = shared(&Ok(Response::new(RawJson::parse(r#"{"x": 1e2}"#).unwrap())));
        let Some(Ok(read)) = restored(&stored(&result, 1000).unwrap()) else { panic!("no result") };
        assert_eq!(read.as_bytes(), br#"{"x": 1e2}"#);
        assert!(stored(&result, 5).is_none());
        assert!(restored(&RawJson::empty_object()).is_none());
    }
}
