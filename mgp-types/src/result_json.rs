//! The result of a call: its JSON, and what that says about the end of the call, read once.

use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use memchr::memmem::Finder;

use crate::json::{Object, RawJson};
use crate::macros::text_traits;

/// The result of a call. What it says about the end of the call is read when it is first asked for, and then known to all
/// that follow.
///
/// ```
/// use mgp_types::{CallEnding, RawJson, ResultJson, ResultKind};
///
/// let result = ResultJson::from(RawJson::parse(r#"{"resultType":"task","taskId":"1"}"#)?);
/// assert_eq!((result.kind(), result.ending()), (ResultKind::Task, CallEnding::Done));
/// let result = ResultJson::from(RawJson::parse(r#"{"content":[],"isError":true}"#)?);
/// assert_eq!((result.kind(), result.ending()), (ResultKind::Complete, CallEnding::Failed));
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Clone)]
pub struct ResultJson {
    json: RawJson,
    reading: OnceLock<Reading>,
}

#[derive(Clone, Copy)]
struct Reading {
    kind: ResultKind,
    is_error: bool,
}

/// The kind of a result, as its `resultType` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultKind {
    /// The result of the method; also one that does not name its kind.
    Complete,
    /// Questions of the server.
    InputRequired,
    /// A task in place of the result.
    Task,
    /// A kind that no revision knows, or no object.
    Unknown,
}

/// The ending of a call, as its result tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    /// The call was carried out.
    Done,
    /// The tool failed.
    Failed,
    /// The server asks for input first; the caller repeats the call with the input.
    Asking,
}

impl ResultJson {
    /// Returns the kind of the result.
    pub fn kind(&self) -> ResultKind {
        self.reading().kind
    }

    /// Returns the ending of a call with this result.
    pub fn ending(&self) -> CallEnding {
        match self.reading() {
            Reading { is_error: true, .. } => CallEnding::Failed,
            Reading { kind: ResultKind::InputRequired, .. } => CallEnding::Asking,
            _ => CallEnding::Done,
        }
    }

    fn reading(&self) -> Reading {
        *self.reading.get_or_init(|| Reading::of(&self.json))
    }
}

impl Reading {
    /// Reads a result. A search for few marks is enough for most results; others are scanned.
    fn of(result: &RawJson) -> Self {
        let bytes = result.as_bytes();
        let names_kind = !bytes.starts_with(COMPLETE) && RESULT_TYPE.find(bytes).is_some();
        if !names_kind && !may_be_error(bytes) && ESCAPE.find(bytes).is_none() {
            return Self { kind: ResultKind::Complete, is_error: false };
        }
        let Ok(result) = Object::from_raw(result) else {
            let kind = if names_kind { ResultKind::Unknown } else { ResultKind::Complete };
            return Self { kind, is_error: false };
        };
        let kind = match result.text("resultType").as_deref() {
            Some("complete") => ResultKind::Complete,
            Some("input_required") => ResultKind::InputRequired,
            Some("task") => ResultKind::Task,
            None if !result.contains("resultType") => ResultKind::Complete,
            _ => ResultKind::Unknown,
        };
        Self { kind, is_error: result.bytes("isError") == Some(b"true") }
    }
}

/// Returns whether the text holds `"isError":true`, with any white space.
fn may_be_error(json: &[u8]) -> bool {
    let behind = |at: usize| json.get(at + IS_ERROR.needle().len()..).unwrap_or_default();
    IS_ERROR.find_iter(json).any(|at| {
        let value = behind(at).trim_ascii_start().strip_prefix(b":");
        value.is_some_and(|value| value.trim_ascii_start().starts_with(b"true"))
    })
}

/// The beginning of most results where there are no sessions.
const COMPLETE: &[u8] = br#"{"resultType":"complete""#;

static RESULT_TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""resultType""#));

static IS_ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""isError""#));

/// The beginning of an escape that may hide a name.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u"));

crate::convert!(RawJson => ResultJson, json => Self { json, reading: OnceLock::new() });

crate::convert!(ResultJson => RawJson, result => result.json);

impl Deref for ResultJson {
    type Target = RawJson;

    fn deref(&self) -> &RawJson {
        &self.json
    }
}

impl PartialEq<RawJson> for ResultJson {
    fn eq(&self, other: &RawJson) -> bool {
        self.json == *other
    }
}

crate::write_as!(Display of ResultJson, self => "{}", self.json);

text_traits!(ResultJson: DebugAsDisplay);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_where_the_result_itself_has_it() {
        for (json, kind, ending) in [
            ("{}", ResultKind::Complete, CallEnding::Done),
            (r#"{"isError" : true}"#, ResultKind::Complete, CallEnding::Failed),
            (r#"{"isError":false}"#, ResultKind::Complete, CallEnding::Done),
            (r#"{"is\u0045rror":true}"#, ResultKind::Complete, CallEnding::Failed),
            (r#"{"structuredContent":{"isError":true}}"#, ResultKind::Complete, CallEnding::Done),
            (r#"{"resultType":"input_required"}"#, ResultKind::InputRequired, CallEnding::Asking),
            (r#"{"result\u0054ype":"input_required"}"#, ResultKind::InputRequired, CallEnding::Asking),
            (r#"{"resultType":"input\u005frequired"}"#, ResultKind::InputRequired, CallEnding::Asking),
            (
                r#"{"resultType":"input_required","isError":true}"#,
                ResultKind::InputRequired,
                CallEnding::Failed,
            ),
            (r#"{"content":[{"resultType":"task"}]}"#, ResultKind::Complete, CallEnding::Done),
            (
                r#"{"content":[{"type":"text","text":"input_required"}]}"#,
                ResultKind::Complete,
                CallEnding::Done,
            ),
            (r#"{"resultType":"complete","isError":true}"#, ResultKind::Complete, CallEnding::Failed),
            (r#"{"resultType":"task","taskId":"1"}"#, ResultKind::Task, CallEnding::Done),
            (r#"{"resultType":"other"}"#, ResultKind::Unknown, CallEnding::Done),
            (r#"{"resultType":null}"#, ResultKind::Unknown, CallEnding::Done),
            (r#"["isError",true]"#, ResultKind::Complete, CallEnding::Done),
            (r#"["resultType"]"#, ResultKind::Unknown, CallEnding::Done),
        ] {
            let result = ResultJson::from(RawJson::parse(json).unwrap());
            assert_eq!((result.kind(), result.ending()), (kind, ending), "{json}");
            let copy = result.clone();
            assert_eq!((copy.kind(), copy.ending()), (kind, ending), "{json}");
        }
    }

    #[test]
    fn another_result_is_read_anew() {
        let mut result = ResultJson::from(RawJson::parse(r#"{"isError":true}"#).unwrap());
        assert_eq!(result.ending(), CallEnding::Failed);
        result = RawJson::empty_object().into();
        assert_eq!(result.ending(), CallEnding::Done);
    }
}
