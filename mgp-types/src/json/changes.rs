//! The changes of an object since it was scanned.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use smallvec::SmallVec;

use super::{Object, RawJson};

/// The changes of an object. They are rare, so the object holds one pointer to them.
pub(super) type Changes = SmallVec<[Change; 2]>;

/// The new value of one member of an object.
#[derive(Clone)]
pub(super) struct Change {
    pub(super) name: Cow<'static, str>,
    pub(super) value: NewValue,
}

/// The value that a member has now.
#[derive(Clone)]
pub(super) enum NewValue {
    /// The member is gone.
    Removed,
    /// The member has this value.
    Json(RawJson),
    /// The member is an object whose own members may have been changed. Clones share it until one of them is changed.
    Object(Arc<OpenObject>),
}

/// A member that is an object and was opened for changes.
#[derive(Clone)]
pub(super) struct OpenObject {
    pub(super) members: Object,
    /// The text of the members, once somebody has asked for it.
    written: OnceLock<RawJson>,
}

impl NewValue {
    /// Opens an object for changes.
    pub(super) fn open(members: Object) -> Self {
        Self::Object(Arc::new(OpenObject { members, written: OnceLock::new() }))
    }

    /// Returns the members of an object that is open, for changes.
    pub(super) fn members_mut(&mut self) -> Option<&mut Object> {
        let Self::Object(open) = self else { return None };
        let open = Arc::make_mut(open);
        open.written = OnceLock::new();
        Some(&mut open.members)
    }

    /// Returns the value as text; `None` if the member is gone.
    pub(super) fn json(&self) -> Option<&RawJson> {
        match self {
            Self::Removed => None,
            Self::Json(value) => Some(value),
            Self::Object(open) => Some(open.written.get_or_init(|| open.members.to_raw())),
        }
    }

    /// Appends the value to `out`.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Removed => {}
            Self::Json(value) => out.extend_from_slice(value.as_bytes()),
            Self::Object(open) => open.members.write(out),
        }
    }

    /// Returns about how many bytes [`write`](Self::write) appends.
    pub(super) fn written_bytes(&self) -> usize {
        match self {
            Self::Removed => 0,
            Self::Json(value) => value.as_bytes().len(),
            Self::Object(open) => open.members.written_bytes(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Object, RawJson};

    #[test]
    fn a_member_is_changed_in_place_and_written_with_the_object() {
        let mut object = Object::parse(r#"{"a":{"b":1},"c":2}"#).unwrap();
        object.object_mut("a").unwrap().set("d", RawJson::null());
        assert_eq!(object.bytes("a"), Some(&br#"{"b":1,"d":null}"#[..]));
        let before = object.clone();
        object.object_mut("a").unwrap().remove("b");
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":{"d":null},"c":2}"#);
        assert_eq!(before.to_raw().as_bytes(), br#"{"a":{"b":1,"d":null},"c":2}"#);
        assert_eq!(object.get("a").unwrap().as_bytes(), br#"{"d":null}"#);
        assert_eq!(object.object("a").unwrap().to_raw().as_bytes(), br#"{"d":null}"#);
        assert_eq!(object.remove("a").unwrap().as_bytes(), br#"{"d":null}"#);
        assert!(object.object_mut("a").is_none());
    }

    #[test]
    fn a_member_that_is_opened_and_not_changed_leaves_the_object_as_it_came() {
        let text = r#"{ "a" : { "b" : 1 }, "c":2}"#;
        let mut object = Object::parse(text).unwrap();
        assert!(object.object_mut("a").unwrap().contains("b"));
        assert_eq!(object.to_raw().as_bytes(), text.as_bytes());
        let mut other = object.clone();
        other.set("c", RawJson::null());
        assert_eq!(other.to_raw().as_bytes(), br#"{"a":{ "b" : 1 },"c":null}"#);
        // The same words from elsewhere are a change.
        object.set("a", RawJson::parse(r#"{"b":1}"#).unwrap());
        assert!(object.object_mut("a").is_some());
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":{"b":1},"c":2}"#);
    }

    #[test]
    fn a_member_that_is_no_object_becomes_one_only_where_that_is_asked_for() {
        let mut object = Object::parse(r#"{"a":[]}"#).unwrap();
        assert!(object.object_mut("a").is_none() && object.object_mut("b").is_none());
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":[]}"#);
        for name in ["a", "b"] {
            object.object_mut_or_new(name).set("x", RawJson::null());
        }
        assert_eq!(object.to_raw().as_bytes(), br#"{"a":{"x":null},"b":{"x":null}}"#);
    }
}
