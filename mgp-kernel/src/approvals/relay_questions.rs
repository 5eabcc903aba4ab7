//! The passing of a server's questions to the client whose call they are about.

use mgp_types::{Context as CallContext, Error, Request, Response};

use super::{ElicitationSessions, check_declared};
use crate::call::calls_in_work::{ActiveCallers, CallReference, CallsInWork};

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
