//! One shape for every decision on the way of a request: a [`Gate`], sets of them, and the layer that is made of them.

use std::borrow::Cow;
use std::fmt::Debug;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use pin_project_lite::pin_project;
use serde::{Deserialize, Serialize};
use tower_layer::Layer;
use tower_service::Service;

use crate::{BoxFuture, Error, Origin, Request, Response, RpcService};

/// A decision about each request: it goes on, is answered here, or waits.
///
/// A gate is a value that all requests share. A set of gates, `(first, second)`, is a gate: requests enter the first one first,
/// and outcomes leave it last. [`layer`](Gate::layer) puts a gate in front of a service, and [`GateLayer`] makes a tower layer
/// of it.
///
/// ```
/// use mgp_types::{Error, Flow, Gate, Method, Request};
///
/// /// Refuses calls of tools at night.
/// #[derive(Clone)]
/// struct OfficeHours {
///     is_night: fn() -> bool,
/// }
///
/// impl Gate for OfficeHours {
///     type Pass = ();
///
///     fn enter(&self, request: &mut Request) -> Flow {
///         if request.method == Method::TOOLS_CALL && (self.is_night)() {
///             return Flow::refuse(Error::invalid_request("call again in the morning"));
///         }
///         Flow::Pass(())
///     }
/// }
/// ```
pub trait Gate: Clone + Send + Sync + 'static {
    /// The findings of `enter` that [`leave`](Self::leave) needs. They are dropped where the caller gives up.
    type Pass: Send + 'static;

    /// Decides about a request, which it may change.
    fn enter(&self, request: &mut Request) -> Flow<Self::Pass>;

    /// Decides once more about a request that passed and then had to wait for another gate of its set, or for the service
    /// behind the set, directly before it goes on to that service. Brings up to date what `enter` wrote into it.
    ///
    /// # Errors
    /// The request does not go on.
    fn recheck(&self, pass: &mut Self::Pass, request: &mut Request) -> Result<(), Error> {
        let _ = (pass, request);
        Ok(())
    }

    /// Looks at the outcome of a request that passed, and may change it. A request that did not pass does not leave.
    fn leave(&self, pass: Self::Pass, outcome: &mut Result<Response, Error>) {
        drop((pass, outcome));
    }

    /// Adds what the gate would answer to a call that is not made, for those who want to know why, and writes into the
    /// request what it would. Counts and records nothing, and asks nobody. A gate that decides nothing about calls adds
    /// nothing.
    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        let _ = (request, answers);
    }

    /// Puts the gate in front of a service.
    fn layer<S>(&self, inner: S) -> Gated<Self, S> {
        Gated { gate: Arc::new(self.clone()), inner }
    }

    /// Makes a tower layer of the gate, for builders that take those.
    fn into_layer(self) -> GateLayer<Self> {
        GateLayer::new(self)
    }
}

/// The decision of a [`Gate`].
pub enum Flow<P = ()> {
    /// The request goes on.
    Pass(P),
    /// The request is answered or refused here, and nobody further in sees it.
    Answer(Result<Response, Error>),
    /// The decision takes time. The future has [taken](Request::take) the request, and returns it. With the answer
    /// [`Error::changed`], the request enters all gates of the set anew.
    Wait(BoxFuture<'static, (Request, Self)>),
}

impl<P> Flow<P> {
    /// Answers the request.
    pub const fn answer(response: Response) -> Self {
        Self::Answer(Ok(response))
    }

    /// Refuses the request.
    pub const fn refuse(error: Error) -> Self {
        Self::Answer(Err(error))
    }

    /// Decides later.
    pub fn wait(decision: impl Future<Output = (Request, Self)> + Send + 'static) -> Self {
        Self::Wait(Box::pin(decision))
    }

