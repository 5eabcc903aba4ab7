//! Fitting a body to the revision that a peer speaks.

use crate::{Id, RawJson, Revision};

/// A body that can be made legal for an older or newer revision.
///
/// Fitting removes members that the revision does not define, fills in required members that have a default, and
/// replaces content types that the revision lacks by a text block that says so. Members that no revision defines stay.
pub trait ForRevision {
    /// Fits the value to `revision` in place.
    fn fit(&mut self, revision: Revision);

    /// Returns the value fitted to `revision`.
    #[must_use]
    fn for_revision(mut self, revision: Revision) -> Self
    where
        Self: Sized,
    {
        self.fit(revision);
        self
    }
}

/// Implements [`ForRevision`] for types that are the same in every revision.
macro_rules! same_in_every_revision {
    ($($name:ty),* $(,)?) => {
        $(impl $crate::mcp::ForRevision for $name {
            fn fit(&mut self, _: $crate::Revision) {}
        })*
    };
}
pub(super) use same_in_every_revision;

same_in_every_revision!(String, Box<str>, bool, i64, Id, RawJson);

impl<T: ForRevision> ForRevision for Option<T> {
    fn fit(&mut self, revision: Revision) {
        if let Some(value) = self {
            value.fit(revision);
        }
    }
}

impl<T: ForRevision> ForRevision for Vec<T> {
    fn fit(&mut self, revision: Revision) {
        for value in self {
            value.fit(revision);
        }
    }
}

impl<T: ForRevision> ForRevision for Box<T> {
    fn fit(&mut self, revision: Revision) {
        (**self).fit(revision);
    }
}
