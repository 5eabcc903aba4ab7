//! Tests by random schedules.

use std::sync::Arc;

use mgp_types::mgp::{LifecycleChange, ServerState, ShutdownReason};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::*;
use crate::ServerEnd;
use crate::doubles::{AttemptOutcome, Random, ScriptedAttempt, by, each_seed, is_whole};
use crate::state::take;
use crate::supervise::{ProbeMethod, ProbeSettings, Supervisor, TimeLimits, probe};

// covers: MGP-11.2-01..08, MGP-11.5-10
#[test]
fn whatever_happens_the_rules_hold() {
    let mut seen = Seen::default();
    for one in each_seed(1000, run) {
        seen.add(&one);
    }
    if is_whole() {
        assert!(seen.answered > 1000 && seen.failed > 1000 && seen.given_up > 100, "{seen:?}");
        assert!(seen.states.iter().all(|states| *states > 25), "{seen:?}");
    }
}

/// The events that were seen, so that a schedule without any is no success.
#[derive(Debug, Default)]
struct Seen {
    answered: usize,
    failed: usize,
    given_up: usize,
    /// The states in which the last handle was dropped.
    states: [usize; 7],
}

impl Seen {
    fn add(&mut self, other: &Self) {
        self.answered += other.answered;
        self.failed += other.failed;
        self.given_up += other.given_up;
        for (mine, theirs) in self.states.iter_mut().zip(other.states) {
            *mine += theirs;
        }
    }
}

async fn run(mut random: Random) -> Seen {
    let settings = random.settings();
    let world = FakeServerHost::with_script(
        (0..random.below(8)).map(|_| random.act()).collect::<Vec<_>>(),
        random.act(),
    );
    let server = random.supervisor(&world, settings.clone()).spawn();
    let listener = tokio::spawn(listen(server.changes()));
    let (mut calls, mut orders) = (JoinSet::new(), JoinSet::new());
    let (mut made, mut ordered_at) = (0, Vec::new());
    for _ in 0..random.below(40) {
        tokio::time::sleep(millis(random.below(3000))).await;
        let (clone, reason) = (server.clone(), ShutdownReason::OperatorRequest);
        let what = random.below(10);
        if (2..5).contains(&what) {
            ordered_at.push(Instant::now());
        }
        match what {
            0 | 1 => server.start(),
            2 => {
                let timeout = millis(random.below(4000));
                orders.spawn(async move { clone.stop(reason, timeout).await });
            }
            3 => {
                orders.spawn(async move { drop(clone.restart(reason).await) });
            }
            4 => {
                let _ = tokio::time::timeout(millis(random.below(100)), server.restart(reason)).await;
            }
            _ => {
                for _ in 0..random.below(5) {
                    made += 1;
                    let (gate, world, before) = (server.gate(), world.clone(), world.attempts());
                    // Half of the callers give up after a while.
                    let gives_up = (random.below(2) == 0).then(|| millis(random.below(5000)));
                    calls.spawn(async move {
                        let patience = gives_up.unwrap_or(secs(3600));
                        let outcome = tokio::time::timeout(patience, call(gate)).await;
                        outcome.unwrap_or_else(|_| Err(Error::cancelled())).map(|response| {
                            // A call is not answered by an earlier incarnation than there was when it was made.
                            let by = usize::try_from(by(&response)).unwrap();
                            assert!(by >= before && by <= world.attempts());
                        })
                    });
                }
            }
        }
    }
    if random.below(2) == 0 {
        // Every order is carried out sooner or later.
        tokio::time::timeout(secs(600), orders.join_all()).await.expect("an order was lost");
    } else {
        orders.shutdown().await;
    }
    let mut seen = Seen::default();
    let state = server.state();
    seen.states[ServerState::ALL.iter().position(|other| *other == state).unwrap()] += 1;
    drop(server);
    let changes = listener.await.unwrap();
    let outcomes = tokio::time::timeout(secs(60), calls.join_all()).await.expect("a call has no outcome");
    assert_eq!(outcomes.len(), made);
    seen.answered = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    seen.failed = made - seen.answered;

    assert!(world.most() <= 1, "{} connections at once", world.most());
    assert_eq!(world.open(), 0, "a connection is left");
    check_course(&changes, state);
    check_restarts(&changes, &ordered_at, &settings);
    let given_up = |change: &LifecycleChange| {
        change.new_state == ServerState::Error && change.reason.as_deref() == Some("restart_limit_exceeded")
    };
    seen.given_up = changes.iter().filter(|(_, change)| given_up(change)).count();
    seen
}

