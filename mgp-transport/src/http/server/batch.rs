//! Batches of revision 2025-03-26.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use mgp_types::frame::{Malformed, Message};
use mgp_types::{Error, Id, Method, Request, RequestKind, RpcService};
use tokio::sync::oneshot;

use super::call::{AnswerForm, BoxCall, CallOwner, HttpCall, RunningCall};
use super::in_flight::{CallPort, InFlightCall, SharedStreamPort};
use super::post::{notification, request};
use super::respond::PostAnswer;
use super::session_table::LiveSession;
use super::stream::ResponseStream;

/// Starts every message of a batch, in order; returns `None` if none of them is answered.
pub(super) fn dispatch<S: RpcService>(
    live: &LiveSession<S>,
    parts: &Arc<Parts>,
    messages: Vec<Result<Message, Malformed>>,
) -> Option<RunningCall> {
    let stream = Arc::new(live.session.new_stream());
    let mut answers = Vec::new();
    for message in messages {
        match message {
            Ok(Message::Call { id, method, params }) => {
                let request = request(RequestKind::Call, method, params, Arc::clone(parts));
                answers.push(call(live, &stream, &id, request));
            }
            Ok(Message::Notify { method, params }) => {
                if let Some(call) = notification(live, Arc::clone(parts), method, params) {
                    live.session.spawn(call);
                }
            }
            Ok(Message::Reply { id, outcome }) => live.session.answer(id.as_ref(), outcome),
            Err(malformed) if malformed.answerable => {
                answers.push(known(malformed.id.as_ref(), &malformed.error));
            }
            Err(_) => {}
        }
    }
    if answers.is_empty() {
        return None;
    }
    let call: BoxCall = Box::pin(collect(answers));
    Some(RunningCall::new(call, stream, CallOwner::Session(Arc::clone(&live.session))))
}

/// An answer that belongs into the array; a call that was cancelled has none.
type PendingAnswer = oneshot::Receiver<PostAnswer>;

/// Returns the answer of a message that is refused.
fn known(id: Option<&Id>, error: &Error) -> PendingAnswer {
    let (answer, answered) = oneshot::channel();
    let _ = answer.send(PostAnswer::error(StatusCode::OK, id, error));
    answered
}

fn call<S: RpcService>(
    live: &LiveSession<S>,
    stream: &Arc<ResponseStream>,
    id: &Id,
    request: Request,
) -> PendingAnswer {
    if request.method == Method::INITIALIZE {
        return known(Some(id), &Error::invalid_request("`initialize` must not be part of a batch"));
    }
    let (answer, answered) = oneshot::channel();
    let form = AnswerForm::Session(id.clone());
    let spawned = spawn_call(live, stream, id, request, form, |done| async {
        let _ = answer.send(done);
    });
    spawned.map_or_else(|error| known(Some(id), &error), |()| answered)
}

/// Makes a call of a session in a task of its own, for an answer that goes to `answered`, and messages that go to a stream
/// of several calls.
pub(super) fn spawn_call<S: RpcService, F>(
    live: &LiveSession<S>,
    stream: &Arc<ResponseStream>,
    id: &Id,
    mut request: Request,
    form: AnswerForm,
    answered: impl FnOnce(PostAnswer) -> F + Send + 'static,
) -> Result<(), Error>
where
    F: Future<Output = ()> + Send,
{
    let way = SharedStreamPort::new(id.clone(), stream, &live.session);
    let port = CallPort::Task(Arc::clone(&way));
    let guard = InFlightCall::enter(&live.session, id, &mut request, port)?;
    let call = HttpCall::new(live.service(), request, form, Some(guard));
    live.session.spawn(async move {
        tokio::select! {
            biased;
            () = way.stop.notified() => {}
            done = call => answered(done).await,
        }
    });
    Ok(())
}

async fn collect(answers: Vec<PendingAnswer>) -> PostAnswer {
    let mut json = Vec::new();
    for answer in answers {
        let Ok(answer) = answer.await else { continue };
        json.push(if json.is_empty() { b'[' } else { b',' });
        json.extend_from_slice(&answer.json);
    }
    if json.is_empty() {
        return PostAnswer::ACCEPTED; // All were cancelled.
    }
    json.push(b']');
    PostAnswer::ok(json)
}
