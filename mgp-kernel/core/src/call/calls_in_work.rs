//! The calls that a server has in work, by which the calls of its questions, reports and callbacks are found.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use mgp_transport::OriginatingCall;
use mgp_types::mcp::meta::key;
use mgp_types::{Context as CallContext, Method, Outbox, RawJson, Request, RequestKind, Session, StreamId};
use parking_lot::Mutex;

/// The calls that one server has in work, each until its end. By them the call of a server's question, report or callback is
/// found. Clones share them. A call costs a lock at its beginning and one at its end.
#[derive(Clone, Default)]
pub(crate) struct CallsInWork(Arc<Mutex<CallTable>>);

/// The calls by the number under which the server reports.
type CallTable = BTreeMap<u64, ActiveCall>;

struct ActiveCall {
    context: Box<CallContext>,
    /// The caller's own progress token, if it wants progress.
    progress: Option<RawJson>,
    /// True if the server called back about it.
    is_called_back: bool,
    /// The number of forms and of all questions that the server asked about it.
    asked: [u32; 2],
}

impl CallsInWork {
    /// Returns the client's call that has `stream`.
    pub(crate) fn on(&self, stream: StreamId) -> Option<Box<CallContext>> {
        let table = self.0.lock();
        table.values().rev().find(|call| call.is_on(stream)).map(|call| call.context.clone())
    }

    /// Returns whether the client's call that has `stream` is in work.
    pub(crate) fn has(&self, stream: StreamId) -> bool {
        self.0.lock().values().any(|call| call.is_on(stream))
    }

    /// Returns the way to the caller to whom the server reports progress under this number, and its own token.
    pub(crate) fn reported(&self, number: u64) -> Option<(Outbox, RawJson)> {
        let table = self.0.lock();
        let call = table.get(&number)?;
        Some((call.context.outbox.clone(), call.progress.clone()?))
    }

    /// Notes that the server called back about the call that has `stream`.
    pub(crate) fn call_back(&self, stream: StreamId) {
        for call in self.0.lock().values_mut().filter(|call| call.is_on(stream)) {
            call.is_called_back = true;
        }
    }

    /// Counts a question about the call that has `stream`. Returns whether it may still reach the client.
    pub(crate) fn count_question(&self, stream: StreamId, method: &Method) -> bool {
        let mut table = self.0.lock();
        table.values_mut().rev().find(|call| call.is_on(stream)).is_none_or(|call| {
            let [forms, questions] = &mut call.asked;
            *forms += u32::from(*method == Method::ELICIT);
            *questions += 1;
            *forms <= MAX_FORMS && *questions <= MAX_QUESTIONS
        })
    }

    pub(crate) fn callers(&self) -> ActiveCallers {
        let table = self.0.lock();
        // The latest come first. A call without a session is no client's.
        let contexts = table.values().rev().map(|call| &*call.context);
        let calls: Vec<_> = contexts.filter(|context| context.session.is_some()).collect();
        match calls.first() {
            None => ActiveCallers::Nobody,
            Some(&latest) if are_of_one_client(&calls) => ActiveCallers::One(Box::new(latest.clone())),
            Some(_) => ActiveCallers::Several,
        }
    }

    /// Returns the call on whose stream `message` came.
    pub(crate) fn about(&self, message: &Request) -> CallReference {
        let during = message.extensions.get::<OriginatingCall>().map(|during| during.stream());
        // Questions in results come with the outbox of their call, others with the way back to the server.
        let streams = during.into_iter().chain([message.context.outbox.stream()]);
        match streams.into_iter().find_map(|stream| self.on(stream)) {
            Some(call) => CallReference::This(call),
            None if during.is_some() => CallReference::Another,
            None => CallReference::Unsaid,
        }
    }

    /// Notes a call, for as long as the entry lives, and replaces its progress token by a number of its own: callers may
    /// choose the same tokens. A client's call without a way back has no stream, and is noted all the same: a question may
    /// be about it.
    pub(crate) fn enter(&self, request: &mut Request) -> Option<CallInWork> {
        if request.kind == RequestKind::Notify {
            return None;
        }
        // The token outlives the frame that it came in.
        let progress = request.meta_mut().and_then(|meta| Some(meta.get(key::PROGRESS_TOKEN)?.detached()));
        if progress.is_none() && request.context.session.is_none() {
            return None;
        }
        let reports = progress.is_some();
        let call =
            ActiveCall { context: request.context.clone(), progress, is_called_back: false, asked: [0; 2] };
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        self.0.lock().insert(number, call);
        if let Some(meta) = request.meta_mut().filter(|_| reports) {
            meta.set(key::PROGRESS_TOKEN, RawJson::from_written(number.to_string().into_bytes()));
        }
        Some(CallInWork { calls: self.clone(), number, reports })
    }
}

