//! The sessions that a server has sent to a page, which are notified when the page is done.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use mgp_types::{Method, Request, Session};
use parking_lot::Mutex;

/// The sessions that one server sent to a page, by the ids of its elicitations: only they are notified of the
/// completion. The oldest are forgotten when there are too many.
#[derive(Default)]
pub(crate) struct ElicitationSessions(Mutex<VecDeque<(Box<str>, Weak<Session>)>>);

impl ElicitationSessions {
    /// Notes that `session` is asked this question.
    pub(crate) fn note(&self, question: &Request, session: &Arc<Session>) {
        if question.method != Method::ELICIT || !session.outbox.is_open() {
            return;
        }
        let Some(id) = question.params.text("elicitationId").filter(|id| id.len() <= LONGEST_ID) else {
            return;
        };
        let mut known = self.0.lock();
        known.retain(|(other, _)| **other != *id);
        known.push_back((id.as_ref().into(), Arc::downgrade(session)));
        if known.len() > MAX_ELICITATIONS {
            known.pop_front();
        }
    }

    /// Returns the session that was asked under this id, if it still exists.
    pub(crate) fn session(&self, id: &str) -> Option<Arc<Session>> {
        self.0.lock().iter().find(|(known, _)| **known == *id)?.1.upgrade()
    }
}

const MAX_ELICITATIONS: usize = 1024;
const LONGEST_ID: usize = 256;

#[cfg(test)]
mod tests {
    use mgp_types::{Object, Outbox, OutboxPort, Response, Revision, StreamId};

    use super::*;

    struct Deaf;

    impl OutboxPort for Deaf {
        fn notify(&self, _: StreamId, _: Request) -> mgp_types::BoxFuture<'_, Result<(), mgp_types::Error>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn call(
            &self,
            _: StreamId,
            _: Request,
        ) -> mgp_types::BoxFuture<'_, Result<Response, mgp_types::Error>> {
            Box::pin(std::future::ready(Ok(Response::empty())))
        }
    }

    fn page(id: &str) -> Request {
        let params = format!(r#"{{"mode":"url","elicitationId":"{id}"}}"#);
        Request::call(Method::ELICIT, Object::parse(params).unwrap())
    }

    #[test]
    fn the_oldest_are_forgotten_and_no_session_is_kept() {
        let mut session = Session::new(Revision::V2025_11_25);
        session.outbox = Outbox::new(Arc::new(Deaf), StreamId::STANDALONE);
        let (session, elicitations) = (Arc::new(session), ElicitationSessions::default());
        for number in 0..=MAX_ELICITATIONS {
            elicitations.note(&page(&number.to_string()), &session);
        }
        elicitations.note(&page(&"x".repeat(LONGEST_ID + 1)), &session);
        assert!(elicitations.session("0").is_none() && elicitations.session("1").is_some());
        assert_eq!(elicitations.0.lock().len(), MAX_ELICITATIONS);
        drop(session);
        assert!(elicitations.session("1").is_none());
    }
}
