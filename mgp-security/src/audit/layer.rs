//! The tower layer that records calls in the audit trail.

use std::sync::Arc;

use mgp_types::mgp::{AgentId, AuditPort, ServerId};
use tower_layer::Layer;

use super::arguments::ArgumentRecording;
use super::service::Audit;
use crate::Clock;

/// A layer that records each tool call, each resource read, each prompt, each method beyond MCP and MGP that is
/// passed to a server, and every other request that is refused (§6).
///
/// The layer stands in front of every decision, because otherwise it would see no denial, and behind the layers that
/// set the session and the principal. It needs neither of them, nor any other layer of this crate: without a
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
/// let mut server = AuditLayer::new(log.clone()).for_server("tool.terminal".into()).layer(plain_mcp_server);
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
    pub(super) agent: Option<AgentId>,
    pub(super) arguments: ArgumentRecording,
}

impl AuditLayer {
    /// Returns a layer that records to `port`, for example to an [`AuditLog`](super::AuditLog).
    pub fn new(port: impl AuditPort) -> Self {
        let settings = AuditLayerSettings {
            port: Arc::new(port),
            clock: Clock::default(),
            server: None,
            agent: None,
            arguments: ArgumentRecording::Omitted,
        };
        Self { settings: Arc::new(settings) }
    }

    /// Sets the server that is recorded for requests that nothing resolves.
    pub fn for_server(self, server: ServerId) -> Self {
        self.with(|settings| settings.server = Some(server))
    }

    /// Sets the agent that is recorded for requests that nothing authenticates.
    pub fn for_agent(self, agent: AgentId) -> Self {
        self.with(|settings| settings.agent = Some(agent))
    }

    /// Sets how the arguments of tool calls are recorded.
    pub fn arguments(self, arguments: ArgumentRecording) -> Self {
        self.with(|settings| settings.arguments = arguments)
    }

    /// Sets the clock that events are dated with.
    pub fn clock(self, clock: Clock) -> Self {
        self.with(|settings| settings.clock = clock)
    }

    fn with(mut self, change: impl FnOnce(&mut AuditLayerSettings)) -> Self {
        change(Arc::make_mut(&mut self.settings));
        self
    }
}

impl<S> Layer<S> for AuditLayer {
    type Service = Audit<S>;

    fn layer(&self, inner: S) -> Audit<S> {
        Audit::new(inner, Arc::clone(&self.settings))
    }
}