/// The number of the next call. No two calls have the same, on whatever connections: tasks that they begin keep it.
static NUMBERS: AtomicU64 = AtomicU64::new(1);

/// The largest number of forms, and of questions of all kinds, that reach the client during one call.
pub(crate) const MAX_FORMS: u32 = 10;
pub(crate) const MAX_QUESTIONS: u32 = 100;

impl ActiveCall {
    fn is_on(&self, stream: StreamId) -> bool {
        let own = self.context.outbox.stream();
        own == stream && own != StreamId::STANDALONE && self.context.session.is_some()
    }
}

#[cfg(test)]
impl mgp_types::Gate for CallsInWork {
    type Pass = Option<CallInWork>;

    fn enter(&self, request: &mut Request) -> mgp_types::Flow<Self::Pass> {
        mgp_types::Flow::Pass(Self::enter(self, request))
    }
}

/// A guard that keeps a call noted.
pub(crate) struct CallInWork {
    calls: CallsInWork,
    number: u64,
    reports: bool,
}

impl CallInWork {
    /// Returns the number under which the server reports progress, if the caller wants any.
    pub(crate) fn progress_number(&self) -> Option<u64> {
        Some(self.number).filter(|_| self.reports)
    }

    /// Ends the entry. Returns the stream of the call if the server called back about it.
    pub(crate) fn end(&self) -> Option<StreamId> {
        let ended = self.calls.0.lock().remove(&self.number);
        // Dropped without the lock: the way back to a client may end with it.
        ended.filter(|call| call.is_called_back).map(|call| call.context.outbox.stream())
    }
}

impl Drop for CallInWork {
    fn drop(&mut self) {
        self.end();
    }
}

/// The clients whose calls a server has in work.
pub(crate) enum ActiveCallers {
    Nobody,
    /// All calls are of one client, as far as is known; this is the latest.
    One(Box<CallContext>),
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
fn are_of_one_client(calls: &[&CallContext]) -> bool {
    let mut sessions = calls.iter().copied().filter_map(lasting);
    let Some(first) = sessions.next() else { return have_one_principal(calls) };
    let have_all_sessions = calls.iter().all(|call| lasting(call).is_some());
    sessions.all(|session| Arc::ptr_eq(session, first)) && (have_all_sessions || have_one_principal(calls))
}

fn lasting(call: &CallContext) -> Option<&Arc<Session>> {
    call.session.as_ref().filter(|session| session.lasts())
}

fn have_one_principal(calls: &[&CallContext]) -> bool {
    let mut principals = calls.iter().map(|call| &call.principal);
    principals.next().is_none_or(|first| {
        let mut others = principals.peekable();
        others.peek().is_none() || first.is_some() && others.all(|other| other == first)
    })
}

#[cfg(test)]
mod tests {
    use mgp_types::{Object, Revision};

    use super::*;

    fn call(token: &str) -> Request {
        let params = Object::parse(format!(r#"{{"_meta":{{"progressToken":{token}}}}}"#)).unwrap();
        let mut request = Request::call(Method::TOOLS_CALL, params);
        request.context.session = Some(Arc::new(Session::new(Revision::V2025_11_25)));
        request.context.outbox = Outbox::on(StreamId::fresh());
        request
    }

    #[test]
    fn equal_tokens_of_two_calls_are_told_apart_and_forgotten_with_the_call() {
        let calls = CallsInWork::default();
        let (mut own, mut theirs) = (call("1"), call("1"));
        let (first, second) = (calls.enter(&mut own).unwrap(), calls.enter(&mut theirs).unwrap());
        let (one, other) = (first.progress_number().unwrap(), second.progress_number().unwrap());
        assert_ne!(one, other);
        let (to, named) = calls.reported(one).unwrap();
        assert_eq!((to.stream(), named.as_bytes()), (own.context.outbox.stream(), &b"1"[..]));
        assert_eq!(calls.reported(other).unwrap().0.stream(), theirs.context.outbox.stream());
        drop(first);
        assert!(calls.reported(one).is_none() && calls.reported(other).is_some());
    }

    #[test]
    fn only_the_end_of_a_call_that_was_called_back_about_is_news() {
        let calls = CallsInWork::default();
        let (mut quiet, mut asked) = (call("1"), call("2"));
        let stream = asked.context.outbox.stream();
        let (quiet, asked) = (calls.enter(&mut quiet).unwrap(), calls.enter(&mut asked).unwrap());
        calls.call_back(stream);
        assert_eq!((quiet.end(), asked.end(), asked.end()), (None, Some(stream), None));
    }
}
