//! An incarnation of a server: connecting, restoring, and the service until the connection ends.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{EventType, Outcome, ServerState, Shutdown, ShutdownReason};
use mgp_types::{BoxFuture, Error, Origin, code};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{NextStep, SupervisorRun, caught, finish};
use crate::ServerEnd;
use crate::span::{RandomSource, later, millis};
use crate::supervise::connect::{Connect, ConnectedServer};
use crate::supervise::probe::{HealthTracker, ProbeResult, ServerHealth};
use crate::supervise::supervisor::{Plan, Probing};
use crate::supervise::supervisor_shared::{LiveServer, ReturnOutlook, SupervisorCommand};

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
            Ok(()) | Err((SupervisorCommand::Restart { .. }, _)) => Ok(()),
            Err(stop) => Err(self.interrupted(stop)),
        }
    }

    /// Returns the result of `step`, unless an order ends the attempt first.
    async fn unless_ordered<F: Future>(&mut self, step: F) -> Result<F::Output, GivenOrder> {
        let mut step = pin!(step);
        loop {
            tokio::select! {
                biased;
                (order, number) = self.course.shared.orders.taken() => {
                    if self.join(order, number) {
                        return Err((order, number));
                    }
                }
                outcome = &mut step => return Ok(outcome),
            }
        }
    }

    /// Takes an order while a server is being connected to, and returns whether it ends the attempt. A start is carried out
    /// already; a restart is not, since the attempt may have begun with what was changed since.
    fn join(&mut self, order: SupervisorCommand, number: u64) -> bool {
        match order {
            SupervisorCommand::Stop { .. } => {}
            SupervisorCommand::Restart { .. } => {
                self.restarts.forget();
                self.ordered = Some(number);
            }
            // A start has no waiting caller, but an earlier order may have one.
            SupervisorCommand::Start => match &mut self.ordered {
                Some(ordered) => *ordered = number,
                None => self.course.served(number),
            },
        }
        order != SupervisorCommand::Start
    }

    /// Returns what follows on an attempt that an order ended.
    fn interrupted(&mut self, (order, number): GivenOrder) -> NextStep {
        let SupervisorCommand::Stop { reason, .. } = order else { return NextStep::Connect(None) };
        self.course.go(ServerState::Error, ReturnOutlook::Never, Some(reason.as_str()));
        self.restarts.forget();
        self.ordered = None;
        self.course.served(number);
        NextStep::Rest
    }

    /// Notes that the server is not there; `late` is the reason if its time ran out.
    fn failed(&mut self, error: &Error, late: &str) -> NextStep {
        let (server, cause) = (self.course.shared.server.as_str(), error.to_string());
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

/// An order and its number.
type GivenOrder = (SupervisorCommand, u64);

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

/// The cause for which a server serves no longer.
enum ServeEnd {
    Ended(ServerEnd),
    Silent,
    Ordered(SupervisorCommand, u64),
}

impl<C: Connect> SupervisorRun<C> {
    /// Lets calls in until the server ends or an order ends it, and returns the next step.
    pub(super) async fn serve(&mut self, server: ConnectedServer<C::Service>) -> NextStep {
        let ConnectedServer { service, mut ended, close } = server;
        let live = Arc::new(LiveServer::new(service));
        self.course.shared.live.store(Some(Arc::clone(&live)));
        self.course.go(ServerState::Connected, ReturnOutlook::Soon, None);
        self.course.record(EventType::ServerConnected, Outcome::Success, None);
        self.attempted();
        self.last_failure = None;
        let cause = self.until_it_ends(&live, &mut ended).await;
        live.shut();
        match cause {
            ServeEnd::Ended(ServerEnd::InOrder) => {
                self.course.go(ServerState::Draining, ReturnOutlook::Soon, Some("the server ended"));
                finish(close, self.plan.limits.close_broken).await;
                drop(ended);
                self.course.shared.let_go();
                self.after(ServerEnd::InOrder, "the server ended")
            }
            ServeEnd::Ended(ServerEnd::InError) | ServeEnd::Silent => {
                let silent = matches!(cause, ServeEnd::Silent);
                let reason = if silent { "the server does not answer" } else { "the server ended in error" };
                let then = self.after(ServerEnd::InError, reason);
                finish(close, self.plan.limits.close_broken).await;
                drop(ended);
                self.course.shared.let_go();
                then
            }
            ServeEnd::Ordered(order, number) => {
                let (order, number) = self.drain(&live, &mut ended, order, number).await;
                finish(close, self.plan.limits.close).await;
                drop(ended);
                self.course.shared.let_go();
                self.drained(order, number)
            }
        }
    }

    async fn until_it_ends(
        &self,
        live: &LiveServer<C::Service>,
        ended: &mut BoxFuture<'static, ServerEnd>,
    ) -> ServeEnd {
        let Plan { probing, chance, .. } = &*self.plan;
        let mut down = pin!(until_down(probing.as_ref(), live, &self.course.shared.health, chance));
        loop {
            tokio::select! {
                biased;
                ended = caught(|| &mut *ended) => return ServeEnd::Ended(ended.unwrap_or(ServerEnd::InError)),
                (order, number) = self.course.shared.orders.taken() => match order {
                    SupervisorCommand::Start => self.course.served(number),
                    SupervisorCommand::Restart { .. } | SupervisorCommand::Stop { .. } => {
                        return ServeEnd::Ordered(order, number);
                    }
                },
                () = &mut down => return ServeEnd::Silent,
            }
        }
    }

    /// Asks the server to stop and waits for its calls, until both are done, the time is over or the server ended.
    ///
    /// Further orders change the step after it, and never make it longer.
    async fn drain(
        &mut self,
        live: &LiveServer<C::Service>,
        ended: &mut BoxFuture<'static, ServerEnd>,
        mut order: SupervisorCommand,
        mut number: u64,
    ) -> GivenOrder {
        let outlook = |order: SupervisorCommand| match order {
            SupervisorCommand::Stop { .. } => ReturnOutlook::Never,
            _ => ReturnOutlook::Soon,
        };
        self.course.go(ServerState::Draining, outlook(order), order.reason().map(ShutdownReason::as_str));
        let limits = &self.plan.limits;
        let time = if let SupervisorCommand::Stop { timeout, .. } = order { timeout } else { limits.drain };
        let mut deadline = later(Instant::now(), time);
        let asked = ask(&self.plan, &live.service, order, time);
        let mut done = pin!(async { tokio::join!(asked, live.idle()) });
        loop {
            tokio::select! {
                biased;
                _ = caught(|| &mut *ended) => break,
                _ = &mut done => break,
                (latest, latest_number) = self.course.shared.orders.taken() => {
                    (order, number) = (order.then(latest), latest_number);
                    if let SupervisorCommand::Stop { timeout, .. } = latest {
                        deadline = deadline.min(later(Instant::now(), timeout));
                    }
                    self.course.expect(outlook(order));
                }
                () = sleep_until(deadline) => break,
            }
        }
        (order, number)
    }

    fn drained(&mut self, order: SupervisorCommand, number: u64) -> NextStep {
        let reason = order.reason().map(ShutdownReason::as_str);
        self.course.record(EventType::ServerDisconnected, Outcome::Success, reason);
        self.restarts.forget();
        if let SupervisorCommand::Stop { .. } = order {
            self.course.go(ServerState::Disconnected, ReturnOutlook::Never, reason);
            self.course.served(number);
            NextStep::Rest
        } else {
            self.ordered = Some(number);
            self.course.go(ServerState::Restarting, ReturnOutlook::Soon, reason);
            NextStep::Connect(None)
        }
    }
}

async fn ask<C: Connect>(plan: &Plan<C>, service: &C::Service, order: SupervisorCommand, time: Duration) {
    let (Some(ask), Some(reason)) = (&plan.ask_to_stop, order.reason()) else { return };
    let shutdown = Shutdown::new(reason).with_timeout_ms(millis(time));
    match timeout(plan.limits.ask_to_stop, caught(|| ask(service.clone(), shutdown))).await {
        Ok(Ok(Ok(()))) => {}
        Ok(Ok(Err(error)) | Err(error)) => {
            tracing::debug!(%error, "the server does not stop when it is asked");
        }
        Err(_) => tracing::debug!("the server does not answer when it is asked to stop"),
    }
}

/// Probes again and again, and resolves when the server is down. A server that has answered a call since the last probe needs
/// none, but for its health it is asked in each third interval at least.
async fn until_down<T: Clone>(
    probing: Option<&Probing<T>>,
    live: &LiveServer<T>,
    health: &Mutex<ServerHealth>,
    chance: &RandomSource,
) {
    let Some(Probing { settings, ask }) = probing else { return std::future::pending().await };
    let mut pulse = HealthTracker::new(settings.misses);
    let mut left_out = 0;
    sleep(settings.first(chance())).await;
    loop {
        if live.take_answered() && pulse.is_well() && left_out < MAX_LEFT_OUT {
            left_out += 1;
            sleep(settings.next(chance())).await;
            continue;
        }
        left_out = 0;
        let beat = match timeout(settings.answer_within, caught(|| ask(live.service.clone()))).await {
            Ok(Ok(beat)) => beat,
            Ok(Err(_)) => ProbeResult::NotAsked,
            Err(_) => ProbeResult::Missed,
        };
        let now = pulse.judge(beat);
        *health.lock() = now;
        if now == ServerHealth::Down {
            return;
        }
        let soon = settings.after_a_miss(beat, live.in_flight());
        sleep(soon.unwrap_or_else(|| settings.next(chance()))).await;
    }
}

/// The number of probes in a row that are left out because the server answers calls.
const MAX_LEFT_OUT: u32 = 2;
