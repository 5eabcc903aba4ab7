//! The layer that streams the results of tools and cancels calls.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::{CallOptions, Extension, StreamCancelled, StreamGap, StreamPace, method, written};
use mgp_types::{BoxFuture, Error, Method, Outbox, Request, RequestKind, Response, RpcService, StreamId};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::active::ActiveCall;
use super::complete::partial_content;
use super::content::{self, StreamedContent};
use super::registry::{CallRegistry, CallWork};
use crate::session::negotiated;

/// Streams the results of tools, and cancels calls. The layer makes [`StreamService`] services, which share what they know of
/// the calls in progress.
#[derive(Clone, Default)]
pub struct StreamLayer {
    registry: Arc<CallRegistry>,
    upstream: Option<Arc<dyn CancelsUpstream>>,
}

impl StreamLayer {
    /// Creates a layer that leaves sessions without streaming alone. A call whose caller does not take one chunk within
    /// 10 s ends with error 3001.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a layer for a gateway, which cancels calls and streams nothing itself: chunks and messages about them
    /// pass unchanged. `upstream` asks the server behind to cancel its call, and to answer with the partial result. The call
    /// ends here in any case, which takes it back from its server.
    pub fn relaying(upstream: impl CancelsUpstream) -> Self {
        Self { upstream: Some(Arc::new(upstream)), ..Self::new() }
    }

    #[cfg(test)]
    pub(super) fn calls(&self) -> usize {
        self.registry.calls().by_stream.len()
    }
}

mgp_types::layer!(StreamLayer, self, inner => StreamService { inner, layer: self.clone() });

mgp_types::partial_debug!(StreamLayer);

/// The service of [`StreamLayer`].
///
/// The service sits directly around the router: the chunks that it numbers have to be the chunks that leave, and an
/// answer that it fills has to be the answer that all other layers see. The service reads `context.session`, wraps the
/// port of `context.outbox` for calls of tools that ask for chunks, and finds the call that a message is about by
/// `context.outbox.stream()`. Streams are unique in the process and a connection names only the streams of its own
/// requests, so that no peer reaches the call of another session. A cancelled call is noted on `context.trail`.
///
/// A result of more than 64 KiB whose handler sent no chunks is sent in chunks before it is the answer.
///
/// An outer service may send chunks only if the call asks for them
/// ([`CallOptions::stream`](mgp_types::mgp::CallOptions::stream)) in a session that has the extension: for other calls
/// the outbox is not wrapped, and would let chunks pass.
///
/// Without the extension `streaming`, requests pass untouched: nothing is allocated, locked or wrapped. With the
/// extension, a call of a tool that asks for chunks costs one allocation. A call that does not ask for chunks can be
/// cancelled too: it gets an entry in the layer's table once it has to wait, and allocates nothing. The layer's lock is
/// taken for calls that have to wait. Dropping the future drops the handler and the streamed content with it.
#[derive(Clone)]
pub struct StreamService<S> {
    inner: S,
    layer: StreamLayer,
}

impl<S: RpcService> Service<Request> for StreamService<S> {
    type Future = StreamFuture<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, request: Request) -> Self::Future {
        StreamFuture { state: self.begin(request) }
    }
}

impl<S: RpcService> StreamService<S> {
    fn begin(&mut self, mut request: Request) -> State<S::Future> {
        if !negotiated(request.context.session.as_deref(), &Extension::Streaming) {
            return State::Passed { future: self.inner.call(request) };
        }
        let stream = request.context.outbox.stream();
        match (request.kind, request.method.as_str()) {
            (RequestKind::Call, name)
                if name == Method::TOOLS_CALL.as_str() && stream != StreamId::STANDALONE =>
            {
                let streams = self.layer.upstream.is_none() && CallOptions::of(&request.params).stream;
                let (registry, trail) = (Arc::clone(&self.layer.registry), request.context.trail.clone());
                let active = streams.then(|| watch(&mut request));
                let work = CallWork { registry, stream, trail, active, entered: None };
                State::Watched { future: self.inner.call(request), work: Some(work) }
            }
            (RequestKind::Call, method::STREAM_CANCEL) => {
                let calls = Arc::clone(&self.layer.registry);
                let asking = self
                    .layer
                    .upstream
                    .as_ref()
                    .and_then(|upstream| calls.begin_asking(stream).zip(Some(upstream)));
                let Some((asking, upstream)) = asking else {
                    return State::answered(cancel_here(&calls, stream));
                };
                let asked = upstream.cancel(request);
                let cancelled = async move {
                    let answer = asked.await;
                    if let Some(answer) = answer {
                        // The server need not answer the call itself any more.
                        calls.cancel(stream, partial_content(&answer));
                        return Ok(answer);
                    }
                    drop(asking);
                    cancel_here(&calls, stream)
                };
                State::Waiting { future: Box::pin(cancelled) }
            }
            _ if self.layer.upstream.is_some() => State::Passed { future: self.inner.call(request) },
            (RequestKind::Notify, method::STREAM_PACE) => {
                self.pace(&request);
                State::answered(Ok(Response::empty()))
            }
            (RequestKind::Notify, method::STREAM_GAP) => {
                match (self.layer.registry.find(stream), request.body()) {
                    (Some(active), Ok(StreamGap { missing_indices, .. })) => {
                        State::Waiting { future: Box::pin(content::answer(active, missing_indices)) }
                    }
                    _ => State::answered(Ok(Response::empty())),
                }
            }
            _ => State::Passed { future: self.inner.call(request) },
        }
    }

