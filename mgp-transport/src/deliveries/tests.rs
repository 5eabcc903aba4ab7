//! Tests of deliveries with fast, slow and stuck readers.

use std::time::Duration;

use mgp_types::{BoxFuture, OutboxPort, Response, StreamId};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::*;

/// A reader that takes one message per permit.
struct Reader {
    permits: Semaphore,
    taken: Mutex<Vec<String>>,
}

impl OutboxPort for Reader {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.permits.acquire().await.expect("never closed").forget();
            self.taken.lock().push(notification.params.text("n").expect("is there").into_owned());
            Ok(())
        })
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async { Err(Error::internal("not asked")) })
    }
}

fn reader(permits: usize) -> Arc<Reader> {
    Arc::new(Reader { permits: Semaphore::new(permits), taken: Mutex::default() })
}

fn deliveries(reader: &Arc<Reader>, max_messages: usize, max_bytes: usize) -> Arc<CallDeliveries> {
    let limits = ConnectionLimits {
        max_undelivered: max_messages,
        max_undelivered_bytes: max_bytes,
        ..ConnectionLimits::default()
    };
    let outbox = Outbox::new(Arc::clone(reader) as _, StreamId::fresh());
    Arc::new(CallDeliveries::new(outbox, &limits))
}

fn stalls() -> ReadStalls {
    ReadStalls::new(&ConnectionLimits::default())
}

/// Waits until reading may go on, and returns whether the caller caught up.
async fn over(stalls: &mut ReadStalls) -> bool {
    poll_fn(|cx| stalls.poll(cx)).await.is_ok()
}

fn put(deliveries: &CallDeliveries, n: usize, bytes: usize) -> bool {
    let params = Params::parse(format!(r#"{{"n":"{n}"}}"#)).expect("is an object");
    deliveries.put(Method::STREAM_CHUNK, params, bytes)
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_has_room_again_when_half_is_taken() {
    for (messages, bytes) in [(4, 1 << 20), (1024, 4 * (10 + PLACE_BYTES))] {
        let reader = reader(0);
        let deliveries = deliveries(&reader, messages, bytes);
        let rooms: Vec<_> = (0..4).map(|n| put(&deliveries, n, 10)).collect();
        assert_eq!(rooms, [true, true, true, false]);
        let caller = tokio::spawn({
            let deliveries = Arc::clone(&deliveries);
            async move { deliveries.run().await }
        });
        let mut stalls = stalls();
        stalls.begin(&deliveries);
        assert!(!stalls.is_reading());
        let waited = tokio::time::timeout(Duration::from_secs(1), over(&mut stalls)).await;
        assert!(waited.is_err(), "one is being delivered, three wait");
        reader.permits.add_permits(1);
        assert!(over(&mut stalls).await);
        assert!(stalls.is_reading());
        let left = deliveries.state.lock().patience.left(Instant::now());
        assert!(left <= Duration::from_secs(4), "{left:?}");
        caller.abort();
    }
}

/// Returns a call whose queue is full, and whose caller takes one message every `seconds` seconds.
fn slow(seconds: u64) -> (Arc<CallDeliveries>, JoinHandle<PeerOutcome>) {
    let reader = reader(0);
    let deliveries = deliveries(&reader, 1, 1 << 20);
    let caller = tokio::spawn({
        let deliveries = Arc::clone(&deliveries);
        async move {
            let permits = async {
                loop {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    reader.permits.add_permits(1);
                }
            };
            tokio::select! {
                outcome = deliveries.run() => outcome,
                () = permits => unreachable!("it goes on forever"),
            }
        }
    });
    assert!(!put(&deliveries, 0, 1));
    (deliveries, caller)
}

#[tokio::test(start_paused = true)]
async fn one_who_only_had_no_turn_yet_is_not_slow() {
    let mut stalls = stalls();
    for _ in 0..2 {
        let (deliveries, _caller) = slow(1000);
        tokio::task::yield_now().await;
        assert!(!put(&deliveries, 1, 1));
        stalls.begin(&deliveries);
        assert!(!over(&mut stalls).await);
    }
    let reader = reader(Semaphore::MAX_PERMITS);
    let deliveries = deliveries(&reader, 1, 1 << 20);
    assert!(!put(&deliveries, 0, 1));
    let caller = tokio::spawn({
        let deliveries = Arc::clone(&deliveries);
        async move { deliveries.run().await }
    });
    stalls.begin(&deliveries);
    assert!(over(&mut stalls).await, "no patience was left");
    caller.abort();
}

#[tokio::test]
async fn a_closed_queue_keeps_nothing_and_stalls_nobody() {
    let reader = reader(0);
    let deliveries = deliveries(&reader, 1, 1);
    assert!(!put(&deliveries, 0, 1));
    deliveries.close();
    let mut stalls = stalls();
    stalls.begin(&deliveries);
    assert!(over(&mut stalls).await);
    assert!(put(&deliveries, 0, 1));
    assert!(deliveries.state.lock().waiting.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_stalls_nobody_any_more() {
    for fails in [false, true] {
        let (deliveries, _caller) = slow(1000);
        tokio::task::yield_now().await;
        assert!(!put(&deliveries, 1, 1));
        let began = Instant::now();
        let mut stalls = stalls();
        stalls.begin(&deliveries);
        let end = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            if fails {
                deliveries.end(AnswerState::Failed(Error::cancelled()));
            } else {
                deliveries.answer(Ok(RawJson::null()));
            }
        };
        let (caught_up, ()) = tokio::join!(over(&mut stalls), end);
        assert!(caught_up);
        assert_eq!(began.elapsed().as_secs(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_spent_comes_back_while_the_connection_reads() {
    let seconds = Duration::from_secs;
    let mut patience = StallAllowance::new(seconds(5));
    let began = Instant::now();
    assert_eq!(patience.left(began), seconds(5));
    patience.spend(began, began + seconds(3));
    assert_eq!(patience.left(began + seconds(3)), seconds(2));
    assert_eq!(patience.left(began + seconds(13)), seconds(3));
    assert_eq!(patience.left(began + seconds(33)), seconds(5));
    assert_eq!(patience.left(began + seconds(1000)), seconds(5));
    patience.spend(began, began + seconds(1000));
    assert_eq!(patience.left(began + seconds(1000)), Duration::ZERO);
    assert_eq!(patience.left(began + seconds(1010)), seconds(1));
}
