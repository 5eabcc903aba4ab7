use std::sync::{Arc, Weak};

use mgp_types::{Context, Principal, Session};

/// Who something belongs to: the principal, and in revisions that have sessions this very session.
///
/// Requests of the stateless revisions share no session. There the principal decides, and that nobody can guess a name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Owner {
    principal: Option<Principal>,
    session: Option<SessionKey>,
}

/// Which session it is, without keeping it.
#[derive(Debug, Clone)]
pub(crate) struct SessionKey(Weak<Session>);

impl Owner {
    pub(crate) fn of(context: &Context) -> Self {
        let session = context.session.as_ref().filter(|session| !session.revision.is_stateless());
        Self { principal: context.principal.clone(), session: session.map(SessionKey::of) }
    }
}

impl SessionKey {
    pub(crate) fn of(session: &Arc<Session>) -> Self {
        Self(Arc::downgrade(session))
    }

    /// The session, if it still is.
    pub(crate) fn session(&self) -> Option<Arc<Session>> {
        self.0.upgrade()
    }

    /// Whether the session still is.
    pub(crate) fn is_open(&self) -> bool {
        self.0.strong_count() > 0
    }
}

/// The place of a session is not given to another one while somebody knows its key.
impl PartialEq for SessionKey {
    fn eq(&self, other: &Self) -> bool {
        Weak::ptr_eq(&self.0, &other.0)
    }
}
