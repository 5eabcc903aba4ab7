//! The time of calls by clients of the tool registry, and the error of a call whose time is over.

use std::time::Duration;

use mgp_discovery::config::model::ServerConfig;
use mgp_lifecycle::call::Deadline;
use mgp_types::ext::ExtensionId;
use mgp_types::mgp::CallOptions;
use mgp_types::{Error, Flow, Gate, Method, Origin, RawJson, Request, RequestKind, Response, code};
use tokio::time::Instant;

use crate::settings;

/// A gate that ends calls of clients of the tool registry after 30 seconds, and tells these clients of every call that
/// took too long in the form of the registry.
///
/// A server's own `limits.timeout_ms` goes before the 30 seconds, and a tool that says that it takes minutes has the time
/// of other clients. Stands within all that waits for people, and attaches a [`Deadline`] for what stands further in.
/// Calls of other clients pass untouched, and cost a look at the extensions of their session.
#[derive(Debug, Clone)]
pub(crate) struct RegistryTimeoutGate {
    timeout: Duration,
    is_configured: bool,
}

impl RegistryTimeoutGate {
    pub(crate) fn new(server: &ServerConfig) -> Self {
        let is_configured = server.limits.timeout_ms.is_some();
        Self { timeout: settings::call_timeout(server), is_configured }
    }
}

/// The name of the tool that a client of the registry calls, and the time that the call has.
pub(crate) struct TimedCall {
    tool: String,
    timeout: Duration,
}

impl Gate for RegistryTimeoutGate {
    type Pass = Option<TimedCall>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let session = request.context.session.as_ref();
        let is_of_registry = request.kind == RequestKind::Call
            && request.method == Method::TOOLS_CALL
            && session.is_some_and(|session| session.extensions().has(ExtensionId::ToolRegistry));
        let Some(tool) = request.context.tool.clone().filter(|_| is_of_registry) else {
            return Flow::Pass(None);
        };
        let mut timeout = self.timeout;
        if !self.is_configured && tool.definition.text("latency").as_deref() != Some("minutes") {
            timeout = timeout.min(USUAL_TIMEOUT);
        }
        if request.params.contains("_mgp")
            && let Some(wished) = CallOptions::of(&request.params).deadline_ms
        {
            timeout = timeout.min(Duration::from_millis(wished));
        }
        if timeout < self.timeout {
            let end = Deadline::at(Instant::now() + timeout);
            let earlier = Deadline::of(request).filter(|said| *said < end);
            request.extensions.insert(earlier.unwrap_or(end));
        }
        Flow::Pass(Some(TimedCall { tool: format!("{}.{}", tool.server, tool.name), timeout }))
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        if let (Some(call), Err(error)) = (call, outcome)
            && error.code() == code::TIMEOUT
            && error.origin() == Origin::Timeout
            && let Ok(data) = call.error_data()
        {
            *error = error.clone().with_message("Tool execution timeout").with_data(data);
        }
    }
}

impl TimedCall {
    fn error_data(&self) -> Result<RawJson, serde_json::Error> {
        let Self { tool, timeout } = self;
        let millis = timeout.as_millis();
        RawJson::from_value(&serde_json::json!({
            "error_type": "ToolTimeout",
            "tool_name": tool,
            "timeout_ms": u64::try_from(millis).unwrap_or(u64::MAX),
            "reason": format!("`{tool}` did not end within {millis} ms"),
            "suggestions": [
                "Increase timeout for long-running analysis",
                "Check tool server health",
                "Break request into smaller chunks",
            ],
        }))
    }
}

/// The time of a call where nobody says otherwise.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
