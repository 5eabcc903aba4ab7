//! The layer of a server's own lifecycle: calls are refused while it drains, and the methods of §11 are answered.

use std::fmt;
use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::future::Either;
use mgp_types::mgp::{
    Extension, HealthPong, HealthReport, HealthStatus, Refusal, ServerState, Shutdown, ShutdownAnswer,
    ShutdownReason, Timestamp, method,
};
use mgp_types::{
    BoxFuture, Error, Method, Request, RequestKind, Response, RpcService, Session, WorkRole, call_once,
};
use pin_project_lite::pin_project;
use tokio::sync::futures::OwnedNotified;
use tokio::time::Instant;
use tower_service::Service;

use super::ServerLifecycle;
use super::run::ServerRun;
use crate::admission::{AdmissionKind, InFlightCount};
use crate::refusal;
use crate::span::millis;

/// Gives a server its life. The layer makes [`LifecycleService`]s, which share it.
#[derive(Debug, Clone)]
pub struct LifecycleLayer {
    life: ServerLifecycle,
    answers: bool,
}

impl LifecycleLayer {
    /// Creates a layer that counts calls in `life` and obeys its state.
    pub const fn new(life: ServerLifecycle) -> Self {
        Self { life, answers: true }
    }

    /// Leaves the methods of §11 to the service behind the layer, which has [`ServerLifecycle::answer`] for them.
    #[must_use]
    pub const fn answered_behind(mut self) -> Self {
        self.answers = false;
        self
    }
}

mgp_types::layer!(LifecycleLayer, self, inner => LifecycleService { inner, layer: self.clone() });

/// The service of [`LifecycleLayer`].
///
/// The service sits around the whole server: inside of the era, which knows the session, and outside of all layers that
/// may have to wait. The service is always ready, so that a ping is answered at once however busy the server is; calls
/// wait for the inner service by themselves. The service reads `context.session` and `context.principal`, and notes a
/// refusal in `context.trail`.
///
/// In sessions that negotiated `lifecycle` the service answers `mgp/health/ping`, `mgp/health/status` and
/// `mgp/lifecycle/shutdown`; elsewhere these go on to the server, uncounted. The service counts every other
/// call, of any session, and refuses it with 2000, 2001 or 2002 when the server is not connected; only requests that
/// help the calls inside to finish pass then. The service allocates for refusals and its own answers, and where a call
/// has to wait for capacity. Dropping a future drops the call.
#[derive(Clone)]
pub struct LifecycleService<S> {
    inner: S,
    layer: LifecycleLayer,
}

impl<S: RpcService> Service<Request> for LifecycleService<S> {
    type Future = LifecycleFuture<S>;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> Self::Future {
        let LifecycleLayer { life, answers } = &self.layer;
        if let Some(session) = &request.context.session
            && speaks_lifecycle(session)
            && is_first(&request, session)
        {
            life.note(session);
        }
        if *answers && let Some(answer) = life.answer(&request) {
            return LifecycleFuture::answering(answer);
        }
        //= mgp §11.2
        //# finishing in-flight requests, rejecting new ones
        let is_counted = request.kind == RequestKind::Call && request.role() != WorkRole::Apart;
        let visit = match is_counted.then(|| AdmittedCall::begin(&life.0.run, &request)).transpose() {
            Ok(visit) => visit,
            Err(error) => return LifecycleFuture::refused(error),
        };
        // Readiness is asked for with the call that needs it. Asked for in `poll_ready`, every connection that only
        // pings would keep it, and others would lack that capacity.
        let answer = match self.inner.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Either::Left(self.inner.call(request)),
            Poll::Ready(Err(error)) => return LifecycleFuture::refused(error),
            Poll::Pending => {
                let clone = self.inner.clone();
                let inner = std::mem::replace(&mut self.inner, clone);
                Either::Right(Box::pin(call_once(inner, request)) as BoxFuture<'static, _>)
            }
        };
        LifecycleFuture { answer: Some(answer), visit }
    }
}

mgp_types::partial_debug!([S: fmt::Debug] LifecycleService<S>, self => inner: self.inner);

