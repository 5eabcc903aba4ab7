//! The service that answers a call which begins to wait for an operator with a task, and goes on with the call behind that
//! answer.

use std::future::ready;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::Either;
use mgp_security::auth::KeyScope;
use mgp_server_sdk::{TaskLimits, TaskRun, TaskStore};
use mgp_transport::mrtr::answered;
use mgp_types::mcp::task_extension::EXTENSION_ID;
use mgp_types::mgp::CallOptions;
use mgp_types::{
    BoxFuture, Error, Method, Outbox, OutboxPort, Request, RequestKind, Response, ResultKind, RpcService,
    Session, StreamId, WaitListener, call_once,
};
use tokio::sync::watch;
use tower_layer::Layer;
use tower_service::Service;

use crate::lifecycle::wait_for_stop;

/// A layer that makes [`WaitingCallService`] services, which share their tasks.
#[derive(Clone)]
pub(crate) struct WaitingCallLayer {
    tasks: Arc<TaskStore>,
    /// True once calls that wait are to end.
    closed: Arc<watch::Sender<bool>>,
}

impl WaitingCallLayer {
    pub(crate) fn new() -> Self {
        let mut limits = TaskLimits::default();
        (limits.max_tasks, limits.max_per_owner) = (MAX_TASKS, MAX_TASKS_PER_CLIENT);
        (limits.ttl, limits.poll_interval) = (TASK_HOLDS, POLL_INTERVAL);
        Self { tasks: Arc::new(TaskStore::new(limits)), closed: Arc::new(watch::Sender::new(false)) }
    }

    /// Ends the calls that wait for operators behind their answers: nobody will be there for their outcomes.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }
}

impl<S> Layer<S> for WaitingCallLayer {
    type Service = WaitingCallService<S>;

    fn layer(&self, inner: S) -> WaitingCallService<S> {
        WaitingCallService { inner, layer: self.clone() }
    }
}

/// A service that answers a call of a tool with a task as soon as the call waits for an operator, if its client handles
/// tasks.
///
/// Sits behind authentication, and in front of all that renders and records outcomes: the outcome of the task is what the
/// call would have been answered with, and the record of the call covers all of it. Reads `context.session`, and the
/// principal that authentication wrote, who alone sees the task. Writes `context.wait_listener`, and puts a port of its own
/// in front of `context.outbox`: notifications of the call are dropped once it is answered. Questions of the call to its
/// client are questions of the task then. The call ends with the key that it came with.
///
/// A call whose client wants parts of the result, or says how long it waits, never becomes a task. Dropping a call that is
/// not answered drops it; afterwards `tasks/cancel` does.
///
/// Costs boxes, a channel and a copy of the request for a call that may become a task; others pass through.
#[derive(Clone)]
pub(crate) struct WaitingCallService<S> {
    inner: S,
    layer: WaitingCallLayer,
}

impl<S: RpcService<Future: 'static>> WaitingCallService<S> {
    /// Begins a call that becomes a task when it waits.
    fn start(&mut self, mut request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        let waits = Arc::new(CallWaits { waits_for: watch::Sender::new(None), is_answered: false.into() });
        request.context.wait_listener = Some(Arc::clone(&waits) as _);
        let mut subject = request.clone();
        // The way back ends with the answer.
        subject.context.outbox = Outbox::CLOSED;
        if let Some((port, stream)) = request.context.outbox.clone().into_parts() {
            let until_answered = UntilAnswered { port, call: Arc::clone(&waits) };
            request.context.outbox = Outbox::new(Arc::new(until_answered), stream);
        }
        let first = Box::pin(KeyScope::hold(&subject, self.inner.call(request)));
        let call = WaitingCall { first, subject, inner: self.inner.clone() };
        Box::pin(until_it_waits(call, waits, self.layer.clone()))
    }
}

impl<S: RpcService<Future: 'static>> Service<Request> for WaitingCallService<S> {
    type Response = Response;
    type Error = Error;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if request.kind == RequestKind::Call {
            if may_become_task(&request) {
                return Either::Right(self.start(request));
            }
            // Tasks of servers are not known here, and pass.
            if let Some(answer) = self.layer.tasks.answer(&request) {
                return Either::Right(Box::pin(ready(answer)));
            }
        }
        Either::Left(self.inner.call(request))
    }
}

fn may_become_task(request: &Request) -> bool {
    let handles_tasks =
        |session: &Session| session.describes_each_request() && session.peer_can(&["extensions", EXTENSION_ID]);
    if request.method != Method::TOOLS_CALL || !request.context.session.as_deref().is_some_and(handles_tasks) {
        return false;
    }
    let options = CallOptions::of(&request.params);
    !options.stream && options.approval_wait_ms.is_none()
}

