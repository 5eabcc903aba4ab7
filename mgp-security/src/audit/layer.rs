//! The tower layer that records calls in the audit trail.

use std::future::ready;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::future::Either;
use mgp_types::mgp::{AuditPort, CallRecord, Recovery, ServerId, TraceId};
use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use pin_project_lite::pin_project;
use tower_service::Service;

use super::call::{RecordSubject, RecordedCall};
use super::redact::ArgumentRecording;
use super::trace::trace_of;
use crate::Clock;

/// A layer that records each tool call, each resource read, each prompt, each method beyond MCP and MGP that is
/// passed to a server, and every other request that is refused (§6).
///
/// The layer stands in front of every decision about a known caller, because otherwise it would see no denial, and behind
/// the layers that set the session and the principal. It needs neither of them, nor any other layer of this crate: without a
/// principal the agent is called `anonymous`, and where nothing resolves the tool, the server is that of
/// [`for_server`](Self::for_server).
///
/// The layer reads `context.principal` and `context.tool`. It writes `context.trace`, with the id that came with the
/// request or a new one, and an empty `context.trail`, which the layers further in fill. If the log is known to be
/// unable to take a record, a call that would be recorded is refused before it is carried out; if the record fails
/// only afterwards, the answer is withheld. A call whose future is dropped is recorded as cancelled.
///
/// Arguments are not recorded unless [`arguments`](Self::arguments) says how, and results are never recorded.
///
/// ```
/// use std::sync::Arc;
///
/// use mgp_security::audit::{AuditLayer, AuditLog, Filter, LogStore, Query};
/// use mgp_types::{Object, Request, Response};
/// use tower_layer::Layer;
/// use tower_service::Service;
///
/// # #[derive(Clone)]
/// # struct Plain;
/// # impl Service<Request> for Plain {
/// #     type Response = Response;
/// #     type Error = mgp_types::Error;
/// #     type Future = std::future::Ready<Result<Response, mgp_types::Error>>;
/// #     fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), mgp_types::Error>> {
/// #         std::task::Poll::Ready(Ok(()))
/// #     }
/// #     fn call(&mut self, _: Request) -> Self::Future { std::future::ready(Ok(Response::empty())) }
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// # runtime.block_on(async {
/// # let plain_mcp_server = Plain;
/// let log = AuditLog::open(LogStore::in_memory()?)?;
/// let mut server = AuditLayer::new(Arc::new(log.clone())).for_server("tool.terminal".into()).layer(plain_mcp_server);
/// server.call(Request::call("tools/call", Object::parse(r#"{"name":"ls"}"#)?)).await?;
///
/// let event = log.reader().query(&Query::new(Filter::default()))?.remove(0).to_event()?;
/// assert_eq!(event.event_type.as_str(), "TOOL_EXECUTED");
/// assert_eq!(event.target.server_id, Some("tool.terminal".into()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # }).map_err(|error| error.to_string())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct AuditLayer {
    settings: Arc<AuditLayerSettings>,
}

/// The settings that all calls of a layer share.
#[derive(Debug, Clone)]
pub(super) struct AuditLayerSettings {
    pub(super) port: Arc<dyn AuditPort>,
    pub(super) clock: Clock,
    pub(super) server: Option<ServerId>,
    pub(super) arguments: ArgumentRecording,
}

impl AuditLayer {
    /// Returns a layer that records to `port`, for example to an [`AuditLog`](super::AuditLog).
    pub fn new(port: Arc<dyn AuditPort>) -> Self {
        let (clock, arguments) = (Clock::default(), ArgumentRecording::Omitted);
        Self { settings: Arc::new(AuditLayerSettings { port, clock, server: None, arguments }) }
    }

