//! Tests of restarts by policy.

use std::borrow::Cow;
use std::sync::Arc;

use mgp_types::mgp::Outcome::{Failure, Success};
use mgp_types::mgp::ServerState::{
    Connected, Connecting, Disconnected, Draining, Error, Registered, Restarting,
};
use mgp_types::mgp::ShutdownReason::{KernelShutdown, OperatorRequest};
use mgp_types::mgp::{Actor, AuditEvent, Outcome};
use tokio::time::Instant;

use super::*;
use crate::ServerEnd;
use crate::doubles::{AttemptOutcome, Log, ScriptedAttempt};

// covers: MGP-11.5-02..04, MGP-11.2-06
#[tokio::test(start_paused = true)]
async fn the_policy_decides_what_becomes_of_a_server_that_ends() {
    use RestartPolicy::{Always, Never, OnFailure};
    for (kind, how, expected) in [
        (Never, ServerEnd::InError, vec![Error]),
        (Never, ServerEnd::InOrder, vec![Draining, Disconnected]),
        (OnFailure, ServerEnd::InError, vec![Error, Restarting, Connected]),
        (OnFailure, ServerEnd::InOrder, vec![Draining, Disconnected]),
        (Always, ServerEnd::InError, vec![Error, Restarting, Connected]),
        (Always, ServerEnd::InOrder, vec![Draining, Restarting, Connected]),
    ] {
        let world = FakeServerHost::new(AttemptOutcome::Lives);
        let server = world.supervisor("s").with_restarts(policy(kind)).spawn();
        up(&server).await;
        let mut changes = server.changes();
        world.end(how);
        tokio::time::sleep(secs(600)).await;
        assert_eq!(went_to(&mut changes), expected, "{kind:?} {how:?}");
        assert_eq!(world.open(), usize::from(server.state() == Connected));
    }
}

// covers: MGP-11.5-02
#[tokio::test(start_paused = true)]
async fn never_means_never_at_the_first_connect_too() {
    let world = FakeServerHost::new(AttemptOutcome::Refuses);
    let server = world.supervisor("s").with_restarts(policy(RestartPolicy::Never)).spawn();
    server.start();
    tokio::time::sleep(secs(600)).await;
    assert_eq!((server.state(), world.attempts()), (Error, 1));
    assert_eq!(server.current().unwrap_err().recovery().unwrap().retryable, Some(false));
    server.start();
    tokio::time::sleep(secs(600)).await;
    assert_eq!(world.attempts(), 2, "somebody may try it by hand");
}

