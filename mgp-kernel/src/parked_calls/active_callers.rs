//! The clients whose calls a server has in work.

use std::sync::Arc;

use mgp_transport::AskedDuring;
use mgp_types::{Context as CallContext, Request, Session};

use super::CallsInWork;

/// The clients whose calls a server has in work.
pub(crate) enum ActiveCallers {
    Nobody,
    /// All calls are of one client, as far as is known; the latest comes first.
    One(Vec<CallContext>),
    Several,
}

/// The call that a message of a server says it is about.
pub(crate) enum CallReference {
    This(Box<CallContext>),
    /// A call that is over, or was no client's.
    Another,
    Unsaid,
}

impl CallsInWork {
    pub(crate) fn callers(&self) -> ActiveCallers {
        let calls = self.latest_first();
        if calls.is_empty() {
            ActiveCallers::Nobody
        } else if are_of_one_client(&calls) {
            ActiveCallers::One(calls)
        } else {
            ActiveCallers::Several
        }
    }

    /// Returns the call on whose stream `message` came.
    pub(crate) fn about(&self, message: &Request) -> CallReference {
        let during = message.extensions.get::<AskedDuring>().map(|during| during.stream());
        // Questions in results come with the outbox of their call, others with the way back to the server.
        let streams = during.into_iter().chain([message.context.outbox.stream()]);
        match streams.into_iter().find_map(|stream| self.on(stream)) {
            Some(call) => CallReference::This(call),
            None if during.is_some() => CallReference::Another,
            None => CallReference::Unsaid,
        }
    }
}

/// Returns whether all calls are of one client. A client with a session is identified by it, since many clients may
/// share a principal. A client that describes itself with each request is identified by its principal.
fn are_of_one_client(calls: &[CallContext]) -> bool {
    let mut sessions = calls.iter().filter_map(lasting);
    let Some(first) = sessions.next() else { return have_one_principal(calls) };
    let have_all_sessions = calls.iter().all(|call| lasting(call).is_some());
    sessions.all(|session| Arc::ptr_eq(session, first)) && (have_all_sessions || have_one_principal(calls))
}

fn lasting(call: &CallContext) -> Option<&Arc<Session>> {
    call.session.as_ref().filter(|session| session.lasts())
}

fn have_one_principal(calls: &[CallContext]) -> bool {
    let mut principals = calls.iter().map(|call| &call.principal);
    principals.next().is_none_or(|first| {
        let mut others = principals.peekable();
        others.peek().is_none() || first.is_some() && others.all(|other| other == first)
    })
}
