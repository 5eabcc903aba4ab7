//! The answer to a call: its result, and facts about the result beyond its bytes.

use bytes::Bytes;
use serde::Serialize;

use crate::json::{Object, RawJson};
use crate::mcp::CacheScope;
use crate::mgp::written;
use crate::{Error, Extensions, ResultJson};

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
}
