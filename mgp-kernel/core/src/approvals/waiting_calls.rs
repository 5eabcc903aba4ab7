//! The service that answers a call which begins to wait for an operator with a task, and goes on with the call behind that
//! answer.

use std::future::ready;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::Either;
use mgp_security::auth::KeyScope;
use mgp_server_sdk::{TaskLimits, TaskStore};
use mgp_transport::mrtr::{MAX_ROUNDS, answered};
use mgp_types::mcp::task_extension::EXTENSION_ID;
use mgp_types::mgp::CallOptions;
use mgp_types::{
    BoxFuture, Error, Method, Outbox, Request, RequestKind, Response, ResultKind, RpcService, WaitListener,
    call_once,
};
use tokio::sync::watch;
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
        Self { tasks: Arc::new(TaskStore::new(limits)), closed: Arc::default() }
    }

    /// Ends the calls that wait for operators behind their answers: nobody will be there for their outcomes.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }
}

mgp_types::layer!(WaitingCallLayer, self, inner => WaitingCallService { inner, layer: self.clone() });

/// A service that answers a call of a tool with a task as soon as the call waits for an operator, if its client handles
/// tasks.
///
/// Sits behind authentication, and in front of all that renders and records outcomes: the outcome of the task is what the
/// call would have been answered with, and the record of the call covers all of it. Reads `context.session`, and the
/// principal that authentication wrote, who alone sees the task. Writes `context.wait_listener`. Questions of the call to its
/// client are questions of the task; a call that asked before it waited stays a call. Progress is reported as long as the
/// client's connection lasts. The call ends with the key that it came with.
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
    /// Makes a call that becomes a task when it waits for an operator.
    fn start(&mut self, mut request: Request) -> BoxFuture<'static, Result<Response, Error>> {
        let (waits, mut heard) = watch::channel(None);
        request.context.wait_listener = Some(Arc::new(CallWaits(waits)));
        let mut subject = request.clone();
        // The way back ends with the answer.
        subject.context.outbox = Outbox::CLOSED;
        let mut call = Box::pin(KeyScope::hold(&subject, self.inner.call(request)));
        let (inner, layer) = (self.inner.clone(), self.layer.clone());
        Box::pin(async move {
            let waits_for = tokio::select! {
                biased;
                outcome = &mut call => return outcome,
                Ok(waits_for) = heard.wait_for(Option::is_some) => waits_for.clone().unwrap_or_default(),
            };
            let (context, closed) = (subject.context.clone(), layer.closed.subscribe());
            layer.tasks.begin(&context, &waits_for, |run| async move {
                let mut rounds = pin!(all_rounds(call, subject, inner, run.outbox("input")));
                loop {
                    let is_waiting = heard.borrow().is_some();
                    tokio::select! {
                        outcome = &mut rounds => return outcome,
                        Ok(()) = heard.changed() => {
                            run.say(heard.borrow_and_update().as_deref().unwrap_or("the call goes on"));
                        }
                        () = wait_for_stop(closed.clone()), if is_waiting => return Err(Error::cancelled()),
                    }
                }
            })
        })
    }
}

impl<S: RpcService<Future: 'static>> Service<Request> for WaitingCallService<S> {
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Error>>>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        if may_become_task(&request) {
            return Either::Right(self.start(request));
        }
        // Tasks of servers are not known here, and pass.
        match self.layer.tasks.answer(&request) {
            Some(answer) => Either::Right(Box::pin(ready(answer))),
            None => Either::Left(self.inner.call(request)),
        }
    }
}

fn may_become_task(request: &Request) -> bool {
    let session = request.context.session.as_ref().filter(|session| session.describes_each_request());
    let is_plain = |CallOptions { stream, approval_wait_ms, .. }| !stream && approval_wait_ms.is_none();
    request.kind == RequestKind::Call
        && request.method == Method::TOOLS_CALL
        && session.is_some_and(|session| session.peer_can(&["extensions", EXTENSION_ID]))
        && is_plain(CallOptions::of(&request.params))
}

/// Returns the outcome of a call of `inner` about `subject`, whose questions to its client are asked at `outbox`.
async fn all_rounds<S: RpcService>(
    call: impl Future<Output = Result<Response, Error>> + Send,
    mut subject: Request,
    inner: S,
    outbox: Outbox,
) -> Result<Response, Error> {
    let mut outcome = call.await;
    for _ in 0..MAX_ROUNDS {
        let asked = match outcome {
            Ok(response) if response.result.kind() == ResultKind::InputRequired => response.result,
            outcome => return outcome,
        };
        let (outbox, session) = (outbox.clone(), subject.context.session.clone());
        let ask = move |question| {
            let outbox = outbox.clone();
            async move { outbox.call(question).await }
        };
        subject = answered(ask, session, subject, asked.into()).await?;
        outcome = KeyScope::hold(&subject, call_once(inner.clone(), subject.clone())).await;
    }
    Err(Error::misbehaved(format!("the call asked for input more than {MAX_ROUNDS} times")))
}

/// The listener of a call that may become a task: what the call waits for, or `None` while it does not wait.
#[derive(Debug)]
struct CallWaits(watch::Sender<Option<String>>);

impl WaitListener for CallWaits {
    fn hear(&self, waits_for: Option<&str>) -> bool {
        self.0.send_replace(waits_for.map(str::to_owned));
        // Nobody listens to a call any more that was answered with questions to its client.
        !self.0.is_closed()
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
