//! Tests of many servers at once.

use mgp_types::mgp::ServerState;
use mgp_types::mgp::ShutdownReason::KernelShutdown;

use super::*;
use crate::ServerEnd;
use crate::doubles::{AttemptOutcome, LIVES, ScriptedAttempt};

/// Runs fifty servers, of which every 100 ms another one dies, for two minutes; half of them are called all the time
/// and never die, and none of their calls may fail or take longer.
#[tokio::test(start_paused = true)]
async fn servers_that_die_do_not_affect_the_others() {
    let settings = RestartSettings { max_restarts: 1000, backoff_max_ms: 1500, ..RestartSettings::default() };
    let worlds: Vec<_> = (0..50)
        .map(|number| match number % 5 {
            // Some dying servers do not even close, or come back only at the second attempt.
            0 => FakeServerHost::with_script([], ScriptedAttempt { closes_within: secs(3600), ..LIVES }),
            1 => FakeServerHost::with_script([LIVES, ScriptedAttempt::new(AttemptOutcome::Hangs)], LIVES),
            _ => FakeServerHost::new(AttemptOutcome::Lives),
        })
        .collect();
    let servers: Vec<_> =
        worlds.iter().map(|world| world.supervisor("s").with_restarts(settings.clone()).spawn()).collect();
    for server in &servers {
        up(server).await;
    }
    let callers: Vec<_> = servers[25..]
        .iter()
        .map(|server| {
            let gate = server.gate();
            tokio::spawn(async move {
                let start = tokio::time::Instant::now();
                let mut calls = 0;
                while start.elapsed() < secs(120) {
                    let before = tokio::time::Instant::now();
                    call(gate.clone()).await.unwrap();
                    assert!(before.elapsed() <= millis(52), "{:?}", before.elapsed());
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    let mut deaths = 0;
    for round in 0..1200 {
        let victim = round % 25;
        if servers[victim].state() == ServerState::Connected {
            worlds[victim].end(if round % 2 == 0 { ServerEnd::InError } else { ServerEnd::InOrder });
            deaths += 1;
        }
        tokio::time::sleep(millis(100)).await;
        if servers[victim].state() == ServerState::Disconnected {
            servers[victim].start();
        }
    }
    assert!(deaths > 900, "{deaths}");
    for caller in callers {
        assert!(caller.await.unwrap() > 2000);
    }
    for (number, world) in worlds.iter().enumerate() {
        assert!(world.most() <= 1, "{number}");
        assert!(number < 25 || world.attempts() == 1, "{number}");
    }
    let stops = servers.iter().map(|server| server.stop(KernelShutdown, secs(5)));
    let start = tokio::time::Instant::now();
    futures_util::future::join_all(stops).await;
    assert!(start.elapsed() < secs(6), "all at once");
    assert_eq!(worlds.iter().map(FakeServerHost::open).sum::<usize>(), 0);
}
