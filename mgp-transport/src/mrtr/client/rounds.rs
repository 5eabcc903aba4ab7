//! The answering of the questions in one result, and the request that carries the answers.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use mgp_types::{
    Context, Error, Method, Object, Origin, RawJson, Request, Response, RpcService, Session, call_once, code,
};

/// Returns the request that carries the answers to the questions in the result `asked`. The questions have the context of
/// the call, with `session`, that with the server.
pub(super) async fn answered<H: RpcService>(
    inbound: H,
    session: Option<Arc<Session>>,
    mut call: Request,
    asked: RawJson,
) -> Result<Request, Error> {
    let asked = Object::from_raw(&asked).map_err(|_| Error::misbehaved("the result is not an object"))?;
    let questions = asked.get("inputRequests").filter(|questions| !questions.is_null());
    let state = asked.get("requestState").filter(|state| !state.is_null());
    if questions.is_none() && state.is_none() {
        return Err(Error::misbehaved("the server's result asks for input and names none"));
    }
    // Members that are there belong to an earlier round.
    call.params.remove("inputResponses");
    call.params.remove("requestState");
    if let Some(questions) = questions {
        let mut context = call.context.clone();
        context.session = session;
        let answers = answer_all(inbound, &context, &questions).await?;
        call.params.set("inputResponses", answers.to_raw());
    }
    //= mcp 2026-07-28
    //# the client MUST echo back the exact value of requestState; if absent, it MUST NOT include one
    if let Some(state) = state {
        call.params.set("requestState", state);
    }
    Ok(call)
}

/// Lets `inbound` answer all questions of one result at the same time, each in `context`.
async fn answer_all<H: RpcService>(
    inbound: H,
    context: &Context,
    questions: &RawJson,
) -> Result<Object, Error> {
    let malformed = || Error::misbehaved("the server's questions are malformed");
    let questions = Object::from_raw(questions).map_err(|_| malformed())?;
    let mut work = Vec::new();
    for (key, question) in questions.iter() {
        let question = Object::from_raw(&question).map_err(|_| malformed())?;
        let method = Method::new(&question.text("method").ok_or_else(malformed)?);
        if !is_question(&method) {
            return Err(Error::misbehaved(format!(
                "the server asks for `{method}`, which is not a question"
            )));
        }
        let params = match question.get("params") {
            Some(params) => Object::from_raw(&params).map_err(|_| malformed())?,
            None => Object::new(),
        };
        let mut request = Request::call(method.clone(), params);
        (*request.context).clone_from(context);
        work.push((key.into_owned(), method, Box::pin(call_once(inbound.clone(), request))));
    }
    let mut answers = Object::new();
    for (key, answer) in all(work).await? {
        answers.set(key, answer.to_raw());
    }
    Ok(answers)
}

/// A question on its way, with its key and method.
type KeyedQuestion<F> = (String, Method, Pin<Box<F>>);

/// Waits for all answers, or for the first failure.
async fn all<F>(work: Vec<KeyedQuestion<F>>) -> Result<Vec<(String, Response)>, Error>
where
    F: Future<Output = Result<Response, Error>>,
{
    let mut waiting: Vec<_> = work.into_iter().map(|asking| (Some(asking), None)).collect();
    poll_fn(|cx| {
        let mut done = true;
        for (asking, answered) in &mut waiting {
            let Some((_, method, answer)) = asking else { continue };
            match answer.as_mut().poll(cx) {
                Poll::Pending => done = false,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(cannot_answer(method, error))),
                Poll::Ready(Ok(response)) => *answered = asking.take().map(|(key, ..)| (key, response)),
            }
        }
        if done { Poll::Ready(Ok(())) } else { Poll::Pending }
    })
    .await?;
    Ok(waiting.into_iter().filter_map(|(_, answered)| answered).collect())
}

fn cannot_answer(method: &Method, error: Error) -> Error {
    if error.code() == code::METHOD_NOT_FOUND && error.origin() == Origin::Local {
        return Error::misbehaved(format!(
            "the server asks for `{method}`, which this client does not answer"
        ))
        .with_source(error);
    }
    error
}

fn is_question(method: &Method) -> bool {
    *method == Method::ELICIT || *method == Method::CREATE_MESSAGE || *method == Method::ROOTS_LIST
}