/// Returns whether the session can be told of changes from this request on. A stateless peer has no such moment, so
/// that each of its requests counts as it.
fn is_first(request: &Request, session: &Arc<Session>) -> bool {
    session.outbox.is_open()
        && (session.describes_each_request()
            || request.kind == RequestKind::Notify && request.method == Method::INITIALIZED)
}

pin_project! {
    /// The future of [`LifecycleService`].
    ///
    /// Dropping it drops the inner call, which then counts no more.
    #[must_use = "futures do nothing unless polled"]
    pub struct LifecycleFuture<S: RpcService> {
        // The answer of the inner service or of the layer; `None` once the call was cut off.
        #[pin]
        answer: Option<Either<S::Future, BoxFuture<'static, Result<Response, Error>>>>,
        #[pin]
        visit: Option<AdmittedCall>,
    }
}

impl<S: RpcService> LifecycleFuture<S> {
    /// Creates a future that refuses the call.
    fn refused(error: Error) -> Self {
        Self::answering(Box::pin(ready(Err(error))))
    }

    /// Creates a future for an answer of the layer.
    fn answering(answer: BoxFuture<'static, Result<Response, Error>>) -> Self {
        Self { answer: Some(Either::Right(answer)), visit: None }
    }
}

impl<S: RpcService> Future for LifecycleFuture<S> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let answer = this.answer.as_mut().as_pin_mut();
        let answer = answer.expect("a future is not polled again after it was ready");
        if let Poll::Ready(outcome) = answer.poll(cx) {
            if let Some(visit) = this.visit.as_mut().as_pin_mut() {
                visit.ended(&outcome);
            }
            this.visit.set(None);
            return Poll::Ready(outcome);
        }
        let end = this.visit.as_mut().as_pin_mut().map_or(Poll::Pending, |visit| visit.poll_end(cx));
        if end.is_ready() {
            // The handler is dropped before the call is answered, and no longer counts once it is.
            this.answer.set(None);
            this.visit.set(None);
        }
        end
    }
}

mgp_types::partial_debug!([S: RpcService] LifecycleFuture<S>);

pin_project! {
    /// A call that is inside: it counts until it is dropped, and is woken when it has to end.
    ///
    /// A call that is done at its first poll costs two atomic operations. A call that waits takes a lock for a moment,
    /// to be woken if the server ends before it.
    struct AdmittedCall {
        run: Arc<ServerRun>,
        kind: AdmissionKind,
        begun: Option<Instant>,
        #[pin]
        gone: Option<OwnedNotified>,
    }

    impl PinnedDrop for AdmittedCall {
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.run.gate.leave(*this.kind);
        }
    }
}

impl AdmittedCall {
    /// Lets a call in.
    ///
    /// # Errors
    /// The refusal of a server that takes no calls.
    fn begin(run: &Arc<ServerRun>, request: &Request) -> Result<Self, Error> {
        let kind = AdmissionKind::of(&request.method);
        run.gate.enter(kind, request.role()).map_err(|inside| refuse(run, inside, request))?;
        Ok(Self { run: Arc::clone(run), kind, begun: None, gone: None })
    }

    /// Waits for the end of the server, because the call is not done yet, and returns the answer to the call then.
    fn poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Response, Error>> {
        let mut this = self.project();
        if this.gone.is_none() {
            *this.begun = (*this.kind == AdmissionKind::Call).then(Instant::now);
            this.gone.set(Some(Arc::clone(&this.run.exit).notified_owned()));
        }
        // A call that begins to wait after the end would not be woken, so that the gate is checked after the wait has
        // begun.
        let woken = this.gone.as_pin_mut().is_some_and(|gone| gone.poll(cx).is_ready());
        if !woken && !this.run.gate.inside().is_ended() {
            return Poll::Pending;
        }
        Poll::Ready(match this.kind {
            AdmissionKind::Call => Err(refusal::cut_off()),
            // A subscription ends with an empty answer.
            AdmissionKind::Listener => Ok(Response::empty()),
        })
    }

    /// Notes that the call ended by itself.
    fn ended(self: Pin<&mut Self>, outcome: &Result<Response, Error>) {
        let this = self.project();
        if let (Some(begun), Ok(_)) = (*this.begun, outcome) {
            this.run.durations.observe(begun.elapsed());
        }
    }
}

