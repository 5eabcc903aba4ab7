//! The server's side: the layer that turns a handler's questions into a result, and answers into state.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::{
    Error, Flow, Gate, Gated, InputExchange, InputQuestion, Method, Object, Origin, Params, Principal,
    Request, RequestKind, Response, code,
};

use super::may_ask;
use crate::token::{SealingKey, TokenBinding, TokenPurpose};

/// A service behind a [`MrtrGate`].
pub type Mrtr<S> = Gated<MrtrGate, S>;

/// Lets handlers ask a client that cannot be asked directly. The gate sits directly around the router.
///
/// The gate reads `context.session`, `context.principal` and the request's `inputResponses` and `requestState`; it
/// writes `context.input`. When the handler asked questions, they become the result; the answers so far travel with
/// them in the sealed state, which opens only for the same principal and the same request. Where the client can be
/// asked directly the gate has no effect. The gate allocates once per request that may ask.
#[derive(Debug, Clone)]
pub struct MrtrGate {
    key: SealingKey,
    ttl: Duration,
}

impl MrtrGate {
    /// Seals the state between rounds with `key`, for 10 minutes.
    pub fn new(key: SealingKey) -> Self {
        Self { key, ttl: Duration::from_mins(10) }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Sets the time that the user has to answer.
        pub fn with_ttl(ttl: Duration) => self.ttl = ttl;
    }

    fn exchange(&self, request: &Request) -> Result<Option<RequestRounds>, Error> {
        let stateless =
            request.context.session.as_ref().is_some_and(|session| session.revision.is_stateless());
        if !stateless || request.kind != RequestKind::Call || !may_ask(&request.method) {
            return Ok(None);
        }
        let (method, params) = (request.method.clone(), request.params.clone());
        let asked = RoundBinding { method, params, principal: request.context.principal.clone() };
        let exchange = asked.answers(&self.key)?.map(InputExchange::new).unwrap_or_default();
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
        let state = match self.key.seal(answers.as_bytes(), &asked.binding(), self.ttl) {
            Ok(state) => state,
            Err(why) => {
                let message = "the answers so far are too long to ask another question; answer with less";
                return Some(Err(Error::new(code::RESOURCE_EXHAUSTED, message).with_source(why)));
            }
        };
        InputQuestion::result(&questions, &state).ok().map(Ok)
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

/// One request over its rounds.
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
            for (key, answer) in responses.iter() {
                answers.set(key.into_owned(), answer);
            }
        }
        Ok(Some(answers))
    }
}
