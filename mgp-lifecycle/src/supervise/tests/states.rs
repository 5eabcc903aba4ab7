//! Tests of states and time limits.

use std::sync::Arc;

use mgp_types::mgp::ServerState::{
    Connected, Connecting, Disconnected, Draining, Error, Registered, Restarting,
};
use mgp_types::mgp::ShutdownReason::OperatorRequest;
use parking_lot::Mutex;

use super::*;
use crate::ServerEnd;
use crate::doubles::{AttemptOutcome, LIVES, ScriptedAttempt};
use crate::supervise::TimeLimits;

// covers: MGP-11.2-01..02, MGP-11.2-09..11
#[tokio::test(start_paused = true)]
async fn a_server_is_registered_until_it_is_started_and_connected_once_it_can_take_calls() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = world.supervisor("tools.time").spawn();
    let mut changes = server.changes();
    tokio::time::sleep(secs(3600)).await;
    assert_eq!((server.state(), world.attempts()), (Registered, 0));
    server.start();
    settle().await;
    assert_eq!(server.state(), Connecting);
    server.ready(secs(1)).await.unwrap();
    let (first, second) = (changes.next().await.unwrap(), changes.next().await.unwrap());
    assert_eq!((first.previous_state, first.new_state), (Registered, Connecting));
    assert_eq!((second.previous_state, second.new_state), (Connecting, Connected));
    assert_eq!((first.server_id.as_str(), server.server().as_str()), ("tools.time", "tools.time"));
}

// covers: MGP-11.2-03, MGP-11.2-07..08, MGP-11.2-14..15
#[tokio::test(start_paused = true)]
async fn a_failed_connect_is_an_error_and_tried_again() {
    for fate in [AttemptOutcome::Refuses, AttemptOutcome::Hangs, AttemptOutcome::Panics] {
        let world = FakeServerHost::with_script([ScriptedAttempt::new(fate); 2], LIVES);
        let server = world.supervisor("s").spawn();
        let mut changes = server.changes();
        server.start();
        server.ready(secs(300)).await.unwrap();
        let expected = [Connecting, Error, Restarting, Error, Restarting, Connected];
        assert_eq!(went_to(&mut changes), expected, "{fate:?}");
        assert_eq!((world.attempts(), world.open(), world.most()), (3, 1, 1), "{fate:?}");
    }
}

// covers: MGP-11.2-04..05, MGP-11.2-12..13
#[tokio::test(start_paused = true)]
async fn a_server_that_is_stopped_drains_and_is_disconnected() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = running(&world).await;
    let mut changes = server.changes();
    server.stop(OperatorRequest, secs(30)).await;
    assert_eq!((world.open(), world.closes()), (0, 1));
    let change = changes.next().await.unwrap();
    assert_eq!((change.new_state, change.reason.as_deref()), (Draining, Some("operator_request")));
    assert_eq!(went_to(&mut changes), [Disconnected]);
    up(&server).await;
    assert_eq!(went_to(&mut changes), [Connecting, Connected]);
}

#[tokio::test(start_paused = true)]
async fn what_has_to_be_restored_is_done_in_order_before_the_server_is_connected() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let done = Arc::new(Mutex::new(Vec::new()));
    let step = |name: &'static str| {
        let done = Arc::clone(&done);
        move |service: Incarnation| {
            let done = Arc::clone(&done);
            async move {
                tokio::time::sleep(millis(10)).await;
                done.lock().push((name, service.number));
                Ok(())
            }
        }
    };
    let server = world
        .supervisor("s")
        .with_restore(step("permissions"))
        .with_restore(step("subscriptions"))
        .with_restore(step("tools"))
        .spawn();
    for number in 1..=3 {
        server.start();
        let steps = [("permissions", number), ("subscriptions", number), ("tools", number)];
        assert_eq!(server.ready(secs(60)).await.unwrap().number, number);
        assert_eq!(std::mem::take(&mut *done.lock()), steps);
        world.end(ServerEnd::InError);
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_fails_hangs_or_panics_is_a_failed_connect() {
    for kind in 0..4 {
        let world = FakeServerHost::with_script(
            [if kind == 3 {
                ScriptedAttempt::new(AttemptOutcome::Ends(millis(5), ServerEnd::InOrder))
            } else {
                LIVES
            }],
            LIVES,
        );
        let step = move |service: Incarnation| async move {
            match (service.number, kind) {
                (1, 0) => Err(mgp_types::Error::invalid_request("no")),
                (1, 1) => panic!("as the test says"),
                (1, _) => std::future::pending().await,
                _ => Ok(()),
            }
        };
        let server = world.supervisor("s").with_restore(step).spawn();
        let mut changes = server.changes();
        server.start();
        // Only the step that hangs takes its time, not one whose server is gone.
        let wait = secs(if kind == 2 { 60 } else { 5 });
        assert_eq!(server.ready(wait).await.unwrap().number, 2, "{kind}");
        assert_eq!(went_to(&mut changes), [Connecting, Error, Restarting, Connected], "{kind}");
        assert_eq!((world.open(), world.most()), (1, 1), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_step_takes_longer_than_it_may() {
    let act = ScriptedAttempt { closes_within: secs(3600), ..LIVES };
    let world = FakeServerHost::with_script([ScriptedAttempt::new(AttemptOutcome::Hangs)], act);
    let limits = TimeLimits { connect: secs(7), ..TimeLimits::default() };
    let server = world.supervisor("s").with_limits(limits).spawn();
    let start = tokio::time::Instant::now();
    server.start();
    server.ready(secs(60)).await.unwrap();
    let took = start.elapsed();
    assert!(took > secs(7) && took < secs(9), "{took:?}");
    let start = tokio::time::Instant::now();
    server.stop(OperatorRequest, secs(30)).await;
    assert_eq!((start.elapsed().as_secs(), world.open(), world.closes()), (5, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_handle_that_is_dropped_leaves_nothing_behind_in_any_state() {
    for &state in ServerState::ALL {
        let (world, server) = in_state(state).await;
        assert_eq!(server.state(), state);
        let (gate, mut changes) = (server.gate(), server.changes());
        drop(server.clone());
        settle().await;
        assert_eq!(server.state(), state, "it is not the last handle");
        drop(server);
        settle().await;
        assert_eq!(world.open(), 0, "{state}");
        let error = call(gate).await.unwrap_err();
        assert_eq!((error.code(), error.recovery().unwrap().retryable), (2000, Some(false)), "{state}");
        let ends = went_to(&mut changes);
        assert!(changes.next().await.is_none());
        assert!(matches!(
            (state, &*ends),
            (Registered | Disconnected | Error, []) | (_, [.., Disconnected | Error])
        ));
    }
}

async fn in_state(state: ServerState) -> (FakeServerHost, Server) {
    let script = matches!(state, Restarting | Error).then(|| ScriptedAttempt::new(AttemptOutcome::Refuses));
    let world = FakeServerHost::with_script(script, ScriptedAttempt { closes_within: secs(2), ..LIVES });
    let kind = if state == Error { RestartPolicy::Never } else { RestartPolicy::OnFailure };
    let server = world.supervisor("s").with_restarts(policy(kind)).spawn();
    if state != Registered {
        server.start();
        // The time is long enough to fail, or to connect, and not for both.
        tokio::time::sleep(millis(if state == Connecting { 50 } else { 150 })).await;
    }
    if matches!(state, Draining | Disconnected) {
        let stop = server.stop(OperatorRequest, secs(1));
        // The stop goes on without the future.
        let _ = tokio::time::timeout(secs(if state == Draining { 1 } else { 5 }), stop).await;
    }
    (world, server)
}
