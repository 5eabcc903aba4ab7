//! What the tests of calls are arranged with: a server, a caller and a log that do as they are told.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::{AuditEvent, AuditPort, EffectiveSecurity, Recovery, ResolvedTool, RiskLevel};
use mgp_types::{BoxFuture, Error, Object, Origin, Outbox, OutboxPort, Request, Response, StreamId};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower_service::Service;

pub(super) type Answer = Result<Response, Error>;

/// A server that keeps what it is sent and when, and works as it is told.
#[derive(Clone)]
pub(super) struct Upstream {
    seen: Arc<Mutex<Vec<(Instant, Request)>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    work: Arc<dyn Fn(usize, Request) -> BoxFuture<'static, Answer> + Send + Sync>,
}

impl Upstream {
    /// `work` gets the number of the request, from 0, and the request.
    pub(super) fn working<F>(work: impl Fn(usize, Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        let work =
            Arc::new(move |number, request| Box::pin(work(number, request)) as BoxFuture<'static, Answer>);
        Self { seen: Arc::default(), running: Arc::default(), most: Arc::default(), work }
    }

    pub(super) fn answering(answer: impl Fn(usize) -> Answer + Send + Sync + 'static) -> Self {
        Self::working(move |number, _| std::future::ready(answer(number)))
    }

    pub(super) fn after(time: Duration) -> Self {
        Self::working(move |_, _| async move {
            tokio::time::sleep(time).await;
            Ok(Response::empty())
        })
    }

    pub(super) fn failing(error: &Error) -> Self {
        let error = error.clone();
        Self::answering(move |_| Err(error.clone()))
    }

    pub(super) fn seen(&self) -> Vec<Request> {
        self.seen.lock().iter().map(|(_, request)| request.clone()).collect()
    }

    pub(super) fn times(&self) -> Vec<Instant> {
        self.seen.lock().iter().map(|(time, _)| *time).collect()
    }

    pub(super) fn calls(&self) -> usize {
        self.seen.lock().len()
    }

    pub(super) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// How many ran at once at most.
    pub(super) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Service<Request> for Upstream {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Answer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let mut seen = self.seen.lock();
        let number = seen.len();
        seen.push((Instant::now(), request.clone()));
        let running = Running::new(&self.running, &self.most);
        let work = (self.work)(number, request);
        Box::pin(async move {
            let _running = running;
            work.await
        })
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upstream").field("calls", &self.calls()).finish_non_exhaustive()
    }
}

struct Running(Arc<AtomicUsize>);

impl Running {
    fn new(running: &Arc<AtomicUsize>, most: &AtomicUsize) -> Self {
        let now = running.fetch_add(1, Ordering::Relaxed) + 1;
        most.fetch_max(now, Ordering::Relaxed);
        Self(Arc::clone(running))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A caller that keeps what comes about its calls, and answers questions after an hour.
#[derive(Debug, Default)]
pub(super) struct Caller(Mutex<Vec<(StreamId, Request)>>);

impl Caller {
    pub(super) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::clone(self) as Arc<dyn OutboxPort>, StreamId::fresh())
    }

    pub(super) fn got(&self) -> Vec<(StreamId, Request)> {
        self.0.lock().clone()
    }
}

impl OutboxPort for Caller {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.0.lock().push((stream, notification));
        Box::pin(std::future::ready(Ok(())))
    }

    fn call(&self, stream: StreamId, request: Request) -> BoxFuture<'_, Answer> {
        self.0.lock().push((stream, request));
        Box::pin(async {
            tokio::time::sleep(Duration::from_hours(1)).await;
            Ok(Response::empty())
        })
    }
}

/// A log that is read back, and can be made to fail.
#[derive(Debug, Default)]
pub(super) struct Log {
    events: Mutex<Vec<AuditEvent>>,
    fault: Mutex<Option<Error>>,
}

impl Log {
    pub(super) fn events(&self) -> Vec<AuditEvent> {
        self.events.lock().clone()
    }

    /// What of an event is of interest here, as JSON.
    pub(super) fn details(&self, name: &str) -> Vec<String> {
        let detail = |event: &AuditEvent| event.details.get(name).map(|raw| raw.to_bytes());
        let events = self.events();
        events.iter().filter_map(detail).map(|raw| String::from_utf8(raw.to_vec()).unwrap()).collect()
    }

    pub(super) fn fail(&self) {
        *self.fault.lock() = Some(Error::internal("the log is full"));
    }
}

impl AuditPort for Log {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            if let Some(error) = self.fault.lock().clone() {
                return Err(error);
            }
            self.events.lock().push(event);
            Ok(())
        })
    }
}

/// An error of a server, with what it says about trying again.
pub(super) fn peer_error(code: i64, recovery: Recovery) -> Error {
    Error::from_origin(Origin::Peer, code, "no").with_recovery(recovery)
}

/// The call of a tool about which nothing is known.
pub(super) fn tool_call() -> Request {
    Request::call("tools/call", Object::parse(r#"{"name":"search","arguments":{"q":"x"}}"#).unwrap())
}

/// The call of a tool whose definition has these annotations.
pub(super) fn call_of(annotations: &str) -> Request {
    let definition = Object::parse(format!(r#"{{"annotations":{annotations}}}"#)).unwrap();
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    let mut request = tool_call();
    request.context.tool = Some(ResolvedTool::new("web".into(), "search".into(), definition, security));
    request
}

pub(super) fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}
