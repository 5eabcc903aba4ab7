use std::sync::{Arc, Weak};

use mgp_types::mgp::Extension;
use mgp_types::{Context, Error, Principal, Session};

/// Who was asked, and alone may answer: the principal, and in revisions that have sessions this very session.
///
/// Requests of the stateless revisions share no session. There the principal decides, and that nobody can guess an id.
#[derive(Debug, Clone)]
pub(super) struct Owner {
    principal: Option<Principal>,
    session: Option<Weak<Session>>,
}

impl Owner {
    pub(super) fn of(context: &Context) -> Self {
        let session = context.session.as_ref().filter(|session| !session.revision.is_stateless());
        Self { principal: context.principal.clone(), session: session.map(Arc::downgrade) }
    }
}

impl PartialEq for Owner {
    fn eq(&self, other: &Self) -> bool {
        let is_same_session = match (&self.session, &other.session) {
            (Some(ours), Some(theirs)) => Weak::ptr_eq(ours, theirs),
            (None, None) => true,
            _ => false,
        };
        is_same_session && self.principal == other.principal
    }
}

/// Whether both sides of the session speak of callbacks.
pub(super) fn has_callbacks(session: &Session) -> bool {
    session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Callbacks))
}

/// A name that nobody can guess.
pub(super) fn fresh_id() -> Result<Box<str>, Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| {
        tracing::error!(%error, "the system has no random numbers");
        Error::internal("the system has no random numbers")
    })?;
    Ok(format!("cb-{:032x}", u128::from_be_bytes(bytes)).into())
}
