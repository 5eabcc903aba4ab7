//! The server's side: the layer that turns a handler's questions into a result, and answers into state.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_types::{
    Error, InputExchange, Method, Object, Origin, Params, Principal, Request, RequestKind, Response,
    RpcService, code, json,
};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

use super::may_ask;
use crate::token::{SealingKey, TokenBinding, TokenPurpose};

/// Makes [`Mrtr`] layers.
#[derive(Debug, Clone)]
pub struct MrtrLayer {
    key: SealingKey,
    ttl: Duration,
}

impl MrtrLayer {
    /// Seals the state between rounds with `key`, for 10 minutes.
    pub fn new(key: SealingKey) -> Self {
        Self { key, ttl: Duration::from_mins(10) }
    }

    /// Sets the time that the user has to answer.
    #[must_use]
    pub fn with_ttl(mut self, ttl: Duration) -> Self {
        self.ttl = ttl;
        self
    }
}

impl<S> Layer<S> for MrtrLayer {
    type Service = Mrtr<S>;

    fn layer(&self, inner: S) -> Mrtr<S> {
        Mrtr { inner, sealing: Arc::new(self.clone()) }
    }
}

/// Lets handlers ask a client that cannot be asked directly. The layer sits directly around the router.
///
/// The layer reads `context.session`, `context.principal` and the request's `inputResponses` and `requestState`; it
/// writes `context.input`. When the handler asked questions, they become the result; the answers so far travel with
/// them in the sealed state, which opens only for the same principal and the same request. Where the client can be
/// asked directly the layer has no effect. The layer allocates once per request that may ask.
#[derive(Debug, Clone)]
pub struct Mrtr<S> {
    inner: S,
    sealing: Arc<MrtrLayer>,
}

impl<S> Mrtr<S> {
    fn exchange(&self, request: &Request) -> Result<Option<RequestRounds>, Error> {
        let stateless =
            request.context.session.as_ref().is_some_and(|session| session.revision.is_stateless());
        if !stateless || request.kind != RequestKind::Call || !may_ask(&request.method) {
            return Ok(None);
        }
        let (method, params) = (request.method.clone(), request.params.clone());
        let mut rounds = RequestRounds {
            asked: RoundBinding { method, params, principal: request.context.principal.clone() },
            exchange: Arc::default(),
            sealing: self.sealing.clone(),
        };
        if let Some(answers) = rounds.answers()? {
            rounds.exchange = Arc::new(InputExchange::new(answers));
        }
        Ok(Some(rounds))
    }
}

impl<S: RpcService> Service<Request> for Mrtr<S> {
    type Response = Response;
    type Error = Error;
    type Future = MrtrFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match self.exchange(&request) {
            Ok(rounds) => {
                request.context.input = rounds.as_ref().map(|rounds| rounds.exchange.clone());
                MrtrFuture::Passed { future: self.inner.call(request), rounds }
            }
            Err(error) => MrtrFuture::Refused { error: Some(error) },
        }
    }
}

pin_project! {
    /// The future of [`Mrtr`].
    #[project = Projected]
    #[derive(Debug)]
    pub enum MrtrFuture<F> {
        /// The state was not sealed by this server for this request.
        #[doc(hidden)]
        Refused { error: Option<Error> },
        /// The service behind the layer answers.
        #[doc(hidden)]
        Passed { #[pin] future: F, rounds: Option<RequestRounds> },
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for MrtrFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project() {
            Projected::Refused { error } => {
                Poll::Ready(Err(error.take().expect("a future is not polled again after it was ready")))
            }
            Projected::Passed { future, rounds } => {
                let outcome = ready!(future.poll(cx));
                Poll::Ready(match (outcome, rounds) {
                    (Err(error), Some(rounds)) if error.origin() == Origin::InputRequired => {
                        rounds.questions().unwrap_or(Err(error))
                    }
                    (outcome, _) => outcome,
                })
            }
        }
    }
}

/// One request over its rounds.
#[derive(Debug)]
pub struct RequestRounds {
    asked: RoundBinding,
    exchange: Arc<InputExchange>,
    sealing: Arc<MrtrLayer>,
}

/// The facts that the state is bound to.
#[derive(Debug)]
struct RoundBinding {
    method: Method,
    params: Params,
    principal: Option<Principal>,
}

impl RequestRounds {
    /// Returns the answers of all rounds so far; `None` in the first.
    fn answers(&self) -> Result<Option<Object>, Error> {
        let state = self.asked.params.get("requestState");
        let responses = self.asked.params.get("inputResponses");
        if state.is_none() && responses.is_none() {
            return Ok(None);
        }
        let mut answers = match state {
            None => Object::new(),
            Some(state) => {
                let sealed = state
                    .to_text()
                    .ok_or_else(|| Error::invalid_params("`requestState` must be a string"))?;
                let opened = self.sealing.key.open(&sealed, &self.asked.binding());
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

    /// Returns the result that asks the questions of this round; `None` if there are none.
    fn questions(&self) -> Option<Result<Response, Error>> {
        let questions = self.exchange.take_questions();
        if questions.is_empty() {
            return None;
        }
        let answers = self.exchange.answers().to_raw();
        let sealed = self.sealing.key.seal(answers.as_bytes(), &self.asked.binding(), self.sealing.ttl);
        let state = match sealed {
            Ok(state) => state,
            Err(why) => {
                let message = "the answers so far are too long to ask another question; answer with less";
                return Some(Err(Error::new(code::RESOURCE_EXHAUSTED, message).with_source(why)));
            }
        };
        let mut result = br#"{"resultType":"input_required","inputRequests":{"#.to_vec();
        for (index, question) in questions.iter().enumerate() {
            if index > 0 {
                result.push(b',');
            }
            question.write(&mut result);
        }
        result.extend_from_slice(br#"},"requestState":"#);
        json::write_string(&mut result, &state);
        result.push(b'}');
        json::RawJson::parse(result).ok().map(|result| Ok(Response::new(result)))
    }
}

impl RoundBinding {
    fn binding(&self) -> TokenBinding {
        let (principal, purpose) = (self.principal.as_ref(), TokenPurpose::RequestState);
        TokenBinding::of_request(purpose, principal, &self.method, &self.params)
    }
}
