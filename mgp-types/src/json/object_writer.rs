//! The making of JSON objects: of members that are there, and by a writer, member by member.

use std::borrow::Cow;
use std::fmt::Display;
use std::io::Write as _;

use serde::Serialize;
use smallvec::SmallVec;

use super::object::{Object, ObjectMember};
use super::scan::MemberKey;
use super::{RawJson, write_string};

impl<N: Into<Cow<'static, str>>> FromIterator<(N, RawJson)> for Object {
    fn from_iter<I: IntoIterator<Item = (N, RawJson)>>(members: I) -> Self {
        let mut object = Self::new();
        members.into_iter().for_each(|(name, value)| object.set(name, value));
        object
    }
}

impl<N: Into<Cow<'static, str>>, const COUNT: usize> From<[(N, RawJson); COUNT]> for Object {
    fn from(members: [(N, RawJson); COUNT]) -> Self {
        members.into_iter().collect()
    }
}

/// Writes an object member by member into one buffer, and notes where the members lie, so that the object is not scanned
/// to be read.
///
/// The names have to differ from one another.
///
/// ```
/// use mgp_types::json::ObjectWriter;
///
/// let mut writer = ObjectWriter::new();
/// writer.text("rule", "traversal");
/// writer.value("duration_ms", &7);
/// let object = writer.finish();
/// assert_eq!(object.bytes("duration_ms"), Some(&b"7"[..]));
/// assert_eq!(object.to_raw().as_bytes(), br#"{"rule":"traversal","duration_ms":7}"#);
/// ```
#[derive(Debug)]
pub struct ObjectWriter {
    out: Vec<u8>,
    members: SmallVec<[ObjectMember; 4]>,
}

impl Default for ObjectWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ObjectWriter {
    /// Creates the writer of an object without members.
    pub fn new() -> Self {
        let mut out = Vec::with_capacity(USUAL_BYTES);
        out.push(b'{');
        Self { out, members: SmallVec::new() }
    }

    /// Writes a string.
    pub fn text(&mut self, name: &str, text: &str) {
        self.member(name, |out| write_string(out, text));
    }

    /// Writes a string that is made of characters without escapes.
    pub fn plain(&mut self, name: &str, text: impl Display) {
        self.member(name, |out| {
            let _ = write!(out, "\"{text}\"");
        });
    }

    /// Writes a value of any type; one that is no JSON is written as `null`.
    pub fn value<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) {
        self.member(name, |out| {
            let begin = out.len();
            if serde_json::to_writer(&mut *out, value).is_err() {
                out.truncate(begin);
                out.extend_from_slice(b"null");
            }
        });
    }

    /// Writes a value that is JSON already.
    pub fn json(&mut self, name: &str, value: &RawJson) {
        self.member(name, |out| out.extend_from_slice(value.as_bytes()));
    }

    /// Writes a value of any type, if there is one.
    pub(crate) fn optional<T: Serialize>(&mut self, name: &str, value: Option<&T>) {
        if let Some(value) = value {
            self.value(name, value);
        }
    }

    /// Writes the members of `object` that are not among `known`, in order.
    pub(crate) fn others(&mut self, object: &Object, known: &[&str]) {
        for (name, value) in object.iter().filter(|(name, _)| !known.contains(&&**name)) {
            self.json(&name, &value);
        }
    }

    /// Returns the object.
    pub fn finish(mut self) -> Object {
        self.out.push(b'}');
        let whole = 0..offset(&self.out);
        let object = Object::from_scan(self.out.into(), whole, self.members);
        debug_assert!(Object::parse(object.to_raw().to_bytes()).is_ok(), "a name was written twice");
        object
    }

    fn member(&mut self, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
        if self.out.len() > 1 {
            self.out.push(b',');
        }
        let begin = offset(&self.out) + 1;
        write_string(&mut self.out, name);
        let end = offset(&self.out) - 1;
        self.out.push(b':');
        let value = offset(&self.out);
        write(&mut self.out);
        let escaped = (end - begin) as usize != name.len();
        let key = MemberKey { span: begin..end, escaped };
        self.members.push(ObjectMember { key, value: value..offset(&self.out) });
    }
}

/// Returns the number of bytes written so far. What is written here is far smaller than 4 GiB.
fn offset(out: &[u8]) -> u32 {
    u32::try_from(out.len()).unwrap_or(u32::MAX)
}

/// The number of bytes that most objects need.
const USUAL_BYTES: usize = 192;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_like_what_was_scanned() {
        let mut writer = ObjectWriter::new();
        writer.text("a\n", "x\"y");
        writer.value("list", &["p", "q"]);
        writer.value("signed", &-32_000);
        writer.value("yes", &true);
        writer.value("none", &std::collections::HashMap::from([([1], 2)]));
        writer.json("any", &RawJson::parse("[1, 2]").unwrap());
        let written = writer.finish();
        let scanned = Object::parse(written.to_raw().to_bytes()).unwrap();
        assert_eq!(written.iter().collect::<Vec<_>>(), scanned.iter().collect::<Vec<_>>());
        assert_eq!(written.text("a\n").as_deref(), Some("x\"y"));
        assert_eq!(written.bytes("list"), Some(&br#"["p","q"]"#[..]));
        assert_eq!(written.bytes("none"), Some(&b"null"[..]));
    }

    #[test]
    fn an_object_without_members_is_empty() {
        assert_eq!(ObjectWriter::new().finish().to_raw().as_bytes(), b"{}");
    }
}
