//! Tests by random schedules of calls, shutdowns and cancelled calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use mgp_types::mgp::{LifecycleChange, ServerState, ShutdownAnswer, ShutdownReason};
use mgp_types::{Error, Response, code};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{ask, changes_of, lifecycle, plain, reaching, started, stop, tool};
use crate::doubles::{Caller, Random, each_seed, millis};
use crate::server::DrainOutcome;

struct Call {
    task: JoinHandle<Result<Response, Error>>,
    answers: Arc<AtomicUsize>,
    came_after_stop: bool,
    taken_back: bool,
}

// covers: MGP-11.2-04, MGP-11.2-05, MGP-11.2-12, MGP-11.4-02, MGP-14.3-08
#[test]
fn whatever_happens_every_call_is_answered_once_and_the_server_ends_in_time() {
    each_seed(1000, schedule);
}

async fn schedule(mut chance: Random) {
    let (life, server, service) = started();
    let mut changes = life.changes();
    let peer = Arc::new(if chance.below(4) == 0 { Caller::stuck() } else { Caller::default() });
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
                assert!(answer.accepted && answer.estimated_drain_ms <= timeout, "{answer:?}");
                let until = Instant::now() + millis(timeout);
                deadline = Some(deadline.map_or(until, |earlier| earlier.min(until)));
            }
            15 => assert!(
                life.failed("broken").is_err() == deadline.is_some() && {
                    // A broken server repairs itself at once, so that the schedule goes on.
                    deadline.is_some() || life.restarting("mending").and_then(|()| life.ready()).is_ok()
                }
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
    assert!(Instant::now() <= until.max(asked) + farewell);
    assert_eq!((life.pending(), server.running()), (0, 0));
    let mut cut_off = 0;
    for call in calls {
        let outcome = call.task.await;
        if call.taken_back {
            assert_eq!(call.answers.load(Ordering::Relaxed), 0);
            continue;
        }
        assert_eq!(call.answers.load(Ordering::Relaxed), 1);
        match outcome.unwrap() {
            Ok(_) => {
                assert!(!call.came_after_stop, "a call was let in after the shutdown was answered");
            }
            Err(error) => {
                assert_eq!(error.code(), code::SERVER_DRAINING);
                cut_off += u64::from(!error.recovery().unwrap().may_retry());
            }
        }
    }
    match how {
        DrainOutcome::Finished => {}
        DrainOutcome::CutOff { calls } => assert!(calls <= cut_off),
    }
    let mut state = ServerState::Connected;
    while let Some(Some(LifecycleChange { previous_state, new_state, .. })) = changes.next().now_or_never() {
        assert_eq!(previous_state, state);
        state = new_state;
    }
    assert_eq!(state, ServerState::Disconnected);
    assert!(peer.is_stuck || !changes_of(&peer).is_empty());
}
