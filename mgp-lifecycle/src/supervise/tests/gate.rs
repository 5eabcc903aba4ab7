//! Tests of the gate.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use mgp_types::mgp::Category;
use mgp_types::mgp::ShutdownReason::OperatorRequest;
use mgp_types::{Origin, RequestKind};
use tokio::time::Instant;

use super::*;
use crate::ServerEnd;
use crate::doubles::{AttemptOutcome, LIVES, ScriptedAttempt, Upstream, by};

// covers: MGP-11.2-11, MGP-14.3-07, MGP-14.3-09
#[tokio::test(start_paused = true)]
async fn calls_of_a_server_that_is_not_there_fail_at_once_and_say_when_to_come_back() {
    let world = FakeServerHost::with_script([ScriptedAttempt::new(AttemptOutcome::Refuses)], LIVES);
    let server = world.supervisor("s").spawn();
    let refused = async || {
        let start = Instant::now();
        let error = call(server.gate()).await.unwrap_err();
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert_eq!(error.origin(), Origin::Local);
        let recovery = error.recovery().unwrap();
        assert_eq!(recovery.category, Some(Category::Lifecycle));
        (error.code(), recovery.retryable.unwrap(), recovery.retry_after_ms)
    };
    assert_eq!(refused().await, (2000, false, None));
    server.start();
    settle().await;
    assert_eq!(refused().await, (2000, true, Some(500)));
    tokio::time::sleep(millis(110)).await;
    let (code, retryable, after) = refused().await;
    assert!(code == 2002 && retryable && (500..=1000).contains(&after.unwrap()));
    tokio::time::sleep(millis(after.unwrap())).await;
    tokio::time::sleep(millis(101)).await;
    assert_eq!(by(&call(server.gate()).await.unwrap()), 2, "it was there when the error said so");
    server.stop(OperatorRequest, secs(1)).await;
    assert_eq!(refused().await, (2000, false, None));
    assert_eq!(world.calls(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_server_dies_ends_with_it_and_is_not_answered_by_the_next() {
    for answers_after in [Some(secs(60)), None] {
        let world = FakeServerHost::with_script([ScriptedAttempt { answers_after, ..LIVES }], LIVES);
        let server = running(&world).await;
        let dying: Vec<_> = (0..5).map(|_| tokio::spawn(call(server.gate()))).collect();
        settle().await;
        let start = Instant::now();
        world.end(ServerEnd::InError);
        for call in dying {
            assert_eq!(call.await.unwrap().unwrap_err().origin(), Origin::Connection);
        }
        assert!(start.elapsed() < millis(100), "{:?}", start.elapsed());
        server.ready(secs(10)).await.unwrap();
        assert_eq!(by(&call(server.gate()).await.unwrap()), 2);
        assert_eq!((world.calls(), server.in_flight()), (6, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_dropped_is_no_longer_in_flight() {
    let world = FakeServerHost::answering(None);
    let server = running(&world).await;
    assert!(tokio::time::timeout(secs(1), call(server.gate())).await.is_err());
    assert_eq!(server.in_flight(), 0);
    let start = Instant::now();
    server.stop(OperatorRequest, secs(30)).await;
    assert!(start.elapsed() < secs(1));
}

#[tokio::test(start_paused = true)]
async fn a_call_is_answered_when_its_answer_is_there_though_its_future_is_kept() {
    let world = FakeServerHost::new(AttemptOutcome::Lives);
    let server = running(&world).await;
    let mut answered = Box::pin(server.gate().call(request()));
    answered.as_mut().await.unwrap();
    assert_eq!(server.in_flight(), 0);
}

#[tokio::test(start_paused = true)]
async fn notifications_pass_the_same_way() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let service = Upstream::working(move |_, request: Request| {
        count.fetch_add(usize::from(request.kind == RequestKind::Notify), Ordering::SeqCst);
        async { Ok(Response::empty()) }
    });
    let server = serving(service).await;
    let notification = || Request::notify("notifications/cancelled", Object::new());
    server.gate().call(notification()).await.unwrap();
    server.stop(OperatorRequest, secs(1)).await;
    assert_eq!(server.gate().call(notification()).await.unwrap_err().code(), 2000);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

/// A service that has no room until a test makes some, or that is broken.
#[derive(Clone)]
struct Full {
    room: tokio::sync::watch::Receiver<bool>,
    broken: bool,
    asked: bool,
}

impl Service<Request> for Full {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.broken {
            return Poll::Ready(Err(Error::disconnected("broken")));
        }
        self.asked = *self.room.borrow();
        if self.asked {
            return Poll::Ready(Ok(()));
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    fn call(&mut self, _: Request) -> Self::Future {
        assert!(std::mem::take(&mut self.asked), "called without room");
        std::future::ready(Ok(Response::empty()))
    }
}

#[tokio::test]
async fn the_room_of_the_incarnation_is_waited_for() {
    for broken in [false, true] {
        let (room, has_room) = tokio::sync::watch::channel(false);
        let server = serving(Full { room: has_room, broken, asked: false }).await;
        let mut gate = server.gate();
        let answer = tokio::spawn(gate.call(request()));
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        assert_eq!(answer.is_finished(), broken);
        room.send(true).unwrap();
        assert_eq!(answer.await.unwrap().is_err(), broken);
    }
}

#[test]
fn static_property_gates_handles_and_their_futures_go_between_threads() {
    fn shared<T: Send + Sync + 'static>() {}
    fn sent<T: Send + 'static>() {}
    shared::<SupervisedService<Incarnation>>();
    shared::<Supervised<Incarnation>>();
    sent::<crate::supervise::SupervisedServiceFuture<Incarnation>>();
    sent::<LifecycleChanges>();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_call_gets_in_once_a_server_is_shut_whatever_the_threads_do() {
    let act = ScriptedAttempt {
        takes: Duration::ZERO,
        answers_after: Some(Duration::ZERO),
        closes_within: Duration::ZERO,
        ..LIVES
    };
    let world = FakeServerHost::with_script([], act);
    let server = running(&world).await;
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let (gate, stop) = (server.gate(), Arc::clone(&stop));
            tokio::spawn(async move {
                let (mut answered, mut refused) = (0, 0);
                while !stop.load(Ordering::SeqCst) {
                    match call(gate.clone()).await {
                        Ok(_) => answered += 1,
                        Err(error) if error.origin() == Origin::Local => refused += 1,
                        Err(error) => panic!("let in and not answered: {error}"),
                    }
                    tokio::task::yield_now().await;
                }
                (answered, refused)
            })
        })
        .collect();
    for _ in 0..50 {
        server.restart(OperatorRequest).await.unwrap();
        tokio::time::sleep(millis(1)).await;
    }
    stop.store(true, Ordering::SeqCst);
    let mut answered = 0;
    for caller in callers {
        answered += caller.await.unwrap().0;
    }
    assert_eq!(answered, world.calls());
    assert!(answered > 0 && world.most() == 1);
}
