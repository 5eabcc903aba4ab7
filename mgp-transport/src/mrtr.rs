//! Requests that take several rounds: the server answers with questions, the client sends the answers (2026-07-28).

mod server;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use futures_util::future::try_join_all;
use mgp_types::{
    Context, Error, Method, Object, Origin, RawJson, Request, Response, ResultKind, RpcService, Session,
    call_once, code,
};

pub use self::server::{Mrtr, MrtrGate};
use crate::era::{Agreement, NextStep, ResendRule, RoundHandler};

/// Answers the questions that the server asks in its results, as if it had sent requests.
///
/// A result of `tools/call`, `prompts/get` or `resources/read` may ask for input instead of being final. Each question
/// goes as a request into `inbound`, the same stack that answers a server's own requests, so the same gates see it;
/// then the request is sent again with the answers. The questions of one result are asked at the same time.
///
/// `InputRounds` is a rule of [`ClientEra`](crate::era::ClientEra). Each question has the context of its call, so that the
/// answering service can reach the caller, with the server's session in place of the caller's. What an ordinary result
/// says of itself is read once for all who ask. The call fails when the client cannot answer, when the server asks more
/// than ten times, or when the result is of a type that was not agreed on. Dropping a call drops the questions in work.
///
/// In a gateway ([`EraOptions::relays`](crate::era::EraOptions::relays)) the requests of a client that handles
/// rounds itself pass through, as do their results. Where the server has sessions there are no earlier rounds to
/// continue, and a request that tries is refused with -32602.
#[derive(Debug, Clone)]
pub struct InputRounds<H> {
    inbound: H,
    agreement: Agreement,
}

/// The mark on a result that was made with answers of the user or of the client's model: it belongs to its call alone,
/// and no cache keeps it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AnsweredQuestions;

/// The members by which a request continues earlier rounds.
const ROUND_MEMBERS: [&str; 2] = ["inputResponses", "requestState"];

/// The number of times that a server may ask before it answers.
pub const MAX_ROUNDS: usize = 10;

impl<H> InputRounds<H> {
    /// Creates the rule whose `inbound` answers the questions asked under `agreement`.
    pub fn new(inbound: H, agreement: Agreement) -> Self {
        Self { inbound, agreement }
    }
}

impl<H: RpcService> ResendRule for InputRounds<H> {
    /// The number of times that the server has asked.
    type State = usize;

    fn begin(&self, request: &Request) -> Result<Option<usize>, Error> {
        match self.agreement.rounds_of(request) {
            RoundHandler::Ours => Ok(Some(0)),
            RoundHandler::Unknown
                if may_ask(&request.method)
                    && ROUND_MEMBERS.iter().any(|name| request.params.contains(name)) =>
            {
                Err(Error::invalid_params(
                    "no questions were asked that this answers; make the call again without `requestState` and \
                     `inputResponses`",
                ))
            }
            RoundHandler::None | RoundHandler::Callers | RoundHandler::Unknown => Ok(None),
        }
    }

    fn judge(&self, asked: &mut usize, call: &Request, outcome: Result<Response, Error>) -> NextStep {
        let Ok(mut response) = outcome else { return NextStep::Return(outcome) };
        let refused = |why: String| NextStep::Return(Err(Error::misbehaved(why)));
        match response.result.kind() {
            ResultKind::Complete | ResultKind::Task => {
                if *asked > 0 {
                    response.extensions.insert(AnsweredQuestions);
                }
                return NextStep::Return(Ok(response));
            }
            ResultKind::InputRequired => {}
            //= mcp 2026-07-28
            //# If the client does not recognise the value, it MUST treat the response as invalid.
            _ => return refused("the result is of a type that was not agreed on".to_owned()),
        }
        if !may_ask(&call.method) {
            return refused("the server asks for input where it may not".to_owned());
        }
        if *asked == MAX_ROUNDS {
            return refused(format!("the server asked for input more than {MAX_ROUNDS} times"));
        }
        *asked += 1;
        let inbound = self.inbound.clone();
        NextStep::SendAgain(Box::pin(answered(
            move |question| call_once(inbound.clone(), question),
            self.agreement.session(),
            call.clone(),
            response.result.into(),
        )))
    }
}

/// Returns the request that carries the answers of `ask` to the questions in the result `asked` of `call`. The questions
/// have the context of the call, with `session`, that with the server.
///
/// # Errors
/// The result asks for nothing, or for something that is no question, or a question is not answered.
pub async fn answered<A: Fn(Request) -> F, F: Future<Output = Result<Response, Error>>>(
    ask: A,
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
    for name in ROUND_MEMBERS {
        call.params.remove(name);
    }
    if let Some(questions) = questions {
        let mut context = call.context.clone();
        context.session = session;
        let answers = answer_all(ask, &context, &questions).await?;
        call.params.set("inputResponses", answers.to_raw());
    }
    //= mcp 2026-07-28
    //# the client MUST echo back the exact value of requestState; if absent, it MUST NOT include one
    if let Some(state) = state {
        call.params.set("requestState", state);
    }
    Ok(call)
}

/// Lets `ask` answer all questions of one result at the same time, each in `context`.
async fn answer_all<A, F>(ask: A, context: &Context, questions: &RawJson) -> Result<Object, Error>
where
    A: Fn(Request) -> F,
    F: Future<Output = Result<Response, Error>>,
{
    let malformed = || Error::misbehaved("the server's questions are malformed");
    let questions = Object::from_raw(questions).map_err(|_| malformed())?;
    let mut work = Vec::new();
    for (key, question) in questions.iter() {
        let question = Object::from_raw(&question).map_err(|_| malformed())?;
        let method = Method::new(&question.text("method").ok_or_else(malformed)?);
        if ![Method::ELICIT, Method::CREATE_MESSAGE, Method::ROOTS_LIST].contains(&method) {
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
        let (key, answer) = (key.into_owned(), ask(request));
        work.push(async move {
            answer.await.map(|answer| (key, answer)).map_err(|error| cannot_answer(&method, error))
        });
    }
    let answers = try_join_all(work).await?.into_iter();
    Ok(answers.map(|(key, answer)| (key, answer.to_raw())).collect())
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

/// Returns whether an answer to this method may ask questions.
fn may_ask(method: &Method) -> bool {
    *method == Method::TOOLS_CALL || *method == Method::PROMPTS_GET || *method == Method::RESOURCES_READ
}
