//! A server for tests.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::{BoxFuture, Error, Request, Response};
use parking_lot::Mutex;
use tokio::time::Instant;
use tower_service::Service;

pub(crate) type UpstreamAnswer = Result<Response, Error>;

/// A server that records its requests with their times, and works as it is told.
#[derive(Clone)]
pub(crate) struct Upstream {
    seen: Arc<Mutex<Vec<(Instant, Request)>>>,
    running: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    work: Arc<dyn Fn(usize, Request) -> BoxFuture<'static, UpstreamAnswer> + Send + Sync>,
    pub(crate) is_never_ready: bool,
}

impl Upstream {
    /// Creates a server whose `work` gets the number of the request, from 0, and the request.
    pub(crate) fn working<F>(work: impl Fn(usize, Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = UpstreamAnswer> + Send + 'static,
    {
        let work = Arc::new(move |number, request| {
            Box::pin(work(number, request)) as BoxFuture<'static, UpstreamAnswer>
        });
        Self {
            seen: Arc::default(),
            running: Arc::default(),
            most: Arc::default(),
            work,
            is_never_ready: false,
        }
    }

    pub(crate) fn answering(answer: impl Fn(usize) -> UpstreamAnswer + Send + Sync + 'static) -> Self {
        Self::working(move |number, _| std::future::ready(answer(number)))
    }

    pub(crate) fn after(time: Duration) -> Self {
        Self::working(move |_, _| async move {
            tokio::time::sleep(time).await;
            Ok(Response::empty())
        })
    }

    /// Creates a server whose tools do what their names say; `after-5` is done after five milliseconds.
    pub(crate) fn obeying() -> Self {
        Self::working(|_, request| async move {
            let tool = request.params.text("name").unwrap_or_default().into_owned();
            match tool.strip_prefix("after-") {
                Some(millis) => tokio::time::sleep(Duration::from_millis(millis.parse().unwrap())).await,
                None if tool == "never" => pending().await,
                None if tool == "yields" => tokio::task::yield_now().await,
                None if tool == "panics" => panic!("on purpose"),
                None if tool == "panics-late" => {
                    tokio::task::yield_now().await;
                    panic!("on purpose");
                }
                None if tool == "fail" => return Err(Error::internal("it failed")),
                None if request.method.as_str().starts_with("mgp/health")
                    || request.method.as_str().starts_with("mgp/lifecycle") =>
                {
                    return Err(Error::method_not_found(&request.method));
                }
                None => {}
            }
            Ok(Response::empty())
        })
    }

    pub(crate) fn failing(error: &Error) -> Self {
        let error = error.clone();
        Self::answering(move |_| Err(error.clone()))
    }

    pub(crate) fn seen(&self) -> Vec<Request> {
        self.seen.lock().iter().map(|(_, request)| request.clone()).collect()
    }

    /// Returns the methods that were called, in order.
    pub(crate) fn methods(&self) -> Vec<String> {
        self.seen.lock().iter().map(|(_, request)| request.method.to_string()).collect()
    }

    pub(crate) fn times(&self) -> Vec<Instant> {
        self.seen.lock().iter().map(|(time, _)| *time).collect()
    }

    pub(crate) fn calls(&self) -> usize {
        self.seen.lock().len()
    }

    pub(crate) fn running(&self) -> usize {
        self.running.load(Ordering::Relaxed)
    }

    /// Returns the highest number of requests that ran at once.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }
}

impl Service<Request> for Upstream {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, UpstreamAnswer>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.is_never_ready { Poll::Pending } else { Poll::Ready(Ok(())) }
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let mut seen = self.seen.lock();
        let number = seen.len();
        let mut kept = request.clone();
        // The record must not keep a session alive.
        kept.context.session = None;
        seen.push((Instant::now(), kept));
        let running = RunningGuard::new(&self.running, &self.most);
        let work = (self.work)(number, request);
        Box::pin(async move {
            let _running = running;
            work.await
        })
    }
}

mgp_types::partial_debug!(Upstream, self => calls: self.calls());

struct RunningGuard(Arc<AtomicUsize>);

impl RunningGuard {
    fn new(running: &Arc<AtomicUsize>, most: &AtomicUsize) -> Self {
        let now = running.fetch_add(1, Ordering::Relaxed) + 1;
        most.fetch_max(now, Ordering::Relaxed);
        Self(Arc::clone(running))
    }
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
