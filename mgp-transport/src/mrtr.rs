//! Requests that take several rounds: the server answers with questions, the client sends the answers (2026-07-28).

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::try_join_all;
use mgp_types::mcp::task_extension::EXTENSION_ID;
use mgp_types::{
    Context, Error, Flow, Gate, Gated, InputExchange, InputQuestion, Method, Object, Origin, Params,
    Principal, RawJson, Request, RequestKind, Response, ResultKind, RpcService, Session, call_once, code,
};

use crate::era::{Agreement, NextStep, ResendRule, RoundHandler};
use crate::token::{SealingKey, TokenBinding, TokenPurpose};

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
/// rounds itself pass through, as do their results, if they ask only for what the client declared with the request.
/// Where the server has sessions there are no earlier rounds to continue, and a request that tries is refused with
/// -32602.
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
    /// The number of times that the server has asked; `None` where the caller answers the questions.
    type State = Option<usize>;

    fn begin(&self, request: &Request) -> Result<Option<Self::State>, Error> {
        match self.agreement.rounds_of(request) {
            RoundHandler::Ours => Ok(Some(Some(0))),
            RoundHandler::Caller => Ok(Some(None)),
            RoundHandler::Unknown
                if may_ask(&request.method)
                    && ROUND_MEMBERS.iter().any(|name| request.params.contains(name)) =>
            {
                Err(Error::invalid_params(
                    "no questions were asked that this answers; make the call again without `requestState` and \
                     `inputResponses`",
                ))
            }
            RoundHandler::Nobody | RoundHandler::Unknown => Ok(None),
        }
    }

    fn judge(&self, asked: &mut Self::State, call: &Request, outcome: Result<Response, Error>) -> NextStep {
        let Ok(mut response) = outcome else { return NextStep::Return(outcome) };
        let refused = |why: String| NextStep::Return(Err(Error::misbehaved(why)));
        let caller = call.context.session.as_ref();
        let takes_tasks = || caller.is_none_or(|caller| caller.peer_can(&["extensions", EXTENSION_ID]));
        match response.result.kind() {
            kind if kind == ResultKind::Complete || (kind == ResultKind::Task && takes_tasks()) => {
                if asked.is_some_and(|asked| asked > 0) {
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
        let Some(asked) = asked else {
            return NextStep::Return(check_questions(call, &response.result).map(|()| response));
        };
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

/// Checks the questions in the result `asked`, which go to the caller of `call`.
///
/// # Errors
/// The result asks for nothing, for something that is no question, or for what the caller did not declare.
fn check_questions(call: &Request, asked: &RawJson) -> Result<(), Error> {
    let check = |question: Request| async move {
        let Request { mut context, method, params, .. } = question;
        // What the caller can be asked is noted there and not sent.
        context.input = Some(Arc::default());
        match context.ask("", method, params).await {
            Err(error) if error.origin() != Origin::InputRequired => Err(error),
            _ => Ok(Response::empty()),
        }
    };
    let answers = answered(check, call.context.session.clone(), call.clone(), asked.clone());
    answers.now_or_never().ok_or_else(|| Error::internal("the check of a question waits"))?.map(drop)
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

/// A service behind a [`MrtrGate`].
pub type Mrtr<S> = Gated<MrtrGate, S>;

/// Lets handlers ask a client that cannot be asked directly. The gate sits directly around the router.
///
/// The gate reads `context.session`, `context.principal` and the request's `inputResponses` and `requestState`; it
/// writes `context.input`. When the handler asked questions, they become the result; the answers so far travel with
/// them in the sealed state, which opens only for the same principal and the same request. Where the client can be
/// asked directly the gate has no effect. The gate allocates once per request that may ask.
#[derive(Debug, Clone)]
pub struct MrtrGate(SealingKey);

/// The time that the user has to answer.
const ANSWER_TTL: Duration = Duration::from_mins(10);

impl MrtrGate {
    /// Seals the state between rounds with `key`, for 10 minutes.
    pub fn new(key: SealingKey) -> Self {
        Self(key)
    }

    fn exchange(&self, request: &Request) -> Result<Option<RequestRounds>, Error> {
        let stateless =
            request.context.session.as_ref().is_some_and(|session| session.revision.is_stateless());
        if !stateless || request.kind != RequestKind::Call || !may_ask(&request.method) {
            return Ok(None);
        }
        let (method, params) = (request.method.clone(), request.params.clone());
        let asked = RoundBinding { method, params, principal: request.context.principal.clone() };
        let exchange = asked.answers(&self.0)?.map(InputExchange::new).unwrap_or_default();
        Ok(Some(RequestRounds { asked, exchange: Arc::new(exchange) }))
    }

    /// Returns the result that asks the questions of this round; `None` if there are none.
    fn questions(
        &self,
        RequestRounds { asked, exchange }: &RequestRounds,
    ) -> Option<Result<Response, Error>> {
        let questions = exchange.take_questions();
        if questions.is_empty() {
            return None;
        }
        let answers = exchange.answers().to_raw();
        let state = self.0.seal(answers.as_bytes(), &asked.binding(), ANSWER_TTL).map_err(|why| {
            let message = "the answers so far are too long to ask another question; answer with less";
            Error::new(code::RESOURCE_EXHAUSTED, message).with_source(why)
        });
        state.map(|state| InputQuestion::result(&questions, &state).ok()).transpose()
    }
}

impl Gate for MrtrGate {
    type Pass = Option<RequestRounds>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let rounds = self.exchange(request);
        request.context.input =
            rounds.as_ref().ok().and_then(Option::as_ref).map(|rounds| rounds.exchange.clone());
        rounds.into()
    }

    fn leave(&self, rounds: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let Some(rounds) = rounds
            && let Err(error) = &*outcome
            && error.origin() == Origin::InputRequired
            && let Some(questions) = self.questions(&rounds)
        {
            *outcome = questions;
        }
    }
}

/// A request over its rounds.
#[derive(Debug)]
pub struct RequestRounds {
    asked: RoundBinding,
    exchange: Arc<InputExchange>,
}

/// The facts that the state is bound to.
#[derive(Debug)]
struct RoundBinding {
    method: Method,
    params: Params,
    principal: Option<Principal>,
}

impl RoundBinding {
    fn binding(&self) -> TokenBinding {
        let (principal, purpose) = (self.principal.as_ref(), TokenPurpose::RequestState);
        TokenBinding::of_request(purpose, principal, &self.method, &self.params)
    }

    /// Returns the answers of all rounds so far; `None` in the first.
    fn answers(&self, key: &SealingKey) -> Result<Option<Object>, Error> {
        let state = self.params.get("requestState");
        let responses = self.params.get("inputResponses");
        if state.is_none() && responses.is_none() {
            return Ok(None);
        }
        let mut answers = match state {
            None => Object::new(),
            Some(state) => {
                let sealed = state
                    .to_text()
                    .ok_or_else(|| Error::invalid_params("`requestState` must be a string"))?;
                let opened = key.open(&sealed, &self.binding());
                Object::parse(opened.map_err(|why| Error::invalid_params(why.to_string()).with_source(why))?)?
            }
        };
        if let Some(responses) = responses {
            let responses = Object::from_raw(&responses)
                .map_err(|_| Error::invalid_params("`inputResponses` must be an object"))?;
            answers.set_all(&responses);
        }
        Ok(Some(answers))
    }
}
