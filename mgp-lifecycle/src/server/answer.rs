//! The answers of a server to the methods of §11.

use std::future::ready;
use std::time::Duration;

use mgp_types::mgp::{
    Extension, HealthPong, HealthReport, HealthStatus, ServerState, Shutdown, ShutdownAnswer, ShutdownReason,
    Timestamp, method,
};
use mgp_types::{BoxFuture, Error, Request, Response, Session, WorkRole};

use super::ServerLifecycle;
use crate::refusal;
use crate::span::millis;

impl ServerLifecycle {
    /// Returns the health of the server: the report of `mgp/health/status`.
    pub async fn report(&self) -> HealthReport {
        let findings = self.0.examination.fresh(&self.0.tasks).await;
        let mut report = HealthReport::new(at_best(self).max(findings.status()), self.uptime().as_secs());
        let (available, total) = self.tool_counts();
        report.tools_available = if self.state() == ServerState::Connected { available } else { 0 };
        report.tools_total = total;
        report.pending_requests = self.pending();
        report.resources = findings.resources.clone();
        report.checks = findings.checks();
        report
    }

    /// Returns the answer to a call of §11 in a session that negotiated `lifecycle`; `None` for other requests.
    pub fn answer(&self, request: &Request) -> Option<BoxFuture<'static, Result<Response, Error>>> {
        if request.role() != WorkRole::Apart
            || !request.context.session.as_deref().is_some_and(speaks_lifecycle)
        {
            return None;
        }
        match request.method.as_str() {
            method::HEALTH_PING => Some(Box::pin(ready(ping(self)))),
            method::HEALTH_STATUS => {
                let life = self.clone();
                Some(Box::pin(async move { Response::with_body(&life.report().await) }))
            }
            method::LIFECYCLE_SHUTDOWN => Some(Box::pin(ready(shutdown(self, request)))),
            _ => None,
        }
    }
}

/// Returns whether the methods of §11 exist in the session.
pub(super) fn speaks_lifecycle(session: &Session) -> bool {
    session.has(&Extension::Lifecycle)
}

/// Answers a ping with what is known, without waiting. The parameters of a ping decide nothing, so that they are not
/// checked either.
//= mgp §11.3
//# Servers MUST respond within 5 seconds.
fn ping(life: &ServerLifecycle) -> Result<Response, Error> {
    let status = at_best(life).max(life.0.examination.last(&life.0.tasks));
    let uptime = life.uptime().as_secs();
    Response::with_body(&HealthPong::new(status, Timestamp::now(), uptime, life.server_id().clone()))
}

/// Returns the health of the server if its checks find no fault.
fn at_best(life: &ServerLifecycle) -> HealthStatus {
    let by_state = match life.state() {
        ServerState::Connected => HealthStatus::Healthy,
        ServerState::Error => HealthStatus::Unhealthy,
        _ => HealthStatus::Degraded,
    };
    by_state.max(*life.0.declared.lock())
}

fn shutdown(life: &ServerLifecycle, request: &Request) -> Result<Response, Error> {
    let principal = request.context.principal.as_ref();
    let policy = *life.0.run.policy.lock();
    match policy.permits(principal) {
        Some(true) => {}
        Some(false) => {
            tracing::warn!(?principal, "a request to shut down was refused");
            return Err(refusal::may_not_stop());
        }
        None => return Response::with_body(&ShutdownAnswer::refused(life.pending())),
    }
    let wish: Shutdown = request.body().map_err(|error| explain(request, error))?;
    life.begin_shutdown(wish.reason, Duration::from_millis(wish.timeout_ms));
    let calls = life.pending();
    Response::with_body(&ShutdownAnswer::accepted(calls, millis(life.0.run.remaining(calls))))
}

/// Adds the list of valid reasons to the error, if the reason was invalid.
fn explain(request: &Request, error: Error) -> Error {
    let known = request.params.text("reason").is_some_and(|reason| ShutdownReason::read(&reason).is_some());
    if known {
        return error;
    }
    let words: Vec<_> = ShutdownReason::ALL.iter().map(|reason| reason.as_str()).collect();
    Error::invalid_params(format!("`reason` must be one of: {}", words.join(", ")))
}