    /// Answers the request later; nobody further in sees it.
    pub fn answer_later(answer: impl Future<Output = Result<Response, Error>> + Send + 'static) -> Self {
        Self::wait(async move { (Request::default(), Self::Answer(answer.await)) })
    }
}

impl<P> From<Result<P, Error>> for Flow<P> {
    fn from(decision: Result<P, Error>) -> Self {
        decision.map_or_else(Self::refuse, Self::Pass)
    }
}

crate::partial_debug!([P] Flow<P>);

/// A decision that is not waited for any more: the pass, or the answer.
type Decided<P> = Result<P, Result<Response, Error>>;

async fn decided<P>(mut waiting: BoxFuture<'static, (Request, Flow<P>)>) -> (Request, Decided<P>) {
    loop {
        match waiting.await {
            (request, Flow::Pass(pass)) => return (request, Ok(pass)),
            (request, Flow::Answer(answer)) => return (request, Err(answer)),
            (_, Flow::Wait(longer)) => waiting = longer,
        }
    }
}

impl<A: Gate, B: Gate> Gate for (A, B) {
    type Pass = (A::Pass, B::Pass);

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let (first, second) = self;
        match first.enter(request) {
            Flow::Pass(pass) => enter_second(first, pass, second, request),
            Flow::Answer(answer) => Flow::Answer(answer),
            Flow::Wait(waiting) => {
                let (first, second) = self.clone();
                Flow::wait(async move {
                    let (mut request, decision) = decided(waiting).await;
                    let flow = match decision {
                        Ok(pass) => enter_second(&first, pass, &second, &mut request),
                        Err(answer) => Flow::Answer(answer),
                    };
                    (request, flow)
                })
            }
        }
    }

    fn recheck(&self, (first, second): &mut Self::Pass, request: &mut Request) -> Result<(), Error> {
        self.0.recheck(first, request)?;
        self.1.recheck(second, request)
    }

    fn leave(&self, (first, second): Self::Pass, outcome: &mut Result<Response, Error>) {
        self.1.leave(second, outcome);
        self.0.leave(first, outcome);
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        self.0.explain(request, answers);
        self.1.explain(request, answers);
    }
}

/// Has a request that passed the first of two gates enter the second one, whose answer leaves through the first.
fn enter_second<A: Gate, B: Gate>(
    first: &A,
    pass: A::Pass,
    second: &B,
    request: &mut Request,
) -> Flow<(A::Pass, B::Pass)> {
    match second.enter(request) {
        Flow::Pass(own) => Flow::Pass((pass, own)),
        Flow::Answer(mut answer) => {
            first.leave(pass, &mut answer);
            Flow::Answer(answer)
        }
        Flow::Wait(waiting) => {
            let first = first.clone();
            Flow::wait(async move {
                let (request, decision) = decided(waiting).await;
                let flow = match decision {
                    Ok(own) => Flow::Pass((pass, own)),
                    Err(mut answer) => {
                        first.leave(pass, &mut answer);
                        Flow::Answer(answer)
                    }
                };
                (request, flow)
            })
        }
    }
}

/// Joins gates to one, in the order in which requests enter them.
///
/// ```
/// # use mgp_types::{Error, Flow, Gate, Request, gates};
/// # #[derive(Clone)]
/// # struct Open;
/// # impl Gate for Open {
/// #     type Pass = ();
/// #     fn enter(&self, _: &mut Request) -> Flow { Flow::Pass(()) }
/// # }
/// # let (who, what, how) = (Open, Open, Open);
/// let all = gates![who, what, how];
/// # assert!(matches!(all.enter(&mut Request::default()), Flow::Pass(_)));
/// ```
#[macro_export]
macro_rules! gates {
    ($gate:expr $(,)?) => { $gate };
    ($gate:expr, $($further:expr),+ $(,)?) => { ($gate, $crate::gates![$($further),+]) };
}

/// Makes a tower layer of a [`Gate`].
#[derive(Debug, Clone, Copy, Default)]
pub struct GateLayer<G>(G);

impl<G: Gate> GateLayer<G> {
    /// Returns the layer that puts `gate` in front of services.
    pub const fn new(gate: G) -> Self {
        Self(gate)
    }
}

impl<G: Gate, S> Layer<S> for GateLayer<G> {
    type Service = Gated<G, S>;

    fn layer(&self, inner: S) -> Gated<G, S> {
        self.0.layer(inner)
    }
}

/// A service behind a [`Gate`].
///
/// A request that passes at once costs no allocation. One that waits is boxed, and holds no place of the service meanwhile.
/// Dropping the future drops what it waits for.
pub struct Gated<G, S> {
    gate: Arc<G>,
    inner: S,
}

impl<G, S> Gated<G, S> {
    /// Returns the gate.
    pub fn gate(&self) -> &G {
        &self.gate
    }

