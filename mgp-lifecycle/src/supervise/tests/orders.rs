//! Tests of orders: start, restart, stop.

use std::sync::Arc;

use mgp_types::mgp::ServerState::{Connected, Connecting, Disconnected, Draining, Error, Restarting};
use mgp_types::mgp::Shutdown;
use mgp_types::mgp::ShutdownReason::{ConfigurationChange, IdleTimeout, OperatorRequest};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::*;
use crate::ServerEnd;
use crate::doubles::{AttemptOutcome, LIVES, ScriptedAttempt};

#[tokio::test(start_paused = true)]
async fn orders_can_be_given_twice_and_dropped() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = running(&world).await;
    let mut changes = server.changes();
    for _ in 0..3 {
        server.start();
        settle().await;
    }
    assert_eq!(world.attempts(), 1);
    let stop = || server.stop(OperatorRequest, secs(1));
    tokio::join!(stop(), stop(), async { drop(tokio::time::timeout(millis(1), stop()).await) });
    stop().await;
    assert_eq!(went_to(&mut changes), [Draining, Disconnected]);
    let restart = || server.restart(ConfigurationChange);
    let (one, two) = tokio::join!(restart(), restart());
    assert!(one.is_ok() && two.is_ok());
    assert_eq!(went_to(&mut changes), [Connecting, Connected]);
    let _ = tokio::time::timeout(millis(1), restart()).await;
    tokio::time::sleep(secs(5)).await;
    assert_eq!(went_to(&mut changes), [Draining, Restarting, Connected], "it goes on without the future");
}

// covers: MGP-11.2-12, MGP-14.3-08
#[tokio::test(start_paused = true)]
async fn calls_are_finished_and_new_ones_refused_while_a_server_drains() {
    let world = FakeServerHost::answering(Some(secs(3)));
    let server = running(&world).await;
    let calls: Vec<_> = (0..10).map(|_| tokio::spawn(call(server.gate()))).collect();
    settle().await;
    assert_eq!(server.in_flight(), 10);
    let start = Instant::now();
    let stopping = tokio::spawn({
        let server = server.clone();
        async move { server.stop(OperatorRequest, secs(30)).await }
    });
    settle().await;
    let error = call(server.gate()).await.unwrap_err();
    assert_eq!((server.state(), error.code()), (Draining, 2001));
    assert_eq!(error.recovery().unwrap().retryable, Some(true));
    assert_eq!(server.current().unwrap_err().code(), 2001);
    stopping.await.unwrap();
    assert!(start.elapsed() < secs(4), "it does not wait for the whole time");
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_eq!((world.calls(), world.closes(), server.in_flight()), (10, 1, 0));
}

// covers: MGP-11.4-01, MGP-11.4-03..04
#[tokio::test(start_paused = true)]
async fn a_server_is_asked_to_stop_and_may_end_by_itself() {
    let world = FakeServerHost::answering(None);
    let (asked, ending) = (Arc::new(Mutex::new(Vec::new())), world.clone());
    let seen = Arc::clone(&asked);
    let ask = move |service: Incarnation, shutdown: Shutdown| {
        seen.lock().push((service.number, shutdown));
        ending.end(ServerEnd::InOrder);
        async { Ok(()) }
    };
    let always = policy(RestartPolicy::Always);
    let server = world.supervisor("s").with_stop(ask).with_restarts(always).spawn();
    up(&server).await;
    let stuck = tokio::spawn(call(server.gate()));
    settle().await;
    let start = Instant::now();
    server.stop(IdleTimeout, secs(20)).await;
    assert!(start.elapsed() < secs(1));
    stuck.await.unwrap().unwrap_err();
    assert_eq!(*asked.lock(), [(1, Shutdown::new(IdleTimeout).with_timeout_ms(20_000))]);
    tokio::time::sleep(secs(600)).await;
    assert_eq!((server.state(), world.attempts()), (Disconnected, 1), "an order to stop beats `always`");
}

