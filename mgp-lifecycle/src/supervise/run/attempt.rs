//! Connecting, and what has to be done before the server takes calls.

use std::pin::pin;

use mgp_types::Error;
use mgp_types::mgp::ServerState;
use tokio::time::{Instant, sleep_until, timeout};

use super::{Run, Then, finish};
use crate::Ended;
use crate::supervise::caught::caught;
use crate::supervise::connect::{Connect, Connected};
use crate::supervise::order::Order;
use crate::supervise::shared::Outlook;
use crate::supervise::supervisor::Plan;

impl<C: Connect> Run<C> {
    /// Connects, `at` its time; otherwise goes to where that leads.
    pub(super) async fn connect(&mut self, at: Option<Instant>) -> Result<Connected<C::Service>, Then> {
        if let Some(at) = at {
            self.wait(at).await?;
            self.course.expect(Outlook::Soon);
        }
        let outcome = {
            let mut attempt = pin!(attempt(&self.plan));
            loop {
                tokio::select! {
                    biased;
                    (order, number) = self.shared.orders.taken() => match order {
                        Order::Start => self.course.served(number),
                        Order::Restart { .. } => {
                            self.restarts.forget();
                            self.ordered = Some(number);
                        }
                        Order::Stop { .. } => break Err((order, number)),
                    },
                    outcome = &mut attempt => break Ok(outcome),
                }
            }
        };
        match outcome {
            Ok(Ok(server)) => Ok(server),
            Ok(Err(error)) => {
                tracing::warn!(server = self.shared.server.as_str(), %error, "the server cannot be connected to");
                let then = self.after(Ended::InError, error.message());
                self.attempted();
                Err(then)
            }
            Err((order, number)) => Err(self.stopped(order, number)),
        }
    }

    /// Waits until it is time, or somebody cannot wait.
    async fn wait(&mut self, at: Instant) -> Result<(), Then> {
        loop {
            tokio::select! {
                biased;
                (order, number) = self.shared.orders.taken() => match order {
                    Order::Start => self.course.served(number),
                    Order::Restart { .. } => {
                        self.restarts.forget();
                        self.ordered = Some(number);
                        return Ok(());
                    }
                    Order::Stop { .. } => return Err(self.stopped(order, number)),
                },
                () = sleep_until(at) => return Ok(()),
            }
        }
    }

    /// Somebody stops what is not connected yet.
    fn stopped(&mut self, order: Order, number: u64) -> Then {
        self.course.go(ServerState::Error, Outlook::Never, order.reason());
        self.restarts.forget();
        self.ordered = None;
        self.course.served(number);
        Then::Rest
    }
}

/// Connects once, and restores what the server has to know.
async fn attempt<C: Connect>(plan: &Plan<C>) -> Result<Connected<C::Service>, Error> {
    let connected = timeout(plan.limits.connect, caught(|| plan.connect.connect())).await;
    let mut server = connected.map_err(|_| Error::timeout("the server took too long to connect"))???;
    let restored = tokio::select! {
        biased;
        _ = caught(|| &mut server.ended) => Err(Error::disconnected("the server ended while it was set up")),
        restored = restore(plan, &server.service) => restored,
    };
    match restored {
        Ok(()) => Ok(server),
        Err(error) => {
            finish(server.close, plan.limits.close_broken).await;
            Err(error)
        }
    }
}

async fn restore<C: Connect>(plan: &Plan<C>, service: &C::Service) -> Result<(), Error> {
    for step in &plan.restore {
        let done = timeout(plan.limits.restore, caught(|| step(service.clone()))).await;
        done.map_err(|_| Error::timeout("the server took too long to be set up"))???;
    }
    Ok(())
}
