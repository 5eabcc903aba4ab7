//! The gate that serves health and lifecycle methods for the servers of the kernel.

use std::sync::Arc;
use std::time::Duration;

use mgp_lifecycle::supervise::{ProbeMethod, ProbeResult, probe};
use mgp_security::access::AccessPolicy;
use mgp_types::mgp::{
    HealthPong, HealthReport, HealthStatus, ServerState, Shutdown, ShutdownAnswer, Timestamp, method,
};
use mgp_types::{Error, Flow, Gate, PrincipalRole, Request, RequestKind, Response, code};

use crate::lifecycle::KERNEL;
use crate::running::RunningConfig;
use crate::servers::fleet::Fleet;
use crate::servers::upstream::Upstream;

/// A gate that serves the methods of §11 for the servers of the kernel, where `server_id` names one.
///
/// `mgp/health/ping`, `mgp/health/status` and `mgp/lifecycle/shutdown` with a `server_id` are about that server: it is
/// asked in the best way that it understands, or stopped. Only operators may call them, unless the configuration lets
/// agents; an agent learns nothing of a server that it does not reach in any case. Without `server_id` these methods
/// are about the kernel and go on, like everything else.
#[derive(Clone)]
pub(crate) struct ServerHealthGate {
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) access: AccessPolicy,
    pub(crate) fleet: Arc<Fleet>,
}

impl Gate for ServerHealthGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let ours = [method::HEALTH_PING, method::HEALTH_STATUS, method::LIFECYCLE_SHUTDOWN];
        let is_ours = request.kind == RequestKind::Call && ours.contains(&request.method.as_str());
        let server = request.params.text("server_id").filter(|server| is_ours && server != KERNEL);
        let Some(server) = server.map(std::borrow::Cow::into_owned) else { return Flow::Pass(()) };
        match self.server(request, &server) {
            Ok(server) => Flow::answer_later(answer(server, request.take())),
            Err(error) => Flow::refuse(error),
        }
    }
}

impl ServerHealthGate {
    fn server(&self, request: &Request, server: &str) -> Result<Arc<Upstream>, Error> {
        let caller = request.context.principal.as_ref();
        let caller = caller.ok_or_else(|| Error::new(code::AUTH_REQUIRED, "who calls is not known"))?;
        let is_operator = caller.role() == PrincipalRole::Operator;
        if !is_operator && !self.config.load().kernel.agents_manage {
            return Err(Error::new(code::PERMISSION_DENIED, "only operators may look after servers"));
        }
        let reaches = is_operator
            || (self.access.reaches(&caller.access_id(), server) && self.fleet.admits(server, caller));
        let found = self.fleet.get(server).filter(|_| reaches);
        found.ok_or_else(|| Error::invalid_params(format!("there is no server `{server}`")))
    }
}

async fn answer(server: Arc<Upstream>, request: Request) -> Result<Response, Error> {
    match request.method.as_str() {
        method::HEALTH_PING => {
            let status = status(&server).await;
            Response::with_body(&HealthPong::new(
                status,
                Timestamp::now(),
                uptime(&server),
                server.id().clone(),
            ))
        }
        method::HEALTH_STATUS => report(&server).await,
        _ => {
            let shutdown: Shutdown = request.body()?;
            let pending = server.of_server().meter.read().in_work;
            let timeout = Duration::from_millis(shutdown.timeout_ms);
            // The call is answered at once, and the server is stopped whether or not the answer arrives.
            tokio::spawn(async move { server.stop(shutdown.reason, timeout).await });
            Response::with_body(&ShutdownAnswer::accepted(pending, shutdown.timeout_ms))
        }
    }
}

/// Returns the health that a server reports; a plain MCP server reports only that it is there.
async fn status(server: &Upstream) -> HealthStatus {
    if server.state() != ServerState::Connected {
        return HealthStatus::Unhealthy;
    }
    let Some((client, session)) =
        server.client().and_then(|client| Some((client.clone(), client.session()?)))
    else {
        return HealthStatus::Unhealthy;
    };
    let beat = probe(client.get_ref().clone(), ProbeMethod::for_session(&session));
    match tokio::time::timeout(PATIENCE, beat).await {
        Ok(ProbeResult::Answered(status)) => status,
        _ => HealthStatus::Unhealthy,
    }
}

/// Returns the report of a server, or the kernel's own knowledge of a server that gives none.
async fn report(server: &Upstream) -> Result<Response, Error> {
    let speaks = |session: &mgp_types::Session| {
        session.mgp.as_ref().is_some_and(|mgp| mgp.has(&mgp_types::mgp::Extension::Lifecycle))
    };
    if let Some(client) = server.client().filter(|client| client.session().is_some_and(|s| speaks(&s))) {
        let asked = client.request(method::HEALTH_STATUS, mgp_types::Object::new());
        if let Ok(Ok(report)) = tokio::time::timeout(PATIENCE, asked).await {
            return Ok(Response::plain(report));
        }
    }
    let mut report = HealthReport::new(status(server).await, uptime(server));
    report.pending_requests = server.of_server().meter.read().in_work;
    report.tools_total = server.views().iter().map(|view| view.tools as u64).max().unwrap_or(0);
    report.tools_available = if server.state() == ServerState::Connected { report.tools_total } else { 0 };
    Response::with_body(&report)
}

fn uptime(server: &Upstream) -> u64 {
    server.views().iter().filter_map(|view| view.uptime).max().unwrap_or_default().as_secs()
}

/// The time within which a server has to answer a ping (§11.3).
const PATIENCE: Duration = Duration::from_secs(5);