#[tokio::test(start_paused = true)]
async fn one_that_does_not_listen_is_closed_all_the_same() {
    for kind in 0..3 {
        let world = FakeServerHost::new(AttemptOutcome::Lives);
        let ask = move |_: Incarnation, _: Shutdown| async move {
            match kind {
                0 => std::future::pending().await,
                1 => panic!("as the test says"),
                _ => Err(mgp_types::Error::method_not_found(&"mgp/lifecycle/shutdown".into())),
            }
        };
        let server = world.supervisor("s").with_stop(ask).spawn();
        up(&server).await;
        let start = Instant::now();
        server.stop(OperatorRequest, secs(30)).await;
        assert!(start.elapsed() < secs(6), "{kind}");
        assert_eq!((server.state(), world.open()), (Disconnected, 0), "{kind}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_connecting_takes_the_attempt_back() {
    for (wait, state) in [(50, Connecting), (150, Restarting)] {
        let world = FakeServerHost::with_script([ScriptedAttempt::new(AttemptOutcome::Refuses)], LIVES);
        let server = world.supervisor("s").spawn();
        server.start();
        tokio::time::sleep(millis(wait)).await;
        assert_eq!(server.state(), state);
        server.stop(OperatorRequest, secs(5)).await;
        assert_eq!((server.state(), world.open()), (Error, 0));
        let attempts = world.attempts();
        tokio::time::sleep(secs(600)).await;
        assert_eq!((world.attempts(), server.state()), (attempts, Error));
        let mut changes = server.changes();
        server.start();
        tokio::time::sleep(secs(60)).await;
        assert_eq!(went_to(&mut changes).last(), Some(&Connected), "it is not given up");
    }
}

#[tokio::test(start_paused = true)]
async fn a_restart_ends_a_wait_and_an_attempt_that_began_before_it() {
    let world = FakeServerHost::with_script([ScriptedAttempt::new(AttemptOutcome::Refuses)], LIVES);
    let settings = RestartSettings { backoff_base_ms: 30_000, ..RestartSettings::default() };
    let server = world.supervisor("s").with_restarts(settings).spawn();
    server.start();
    tokio::time::sleep(millis(150)).await;
    assert_eq!(server.state(), Restarting);
    let start = Instant::now();
    let (one, two) = tokio::join!(server.restart(OperatorRequest), async {
        tokio::time::sleep(millis(50)).await;
        server.restart(OperatorRequest).await
    });
    assert!(one.is_ok() && two.is_ok() && start.elapsed() < millis(200));
    assert_eq!((world.attempts(), world.most()), (3, 1));
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_restart_waits_to_the_end_of_it_though_others_give_orders() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = running(&world).await;
    let (outcome, ()) = tokio::join!(server.restart(OperatorRequest), async {
        for _ in 0..8 {
            tokio::time::sleep(millis(20)).await;
            server.start();
        }
    });
    assert!(outcome.is_ok());
    assert_eq!((world.attempts(), server.state()), (2, Connected));
}

#[tokio::test(start_paused = true)]
async fn a_stop_while_a_server_is_set_up_closes_it_gracefully() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = world.supervisor("s").with_restore(|_| std::future::pending()).spawn();
    server.start();
    tokio::time::sleep(millis(200)).await;
    assert_eq!((server.state(), world.open()), (Connecting, 1));
    server.stop(OperatorRequest, secs(5)).await;
    assert_eq!((server.state(), world.open(), world.closes()), (Error, 0, 1));
}

#[tokio::test(start_paused = true)]
async fn a_restart_that_fails_says_so_and_is_followed_up() {
    let acts = [LIVES, ScriptedAttempt::new(AttemptOutcome::Refuses)];
    let world = FakeServerHost::with_script(acts, LIVES);
    let server = running(&world).await;
    let error = server.restart(OperatorRequest).await.unwrap_err();
    assert_eq!((error.code(), server.state()), (2002, Restarting));
    assert_eq!(server.ready(secs(60)).await.unwrap().number, 3);
}

#[tokio::test(start_paused = true)]
async fn orders_during_a_drain_change_what_comes_after_it() {
    for stops_last in [true, false] {
        let world = FakeServerHost::answering(Some(secs(5)));
        let server = running(&world).await;
        let slow = tokio::spawn(call(server.gate()));
        settle().await;
        let mut changes = server.changes();
        let stop = server.stop(OperatorRequest, secs(20));
        let restart = server.restart(ConfigurationChange);
        let later = tokio::time::sleep(secs(1));
        let start = Instant::now();
        if stops_last {
            tokio::join!(async { assert_eq!(restart.await.unwrap_err().code(), 2000) }, async {
                later.await;
                stop.await;
            });
            assert_eq!(went_to(&mut changes), [Draining, Disconnected]);
        } else {
            tokio::join!(stop, async {
                later.await;
                restart.await.unwrap();
            });
            assert_eq!(went_to(&mut changes), [Draining, Restarting, Connected]);
        }
        assert!(start.elapsed() < secs(6));
        slow.await.unwrap().unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_that_has_less_time_shortens_a_drain() {
    let world = FakeServerHost::answering(None);
    let server = running(&world).await;
    let stuck = tokio::spawn(call(server.gate()));
    settle().await;
    let start = Instant::now();
    tokio::join!(
        server.stop(OperatorRequest, secs(60)),
        async {
            tokio::time::sleep(secs(1)).await;
            server.stop(OperatorRequest, secs(2)).await;
        },
        async {
            tokio::time::sleep(secs(2)).await;
            server.stop(OperatorRequest, secs(90)).await;
        }
    );
    assert_eq!(start.elapsed().as_secs(), 3);
    stuck.await.unwrap().unwrap_err();
}
