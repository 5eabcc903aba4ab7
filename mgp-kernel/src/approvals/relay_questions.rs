//! The passing of a server's questions to the client whose call they are about, and the sessions that a server has sent to a
//! page, which are notified when the page is done.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use mgp_types::{Context as CallContext, Error, Method, Request, Response, Session};
use parking_lot::Mutex;

use super::check_declared;
use crate::call::calls_in_work::{ActiveCallers, CallReference, CallsInWork};

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

/// Asks the client whose call, of those that the server has in work, the question is about. The session that is asked is
/// noted in `elicitations`.
///
/// # Errors
/// Fails if nothing says whose call it is, or if that client cannot be asked.
pub(crate) async fn relay(
    calls: &CallsInWork,
    elicitations: &ElicitationSessions,
    question: Request,
) -> Result<Response, Error> {
    let call = about(calls, &question).await?;
    elicitations.note(&question, call.session()?);
    call.outbox.call(Request::call(question.method, question.params)).await
}

/// Returns the call that the question is about.
async fn about(calls: &CallsInWork, question: &Request) -> Result<CallContext, Error> {
    let calls = match calls.about(question) {
        CallReference::This(call) => {
            check_declared(call.session()?, question).await?;
            return Ok(*call);
        }
        CallReference::Another => {
            return Err(Error::invalid_request("the call that the question is about is over"));
        }
        CallReference::Unsaid => calls.callers(),
    };
    let mut refusal = Error::invalid_request("no call is in work whose client could be asked");
    match calls {
        ActiveCallers::Nobody => {}
        ActiveCallers::One(calls) => {
            for call in calls {
                match check_declared(call.session()?, question).await {
                    Ok(()) => return Ok(call),
                    Err(error) => refusal = error,
                }
            }
        }
        ActiveCallers::Several => {
            return Err(Error::invalid_request(
                "calls of several clients are in work, and nothing says which of them the question is about; ask when \
                 there is one, or serve each client by a session of its own",
            ));
        }
    }
    Err(refusal)
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
