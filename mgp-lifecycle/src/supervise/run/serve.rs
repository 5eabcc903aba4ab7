//! The step of service, from connected to the end of the connection.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::BoxFuture;
use mgp_types::mgp::{EventType, Outcome, ServerState, Shutdown, ShutdownReason};
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::{NextStep, SupervisorRun, caught, finish};
use crate::ServerEnd;
use crate::span::{RandomSource, later, millis};
use crate::supervise::connect::{Connect, ConnectedServer};
use crate::supervise::probe::{HealthTracker, ProbeResult, ServerHealth};
use crate::supervise::supervisor::{Plan, Probing};
use crate::supervise::supervisor_shared::{LiveServer, ReturnOutlook, SupervisorCommand};

/// The cause for which a server serves no longer.
enum ServeEnd {
    Ended(ServerEnd),
    Silent,
    Ordered(DrainRequest, u64),
}

/// The way in which a server is stopped.
struct DrainRequest {
    reason: ShutdownReason,
    restart: bool,
    timeout: Duration,
}

impl<C: Connect> SupervisorRun<C> {
    /// Lets calls in until the server ends or an order ends it, and returns the next step.
    pub(super) async fn serve(&mut self, server: ConnectedServer<C::Service>) -> NextStep {
        let ConnectedServer { service, mut ended, close } = server;
        let live = Arc::new(LiveServer::new(service));
        self.shared.live.store(Some(Arc::clone(&live)));
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
                self.shared.let_go();
                self.after(ServerEnd::InOrder, "the server ended")
            }
            ServeEnd::Ended(ServerEnd::InError) | ServeEnd::Silent => {
                let silent = matches!(cause, ServeEnd::Silent);
                let reason = if silent { "the server does not answer" } else { "the server ended in error" };
                let then = self.after(ServerEnd::InError, reason);
                finish(close, self.plan.limits.close_broken).await;
                drop(ended);
                self.shared.let_go();
                then
            }
            ServeEnd::Ordered(drain, number) => {
                let (drain, number) = self.drain(&live, &mut ended, drain, number).await;
                finish(close, self.plan.limits.close).await;
                drop(ended);
                self.shared.let_go();
                self.drained(&drain, number)
            }
        }
    }

    async fn until_it_ends(
        &self,
        live: &LiveServer<C::Service>,
        ended: &mut BoxFuture<'static, ServerEnd>,
    ) -> ServeEnd {
        let Plan { probing, chance, limits, .. } = &*self.plan;
        let mut down = pin!(until_down(probing.as_ref(), live, &self.shared.health, chance));
        loop {
            tokio::select! {
                biased;
                ended = caught(|| &mut *ended) => return ServeEnd::Ended(ended.unwrap_or(ServerEnd::InError)),
                (order, number) = self.shared.orders.taken() => match order {
                    SupervisorCommand::Start => self.course.served(number),
                    SupervisorCommand::Restart { reason } => {
                        return ServeEnd::Ordered(DrainRequest { reason, restart: true, timeout: limits.drain }, number);
                    }
                    SupervisorCommand::Stop { reason, timeout } => {
                        return ServeEnd::Ordered(DrainRequest { reason, restart: false, timeout }, number);
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
        mut drain: DrainRequest,
        mut number: u64,
    ) -> (DrainRequest, u64) {
        let outlook =
            |drain: &DrainRequest| if drain.restart { ReturnOutlook::Soon } else { ReturnOutlook::Never };
        self.course.go(ServerState::Draining, outlook(&drain), Some(drain.reason.as_str()));
        let mut deadline = later(Instant::now(), drain.timeout);
        let shutdown = Shutdown::new(drain.reason).with_timeout_ms(millis(drain.timeout));
        let mut done = pin!(async { tokio::join!(ask(&self.plan, &live.service, shutdown), live.idle()) });
        loop {
            tokio::select! {
                biased;
                _ = caught(|| &mut *ended) => break,
                _ = &mut done => break,
                (order, latest) = self.shared.orders.taken() => {
                    number = latest;
                    match order {
                        SupervisorCommand::Start => drain.restart = true,
                        SupervisorCommand::Restart { reason } => (drain.restart, drain.reason) = (true, reason),
                        SupervisorCommand::Stop { reason, timeout } => {
                            (drain.restart, drain.reason) = (false, reason);
                            deadline = deadline.min(later(Instant::now(), timeout));
                        }
                    }
                    self.course.expect(outlook(&drain));
                }
                () = sleep_until(deadline) => break,
            }
        }
        (drain, number)
    }

    fn drained(&mut self, drain: &DrainRequest, number: u64) -> NextStep {
        let reason = drain.reason.as_str();
        self.course.record(EventType::ServerDisconnected, Outcome::Success, Some(reason));
        self.restarts.forget();
        if drain.restart {
            self.ordered = Some(number);
            self.course.go(ServerState::Restarting, ReturnOutlook::Soon, Some(reason));
            NextStep::Connect(None)
        } else {
            self.course.go(ServerState::Disconnected, ReturnOutlook::Never, Some(reason));
            self.course.served(number);
            NextStep::Rest
        }
    }
}

async fn ask<C: Connect>(plan: &Plan<C>, service: &C::Service, shutdown: Shutdown) {
    let Some(ask) = &plan.ask_to_stop else { return };
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
