//! The methods of health and lifecycle, for the kernel and for its servers.

use std::sync::Arc;
use std::time::Duration;

use mgp_lifecycle::supervise::{ProbeMethod, ProbeResult, probe};
use mgp_types::mgp::{
    Extension, HealthPong, HealthReport, HealthStatus, ServerState, Shutdown, ShutdownAnswer, Timestamp,
    method,
};
use mgp_types::{BoxFuture, Error, PrincipalRole, Request, Response, code};

use crate::lifecycle::KERNEL;
use crate::sections::Sections;
use crate::servers::upstream::Upstream;

/// Answers the methods of §11, for the server that `server_id` names, or else for the kernel.
///
/// `mgp/health/ping`, `mgp/health/status` and `mgp/lifecycle/shutdown` with a `server_id` are about that server: it is
/// asked in the best way that it understands, or stopped. Only operators may call them, unless the configuration lets
/// agents; an agent learns nothing of a server that it does not reach in any case. The kernel answers for itself where
/// `lifecycle` was negotiated.
pub(crate) fn answer(
    kernel: &Sections,
    request: Request,
) -> Result<BoxFuture<'static, Result<Response, Error>>, Error> {
    let server = request.params.text("server_id").filter(|server| server != KERNEL);
    if let Some(server) = server {
        let server = find(kernel, &request, &server)?;
        return Ok(Box::pin(answer_of(server, request)));
    }
    kernel.lifecycle.life.answer(&request).ok_or_else(|| Error::method_not_found(&request.method))
}

fn find(kernel: &Sections, request: &Request, server: &str) -> Result<Arc<Upstream>, Error> {
    let caller = request.context.principal.as_ref();
    let caller = caller.ok_or_else(|| Error::new(code::AUTH_REQUIRED, "who calls is not known"))?;
    let is_operator = caller.role() == PrincipalRole::Operator;
    if !is_operator && !kernel.config.load().kernel.agents_manage {
        return Err(Error::new(code::PERMISSION_DENIED, "only operators may look after servers"));
    }
    let found = kernel.fleet.get(server).filter(|found| is_operator || found.reaches(caller));
    found.ok_or_else(|| Error::invalid_params(format!("there is no server `{server}`")))
}

async fn answer_of(server: Arc<Upstream>, request: Request) -> Result<Response, Error> {
    match request.method.as_str() {
        method::HEALTH_PING => {
            let status = status(&server).await;
            let pong = HealthPong::new(status, Timestamp::now(), uptime(&server), server.id().clone());
            Response::with_body(&pong)
        }
        method::HEALTH_STATUS => report(&server).await,
        _ => {
            let shutdown: Shutdown = request.body()?;
            let reading = server.of_server.meter.read();
            let timeout = Duration::from_millis(shutdown.timeout_ms);
            // Pending calls end by the timeout, and before it if they take no longer than most did.
            let usual = reading.percentile(95).unwrap_or(timeout).min(timeout);
            let estimate = if reading.in_work == 0 { Duration::ZERO } else { usual };
            let estimate_ms = u64::try_from(estimate.as_millis()).unwrap_or(u64::MAX);
            // The call is answered at once, and the server is stopped whether or not the answer arrives.
            tokio::spawn(async move { server.stop(shutdown.reason, timeout).await });
            Response::with_body(&ShutdownAnswer::accepted(reading.in_work, estimate_ms))
        }
    }
}

/// Returns the health that a server reports; a plain MCP server reports only that it is there.
async fn status(server: &Upstream) -> HealthStatus {
    let client = server.client().filter(|_| server.state() == ServerState::Connected);
    let connected = client.and_then(|client| Some((client.clone(), client.session()?)));
    let Some((client, session)) = connected else { return HealthStatus::Unhealthy };
    let beat = probe(client.get_ref().clone(), ProbeMethod::for_session(&session));
    match tokio::time::timeout(PATIENCE, beat).await {
        Ok(ProbeResult::Answered(status)) => status,
        _ => HealthStatus::Unhealthy,
    }
}

/// Returns the report of a server, or the kernel's own knowledge of a server that gives none.
async fn report(server: &Upstream) -> Result<Response, Error> {
    if let Some(client) = server.client()
        && client.session().is_some_and(|session| session.has(&Extension::Lifecycle))
    {
        let asked = client.request(method::HEALTH_STATUS, mgp_types::Object::new());
        if let Ok(Ok(report)) = tokio::time::timeout(PATIENCE, asked).await {
            return Ok(Response::plain(report));
        }
    }
    let mut report = HealthReport::new(status(server).await, uptime(server));
    report.pending_requests = server.of_server.meter.read().in_work;
    report.tools_total = server.views().iter().map(|view| view.tools as u64).max().unwrap_or(0);
    report.tools_available = if server.state() == ServerState::Connected { report.tools_total } else { 0 };
    Response::with_body(&report)
}

fn uptime(server: &Upstream) -> u64 {
    server.views().iter().filter_map(|view| view.uptime).max().unwrap_or_default().as_secs()
}

/// The time within which a server has to answer a ping (§11.3).
const PATIENCE: Duration = Duration::from_secs(5);
