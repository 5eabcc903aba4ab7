//! Tests of probes.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use mgp_types::mgp::HealthStatus::{Degraded, Healthy, Unhealthy};
use mgp_types::mgp::ServerState::{Connected, Error, Restarting};
use mgp_types::mgp::ShutdownReason::OperatorRequest;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::*;
use crate::doubles::{AttemptOutcome, LIVES, ScriptedAttempt};
use crate::supervise::{ProbeMethod, ProbeResult, ProbeSettings, ServerHealth, Supervisor, probe};

fn every(interval: Duration, misses: u32) -> ProbeSettings {
    ProbeSettings { interval, misses: NonZeroU32::new(misses).unwrap(), ..ProbeSettings::default() }
}

/// Returns a supervisor that probes as the incarnations of the script answer.
fn probed(world: &FakeServerHost, settings: ProbeSettings) -> Supervisor<FakeServerHost> {
    world.supervisor("s").with_probe(settings, |service| probe(service, ProbeMethod::Ping))
}

// covers: MGP-11.3-01..02
#[tokio::test(start_paused = true)]
async fn a_server_that_hangs_is_restarted_after_as_many_missing_answers_as_it_may_have() {
    let hung = ScriptedAttempt { answers_after: None, ..LIVES };
    let world = FakeServerHost::with_script([hung], LIVES);
    let server = probed(&world, every(secs(10), 3)).spawn();
    up(&server).await;
    let mut changes = server.changes();
    assert_eq!(server.health(), ServerHealth::Unknown);
    let start = Instant::now();
    let stuck = tokio::spawn(call(server.gate()));
    while server.health() == ServerHealth::Unknown {
        settle().await;
    }
    assert_eq!((server.health(), server.state()), (ServerHealth::Known(Degraded), Connected));
    let mut seen = vec![];
    while server.current().map_or(0, |service| service.number) < 2 {
        seen.push(server.health());
        settle().await;
    }
    seen.dedup();
    assert_eq!(seen, [ServerHealth::Known(Degraded), ServerHealth::Down]);
    assert_eq!(server.health(), ServerHealth::Unknown);
    // The time is three answers of five seconds and three waits of ten, one of them of any length and two a fifth off
    // at most.
    assert!((secs(31)..secs(51)).contains(&start.elapsed()), "{:?}", start.elapsed());
    assert_eq!(went_to(&mut changes), [Error, Restarting, Connected]);
    assert_eq!((world.open(), world.most()), (1, 1));
    stuck.await.unwrap().unwrap_err();
    tokio::time::sleep(secs(12)).await;
    assert_eq!(server.health(), ServerHealth::Known(Healthy));
    tokio::time::sleep(secs(3600)).await;
    assert_eq!(world.attempts(), 2);
}

// covers: MGP-11.3-02
#[tokio::test(start_paused = true)]
async fn an_answer_within_five_seconds_is_in_time_and_a_later_one_is_none() {
    for (answers_after, restarts) in [(millis(4990), false), (millis(5010), true)] {
        let world = FakeServerHost::answering(Some(answers_after));
        let server = probed(&world, every(secs(10), 2)).spawn();
        up(&server).await;
        tokio::time::sleep(secs(60)).await;
        assert_eq!(world.attempts() > 1, restarts, "{answers_after:?}");
    }
}

// covers: MGP-11.3-08..10
#[tokio::test(start_paused = true)]
async fn what_a_server_says_of_itself_is_reported_and_not_acted_upon() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let says = Arc::new(Mutex::new(ProbeResult::NotAsked));
    let said = Arc::clone(&says);
    let supervisor = world.supervisor("s");
    let server = supervisor.with_probe(every(secs(10), 1), move |_| std::future::ready(*said.lock())).spawn();
    up(&server).await;
    for status in [Unhealthy, Degraded, Healthy, Unhealthy] {
        *says.lock() = ProbeResult::Answered(status);
        tokio::time::sleep(secs(600)).await;
        assert_eq!((server.health(), world.attempts()), (ServerHealth::Known(status), 1));
    }
    server.stop(OperatorRequest, secs(1)).await;
    assert_eq!(server.health(), ServerHealth::Unknown, "nothing is known of a server that is gone");
}