/// A call that may become a task: its first round, and what further rounds are made of.
struct WaitingCall<F, S> {
    first: Pin<Box<F>>,
    /// The request of the client, without the way back.
    subject: Request,
    inner: S,
}

/// Returns the outcome of the call or, as soon as the call waits for an operator, the task as which it goes on.
async fn until_it_waits<F, S>(
    mut call: WaitingCall<F, S>,
    waits: Arc<CallWaits>,
    layer: WaitingCallLayer,
) -> Result<Response, Error>
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
    S: RpcService<Future: 'static>,
{
    let mut heard = waits.waits_for.subscribe();
    let waits_for = tokio::select! {
        biased;
        outcome = &mut call.first => return outcome,
        Ok(waits_for) = heard.wait_for(Option::is_some) => waits_for.clone().unwrap_or_default(),
    };
    waits.is_answered.store(true, Ordering::Release);
    let (context, closed) = (call.subject.context.clone(), layer.closed.subscribe());
    layer.tasks.begin(&context, &waits_for, move |run| behind_answer(call, heard, closed, run))
}

/// Goes on with a call in its task, and keeps the status of the task up to date.
async fn behind_answer<F, S>(
    call: WaitingCall<F, S>,
    mut heard: watch::Receiver<Option<String>>,
    closed: watch::Receiver<bool>,
    run: TaskRun,
) -> Result<Response, Error>
where
    F: Future<Output = Result<Response, Error>> + Send,
    S: RpcService,
{
    let mut rounds = pin!(all_rounds(call, run.outbox("input")));
    loop {
        let is_waiting = heard.borrow().is_some();
        tokio::select! {
            outcome = &mut rounds => return outcome,
            Ok(()) = heard.changed() => {
                run.say(heard.borrow_and_update().as_deref().unwrap_or("the wait is over, and the call goes on"));
            }
            () = wait_for_stop(closed.clone()), if is_waiting => return Err(Error::cancelled()),
        }
    }
}

/// Returns the outcome of a call, whose questions to its client are asked at `outbox`.
async fn all_rounds<F, S>(call: WaitingCall<F, S>, outbox: Outbox) -> Result<Response, Error>
where
    F: Future<Output = Result<Response, Error>> + Send,
    S: RpcService,
{
    let WaitingCall { first, mut subject, inner } = call;
    let mut outcome = first.await;
    for _ in 0..MAX_ROUNDS {
        let asked = match outcome {
            Ok(response) if response.result.kind() == ResultKind::InputRequired => response.result,
            outcome => return outcome,
        };
        let outbox = outbox.clone();
        let ask = move |question| {
            let outbox = outbox.clone();
            async move { outbox.call(question).await }
        };
        let session = subject.context.session.clone();
        subject = answered(ask, session, subject, asked.into()).await?;
        outcome = KeyScope::hold(&subject, call_once(inner.clone(), subject.clone())).await;
    }
    Err(Error::misbehaved(format!("the call asked for input more than {MAX_ROUNDS} times")))
}

/// The listener of a call that may become a task.
#[derive(Debug)]
struct CallWaits {
    /// What the call waits for; `None` while it does not wait.
    waits_for: watch::Sender<Option<String>>,
    /// True once the call is answered with its task.
    is_answered: AtomicBool,
}

impl WaitListener for CallWaits {
    fn hear(&self, waits_for: Option<&str>) -> bool {
        self.waits_for.send_replace(waits_for.map(str::to_owned));
        // A round that was answered with questions to the client has no receiver any more.
        !self.waits_for.is_closed()
    }
}

/// The way back to the client of a call, which leads nowhere once the call is answered with its task.
struct UntilAnswered {
    port: Arc<dyn OutboxPort>,
    call: Arc<CallWaits>,
}

impl OutboxPort for UntilAnswered {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if self.call.is_answered.load(Ordering::Acquire) {
            return Box::pin(ready(Ok(())));
        }
        self.port.notify(stream, notification)
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.port.call(stream, request)
    }
}

/// The largest number of calls that go on as tasks, or whose outcomes are kept; a finished one makes room.
const MAX_TASKS: usize = 256;
/// The largest number of such calls of one client.
const MAX_TASKS_PER_CLIENT: usize = 64;
/// The time for which a task is kept: longer than a call waits for an operator, so that its outcome can be fetched.
const TASK_HOLDS: Duration = Duration::from_hours(2);
/// The time between two looks at a task: people decide slowly.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The number of times that a call may ask its client before it ends.
const MAX_ROUNDS: usize = 10;
