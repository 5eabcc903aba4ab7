//! Calls that are sent again: the rules that say when and how, and the future that goes through the attempts.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::{BoxFuture, Error, Object, Request, Response, ResultKind, RpcService, call_once};
use pin_project_lite::pin_project;

use super::agreement::AgreedSession;
use super::service::ClientEraShared;

/// A rule that says when a call is sent again, and how its requests are written.
///
/// [`ClientEra`](super::ClientEra) keeps one copy of a call for all its rules. A set of rules, `(inner, outer)`, is a rule:
/// the outer one writes a request first, and the inner one judges its outcome first.
pub trait ResendRule: Clone + Send + 'static {
    /// The knowledge of the rule about one call, kept between the requests of the call.
    type State: Send + 'static;

    /// Begins a call; `None` if the rule has no interest in it.
    ///
    /// # Errors
    /// The call is not sent.
    fn begin(&self, request: &Request) -> Result<Option<Self::State>, Error>;

    /// Writes what the server is to get into each request of the call.
    fn write(&self, state: &mut Self::State, request: &mut Request) {
        let _ = (state, request);
    }

    /// Judges the outcome of a request of the call; `call` is the request as it was before it was written.
    fn judge(&self, state: &mut Self::State, call: &Request, outcome: Result<Response, Error>) -> NextStep;
}

/// The step that follows the outcome of a request.
pub enum NextStep {
    /// The call has this outcome.
    Return(Result<Response, Error>),
    /// The request that the future returns is sent. An error of the future is the outcome of the call.
    SendAgain(BoxFuture<'static, Result<Request, Error>>),
}

impl ResendRule for () {
    type State = ();

    fn begin(&self, _: &Request) -> Result<Option<()>, Error> {
        Ok(None)
    }

    fn judge(&self, (): &mut (), _: &Request, outcome: Result<Response, Error>) -> NextStep {
        NextStep::Return(outcome)
    }
}

impl<A: ResendRule, B: ResendRule> ResendRule for (A, B) {
    type State = (Option<A::State>, Option<B::State>);

    fn begin(&self, request: &Request) -> Result<Option<Self::State>, Error> {
        let states = (self.0.begin(request)?, self.1.begin(request)?);
        Ok((states.0.is_some() || states.1.is_some()).then_some(states))
    }

    fn write(&self, (inner, outer): &mut Self::State, request: &mut Request) {
        if let Some(state) = outer {
            self.1.write(state, request);
        }
        if let Some(state) = inner {
            self.0.write(state, request);
        }
    }

    fn judge(
        &self,
        (inner, outer): &mut Self::State,
        call: &Request,
        outcome: Result<Response, Error>,
    ) -> NextStep {
        let step = match inner {
            Some(state) => self.0.judge(state, call, outcome),
            None => NextStep::Return(outcome),
        };
        match (step, outer) {
            (NextStep::Return(outcome), Some(state)) => self.1.judge(state, call, outcome),
            (step, _) => step,
        }
    }
}

/// A call whose requests may have to be sent again.
pub(super) struct ResendableCall<W, R: ResendRule> {
    pub(super) shared: Arc<ClientEraShared<W>>,
    pub(super) rules: R,
    pub(super) state: Option<R::State>,
    /// The request as it was before it was written for the server.
    pub(super) request: Request,
    /// The agreement that the last request was written for.
    pub(super) agreed: Arc<AgreedSession>,
    /// True if the session may be renewed for the call, which it may once for each answer.
    pub(super) is_renewable: bool,
}

impl<W: RpcService, R: ResendRule> ResendableCall<W, R> {
    /// Writes a copy of the request for the server.
    pub(super) fn written(&mut self) -> Request {
        let mut request = self.request.clone();
        if let Some(state) = &mut self.state {
            self.rules.write(state, &mut request);
        }
        self.agreed.prepare(&mut request);
        request
    }

    fn judge(&mut self, outcome: Result<Response, Error>) -> NextStep {
        let outcome = if self.agreed.stamp.is_none() { outcome.map(without_type) } else { outcome };
        match &outcome {
            Ok(_) => {
                self.shared.standing.note(&self.request);
                self.is_renewable = self.shared.can_lose_session(&self.agreed);
            }
            Err(error) if self.is_renewable && self.shared.can_renew(error, &self.agreed) => {
                self.is_renewable = false;
                let (shared, generation) = (Arc::clone(&self.shared), self.agreed.generation);
                let request = self.request.clone();
                return NextStep::SendAgain(Box::pin(async move {
                    shared.renew(generation).await?;
                    Ok(request)
                }));
            }
            Err(_) => {}
        }
        match &mut self.state {
            Some(state) => self.rules.judge(state, &self.request, outcome),
            None => NextStep::Return(outcome),
        }
    }

    async fn send_until_done(
        mut self,
        mut next: BoxFuture<'static, Result<Request, Error>>,
    ) -> Result<Response, Error> {
        loop {
            self.request = next.await?;
            if let Some(agreed) = &*self.shared.options.agreement.load() {
                self.agreed = Arc::clone(agreed);
            }
            let outcome = call_once(self.shared.port.wire(), self.written()).await;
            match self.judge(outcome) {
                NextStep::Return(outcome) => return outcome,
                NextStep::SendAgain(later) => next = later,
            }
        }
    }
}

/// Removes the type from a result of a server with sessions, where it has no meaning.
fn without_type(mut response: Response) -> Response {
    if response.result.kind() != ResultKind::Complete
        && let Ok(mut result) = Object::from_raw(&response.result)
    {
        result.remove("resultType");
        response.result = result.to_raw().into();
    }
    response
}

pin_project! {
    /// The future of [`ClientEra`](super::ClientEra).
    pub struct EraFuture<W: RpcService, R: ResendRule> {
        // The first request, which is the last one of most calls.
        #[pin]
        first: Option<W::Future>,
        // Every call to a server without sessions is one that may have to be sent again.
        call: Option<ResendableCall<W, R>>,
        further: Option<BoxFuture<'static, Result<Response, Error>>>,
    }
}

impl<W: RpcService, R: ResendRule> EraFuture<W, R> {
    pub(super) fn new(first: W::Future, call: Option<ResendableCall<W, R>>) -> Self {
        Self { first: Some(first), call, further: None }
    }

    /// Creates the future of a call that is not sent.
    pub(super) fn refused(error: Error) -> Self {
        Self { first: None, call: None, further: Some(Box::pin(std::future::ready(Err(error)))) }
    }
}

impl<W: RpcService, R: ResendRule> Future for EraFuture<W, R> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        if let Some(first) = this.first.as_mut().as_pin_mut() {
            let outcome = ready!(first.poll(cx));
            let Some(mut call) = this.call.take() else { return Poll::Ready(outcome.map(without_type)) };
            match call.judge(outcome) {
                NextStep::Return(outcome) => return Poll::Ready(outcome),
                NextStep::SendAgain(next) => *this.further = Some(Box::pin(call.send_until_done(next))),
            }
            this.first.set(None);
        }
        this.further.as_mut().map_or(Poll::Pending, |further| further.as_mut().poll(cx))
    }
}

mgp_types::partial_debug!([W: RpcService, R: ResendRule] EraFuture<W, R>);
mgp_types::partial_debug!(NextStep);
