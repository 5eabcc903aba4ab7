//! The ending of a call, as its result tells it: done, failed, or waiting for input.

use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::json::{Object, RawJson};

/// The ending of a call, as its result tells it.
///
/// ```
/// use mgp_types::{CallEnding, RawJson};
///
/// assert_eq!(CallEnding::of(&RawJson::parse(r#"{"content":[]}"#)?), CallEnding::Done);
/// assert_eq!(CallEnding::of(&RawJson::parse(r#"{"content":[],"isError":true}"#)?), CallEnding::Failed);
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallEnding {
    /// The call was carried out.
    Done,
    /// The tool failed.
    Failed,
    /// The server asks for input first; the caller repeats the call with the input.
    Asking,
}

impl CallEnding {
    /// Reads the ending from a result. A search for two marks tells the ending of most results; the few others are
    /// scanned.
    pub fn of(result: &RawJson) -> Self {
        if !is_marked(result.as_bytes()) {
            return Self::Done;
        }
        let Ok(result) = Object::from_raw(result) else { return Self::Done };
        if result.bytes("isError") == Some(b"true") {
            Self::Failed
        } else if result.bytes("resultType") == Some(br#""input_required""#) {
            Self::Asking
        } else {
            Self::Done
        }
    }
}

static IS_ERROR: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""isError""#));

static ASKING: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""input_required""#));

static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u"));

/// Returns whether `json` may tell another ending than [`CallEnding::Done`]: the text holds `"isError":true` with any
/// white space or `"input_required"`, or an escape that may hide one of them.
fn is_marked(json: &[u8]) -> bool {
    let behind = |at: usize| json.get(at + IS_ERROR.needle().len()..).unwrap_or_default();
    let is_true = |rest: &[u8]| {
        rest.trim_ascii_start()
            .strip_prefix(b":")
            .is_some_and(|rest| rest.trim_ascii_start().starts_with(b"true"))
    };
    IS_ERROR.find_iter(json).any(|at| is_true(behind(at)))
        || ASKING.find(json).is_some()
        || ESCAPE.find(json).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_counts_where_the_result_itself_has_it() {
        for (json, ending) in [
            (r#"{"isError" : true}"#, CallEnding::Failed),
            (r#"{"isError":false}"#, CallEnding::Done),
            (r#"{"is\u0045rror":true}"#, CallEnding::Failed),
            (r#"{"structuredContent":{"isError":true}}"#, CallEnding::Done),
            (r#"{"resultType":"input_required"}"#, CallEnding::Asking),
            (r#"{"content":[{"type":"text","text":"input_required"}]}"#, CallEnding::Done),
            (r#"["isError",true]"#, CallEnding::Done),
        ] {
            assert_eq!(CallEnding::of(&RawJson::parse(json).unwrap()), ending, "{json}");
        }
    }
}
