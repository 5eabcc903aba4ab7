//! Batches of revision 2025-03-26.

use std::sync::Arc;

use http::StatusCode;
use http::request::Parts;
use mgp_types::frame::{Malformed, Message};
use mgp_types::{CallOf, Error, Id, Kind, Method, Params, RpcService};
use tokio::sync::oneshot;

use super::call::{BoxCall, Call, Calling, Form, Owner};
use super::in_flight::{Canceller, InFlight};
use super::post::{named, notification, request};
use super::respond::Answer;
use super::shared_way::SharedWay;
use super::stream::ResponseStream;
use super::table::Live;

/// Starts every message of a batch, in order; returns `None` if none of them is answered.
pub(super) fn dispatch<S: RpcService>(
    live: &Live<S>,
    parts: &Arc<Parts>,
    messages: Vec<Result<Message, Malformed>>,
) -> Option<Calling> {
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
                answers.push(Pending::Known(Answer::error(
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
    Some(Calling::new(call, stream, Owner::Session(Arc::clone(&live.session))))
}

/// An answer that belongs into the array.
enum Pending {
    Known(Answer),
    /// The answer of a call in work; absent if the call is cancelled.
    Running(oneshot::Receiver<Answer>),
}

fn call<S: RpcService>(
    live: &Live<S>,
    stream: &Arc<ResponseStream>,
    parts: &Arc<Parts>,
    id: Id,
    method: Method,
    params: Params,
) -> Pending {
    let refuse = |error| Pending::Known(Answer::error(StatusCode::OK, Some(&id), &error));
    if method == Method::INITIALIZE {
        return refuse(Error::invalid_request("`initialize` must not be part of a batch"));
    }
    let mut request = request(Kind::Call, method, params, Arc::clone(parts));
    let mut about = None;
    if request.method.about_call() == Some(CallOf::Sender) {
        match named(&mut request.params, Some(&live.session)) {
            Ok(outbox) => about = Some(outbox),
            Err(error) => return refuse(error),
        }
    }
    let way = SharedWay::new(id.clone(), stream, &live.session);
    let canceller = Canceller::Task(Arc::clone(&way));
    let guard = match InFlight::enter(Arc::clone(&live.session), &id, canceller) {
        Ok(guard) => guard,
        Err(error) => return refuse(error),
    };
    request.context.outbox = match about {
        None => way.outbox(),
        Some(named) => named.unwrap_or_else(|| stream.standalone_outbox()),
    };
    let call = Call::new(live.service(), request, Form::Session(id), Some(guard));
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
    Pending::Running(answered)
}

async fn collect(answers: Vec<Pending>) -> Answer {
    let mut json = vec![b'['];
    for pending in answers {
        let answer = match pending {
            Pending::Known(answer) => answer,
            Pending::Running(answered) => match answered.await {
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
        return Answer::ACCEPTED; // All were cancelled.
    }
    json.push(b']');
    Answer::ok(json)
}
