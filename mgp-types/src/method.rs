//! The names of methods and notifications.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::Revision;
use crate::macros::text_traits;
use crate::mcp::{method, notification_name as name};
use crate::mgp::method as mgp;

/// The name of a method or notification, whether this crate knows the method or not.
///
/// Names of the specification are interned, so the usual ones cost nothing to make or clone.
#[derive(Clone)]
pub struct Method(MethodName);

/// The sides whose call a message can be about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum CallSide {
    /// The call belongs to the sender of the message, who wants it stopped or slowed down.
    Sender,
    /// The call belongs to the receiver of the message, who gets a part of the result or a report of progress.
    Receiver,
}

/// The prefix of all notifications about the stream of a call.
const STREAM: &str = "notifications/mgp.stream.";

#[derive(Clone)]
enum MethodName {
    Known(&'static str),
    Other(Arc<str>),
}

// `mcp::method` has the constants of MCP.
impl Method {
    /// Carries a part of a result (MGP §12.4).
    pub const STREAM_CHUNK: Self = Self::from_static(mgp::STREAM_CHUNK);
    /// Tells how far a call is (MGP §12.6).
    pub const STREAM_PROGRESS: Self = Self::from_static(mgp::STREAM_PROGRESS);
    /// Stops a call (MGP §12.7).
    pub const STREAM_CANCEL: Self = Self::from_static(mgp::STREAM_CANCEL);
    /// Carries an event of a subscription (MGP §13.3).
    pub const EVENT: Self = Self::from_static(mgp::EVENT);

    /// A name that no method has.
    pub(crate) const NONE: Self = Self(MethodName::Known(""));

    /// Returns the method with this name.
    pub fn new(text: &str) -> Self {
        let mut names = [method::NAMES, name::NAMES, mgp::NAMES].into_iter().flatten();
        match names.find(|known| **known == text) {
            Some(known) => Self::from_static(known),
            None => Self(MethodName::Other(text.into())),
        }
    }

    /// Returns a method whose name the program contains.
    pub const fn from_static(name: &'static str) -> Self {
        Self(MethodName::Known(name))
    }

    /// Returns the name on the wire.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            MethodName::Known(name) => name,
            MethodName::Other(name) => name,
        }
    }

    /// Returns the name if the specification has it or the program contains it.
    pub const fn known(&self) -> Option<&'static str> {
        if let MethodName::Known(name) = self.0 { Some(name) } else { None }
    }

    /// Returns whether `revision` has the method. Methods that no revision knows belong to other protocols and exist in
    /// all.
    pub fn exists_in(&self, revision: Revision) -> bool {
        let text = self.as_str();
        let defined = |revision| method::is_defined(text, revision) || name::is_defined(text, revision);
        defined(revision) || !Revision::ALL.into_iter().any(defined)
    }

    /// Returns whether MGP defines the name: its methods start with `mgp/`, its notifications with
    /// `notifications/mgp.`, and no method of MCP starts with either.
    pub fn is_mgp(&self) -> bool {
        self.as_str().starts_with("mgp/") || self.as_str().starts_with("notifications/mgp.")
    }

    /// Returns the side whose call the messages of this method are about. Such messages name the call by its JSON-RPC
    /// id in `request_id`. `None` stands for methods about no call.
    ///
    /// Later drafts have further messages on the stream of a call; they go the way of the known ones.
    pub fn about_call(&self) -> Option<CallSide> {
        match self.as_str() {
            mgp::STREAM_CANCEL | mgp::STREAM_PACE | mgp::STREAM_GAP => Some(CallSide::Sender),
            mgp::CALLBACK_REQUEST => Some(CallSide::Receiver),
            name => name.starts_with(STREAM).then_some(CallSide::Receiver),
        }
    }

    /// Returns whether the messages of this method are [about a call](Self::about_call).
    pub fn is_about_a_call(&self) -> bool {
        self.about_call().is_some()
    }

    /// Returns whether the name is that of a notification.
    pub fn is_notification(&self) -> bool {
        self.as_str().starts_with("notifications/")
    }
}

impl PartialEq for Method {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Method {}

impl PartialEq<str> for Method {
    fn eq(&self, other: &str) -> bool {
        self.as_str() == other
    }
}

impl Hash for Method {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl std::borrow::Borrow<str> for Method {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

text_traits!(Method: Display, Debug);

crate::convert!(&str => Method, name => Self::new(name));

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-1.5-04
    #[test]
    fn a_method_exists_in_its_revisions_and_a_vendors_in_all() {
        assert!(
            Method::PING.exists_in(Revision::V2025_11_25) && !Method::PING.exists_in(Revision::V2026_07_28)
        );
        assert!(
            Method::LISTEN.exists_in(Revision::V2026_07_28)
                && !Method::LISTEN.exists_in(Revision::V2025_11_25)
        );
        assert!(Revision::ALL.into_iter().all(|revision| Method::new("vendor/thing").exists_in(revision)));
    }

    #[test]
    fn every_message_about_a_call_has_a_side() {
        for (name, side) in [
            (mgp::STREAM_CHUNK, CallSide::Receiver),
            (mgp::STREAM_PROGRESS, CallSide::Receiver),
            (mgp::STREAM_GAP_UNRECOVERABLE, CallSide::Receiver),
            (mgp::CALLBACK_REQUEST, CallSide::Receiver),
            ("notifications/mgp.stream.later", CallSide::Receiver),
            (mgp::STREAM_CANCEL, CallSide::Sender),
            (mgp::STREAM_PACE, CallSide::Sender),
            (mgp::STREAM_GAP, CallSide::Sender),
        ] {
            assert_eq!(Method::new(name).about_call(), Some(side), "{name}");
        }
        assert_eq!(Method::PROGRESS.about_call(), None);
    }
}
