//! Random schedules of calls, shutdowns and calls taken back, and what holds in each of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_types::mgp::{LifecycleChange, ServerState, ShutdownAnswer, ShutdownReason};
use mgp_types::{Error, Response, code};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Peer, ask, lifecycle, millis, plain, reaching, started, stop, tool};
use crate::server::Drained;

/// Numbers that follow from a seed (xorshift).
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

struct Call {
    task: JoinHandle<Result<Response, Error>>,
    answers: Arc<AtomicUsize>,
    came_after_stop: bool,
    taken_back: bool,
}

// covers: MGP-11.2-01, MGP-11.2-04, MGP-11.2-05, MGP-11.2-12, MGP-11.4-02, MGP-14.3-08
#[test]
fn whatever_happens_every_call_is_answered_once_and_the_server_ends_in_time() {
    for seed in 1..=1000 {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(schedule(seed));
    }
}

async fn schedule(seed: u64) {
    let mut chance = Chance(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let (life, server, service) = started();
    let mut changes = life.changes();
    let peer = Arc::new(Peer { is_stuck: chance.below(4) == 0, ..Peer::default() });
    let session = reaching(&peer);
    life.note(&session);
    let (mut calls, mut deadline): (Vec<Call>, Option<Instant>) = (Vec::new(), None);
    for _ in 0..chance.below(60) + 5 {
        match chance.below(20) {
            0..=10 => {
                let name = match chance.below(4) {
                    0 => "now".to_owned(),
                    1 => "never".to_owned(),
                    _ => format!("after-{}", chance.below(2000)),
                };
                let request = tool(&if chance.below(2) == 0 { lifecycle() } else { plain() }, &name);
                let answers = Arc::new(AtomicUsize::new(0));
                let (counted, service) = (answers.clone(), service.clone());
                let task = tokio::spawn(async move {
                    let answer = ask(&service, request).await;
                    counted.fetch_add(1, Ordering::Relaxed);
                    answer
                });
                calls.push(Call { task, answers, came_after_stop: deadline.is_some(), taken_back: false });
            }
            11..=13 if !calls.is_empty() => {
                let call = chance.below(calls.len().try_into().unwrap());
                let call = &mut calls[usize::try_from(call).unwrap()];
                if !call.task.is_finished() {
                    call.task.abort();
                    call.taken_back = true;
                }
            }
            14 => {
                let timeout = chance.below(3000);
                let answer: ShutdownAnswer =
                    ask(&service, stop(&lifecycle(), timeout)).await.unwrap().body().unwrap();
                assert!(answer.accepted && answer.estimated_drain_ms <= timeout, "{seed}: {answer:?}");
                let until = Instant::now() + millis(timeout);
                deadline = Some(deadline.map_or(until, |earlier| earlier.min(until)));
            }
            15 => assert!(
                life.failed("broken").is_err() == deadline.is_some() && {
                    // A broken server mends itself at once, so that the schedule goes on.
                    deadline.is_some() || life.restarting("mending").and_then(|()| life.ready()).is_ok()
                },
                "{seed}"
            ),
            _ => tokio::time::sleep(millis(chance.below(300))).await,
        }
        if chance.below(2) == 0 {
            tokio::task::yield_now().await;
        }
    }
    let asked = Instant::now();
    let until = deadline.into_iter().chain([asked + millis(1500)]).min().unwrap();
    let how = life.shutdown(ShutdownReason::KernelShutdown, millis(1500)).await;
    let farewell = if peer.is_stuck { millis(1000) } else { millis(0) };
    assert!(Instant::now() <= until.max(asked) + farewell, "{seed}");
    assert_eq!((life.pending(), server.working()), (0, 0), "{seed}");
    let mut cut_off = 0;
    for call in calls {
        let outcome = call.task.await;
        if call.taken_back {
            assert_eq!(call.answers.load(Ordering::Relaxed), 0, "{seed}");
            continue;
        }
        assert_eq!(call.answers.load(Ordering::Relaxed), 1, "{seed}");
        match outcome.unwrap() {
            Ok(_) => {
                assert!(!call.came_after_stop, "{seed}: a call was let in after the shutdown was answered");
            }
            Err(error) => {
                assert_eq!(error.code(), code::SERVER_DRAINING, "{seed}");
                cut_off += u64::from(error.message() == "the server has shut down");
            }
        }
    }
    match how {
        Drained::Finished => {}
        Drained::CutOff { calls } => assert!(calls <= cut_off, "{seed}"),
    }
    let mut state = ServerState::Connected;
    while let Ok(LifecycleChange { previous_state, new_state, .. }) = changes.try_recv() {
        assert_eq!(previous_state, state, "{seed}");
        state = new_state;
    }
    assert_eq!(state, ServerState::Disconnected, "{seed}");
    assert!(peer.is_stuck || !peer.changes().is_empty(), "{seed}");
}
