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
    members: Object,
    /// The text of the members, once somebody has asked for it.
    written: OnceLock<RawJson>,
}

impl NewValue {
    /// Opens an object for changes.
    pub(super) fn open(members: Object) -> Self {
        Self::Object(Arc::new(OpenObject { members, written: OnceLock::new() }))
    }

    pub(super) const fn is_open(&self) -> bool {
        matches!(self, Self::Object(_))
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

impl OpenObject {
    pub(super) const fn members(&self) -> &Object {
        &self.members
    }
}
