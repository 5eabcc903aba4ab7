//! All that asks people: the approvers of calls, and the ways in which questions of servers, and of the kernel's own gates,
//! reach the client whose call they are about.
//!
//! A question is a request where there are sessions, and a result where there are none. Between the two stands the
//! outbox of the call: every service with a question asks there, whatever the client is.
//!
//! | client | server | what happens |
//! |---|---|---|
//! | session | session | [`relay`] finds the call, and its outbox sends the request |
//! | stateless | stateless | the server's questions and its state pass through as they are |
//! | session | stateless | the way to the server goes through the rounds, and [`relay`] asks for each question |
//! | stateless | session | [`relay`] finds the call, and [`ParkedCallService`](parked_calls::ParkedCallService) parks it: the question is the result |

mod approvers;
mod conversation;
mod parked_calls;
mod quota;
#[cfg(test)]
mod tests;
mod ticket;
mod unattended;
mod waiting_calls;

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use mgp_types::{Context, Error, Method, Origin, Request, Response, Session, code};
use parking_lot::Mutex;

pub(crate) use self::approvers::approvers_of;
pub(crate) use self::parked_calls::ParkedCallLayer;
#[cfg(test)]
pub(crate) use self::parked_calls::ParkedCallService;
pub(crate) use self::quota::ParkedCallLimits;
pub(crate) use self::waiting_calls::WaitingCallLayer;
use crate::call::calls_in_work::{ActiveCallers, CallReference, CallsInWork, MAX_FORMS, MAX_QUESTIONS};

/// Returns whether the method is a question to a client at all.
pub(crate) fn is_question(method: &Method) -> bool {
    *method == Method::ELICIT || *method == Method::CREATE_MESSAGE || *method == Method::ROOTS_LIST
}

/// Checks whether the client declared that it can be asked this question.
///
/// # Errors
/// Fails if the client did not declare it, or this is no question.
pub(crate) async fn check_declared(session: &Arc<Session>, question: &Request) -> Result<(), Error> {
    if !is_question(&question.method) {
        return Err(Error::method_not_found(&question.method));
    }
    // The rules are those of handlers that ask. With an exchange in the context the question is noted there and not
    // sent.
    let mut context = Context::default();
    context.session = Some(Arc::clone(session));
    context.input = Some(Arc::default());
    match context.ask("", question.method.clone(), question.params.clone()).await {
        Err(error) if error.origin() != Origin::InputRequired => Err(error),
        _ => Ok(()),
    }
}

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
/// Fails if nothing says whose call it is, if that client cannot be asked, or if it was asked too much during the call.
pub(crate) async fn relay(
    calls: &CallsInWork,
    elicitations: &ElicitationSessions,
    question: Request,
) -> Result<Response, Error> {
    let call = about(calls, &question).await?;
    if !calls.count_question(call.outbox.stream(), &question.method) {
        let message = format!(
            "the server asked too much during this call: {MAX_FORMS} forms and {MAX_QUESTIONS} questions in all reach the client"
        );
        return Err(Error::new(code::RATE_LIMITED, message));
    }
    elicitations.note(&question, call.session()?);
    call.outbox.call(Request::call(question.method, question.params)).await
}

/// Returns the call that the question is about. Where the server does not say it, that is the latest one: an older one may
/// have other capabilities, and wait for its client.
async fn about(calls: &CallsInWork, question: &Request) -> Result<Context, Error> {
    let refused = |why: &'static str| Err(Error::invalid_request(why));
    let call = match calls.about(question) {
        CallReference::This(call) => call,
        CallReference::Another => return refused("the call that the question is about is over"),
        CallReference::Unsaid => match calls.callers() {
            ActiveCallers::One(call) => call,
            ActiveCallers::Nobody => return refused("no call is in work whose client could be asked"),
            ActiveCallers::Several => {
                return refused(
                    "calls of several clients are in work, and nothing says which of them the question is about; ask \
                     when there is one, or serve each client by a session of its own",
                );
            }
        },
    };
    check_declared(call.session()?, question).await?;
    Ok(*call)
}

const MAX_ELICITATIONS: usize = 1024;
const LONGEST_ID: usize = 256;