    fn pace(&self, request: &Request) {
        let Some(active) = self.layer.registry.find(request.context.outbox.stream()) else { return };
        match request.body::<StreamPace>() {
            Ok(pace) if active.set_pace(pace.max_chunks_per_second) => {}
            _ => tracing::debug!("a pace is not a number of chunks per second and was ignored"),
        }
    }
}

mgp_types::partial_debug!([S: fmt::Debug] StreamService<S>, self => inner: self.inner);

pin_project! {
    /// The future of [`StreamService`]: the future of the inner service, watched or not, or an answer of the
    /// layer's own.
    ///
    /// Dropping the future drops the handler; the content streamed so far is lost with it.
    #[must_use = "futures do nothing unless polled"]
    pub struct StreamFuture<F> {
        #[pin]
        state: State<F>,
    }
}

pin_project! {
    #[project = StateProj]
    enum State<F> {
        Passed { #[pin] future: F },
        Watched { #[pin] future: F, work: Option<CallWork> },
        Held { work: CallWork },
        Answered { answer: Option<Result<Response, Error>> },
        Waiting { future: BoxFuture<'static, Result<Response, Error>> },
    }
}

impl<F> State<F> {
    const fn answered(answer: Result<Response, Error>) -> Self {
        Self::Answered { answer: Some(answer) }
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for StreamFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.as_mut().project().state;
        let answer = match state.as_mut().project() {
            StateProj::Passed { future } => return future.poll(cx),
            StateProj::Waiting { future } => return future.as_mut().poll(cx),
            StateProj::Answered { answer } => {
                return Poll::Ready(answer.take().expect("a future is not polled again after it was ready"));
            }
            StateProj::Held { work } => match work.ended(cx) {
                Some(answer) => answer,
                None => return Poll::Pending,
            },
            StateProj::Watched { future, work: watched } => {
                let work = watched.as_mut().expect("the work goes on until it is answered");
                match work.ended(cx) {
                    Some(answer) => answer,
                    None => match future.poll(cx) {
                        Poll::Ready(outcome) => match (work.chunks_of(&outcome), work.hold(outcome)) {
                            (None, Some(outcome)) => work.finish(outcome),
                            (Some(chunks), Some(outcome)) => {
                                work.enter(cx);
                                let sent = watched.take().map(|work| work.finish_in_chunks(chunks, outcome));
                                if let Some(sent) = sent {
                                    state.set(State::Waiting { future: Box::pin(sent) });
                                }
                                return self.poll(cx);
                            }
                            (_, None) => {
                                if let Some(work) = watched.take() {
                                    state.set(State::Held { work });
                                }
                                return self.poll(cx);
                            }
                        },
                        Poll::Pending => {
                            work.enter(cx);
                            return Poll::Pending;
                        }
                    },
                }
            }
        };
        // The handler is dropped at once, and not only when the connection drops this future.
        state.set(State::Answered { answer: None });
        Poll::Ready(answer)
    }
}

mgp_types::partial_debug!([F] StreamFuture<F>);

/// A gateway's way to cancel calls at the servers behind it.
pub trait CancelsUpstream: Send + Sync + 'static {
    /// Asks the server that has the call on the stream of `request`, an `mgp/stream/cancel`, to cancel it. Returns the
    /// answer of the server, or `None` if the server cannot be asked or does not say that it cancelled the call.
    fn cancel(&self, request: Request) -> BoxFuture<'static, Option<Response>>;
}

/// Puts the call in progress between the handler of the request and its caller.
fn watch(request: &mut Request) -> Arc<ActiveCall> {
    let outbox = std::mem::take(&mut request.context.outbox);
    let stream = outbox.stream();
    let port = outbox.into_parts().map(|(port, _)| port);
    let open = port.is_some();
    let active = Arc::new(ActiveCall::new(port, stream));
    request.context.outbox =
        if open { Outbox::new(Arc::<ActiveCall>::clone(&active), stream) } else { Outbox::on(stream) };
    active
}

/// Cancels the call and returns the answer to the cancellation.
fn cancel_here(calls: &CallRegistry, stream: StreamId) -> Result<Response, Error> {
    let not_active = || written(&StreamCancelled::not_active()).map(Response::plain);
    calls.cancel(stream, StreamedContent::default()).map_or_else(not_active, Ok)
}
