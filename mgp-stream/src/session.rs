//! The common part of questions and subscriptions: their owners, the extensions of a session, and refusals.

use std::sync::{Arc, Weak};

use mgp_types::mgp::Extension;
use mgp_types::{Context, Error, Principal, Session};

/// The owner of a question or subscription: the principal, and in revisions that have sessions this very session.
///
/// Requests of the stateless revisions share no session. There the principal decides, and names cannot be guessed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SessionOwner {
    principal: Option<Principal>,
    session: Option<SessionKey>,
}

/// The identity of a session, which does not keep the session alive.
#[derive(Debug, Clone)]
pub(crate) struct SessionKey(Weak<Session>);

impl SessionOwner {
    pub(crate) fn of(context: &Context) -> Self {
        let session = context.session.as_ref().filter(|session| session.lasts());
        Self { principal: context.principal.clone(), session: session.map(SessionKey::of) }
    }
}

impl SessionKey {
    pub(crate) fn of(session: &Arc<Session>) -> Self {
        Self(Arc::downgrade(session))
    }

    /// Returns the session, if it still exists.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.0.upgrade()
    }
}

/// The address of a session is not reused while a key of it exists.
impl PartialEq for SessionKey {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}

/// Returns whether both sides of the session have the extension; without a session they do not.
pub(crate) fn negotiated(session: Option<&Session>, extension: &Extension) -> bool {
    session.is_some_and(|session| session.has(extension))
}

/// Returns the error `code` with the recovery advice that MGP gives for it.
pub(crate) fn refused(code: i64, message: &'static str) -> Error {
    Error::new(code, message).with_usual_recovery()
}
