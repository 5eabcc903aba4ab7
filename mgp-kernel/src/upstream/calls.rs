use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::{Context, Outbox, Principal, RawJson, Session, StreamId};
use parking_lot::Mutex;

/// The calls that one server has in work: what it says about one of them finds its caller here. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<InWork>>);

#[derive(Default)]
struct InWork {
    /// How many there ever were; what a call is numbered by. No two calls have the same.
    count: u64,
    calls: HashMap<u64, Noted, RandomState>,
}

struct Noted {
    caller: Caller,
    /// What the caller wants to hear of progress under.
    token: Option<RawJson>,
    /// Whether the server has called back.
    called_back: bool,
}

/// Who made a call, and the way back.
#[derive(Clone)]
pub(super) struct Caller {
    pub(super) session: Option<Arc<Session>>,
    pub(super) principal: Option<Principal>,
    pub(super) outbox: Outbox,
}

impl Caller {
    pub(super) fn of(context: &Context) -> Self {
        Self {
            session: context.session.clone(),
            principal: context.principal.clone(),
            outbox: context.outbox.clone(),
        }
    }

    /// As much of the call's context as the caller is known by.
    pub(super) fn context(&self) -> Context {
        let mut context = Context::default();
        context.session.clone_from(&self.session);
        context.principal.clone_from(&self.principal);
        context.outbox = self.outbox.clone();
        context
    }

    fn is_same_client(&self, other: &Self) -> bool {
        match (&self.session, &other.session) {
            (Some(own), Some(theirs)) if Arc::ptr_eq(own, theirs) => true,
            // A client without a session describes itself anew each time.
            (Some(own), Some(theirs)) if own.revision.is_stateless() && theirs.revision.is_stateless() => {
                self.principal.is_some() && self.principal == other.principal
            }
            _ => false,
        }
    }
}

/// Whose calls a server has in work.
pub(super) enum Callers {
    Nobody,
    /// One client; its newest call.
    One(Caller),
    Several,
}

impl Calls {
    /// Notes a call until the guard is dropped.
    pub(super) fn enter(&self, caller: Caller, token: Option<RawJson>) -> Entered {
        let mut in_work = self.0.lock();
        in_work.count += 1;
        let number = in_work.count;
        in_work.calls.insert(number, Noted { caller, token, called_back: false });
        drop(in_work);
        Entered { calls: self.clone(), number }
    }

    /// The caller that hears of progress under our number, and what the caller calls it.
    pub(super) fn reports(&self, number: u64) -> Option<(Outbox, RawJson)> {
        let in_work = self.0.lock();
        let noted = in_work.calls.get(&number)?;
        Some((noted.caller.outbox.clone(), noted.token.clone()?))
    }

    /// Who made the call with this stream.
    pub(super) fn on(&self, stream: StreamId) -> Option<Caller> {
        if stream == StreamId::STANDALONE {
            return None;
        }
        let in_work = self.0.lock();
        in_work
            .calls
            .values()
            .find(|noted| noted.caller.outbox.stream() == stream)
            .map(|noted| noted.caller.clone())
    }

    /// Who made the call with this stream, which the server calls back now.
    pub(super) fn call_back(&self, stream: StreamId) -> Option<Caller> {
        let mut in_work = self.0.lock();
        let mut calls = in_work.calls.values_mut();
        let noted = calls.find(|noted| noted.caller.outbox.stream() == stream)?;
        noted.called_back = true;
        Some(noted.caller.clone())
    }

    /// Whose calls there are.
    pub(super) fn callers(&self) -> Callers {
        let in_work = self.0.lock();
        let mut calls = in_work.calls.iter().filter(|(_, noted)| noted.caller.outbox.is_open());
        let Some(mut newest) = calls.next() else { return Callers::Nobody };
        for call in calls {
            if !call.1.caller.is_same_client(&newest.1.caller) {
                return Callers::Several;
            }
            if call.0 > newest.0 {
                newest = call;
            }
        }
        Callers::One(newest.1.caller.clone())
    }
}

/// A call that is noted.
pub(super) struct Entered {
    calls: Calls,
    number: u64,
}

impl Entered {
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Forgets the call; its stream if the server has called it back.
    pub(super) fn leave(&self) -> Option<StreamId> {
        // What is dropped is dropped without the lock: the way back to a client may end with it.
        let noted = self.calls.0.lock().calls.remove(&self.number)?;
        noted.called_back.then(|| noted.caller.outbox.stream())
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Revision;

    use super::*;

    fn caller(session: &Arc<Session>, outbox: &Outbox) -> Caller {
        Caller { session: Some(session.clone()), principal: None, outbox: outbox.clone() }
    }

    struct Nowhere;

    impl mgp_types::OutboxPort for Nowhere {
        fn notify(
            &self,
            _: StreamId,
            _: mgp_types::Request,
        ) -> mgp_types::BoxFuture<'_, Result<(), mgp_types::Error>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn call(
            &self,
            _: StreamId,
            _: mgp_types::Request,
        ) -> mgp_types::BoxFuture<'_, Result<mgp_types::Response, mgp_types::Error>> {
            Box::pin(std::future::pending())
        }
    }

    fn outbox() -> Outbox {
        Outbox::new(Arc::new(Nowhere), StreamId::fresh())
    }

    #[test]
    fn the_newest_call_of_the_only_client_is_found_and_none_among_several() {
        let calls = Calls::default();
        let session = || Arc::new(Session::new(Revision::V2025_11_25));
        let (one, other) = (session(), session());
        assert!(matches!(calls.callers(), Callers::Nobody));
        let (early, late) = (outbox(), outbox());
        let first = calls.enter(caller(&one, &early), None);
        let second = calls.enter(caller(&one, &late), None);
        assert!(matches!(calls.callers(), Callers::One(found) if found.outbox.stream() == late.stream()));
        let third = calls.enter(caller(&other, &outbox()), None);
        assert!(matches!(calls.callers(), Callers::Several));
        third.leave();
        second.leave();
        assert!(matches!(calls.callers(), Callers::One(found) if found.outbox.stream() == early.stream()));
        first.leave();
        assert!(matches!(calls.callers(), Callers::Nobody));
    }

    #[test]
    fn equal_tokens_of_two_calls_are_told_apart_by_number_and_forgotten_with_the_call() {
        let calls = Calls::default();
        let session = Arc::new(Session::new(Revision::V2025_11_25));
        let token = || RawJson::from_value(&1).ok();
        let (own, theirs) = (outbox(), outbox());
        let first = calls.enter(caller(&session, &own), token());
        let second = calls.enter(caller(&session, &theirs), token());
        assert_ne!(first.number(), second.number());
        let (to, named) = calls.reports(first.number()).unwrap();
        assert_eq!((to.stream(), named.as_bytes()), (own.stream(), &b"1"[..]));
        assert_eq!(calls.reports(second.number()).unwrap().0.stream(), theirs.stream());
        first.leave();
        assert!(calls.reports(first.number()).is_none());
    }

    #[test]
    fn only_a_call_that_was_called_back_tells_its_stream_at_its_end() {
        let calls = Calls::default();
        let session = Arc::new(Session::new(Revision::V2025_11_25));
        let (quiet, asked) = (outbox(), outbox());
        let first = calls.enter(caller(&session, &quiet), None);
        let second = calls.enter(caller(&session, &asked), None);
        assert!(calls.call_back(asked.stream()).is_some());
        assert_eq!((first.leave(), second.leave()), (None, Some(asked.stream())));
    }
}