    /// Returns the service behind the gate.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<G, S: Clone> Clone for Gated<G, S> {
    fn clone(&self) -> Self {
        Self { gate: Arc::clone(&self.gate), inner: self.inner.clone() }
    }
}

crate::partial_debug!([G: Debug, S: Debug] Gated<G, S>, self => gate: self.gate, inner: self.inner);

impl<G: Gate, S: RpcService> Service<Request> for Gated<G, S> {
    type Response = Response;
    type Error = Error;
    type Future = GatedFuture<G, S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let state = match self.gate.enter(&mut request) {
            Flow::Pass(pass) => State::Passed {
                future: self.inner.call(request),
                leaving: Some((Arc::clone(&self.gate), pass)),
            },
            Flow::Answer(answer) => State::Answered { answer: Some(answer) },
            // The place that is ready stays with whoever need not wait.
            Flow::Wait(waiting) => {
                State::Waiting { future: waited(Arc::clone(&self.gate), waiting, self.inner.clone()) }
            }
        };
        GatedFuture { state }
    }
}

fn waited<G: Gate, S: RpcService>(
    gate: Arc<G>,
    mut waiting: BoxFuture<'static, (Request, Flow<G::Pass>)>,
    mut inner: S,
) -> BoxFuture<'static, Result<Response, Error>> {
    Box::pin(async move {
        let (mut request, mut pass) = loop {
            match decided(waiting).await {
                (request, Ok(pass)) => break (request, pass),
                (mut request, Err(Err(error))) if error.origin() == Origin::Changed => {
                    let flow = gate.enter(&mut request);
                    waiting = Box::pin(std::future::ready((request, flow)));
                }
                (_, Err(answer)) => return answer,
            }
        };
        let ready = poll_fn(|cx| inner.poll_ready(cx)).await;
        let mut outcome = match ready.and_then(|()| gate.recheck(&mut pass, &mut request)) {
            Ok(()) => inner.call(request).await,
            Err(error) => Err(error),
        };
        gate.leave(pass, &mut outcome);
        outcome
    })
}

pin_project! {
    /// The future of a [`Gated`] service.
    #[must_use = "futures do nothing unless polled"]
    pub struct GatedFuture<G: Gate, F> {
        #[pin]
        state: State<G, F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<G: Gate, F> {
        Passed { #[pin] future: F, leaving: Option<(Arc<G>, G::Pass)> },
        Answered { answer: Option<Result<Response, Error>> },
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<G: Gate, F: Future<Output = Result<Response, Error>>> Future for GatedFuture<G, F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match self.project().state.project() {
            StateProj::Passed { future, leaving } => {
                let mut outcome = ready!(future.poll(cx));
                if let Some((gate, pass)) = leaving.take() {
                    gate.leave(pass, &mut outcome);
                }
                Poll::Ready(outcome)
            }
            StateProj::Answered { answer } => {
                Poll::Ready(answer.take().expect("a future is not polled again after it was ready"))
            }
            StateProj::Waiting { future } => future.as_mut().poll(cx),
        }
    }
}

crate::partial_debug!([G: Gate, F] GatedFuture<G, F>);

/// A rule that was asked about a call that is not made, its answer, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AskedRule {
    /// The name of the rule, for people.
    pub rule: Cow<'static, str>,
    /// The answer of the rule.
    pub answer: RuleAnswer,
    /// The reason of the answer; empty where there is nothing to say.
    pub reason: String,
}

/// The answer of a rule to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "a call is made, waits for a person, or is not made")]
pub enum RuleAnswer {
    /// The rule lets the call be made.
    Allows,
    /// The rule has the call wait for a person.
    Asks,
    /// The rule keeps the call from being made.
    Refuses,
}

impl AskedRule {
    /// Returns a rule that allows the call for a reason, or refuses it with an error.
    pub fn judged(rule: &'static str, verdict: Result<impl Into<String>, Error>) -> Self {
        let (answer, reason) = match verdict {
            Ok(reason) => (RuleAnswer::Allows, reason.into()),
            Err(error) => (RuleAnswer::Refuses, error.message().to_owned()),
        };
        Self { rule: rule.into(), answer, reason }
    }

    /// Returns a rule that has a person asked.
    pub fn asks(rule: &'static str, reason: impl Into<String>) -> Self {
        Self { rule: rule.into(), answer: RuleAnswer::Asks, reason: reason.into() }
    }
}

#[cfg(test)]
mod tests;