    mgp_types::setters! { self =>
        /// Sets the server that is recorded for requests that nothing resolves.
        pub fn for_server(server: ServerId) => Arc::make_mut(&mut self.settings).server = Some(server);

        /// Sets how the arguments of tool calls are recorded.
        pub fn arguments(arguments: ArgumentRecording) =>
            Arc::make_mut(&mut self.settings).arguments = arguments;

        /// Sets the clock that events are dated with.
        pub fn clock(clock: Clock) => Arc::make_mut(&mut self.settings).clock = clock;
    }
}

mgp_types::layer!(AuditLayer, self, inner => Audit { inner, settings: Arc::clone(&self.settings) });

/// The service of [`AuditLayer`](super::AuditLayer), whose documentation tells where it stands and what it reads and
/// writes.
///
/// The service allocates the trail for each request, and the record for requests that are recorded. Dropping its
/// future records the call as cancelled.
#[derive(Debug, Clone)]
pub struct Audit<S> {
    inner: S,
    settings: Arc<AuditLayerSettings>,
}

impl<S: RpcService> Service<Request> for Audit<S> {
    type Future = AuditFuture<S::Future>;

    mgp_types::ready_as_inner!();

    fn call(&mut self, mut request: Request) -> Self::Future {
        let subject = RecordSubject::of(&request.method);
        let trace = trace_of(&request).unwrap_or_else(TraceId::random);
        let trail = Arc::new(CallRecord::of(request.context.principal.clone()));
        request.context.trace = Some(trace);
        request.context.trail = Some(Arc::clone(&trail));
        let mut call = RecordedCall::new(&request, subject, trace, trail, Arc::clone(&self.settings));
        if let Err(error) = call.open() {
            return AuditFuture { stage: Either::Right(Box::pin(ready(Err(error)))), open: OpenCall(None) };
        }
        // The call is open before the service sees it, so everything from here on is recorded, a panic included.
        let open = OpenCall(Some(call));
        AuditFuture { stage: Either::Left(self.inner.call(request)), open }
    }
}

pin_project! {
    /// The future of [`Audit`].
    ///
    /// # Cancel safety
    /// Dropping it records the call as cancelled.
    #[must_use]
    pub struct AuditFuture<F> {
        #[pin]
        stage: Either<F, BoxFuture<'static, Result<Response, Error>>>,
        open: OpenCall,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for AuditFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.stage.as_mut().as_pin_mut() {
                Either::Left(inner) => {
                    let answer = ready!(inner.poll(cx));
                    let Some(call) = this.open.0.take() else { return Poll::Ready(answer) };
                    let events = call.events(&answer);
                    if events.is_empty() {
                        return Poll::Ready(answer);
                    }
                    let port = &call.settings.port;
                    let Err(events) = port.try_record(events) else { return Poll::Ready(answer) };
                    let port = Arc::clone(port);
                    let recorded = async move { port.record_all(events).await.map_err(withhold).and(answer) };
                    this.stage.set(Either::Right(Box::pin(recorded)));
                }
                Either::Right(recorded) => return recorded.poll(cx),
            }
        }
    }
}

mgp_types::partial_debug!([F] AuditFuture<F>, self => open: self.open.0.is_some());

/// A call that has begun and is not recorded yet. Dropping it records the call as cancelled.
struct OpenCall(Option<RecordedCall>);

impl Drop for OpenCall {
    fn drop(&mut self) {
        if let Some(call) = self.0.take() {
            let events = call.cancelled();
            if !events.is_empty() {
                call.settings.port.record_now(events);
            }
        }
    }
}

/// Returns the error that replaces the answer of a call whose record failed. It says that the call is over, so that
/// the caller does not believe that nothing happened; the answer is withheld because nobody could prove that it was
/// given.
fn withhold(error: Error) -> Error {
    tracing::error!(code = error.code(), "an answer is withheld because the call could not be recorded");
    let again = Recovery::for_code(error.code()).unwrap_or_default().with_retryable(false);
    Error::new(error.code(), "the call is over, but its record cannot be kept, so its answer is withheld")
        .with_recovery(again)
        .with_source(error)
}
