use std::fmt;

use bytes::Bytes;
use serde::de::{Deserialize, DeserializeOwned, Deserializer};
use serde::ser::{Error as _, Serialize, Serializer};
use serde_json::value::RawValue;

use super::{JsonError, Limits, scan, write_string};

/// One JSON value, known to be valid, held as the bytes it arrived in.
///
/// A `RawJson` is a reference-counted slice: cloning it or cutting it out of a frame copies nothing.
/// It keeps the whole frame alive, so what outlives a request is [`detached`](Self::detached) first.
///
/// ```
/// use mgp_types::RawJson;
///
/// let value = RawJson::parse(r#" {"a": 1} "#)?;
/// assert_eq!(value.as_bytes(), br#"{"a": 1}"#);
/// assert!(RawJson::parse("{'a': 1}").is_err());
/// # Ok::<(), mgp_types::JsonError>(())
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Bytes);

impl RawJson {
    /// Checks `bytes` with the default [`Limits`] and keeps the value without the white space around it.
    ///
    /// # Errors
    /// The bytes are not exactly one JSON value, nest too deeply, or repeat a member name.
    pub fn parse(bytes: impl Into<Bytes>) -> Result<Self, JsonError> {
        let bytes = bytes.into();
        let span = scan::value(&bytes, Limits::default())?;
        Ok(Self(bytes.slice(span)))
    }

    /// Writes `value` as JSON.
    ///
    /// # Errors
    /// The value's own `Serialize` refuses, or a map key is not a string.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, serde_json::Error> {
        serde_json::to_vec(value).map(Self::from_valid)
    }

    /// A JSON string.
    pub fn from_text(text: &str) -> Self {
        let mut out = Vec::with_capacity(text.len() + "\"\"".len());
        write_string(&mut out, text);
        Self::from_valid(out)
    }

    /// Takes bytes that the caller wrote as one JSON value, member by member.
    ///
    /// For results written on the hot path; anything that came from elsewhere is [parsed](Self::parse).
    /// Debug builds check the bytes.
    pub fn from_written(bytes: Vec<u8>) -> Self {
        debug_assert!(scan::value(&bytes, Limits::default()).is_ok(), "what was written is not JSON");
        Self(bytes.into())
    }

    /// Takes bytes that the caller has scanned or written as JSON.
    pub(crate) fn from_valid(bytes: impl Into<Bytes>) -> Self {
        Self(bytes.into())
    }

    /// `null`.
    pub const fn null() -> Self {
        Self(Bytes::from_static(b"null"))
    }

    /// `{}`.
    pub const fn empty_object() -> Self {
        Self(Bytes::from_static(b"{}"))
    }

    /// The value as a typed one.
    ///
    /// # Errors
    /// The JSON does not have the shape of `T`.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The value as a typed one that may borrow from this one.
    ///
    /// # Errors
    /// The JSON does not have the shape of `T`.
    pub fn read<'a, T: Deserialize<'a>>(&'a self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.0)
    }

    /// The text of a JSON string, or `None` for any other value.
    pub fn to_text(&self) -> Option<String> {
        if self.0.first() == Some(&b'"') { self.to().ok() } else { None }
    }

    /// The bytes of the value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The bytes of the value, to share.
    pub fn to_bytes(&self) -> Bytes {
        self.0.clone()
    }

    /// A copy that no longer keeps the frame it came in alive.
    pub fn detached(&self) -> Self {
        Self(Bytes::copy_from_slice(&self.0))
    }

    /// Whether the value is an object.
    pub fn is_object(&self) -> bool {
        self.0.first() == Some(&b'{')
    }

    /// Whether the value is `null`.
    pub fn is_null(&self) -> bool {
        &self.0[..] == b"null"
    }
}

impl fmt::Debug for RawJson {
    /// Shows the kind and size only: values may hold secrets and reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.first() {
            Some(b'{') => "object",
            Some(b'[') => "array",
            Some(b'"') => "string",
            Some(b't' | b'f') => "boolean",
            Some(b'n') => "null",
            _ => "number",
        };
        write!(f, "RawJson({kind}, {} bytes)", self.0.len())
    }
}

impl From<Box<RawValue>> for RawJson {
    fn from(value: Box<RawValue>) -> Self {
        Self(Bytes::from(Box::<str>::from(value).into_boxed_bytes()))
    }
}

impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Only `RawValue` may write bytes as they are; building one costs a scan, no copy.
        let value: &RawValue = serde_json::from_slice(&self.0).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self::from)
    }
}
