//! One run of a server, shared by calls, tasks and handles: how long its calls take, who may end it, and how it ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::mgp::{LifecycleChange, ServerId, ServerState, ShutdownReason};
use mgp_types::{Principal, PrincipalRole};
use parking_lot::Mutex;
use tokio::sync::{Notify, broadcast, watch};
use tokio::time::{Instant, timeout_at};

use super::server_lifecycle::ChangeListeners;
use crate::InvalidTransition;
use crate::admission::AdmissionCounter;
use crate::state::{CHANGES_KEPT, take, tell};

/// One run of a server, from its start to its end, shared by calls, tasks and handles.
#[derive(Debug)]
pub(super) struct ServerRun {
    pub(super) server: ServerId,
    pub(super) since: Instant,
    pub(super) gate: AdmissionCounter,
    pub(super) durations: CallDurations,
    /// Wakes the calls that have to end when the server ends.
    pub(super) exit: Arc<Notify>,
    pub(super) changes: broadcast::Sender<LifecycleChange>,
    pub(super) audience: ChangeListeners,
    pub(super) policy: Mutex<ShutdownPolicy>,
    course: Mutex<RunState>,
    pub(super) drained: watch::Sender<Option<DrainOutcome>>,
}

/// The state that is decided by handles and tasks, not by calls.
#[derive(Debug)]
struct RunState {
    lifecycle: ServerState,
    /// The reason for a stop that was ordered, and the time until which calls may finish.
    stop: Option<(ShutdownReason, Instant)>,
}

/// The time for the last messages once no call is waited for any more.
const LONGEST_FAREWELL: Duration = Duration::from_secs(1);

/// The longest time to stop; a longer one means any time.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24);

impl ServerRun {
    pub(super) fn new(server: ServerId) -> Self {
        let course = RunState { lifecycle: ServerState::Registered, stop: None };
        Self {
            server,
            since: Instant::now(),
            gate: AdmissionCounter::new(course.lifecycle),
            durations: CallDurations::default(),
            exit: Arc::default(),
            changes: broadcast::Sender::new(CHANGES_KEPT),
            audience: ChangeListeners::default(),
            policy: Mutex::default(),
            course: Mutex::new(course),
            drained: watch::Sender::new(None),
        }
    }

    /// Notes that the server takes calls from now on. A server that was not started yet is started.
    pub(super) fn ready(&self) -> Result<(), InvalidTransition> {
        let mut course = self.course.lock();
        if course.lifecycle == ServerState::Registered {
            self.go(&mut course, ServerState::Connecting, None)?;
        }
        self.go(&mut course, ServerState::Connected, None)
    }

    /// Goes to the state `to`, or stays where no transition leads there.
    pub(super) fn change(&self, to: ServerState, reason: Option<&str>) -> Result<(), InvalidTransition> {
        self.go(&mut self.course.lock(), to, reason)
    }

    /// Stops the server: new calls are refused, those inside have until `timeout` is over.
    ///
    /// Of several orders the one with the least time counts. Returns whether this is the first one: the caller has to
    /// [drain](Self::drain) the server then.
    pub(super) fn stop(&self, reason: ShutdownReason, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout.min(LONGEST_TIMEOUT);
        let mut course = self.course.lock();
        if let Some((_, planned)) = &mut course.stop {
            if deadline < *planned {
                *planned = deadline;
                // The task that drains the server has less time than it thought.
                self.gate.last_left.notify_one();
            }
            return false;
        }
        // A server that never got connected, or has broken, stops in its state: the figure has no way out of there, and
        // its gate is shut anyway.
        if course.lifecycle == ServerState::Connected {
            let _ = self.go(&mut course, ServerState::Draining, Some(reason.as_str()));
        }
        course.stop = Some((reason, deadline));
        true
    }

    /// Returns an estimate of the time that the server still drains.
    pub(super) fn remaining(&self, calls: u64) -> Duration {
        if calls == 0 {
            return Duration::ZERO;
        }
        let left = self.deadline().saturating_duration_since(Instant::now());
        // Where the rest of a call is unknown, the end of its time is the only promise.
        self.durations.longest().map_or(left, |longest| longest.min(left))
    }

    /// Waits for the calls inside as long as they have time, and ends the server.
    pub(super) async fn drain(self: Arc<Self>) {
        while self.gate.inside().calls() > 0 {
            let deadline = self.deadline();
            if Instant::now() >= deadline {
                break;
            }
            let _ = timeout_at(deadline, self.gate.last_left.notified()).await;
        }
        let cut_off = self.end();
        let farewell = async {
            while !self.gate.inside().is_empty() {
                self.gate.last_left.notified().await;
            }
            self.audience.left().await;
        };
        if timeout_at(Instant::now() + LONGEST_FAREWELL, farewell).await.is_err() {
            tracing::warn!(server = %self.server, "a peer did not take the last messages of a server that stops");
        }
        let how = if cut_off == 0 { DrainOutcome::Finished } else { DrainOutcome::CutOff { calls: cut_off } };
        tracing::info!(server = %self.server, ?how, "server stopped");
        self.drained.send_replace(Some(how));
    }