/// Checks the limit of restarts within the window, and the error after it: once with each connect succeeding, and once
/// with none.
// covers: MGP-11.5-06..07, MGP-11.5-10..11, MGP-11.2-14
#[tokio::test(start_paused = true)]
async fn a_crash_loop_comes_to_an_end_however_well_each_connect_goes() {
    for (fate, kind, connects) in [
        (AttemptOutcome::Ends(secs(2), ServerEnd::InError), RestartPolicy::OnFailure, 6),
        (AttemptOutcome::Ends(secs(2), ServerEnd::InOrder), RestartPolicy::Always, 6),
        (AttemptOutcome::Refuses, RestartPolicy::OnFailure, 0),
    ] {
        let (world, events) = (FakeServerHost::new(fate), Arc::new(Log::default()));
        let server = world.supervisor("s").with_restarts(policy(kind)).with_audit(events.clone()).spawn();
        server.start();
        tokio::time::sleep(secs(290)).await;
        assert_eq!((server.state(), world.attempts(), world.open()), (Error, 6, 0), "{fate:?}");
        let error = server.current().unwrap_err();
        assert_eq!((error.code(), error.recovery().unwrap().retryable), (2000, Some(false)));
        let events = taken(&events);
        let connected = events.iter().filter(|(name, ..)| name == "SERVER_CONNECTED").count();
        assert_eq!(connected, connects, "{fate:?}");
        let (name, outcome, reason) = events.last().unwrap();
        assert_eq!((name.as_str(), *outcome), ("SERVER_DISCONNECTED", Failure));
        assert_eq!(reason.as_deref(), Some("restart_limit_exceeded"));
        let given_up =
            |(_, _, reason): &&(_, _, Option<String>)| reason.as_deref() == Some("restart_limit_exceeded");
        assert_eq!(events.iter().filter(given_up).count(), 1, "{fate:?}");

        // Neither time nor a start brings the server back.
        server.start();
        tokio::time::sleep(secs(3600)).await;
        assert_eq!((server.state(), world.attempts()), (Error, 6), "{fate:?}");
        let waited = Instant::now();
        server.ready(secs(60)).await.unwrap_err();
        assert!(waited.elapsed() < secs(1), "nobody waits for what will not come");

        // A restart by hand does, and counts anew.
        let connects = server.restart(OperatorRequest).await.is_ok();
        assert_eq!(connects, connected > 0);
        tokio::time::sleep(secs(290)).await;
        assert_eq!((server.state(), world.attempts()), (Error, 12), "{fate:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_by_hand_begins_a_new_count_wherever_it_finds_the_server() {
    let settings = RestartSettings { max_restarts: 2, backoff_base_ms: 2000, ..RestartSettings::default() };
    // The restart comes while the server is connected to, while it waits, and when it was given up.
    for (at, attempts) in [(millis(50), 4), (millis(500), 4), (secs(60), 6)] {
        let world = FakeServerHost::new(AttemptOutcome::Refuses);
        let server = world.supervisor("s").with_restarts(settings.clone()).spawn();
        server.start();
        tokio::time::sleep(at).await;
        server.restart(OperatorRequest).await.unwrap_err();
        tokio::time::sleep(secs(30)).await;
        assert_eq!((server.state(), world.attempts()), (Error, attempts), "{at:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_nearly_over_is_told_as_a_moment() {
    let world = FakeServerHost::new(AttemptOutcome::Refuses);
    let settings = RestartSettings { backoff_max_ms: 20, ..RestartSettings::default() };
    let server = world.supervisor("s").with_restarts(settings).spawn();
    server.start();
    tokio::time::sleep(millis(102)).await;
    let error = server.current().unwrap_err();
    assert_eq!((error.code(), error.recovery().unwrap().retry_after_ms), (2002, Some(500)));
}

// covers: MGP-11.5-07
#[tokio::test(start_paused = true)]
async fn the_window_slides() {
    for (ends_after, lasts) in [(secs(62), true), (secs(40), false)] {
        let world = FakeServerHost::new(AttemptOutcome::Ends(ends_after, ServerEnd::InError));
        let settings = RestartSettings { backoff_max_ms: 100, ..RestartSettings::default() };
        let server = world.supervisor("s").with_restarts(settings).spawn();
        server.start();
        tokio::time::sleep(secs(3600)).await;
        assert_eq!(server.state() != Error, lasts, "{ends_after:?}");
        assert_eq!(world.attempts() > 50, lasts, "{} for {ends_after:?}", world.attempts());
    }
}

// covers: MGP-11.5-08..09
#[tokio::test(start_paused = true)]
async fn each_wait_is_twice_as_long_and_half_of_it_is_chance() {
    for (chance, expected) in [(u32::MAX, [1000, 2000, 4000, 8000, 8000]), (0, [500, 1000, 2000, 4000, 4000])]
    {
        let world = FakeServerHost::new(AttemptOutcome::Refuses);
        let settings = RestartSettings { backoff_max_ms: 8000, ..RestartSettings::default() };
        let supervisor = world.supervisor("s").with_restarts(settings).with_chance(Arc::new(move || chance));
        let server = supervisor.spawn();
        let mut changes = server.changes();
        server.start();
        for wait in expected {
            while changes.next().await.unwrap().new_state != Restarting {}
            let (before, attempts) = (Instant::now(), world.attempts());
            let retry_after = server.current().unwrap_err().recovery().unwrap().retry_after_ms.unwrap();
            assert_eq!(retry_after, wait);
            while world.attempts() == attempts {
                settle().await;
            }
            let waited = before.elapsed();
            assert!(waited >= millis(wait) && waited <= millis(wait + 3), "{waited:?} for {wait}");
        }
    }
}

/// Returns the type, the outcome and the reason of each recorded event.
fn taken(log: &Log) -> Vec<(String, Outcome, Option<String>)> {
    let summary = |event: AuditEvent| {
        assert_eq!((event.actor, event.target.tool_name), (Actor::kernel(), None));
        let reason = event.details.text("reason").map(Cow::into_owned);
        (event.event_type.as_str().to_owned(), event.result, reason)
    };
    log.taken().into_iter().map(summary).collect()
}

// covers: MGP-6.4-08..09, MGP-11.5-11
#[tokio::test(start_paused = true)]
async fn what_connects_and_disconnects_is_recorded() {
    let (world, events) = (FakeServerHost::new(AttemptOutcome::Lives), Arc::new(Log::default()));
    let server = world.supervisor("s").with_audit(events.clone()).spawn();
    up(&server).await;
    world.end(ServerEnd::InError);
    settle().await;
    server.ready(secs(10)).await.unwrap();
    server.restart(OperatorRequest).await.unwrap();
    server.stop(KernelShutdown, secs(1)).await;
    up(&server).await;
    drop(server);
    settle().await;
    let expected = [
        ("SERVER_CONNECTED", Success, None),
        ("SERVER_DISCONNECTED", Failure, Some("the server ended in error")),
        ("SERVER_CONNECTED", Success, None),
        ("SERVER_DISCONNECTED", Success, Some("operator_request")),
        ("SERVER_CONNECTED", Success, None),
        ("SERVER_DISCONNECTED", Success, Some("kernel_shutdown")),
        ("SERVER_CONNECTED", Success, None),
        ("SERVER_DISCONNECTED", Success, Some("the supervisor ended")),
    ];
    let events = taken(&events);
    let events: Vec<_> =
        events.iter().map(|(name, outcome, reason)| (name.as_str(), *outcome, reason.as_deref())).collect();
    assert_eq!(events, expected);
}

// covers: MGP-11.5-10
#[tokio::test(start_paused = true)]
async fn a_server_given_up_after_a_graceful_end_is_in_error_by_the_ways_there_are() {
    let world = FakeServerHost::with_script(
        [],
        ScriptedAttempt::new(AttemptOutcome::Ends(millis(10), ServerEnd::InOrder)),
    );
    let mut settings = policy(RestartPolicy::Always);
    settings.max_restarts = 0;
    let server = world.supervisor("s").with_restarts(settings).spawn();
    assert_eq!(server.state(), Registered);
    let mut changes = server.changes();
    server.start();
    tokio::time::sleep(secs(10)).await;
    assert_eq!(went_to(&mut changes), [Connecting, Connected, Draining, Restarting, Error]);
}