#[tokio::test(start_paused = true)]
async fn a_remote_server_that_is_away_is_noticed_within_fifteen_seconds_and_tried_until_it_is_back() {
    let says = Arc::new(Mutex::new(ProbeResult::Answered(Healthy)));
    let said = Arc::clone(&says);
    let lives = LIVES;
    // It is away for longer than any budget of restarts lasts.
    let script = [lives].into_iter().chain((0..60).map(|_| ScriptedAttempt::new(AttemptOutcome::Refuses)));
    let world = FakeServerHost::with_script(script, lives);
    let mut restarts = policy(RestartPolicy::OnFailure);
    (restarts.max_restarts, restarts.backoff_max_ms) = (u32::MAX, 7_000);
    let supervisor = world.supervisor("s").with_restarts(restarts);
    let supervisor =
        supervisor.with_probe(ProbeSettings::default(), move |_| std::future::ready(*said.lock()));
    let server = supervisor.with_probe_settings(ProbeSettings::remote()).spawn();
    up(&server).await;
    tokio::time::sleep(secs(60)).await;
    assert_eq!((server.state(), world.attempts()), (Connected, 1));
    *says.lock() = ProbeResult::Unreachable;
    tokio::time::sleep(secs(15)).await;
    assert_ne!(server.state(), Connected);
    *says.lock() = ProbeResult::Answered(Healthy);
    let (mut began, mut last) = (Instant::now(), world.attempts());
    while world.attempts() < 62 {
        tokio::time::sleep(millis(100)).await;
        if world.attempts() > last {
            assert!(began.elapsed() <= secs(8), "{:?}", began.elapsed());
            (began, last) = (Instant::now(), world.attempts());
        }
    }
    server.ready(secs(1)).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_that_works_has_longer_than_one_that_has_nothing_to_do() {
    for (works, seconds) in [(false, 4..15), (true, 32..60)] {
        let hung = ScriptedAttempt { answers_after: None, ..LIVES };
        let world = FakeServerHost::with_script([hung], LIVES);
        let server = probed(&world, ProbeSettings::remote()).spawn();
        up(&server).await;
        let start = Instant::now();
        let call = works.then(|| tokio::spawn(call(server.gate())));
        while server.state() == Connected {
            settle().await;
        }
        assert!(seconds.contains(&start.elapsed().as_secs()), "{works}: {:?}", start.elapsed());
        drop(call);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_answers_calls_is_asked_seldom_and_one_that_is_idle_is_asked() {
    for (every_second, probes) in [(true, 1..20), (false, 25..60)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let ask = move |_: Incarnation| {
            count.fetch_add(1, Ordering::SeqCst);
            std::future::ready(ProbeResult::Answered(Healthy))
        };
        let world = FakeServerHost::new(AttemptOutcome::Lives);
        let server = world.supervisor("s").with_probe(every(secs(8), 2), ask).spawn();
        up(&server).await;
        for _ in 0..300 {
            if every_second {
                call(server.gate()).await.unwrap();
            }
            tokio::time::sleep(secs(1)).await;
        }
        assert!(probes.contains(&asked.load(Ordering::SeqCst)), "{every_second}: {asked:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn fifty_servers_are_not_asked_at_once() {
    let times = Arc::new(Mutex::new(Vec::new()));
    let servers: Vec<_> = (0..50u32)
        .map(|number| {
            let draws = AtomicU32::new(number.wrapping_mul(0x9e37_79b9));
            let chance = Arc::new(move || draws.fetch_add(0x6c07_8965, Ordering::SeqCst));
            let times = Arc::clone(&times);
            let ask = move |_| {
                times.lock().push(Instant::now());
                std::future::ready(ProbeResult::Answered(Healthy))
            };
            let supervisor = FakeServerHost::new(AttemptOutcome::Lives).supervisor("s").with_chance(chance);
            let server = supervisor.with_probe(every(secs(30), 3), ask).spawn();
            server.start();
            server
        })
        .collect();
    let start = Instant::now();
    tokio::time::sleep(secs(601)).await;
    let times = times.lock();
    assert!((900..1100).contains(&times.len()), "{}", times.len());
    let mut seconds = vec![0; 602];
    for time in times.iter() {
        seconds[usize::try_from(time.duration_since(start).as_secs()).unwrap()] += 1;
    }
    // 50 in 30 seconds are fewer than 2 a second; more than 10 in one would be the herd.
    assert!(seconds.iter().all(|probes| *probes <= 10), "{seconds:?}");
    drop(servers);
}

#[tokio::test(start_paused = true)]
async fn nobody_is_asked_once_the_server_is_gone_and_a_panic_is_no_answer() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let ask = move |_: Incarnation| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        async move { if number < 5 { panic!("as the test says") } else { std::future::pending().await } }
    };
    let server = world.supervisor("s").with_probe(every(secs(1), 2), ask).spawn();
    up(&server).await;
    tokio::time::sleep(millis(4500)).await;
    assert_eq!((server.health(), world.attempts()), (ServerHealth::Unknown, 1));
    server.stop(OperatorRequest, secs(1)).await;
    let before = asked.load(Ordering::SeqCst);
    tokio::time::sleep(secs(60)).await;
    assert_eq!((asked.load(Ordering::SeqCst), before > 2), (before, true));
}
