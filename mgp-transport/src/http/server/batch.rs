//! Batches of revision 2025-03-26.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use mgp_types::frame::{Malformed, Message};
use mgp_types::{CallSide, Error, Id, Method, Params, RequestKind, RpcService};
use tokio::sync::oneshot;

use super::call::{AnswerForm, BoxCall, CallOwner, HttpCall, RunningCall};
use super::in_flight::{Canceller, InFlightCall};
use super::post::{named, notification, request};
use super::respond::PostAnswer;
use super::session_table::LiveSession;
use super::shared_stream_port::SharedStreamPort;
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
                answers.push(call(live, &stream, parts, id, method, params));
            }
            Ok(Message::Notify { method, params }) => {
                if let Some(call) = notification(live, Arc::clone(parts), method, params) {
                    live.session.spawn(async {
                        call.await;
                    });
                }
            }
            Ok(Message::Reply { id, outcome }) => live.session.answer(id.as_ref(), outcome),
            Err(malformed) if malformed.answerable => {
                answers.push(PendingAnswer::Known(PostAnswer::error(
                    StatusCode::OK,
                    malformed.id.as_ref(),
                    &malformed.error,
                )));
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

/// An answer that belongs into the array.
enum PendingAnswer {
    Known(PostAnswer),
    /// The answer of a call in work; absent if the call is cancelled.
    Running(oneshot::Receiver<PostAnswer>),
}

fn call<S: RpcService>(
    live: &LiveSession<S>,
    stream: &Arc<ResponseStream>,
    parts: &Arc<Parts>,
    id: Id,
    method: Method,
    params: Params,
) -> PendingAnswer {
    let refuse = |error| PendingAnswer::Known(PostAnswer::error(StatusCode::OK, Some(&id), &error));
    if method == Method::INITIALIZE {
        return refuse(Error::invalid_request("`initialize` must not be part of a batch"));
    }
    let mut request = request(RequestKind::Call, method, params, Arc::clone(parts));
    let mut about = None;
    if request.method.about_call() == Some(CallSide::Sender) {
        match named(&mut request.params, Some(&live.session)) {
            Ok(outbox) => about = Some(outbox),
            Err(error) => return refuse(error),
        }
    }
    let way = SharedStreamPort::new(id.clone(), stream, &live.session);
    let canceller = Canceller::Task(Arc::clone(&way));
    let guard = match InFlightCall::enter(Arc::clone(&live.session), &id, canceller) {
        Ok(guard) => guard,
        Err(error) => return refuse(error),
    };
    request.context.outbox = match about {
        None => way.outbox(),
        Some(named) => named.unwrap_or_else(|| stream.standalone_outbox()),
    };
    let call = HttpCall::new(live.service(), request, AnswerForm::Session(id), Some(guard));
    let (answer, answered) = oneshot::channel();
    live.session.spawn(async move {
        tokio::select! {
            biased;
            () = way.stopped() => {}
            done = call => {
                let _ = answer.send(done);
            }
        }
    });
    PendingAnswer::Running(answered)
}

async fn collect(answers: Vec<PendingAnswer>) -> PostAnswer {
    let mut json = vec![b'['];
    for pending in answers {
        let answer = match pending {
            PendingAnswer::Known(answer) => answer,
            PendingAnswer::Running(answered) => match answered.await {
                Ok(answer) => answer,
                Err(_) => continue,
            },
        };
        if json.len() > 1 {
            json.push(b',');
        }
        json.extend_from_slice(&answer.json);
    }
    if json.len() == 1 {
        return PostAnswer::ACCEPTED; // All were cancelled.
    }
    json.push(b']');
    PostAnswer::ok(json)
}