fn refuse(run: &ServerRun, inside: InFlightCount, request: &Request) -> Error {
    tracing::debug!(method = %request.method, state = %inside.state(), "call refused");
    if let Some(trail) = &request.context.trail {
        trail.note_refusal(Refusal::new("lifecycle", inside.state().as_str()));
    }
    match inside.state() {
        _ if inside.is_ended() => refusal::gone(),
        state @ (ServerState::Draining | ServerState::Disconnected) => {
            refusal::not_admitted(state, Some(run.remaining(inside.calls())))
        }
        state => refusal::not_admitted(state, Some(Duration::ZERO)),
    }
}

impl ServerLifecycle {
    /// Returns the health of the server: the report of `mgp/health/status`.
    pub async fn report(&self) -> HealthReport {
        let findings = self.0.examination.fresh(&self.0.tasks).await;
        let mut report = HealthReport::new(at_best(self).max(findings.status()), self.uptime().as_secs());
        let (available, total) = self.tool_counts();
        report.tools_available = if self.state() == ServerState::Connected { available } else { 0 };
        report.tools_total = total;
        report.pending_requests = self.pending();
        report.resources = findings.resources.clone();
        report.checks = findings.checks();
        report
    }

    /// Returns the answer to a call of §11 in a session that negotiated `lifecycle`; `None` for other requests.
    pub fn answer(&self, request: &Request) -> Option<BoxFuture<'static, Result<Response, Error>>> {
        if request.role() != WorkRole::Apart
            || !request.context.session.as_deref().is_some_and(speaks_lifecycle)
        {
            return None;
        }
        match request.method.as_str() {
            method::HEALTH_PING => Some(Box::pin(ready(ping(self)))),
            method::HEALTH_STATUS => {
                let life = self.clone();
                Some(Box::pin(async move { Response::with_body(&life.report().await) }))
            }
            method::LIFECYCLE_SHUTDOWN => Some(Box::pin(ready(shutdown(self, request)))),
            _ => None,
        }
    }
}

/// Returns whether the methods of §11 exist in the session.
fn speaks_lifecycle(session: &Session) -> bool {
    session.has(&Extension::Lifecycle)
}

/// Answers a ping with what is known, without waiting. The parameters of a ping decide nothing, so that they are not
/// checked either.
//= mgp §11.3
//# Servers MUST respond within 5 seconds.
fn ping(life: &ServerLifecycle) -> Result<Response, Error> {
    let status = at_best(life).max(life.0.examination.last(&life.0.tasks));
    let uptime = life.uptime().as_secs();
    Response::with_body(&HealthPong::new(status, Timestamp::now(), uptime, life.server_id().clone()))
}

/// Returns the health of the server if its checks find no fault.
fn at_best(life: &ServerLifecycle) -> HealthStatus {
    let by_state = match life.state() {
        ServerState::Connected => HealthStatus::Healthy,
        ServerState::Error => HealthStatus::Unhealthy,
        _ => HealthStatus::Degraded,
    };
    by_state.max(*life.0.declared.lock())
}

fn shutdown(life: &ServerLifecycle, request: &Request) -> Result<Response, Error> {
    let principal = request.context.principal.as_ref();
    let policy = *life.0.run.policy.lock();
    match policy.permits(principal) {
        Some(true) => {}
        Some(false) => {
            tracing::warn!(?principal, "a request to shut down was refused");
            return Err(refusal::may_not_stop());
        }
        None => return Response::with_body(&ShutdownAnswer::refused(life.pending())),
    }
    let wish: Shutdown = request.body().map_err(|error| explain(request, error))?;
    life.begin_shutdown(wish.reason, Duration::from_millis(wish.timeout_ms));
    let calls = life.pending();
    Response::with_body(&ShutdownAnswer::accepted(calls, millis(life.0.run.remaining(calls))))
}

/// Adds the list of valid reasons to the error, if the reason was invalid.
fn explain(request: &Request, error: Error) -> Error {
    let known = request.params.text("reason").is_some_and(|reason| ShutdownReason::read(&reason).is_some());
    if known {
        return error;
    }
    let words: Vec<_> = ShutdownReason::ALL.iter().map(|reason| reason.as_str()).collect();
    Error::invalid_params(format!("`reason` must be one of: {}", words.join(", ")))
}
