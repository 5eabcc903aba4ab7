//! The calls that a server has in work, by which the call of a server's question is found.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_transport::AskedDuring;
use mgp_types::{Context as CallContext, Flow, Gate, Request, RequestKind, Session, StreamId};
use parking_lot::Mutex;

/// The calls that one server has in work, by which the call of a server's question is found. Clones share them.
///
/// The table is a gate that notes the calls of clients, each until its end. The gate stands directly in front of the
/// service that carries calls to the server. The gate reads `context.session` and `context.outbox`: a call without a
/// session is no client's. A call costs a lock at its beginning and one at its end.
#[derive(Clone, Default)]
pub(crate) struct CallsInWork(Arc<Mutex<BTreeMap<StreamId, Box<CallContext>>>>);

impl CallsInWork {
    /// Returns the call that has `stream`.
    pub(crate) fn on(&self, stream: StreamId) -> Option<Box<CallContext>> {
        self.0.lock().get(&stream).cloned()
    }

    /// Returns whether the call that has `stream` is in work.
    pub(crate) fn has(&self, stream: StreamId) -> bool {
        self.0.lock().contains_key(&stream)
    }

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

    /// Returns all calls, the latest first.
    fn latest_first(&self) -> Vec<CallContext> {
        self.0.lock().values().rev().map(|call| (**call).clone()).collect()
    }

    /// Notes a client's call, for as long as the entry lives. A call without a way back to its client has no stream,
    /// and is noted all the same: a question may be about it.
    fn note(&self, request: &Request) -> Option<CallInWork> {
        let context = &request.context;
        if request.kind == RequestKind::Notify || context.session.is_none() {
            return None;
        }
        let stream = match context.outbox.stream() {
            StreamId::STANDALONE => StreamId::fresh(),
            stream => stream,
        };
        self.0.lock().insert(stream, context.clone());
        Some(CallInWork { calls: self.clone(), stream })
    }
}

impl Gate for CallsInWork {
    type Pass = Option<CallInWork>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        Flow::Pass(self.note(request))
    }
}

/// A guard that keeps a call noted.
pub(crate) struct CallInWork {
    calls: CallsInWork,
    stream: StreamId,
}

impl Drop for CallInWork {
    fn drop(&mut self) {
        let ended = self.calls.0.lock().remove(&self.stream);
        // Dropped without the lock: the way back to a client may end with it.
        drop(ended);
    }
}

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