async fn listen(mut changes: LifecycleChanges) -> Vec<(Instant, LifecycleChange)> {
    let mut all = Vec::new();
    while let Some(change) = changes.next().await {
        all.push((Instant::now(), change));
    }
    all
}

/// Checks that there are only transitions of the figure, without a gap, and an end in a state that a server can stay
/// in.
fn check_course(changes: &[(Instant, LifecycleChange)], dropped_in: ServerState) {
    let mut life = ServerState::Registered;
    for (_, change) in changes {
        assert_eq!(take(&mut life, change.new_state).unwrap(), change.previous_state);
    }
    let end = life;
    assert!(matches!(end, ServerState::Registered | ServerState::Disconnected | ServerState::Error));
    assert!(dropped_in != ServerState::Connected || end == ServerState::Disconnected);
}

/// Checks that between two orders there are no more automatic restarts within any window than allowed.
fn check_restarts(changes: &[(Instant, LifecycleChange)], by_hand: &[Instant], settings: &RestartSettings) {
    let (orders, own): (Vec<_>, Vec<_>) =
        changes.iter().partition(|(_, change)| change.reason.as_deref() == Some("operator_request"));
    let own: Vec<_> = own
        .into_iter()
        .filter(|(_, change)| change.new_state == ServerState::Restarting)
        // A start has no reason, and a server that is given up passes by.
        .filter(|(_, change)| {
            change.reason.as_deref().is_some_and(|reason| reason != "restart_limit_exceeded")
        })
        .map(|(time, _)| *time)
        .collect();
    let resets: Vec<_> = orders.into_iter().map(|(time, _)| *time).chain(by_hand.iter().copied()).collect();
    for (index, first) in own.iter().enumerate() {
        let window_end = *first + secs(settings.restart_window_secs);
        // An order that is given while a broken server closes is taken a second later.
        let reset = resets.iter().filter(|reset| **reset + secs(1) >= *first).min();
        let end = reset.map_or(window_end, |reset| window_end.min(*reset));
        let within = own[index..].iter().filter(|time| **time < end).count();
        assert!(within <= settings.max_restarts as usize, "{within} restarts in {settings:?}");
    }
}

impl Random {
    fn settings(&mut self) -> RestartSettings {
        let policies = [RestartPolicy::Never, RestartPolicy::OnFailure, RestartPolicy::Always];
        RestartSettings {
            restart_policy: policies[usize::try_from(self.below(8).div_ceil(3).min(2)).unwrap()],
            max_restarts: u32::try_from(self.below(6)).unwrap(),
            restart_window_secs: 1 + self.below(60),
            backoff_base_ms: self.below(2000),
            backoff_max_ms: self.below(5000),
        }
    }

    fn act(&mut self) -> ScriptedAttempt {
        let how = if self.below(2) == 0 { ServerEnd::InError } else { ServerEnd::InOrder };
        let fate = match self.below(8) {
            0 => AttemptOutcome::Refuses,
            1 => AttemptOutcome::Hangs,
            2..=4 => AttemptOutcome::Ends(millis(self.below(6000)), how),
            _ => AttemptOutcome::Lives,
        };
        let takes = millis(self.below(500));
        let answers_after = (self.below(4) > 0).then(|| millis(self.below(1500)));
        ScriptedAttempt { takes, fate, answers_after, closes_within: millis(self.below(3000)) }
    }

    fn supervisor(
        &mut self,
        world: &FakeServerHost,
        settings: RestartSettings,
    ) -> Supervisor<FakeServerHost> {
        let limits = TimeLimits {
            connect: millis(self.below(4000)),
            drain: millis(self.below(4000)),
            ..TimeLimits::default()
        };
        let own = parking_lot::Mutex::new(Self(self.next()));
        let chance = Arc::new(move || u32::try_from(own.lock().next() >> 32).unwrap());
        let supervisor = world.supervisor("s");
        let mut supervisor = supervisor.with_restarts(settings).with_limits(limits).with_chance(chance);
        let hook = self.below(4);
        if hook > 0 {
            supervisor = supervisor.with_restore(move |service| async move {
                tokio::time::sleep(millis(hook * 20)).await;
                if (service.number as u64).is_multiple_of(hook + 2) {
                    Err(Error::invalid_request("no"))
                } else {
                    Ok(())
                }
            });
        }
        if self.below(2) == 0 {
            let settings = ProbeSettings {
                interval: millis(self.below(3000)),
                answer_within: millis(200 + self.below(1000)),
                ..ProbeSettings::default()
            };
            supervisor = supervisor.with_probe(settings, |service| probe(service, ProbeMethod::Ping));
        }
        supervisor
    }
}
