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
mod relay_questions;
#[cfg(test)]
mod tests;
mod ticket;
mod unattended;
mod waiting_calls;

use std::sync::Arc;

use mgp_types::{Context, Error, Method, Origin, Request, Session};

pub(crate) use self::approvers::approvers_of;
pub(crate) use self::parked_calls::ParkedCallLayer;
#[cfg(test)]
pub(crate) use self::parked_calls::ParkedCallService;
pub(crate) use self::quota::ParkedCallLimits;
pub(crate) use self::relay_questions::{ElicitationSessions, relay};
pub(crate) use self::waiting_calls::WaitingCallLayer;

/// Returns whether the method is a question to a client at all.
pub(crate) fn is_question(method: &Method) -> bool {
    *method == Method::ELICIT || *method == Method::CREATE_MESSAGE || *method == Method::ROOTS_LIST
}

/// Returns whether the client declared that it can be asked anything.
fn declares_anything(session: &Session) -> bool {
    ["elicitation", "sampling", "roots"].iter().any(|name| session.peer_can(&[name]))
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
