//! The step of connecting, and of restoring before the server takes calls.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{ServerState, ShutdownReason};
use mgp_types::{Error, Origin, code};
use tokio::time::{Instant, sleep_until, timeout};

use super::{NextStep, SupervisorRun, caught, finish};
use crate::ServerEnd;
use crate::span::later;
use crate::supervise::connect::{Connect, ConnectedServer};
use crate::supervise::supervisor::Plan;
use crate::supervise::supervisor_shared::{ReturnOutlook, SupervisorCommand};

/// The wait before a server that demands a login is tried again by itself.
const LOGIN_PAUSE: Duration = Duration::from_mins(5);
const LATE_CONNECTION: &str = "the server took too long to connect";
const LATE_SETUP: &str = "the server took too long to be set up: not all of its answers came";

impl<C: Connect> SupervisorRun<C> {
    /// Connects at the time `at`.
    ///
    /// # Errors
    /// The next step, if there is no connection.
    pub(super) async fn connect(
        &mut self,
        at: Option<Instant>,
    ) -> Result<ConnectedServer<C::Service>, NextStep> {
        if let Some(at) = at {
            self.wait(at).await?;
            self.course.expect(ReturnOutlook::Soon);
        }
        let plan = Arc::clone(&self.plan);
        let connecting = timeout(plan.limits.connect, caught(|| plan.connect.connect()));
        let mut server = match self.unless_ordered(connecting).await {
            Ok(Ok(Ok(Ok(server)))) => server,
            Ok(Ok(Ok(Err(error)) | Err(error))) => return Err(self.failed(&error, LATE_CONNECTION)),
            Ok(Err(_)) => return Err(self.failed(&Error::timeout(LATE_CONNECTION), LATE_CONNECTION)),
            Err(order) => return Err(self.interrupted(order)),
        };
        match self.unless_ordered(restored(&plan, &mut server)).await {
            Ok(Ok(())) => Ok(server),
            Ok(Err(error)) => {
                finish(server.close, plan.limits.close_broken).await;
                Err(self.failed(&error, LATE_SETUP))
            }
            Err(order) => {
                finish(server.close, plan.limits.close).await;
                Err(self.interrupted(order))
            }
        }
    }

    /// Waits until `at`, or until an order ends the wait.
    async fn wait(&mut self, at: Instant) -> Result<(), NextStep> {
        match self.unless_ordered(sleep_until(at)).await {
            Ok(()) | Err(Interruption::Restart) => Ok(()),
            Err(stop) => Err(self.interrupted(stop)),
        }
    }

    /// Returns the result of `step`, unless an order ends the attempt first.
    async fn unless_ordered<F: Future>(&mut self, step: F) -> Result<F::Output, Interruption> {
        let mut step = pin!(step);
        loop {
            tokio::select! {
                biased;
                (order, number) = self.shared.orders.taken() => {
                    if let Some(ends) = self.join(order, number) {
                        return Err(ends);
                    }
                }
                outcome = &mut step => return Ok(outcome),
            }
        }
    }

    /// Takes an order while a server is being connected to. A start is carried out already; a restart is not, since the
    /// attempt may have begun with what was changed since.
    fn join(&mut self, order: SupervisorCommand, number: u64) -> Option<Interruption> {
        match order {
            SupervisorCommand::Stop { reason, .. } => Some(Interruption::Stop { reason, number }),
            SupervisorCommand::Restart { .. } => {
                self.restarts.forget();
                self.ordered = Some(number);
                Some(Interruption::Restart)
            }
            SupervisorCommand::Start => {
                // A start has no waiting caller, but an earlier order may have one.
                match &mut self.ordered {
                    Some(ordered) => *ordered = number,
                    None => self.course.served(number),
                }
                None
            }
        }
    }

    /// Returns what follows on an attempt that an order ended.
    fn interrupted(&mut self, order: Interruption) -> NextStep {
        match order {
            Interruption::Restart => NextStep::Connect(None),
            Interruption::Stop { reason, number } => {
                self.course.go(ServerState::Error, ReturnOutlook::Never, Some(reason.as_str()));
                self.restarts.forget();
                self.ordered = None;
                self.course.served(number);
                NextStep::Rest
            }
        }
    }

    /// Notes that the server is not there; `late` is the reason if its time ran out.
    fn failed(&mut self, error: &Error, late: &str) -> NextStep {
        let (server, cause) = (self.shared.server.as_str(), error.to_string());
        // A server that is tried for long fails in the same way again and again.
        if self.last_failure.as_ref() == Some(&cause) {
            tracing::debug!(server, %error, "the server still cannot be connected to");
        } else {
            tracing::warn!(server, %error, "the server cannot be connected to");
            self.last_failure = Some(cause);
        }
        // The server's own text may be long, and is not for all listeners.
        let in_time = error.origin() != Origin::Timeout;
        let reason = if in_time { "the server cannot be connected to" } else { late };
        let mut then = self.after(ServerEnd::InError, reason);
        if let NextStep::Connect(Some(at)) = &mut then
            && error.code() == code::AUTH_REQUIRED
        {
            // The login of a person orders an attempt; until then the server is asked as rarely as is polite.
            *at = later(Instant::now(), LOGIN_PAUSE).max(*at);
            self.course.expect(ReturnOutlook::At(*at));
        }
        self.attempted();
        then
    }
}

/// The order that ends an attempt to connect.
#[derive(Clone, Copy)]
enum Interruption {
    /// The next attempt follows at once.
    Restart,
    Stop {
        reason: ShutdownReason,
        number: u64,
    },
}

/// Restores the server's state, as long as it is there.
async fn restored<C: Connect>(plan: &Plan<C>, server: &mut ConnectedServer<C::Service>) -> Result<(), Error> {
    let ConnectedServer { service, ended, .. } = server;
    tokio::select! {
        biased;
        _ = caught(|| ended) => Err(Error::disconnected("the server ended while it was set up")),
        restored = restore(plan, service) => restored,
    }
}

async fn restore<C: Connect>(plan: &Plan<C>, service: &C::Service) -> Result<(), Error> {
    for step in &plan.restore {
        let done = timeout(plan.limits.restore, caught(|| step(service.clone()))).await;
        done.map_err(|_| Error::timeout(LATE_SETUP))???;
    }
    Ok(())
}
