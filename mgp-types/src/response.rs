//! The answer to a call: its result, what that says about the end of the call, and facts beyond its bytes.

use std::ops::Deref;
use std::sync::{LazyLock, OnceLock};

use bytes::Bytes;
use memchr::memmem::Finder;
use serde::Serialize;

use crate::json::{Object, RawJson};
use crate::macros::text_traits;
use crate::mcp::CacheScope;
use crate::mgp::written;
use crate::{Error, Extensions};

const META: &str = "_meta";

/// The answer to a call.
#[derive(Clone)]
#[non_exhaustive]
pub struct Response {
    /// The result, an object.
    pub result: ResultJson,
    /// The facts about the result beyond its bytes.
    pub context: ResponseContext,
    /// The values that layers of third parties attach.
    pub extensions: Extensions,
}

/// The facts about a result beyond its bytes.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct ResponseContext {
    /// The knowledge about members of the result that belong to the era.
    pub shape: ResultShape,
    /// The time for which the result may be kept, for a result without a time of its own.
    pub cache: Option<CacheHint>,
    /// The members to write in front of the result's own, as `"name":value,"name":value`.
    ///
    /// They are kept apart so that adding them to a large result copies nothing.
    pub stamp: Option<Bytes>,
}

/// The knowledge about members of a result that belong to the era, like `resultType` or `_meta`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "a result either may hold them or not")]
pub enum ResultShape {
    /// The result may hold such members, so a layer that adds one looks first. Every result from a peer is opaque.
    #[default]
    Opaque,
    /// The result is an object that holds none of `resultType`, `ttlMs`, `cacheScope` and `_meta`.
    Plain,
}

/// The time for which a result may be kept, and the audience that may share it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "closed by the specification")]
pub struct CacheHint {
    /// The time in milliseconds.
    pub ttl_ms: u64,
    /// The audience.
    pub scope: CacheScope,
}

impl Response {
    /// Creates a response whose result may hold anything.
    pub fn new(result: RawJson) -> Self {
        Self { result: result.into(), context: ResponseContext::default(), extensions: Extensions::default() }
    }

    /// Creates a response whose result holds no members of the era; see [`ResultShape::Plain`].
    pub fn plain(result: RawJson) -> Self {
        let context = ResponseContext { shape: ResultShape::Plain, ..ResponseContext::default() };
        Self { context, ..Self::new(result) }
    }

    /// Creates the empty result `{}`, which also answers notifications.
    pub fn empty() -> Self {
        Self::plain(RawJson::empty_object())
    }

    /// Creates a response with a typed result.
    ///
    /// # Errors
    /// -32603: `body` cannot be written as JSON.
    pub fn with_body<T: Serialize + ?Sized>(body: &T) -> Result<Self, Error> {
        written(body).map(Self::new)
    }

    /// Returns the result as a `T`.
    ///
    /// # Errors
    /// The peer's result does not have the shape of `T`.
    pub fn body<T: serde::de::DeserializeOwned>(&self) -> Result<T, Error> {
        let body = match &self.context.stamp {
            None => self.result.to(),
            Some(_) => self.to_raw().to(),
        };
        body.map_err(|error| {
            Error::misbehaved("the result does not have the shape of its method").with_source(error)
        })
    }

    /// Returns the result with the stamp in it.
    pub fn to_raw(&self) -> RawJson {
        if self.context.stamp.is_none() {
            return RawJson::clone(&self.result);
        }
        let mut out = Vec::with_capacity(self.written_bytes());
        self.write(&mut out);
        RawJson::from_valid(out)
    }

    /// Writes the stamp into the result, for a layer that changes members of it.
    pub fn absorb_stamp(&mut self) {
        if self.context.stamp.is_some() {
            self.result = self.to_raw().into();
            self.context.stamp = None;
            self.context.shape = ResultShape::Opaque;
        }
    }

    /// Changes the `_meta` of the result; an empty one is left out. A result that is no object stays as it is.
    pub fn change_meta(&mut self, change: impl FnOnce(&mut Object)) {
        self.absorb_stamp();
        let Ok(mut result) = Object::from_raw(&self.result) else { return };
        let mut meta = result.object(META).unwrap_or_default();
        change(&mut meta);
        if meta.is_empty() {
            result.remove(META);
        } else {
            result.set(META, meta.to_raw());
        }
        self.result = result.to_raw().into();
        self.context.shape = ResultShape::Opaque;
    }

    /// Returns how many bytes [`write`](Self::write) appends at most.
    pub fn written_bytes(&self) -> usize {
        self.result.as_bytes().len() + self.context.stamp.as_ref().map_or(0, |stamp| stamp.len() + 1)
    }

    /// Appends the result with the stamp in it to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let result = self.result.as_bytes();
        let Some(stamp) = &self.context.stamp else {
            out.extend_from_slice(result);
            return;
        };
        out.push(b'{');
        out.extend_from_slice(stamp);
        let members = result.strip_prefix(b"{").unwrap_or(b"}");
        if members.trim_ascii_start() != b"}" {
            out.push(b',');
        }
        out.extend_from_slice(members);
    }
}

// The result may hold secrets, and the text may reach logs. `response.result` prints as JSON.
crate::partial_debug!(Response, self =>
    result: format_args!("{} bytes", self.result.as_bytes().len()),
    context: self.context,
    extensions: self.extensions,
);

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
    fn the_stamp_is_written_in_front() {
        let mut response = Response::plain(RawJson::parse(r#"{"a":1}"#).unwrap());
        response.context.stamp = Some(Bytes::from_static(br#""resultType":"complete""#));
        assert_eq!(response.to_raw().as_bytes(), br#"{"resultType":"complete","a":1}"#);
        response.result = RawJson::parse("{ }").unwrap().into();
        assert_eq!(response.to_raw().as_bytes(), br#"{"resultType":"complete" }"#);
    }

    #[test]
    fn members_are_added_to_the_metadata_of_a_result_and_an_empty_one_is_left_out() {
        let mut response = Response::plain(RawJson::parse(r#"{"a":1}"#).unwrap());
        response.change_meta(|meta| meta.set("n", RawJson::null()));
        assert_eq!(response.result.as_bytes(), br#"{"a":1,"_meta":{"n":null}}"#);
        assert_eq!(response.context.shape, ResultShape::Opaque);
        response.change_meta(|meta| drop(meta.remove("n")));
        assert_eq!(response.result.as_bytes(), br#"{"a":1}"#);
    }

    #[test]
    fn a_response_in_a_log_does_not_show_its_result() {
        let response = Response::new(RawJson::parse(r#"{"token":"hunter2"}"#).unwrap());
        let shown = format!("{response:?}");
        assert!(shown.contains("19 bytes") && !shown.contains("hunter2"), "{shown}");
    }

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