    /// Returns the time until which calls may finish: for good, unless the server is to stop.
    fn deadline(&self) -> Instant {
        let stop = self.course.lock().stop.map(|(_, deadline)| deadline);
        stop.unwrap_or_else(|| Instant::now() + LONGEST_TIMEOUT)
    }

    /// Cuts off the calls that are still inside, and returns their number.
    fn end(&self) -> u64 {
        let mut course = self.course.lock();
        let inside = self.gate.end();
        let reason = course.stop.map(|(reason, _)| reason.as_str());
        if course.lifecycle == ServerState::Draining {
            let _ = self.go(&mut course, ServerState::Disconnected, reason);
        } else {
            self.audience.leave();
        }
        self.exit.notify_waiters();
        inside.calls()
    }

    /// Goes to the state `to`. A server that stops does not come back: it goes to its end and nowhere else.
    fn go(
        &self,
        course: &mut RunState,
        to: ServerState,
        reason: Option<&str>,
    ) -> Result<(), InvalidTransition> {
        if course.stop.is_some() && to != ServerState::Disconnected {
            return Err(InvalidTransition { from: course.lifecycle, to });
        }
        let from = take(&mut course.lifecycle, to)?;
        self.gate.set_state(to);
        // The lock keeps changes in their order.
        tell(&self.changes, &self.server, from, to, reason);
        Ok(())
    }
}

/// The peers that may ask the server to stop (§11.4), among those that negotiated `lifecycle`.
///
/// Other peers are refused with 1000. The application itself can always stop its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ShutdownPolicy {
    /// Operators, and peers without authentication, like the process that started the server.
    ///
    /// A server that strangers can reach without authentication should have another policy.
    #[default]
    NotAgents,
    /// Operators only.
    Operators,
    /// Every peer.
    Anyone,
    /// No peer: all are told that the request is not accepted.
    Nobody,
}

/// The way in which a server's life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "calls are finished or not")]
pub enum DrainOutcome {
    /// All calls finished.
    Finished,
    /// The time was over before all calls finished.
    CutOff {
        /// The number of calls that were answered with 2001 instead of a result, and must not be repeated.
        calls: u64,
    },
}

impl ShutdownPolicy {
    /// Returns whether the peer may stop the server; `None` if no peer may, and the answer is `accepted: false`.
    pub(super) fn permits(self, principal: Option<&Principal>) -> Option<bool> {
        let role = principal.map(Principal::role);
        match self {
            Self::Nobody => None,
            Self::Anyone => Some(true),
            Self::NotAgents => Some(role.is_none_or(|role| role == PrincipalRole::Operator)),
            Self::Operators => Some(role == Some(PrincipalRole::Operator)),
        }
    }
}

/// The longest of the last calls that waited, in microseconds; 0 as long as none has ended. Each further call takes a
/// part of it away, so that one long call is forgotten after some hundred others.
#[derive(Debug, Default)]
pub(super) struct CallDurations(AtomicU64);

impl CallDurations {
    /// Notes a call that has ended.
    pub(super) fn observe(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let longest = self.0.load(Ordering::Relaxed);
        let next = took.max(longest - longest / FORGOTTEN_AFTER).max(1);
        // Of two calls that end in the same moment one is enough.
        let _ = self.0.compare_exchange(longest, next, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Returns how long calls take at most; `None` as long as nothing is known.
    fn longest(&self) -> Option<Duration> {
        let longest = self.0.load(Ordering::Relaxed);
        (longest > 0).then(|| Duration::from_micros(longest))
    }
}

const FORGOTTEN_AFTER: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_decides_by_who_asks() {
        let (agent, operator) = (Principal::new("a"), Principal::operator("o"));
        for (policy, unknown, to_agent, to_operator) in [
            (ShutdownPolicy::default(), Some(true), Some(false), Some(true)),
            (ShutdownPolicy::Operators, Some(false), Some(false), Some(true)),
            (ShutdownPolicy::Anyone, Some(true), Some(true), Some(true)),
            (ShutdownPolicy::Nobody, None, None, None),
        ] {
            assert_eq!(policy.permits(None), unknown, "{policy:?}");
            assert_eq!(policy.permits(Some(&agent)), to_agent, "{policy:?}");
            assert_eq!(policy.permits(Some(&operator)), to_operator, "{policy:?}");
        }
    }

    #[test]
    fn one_long_call_counts_for_a_while_and_is_forgotten() {
        let (durations, second) = (CallDurations::default(), Duration::from_secs(1));
        assert_eq!(durations.longest(), None);
        durations.observe(second * 60);
        durations.observe(second);
        assert!(durations.longest() > Some(second * 59));
        (0..1000).for_each(|_| durations.observe(second));
        assert_eq!(durations.longest(), Some(second));
        durations.observe(Duration::MAX);
        durations.observe(Duration::MAX);
    }
}
