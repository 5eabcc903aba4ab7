//! Tests of wakers that use the subscriber at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use futures_util::StreamExt;
use mgp_types::mgp::{EventSubscribe, EventSubscribed, SubscriptionId};

use super::super::Subscriber;
use super::{OURS, Script, event, numbered, subscribed};

/// A waker that uses the subscriber as soon as it is woken, on the thread that wakes it.
struct AtOnce {
    subscriber: Subscriber,
    woken: AtomicUsize,
}

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        drop(self.subscriber.expecting());
        self.woken.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test(start_paused = true)]
async fn whoever_is_woken_by_an_event_may_use_the_subscriber_at_once() {
    let script = Script::answering([Ok(OURS)]);
    let mut events = subscribed(&script).await;
    let woken = Arc::new(AtOnce { subscriber: script.to.clone(), woken: AtomicUsize::default() });
    let waker = Waker::from(woken.clone());
    let mut cx = Context::from_waker(&waker);
    assert!(events.poll_next_unpin(&mut cx).is_pending());
    script.to.push(numbered(1));
    assert_eq!(woken.woken.load(Ordering::Relaxed), 1);
    assert!(events.poll_next_unpin(&mut cx).is_ready());

    assert!(events.poll_next_unpin(&mut cx).is_pending());
    let _expecting = script.to.expecting();
    script.to.push(event("t", 1));
    let answer = EventSubscribed::new(SubscriptionId::new("t"));
    let mut other = script.to.opened(script.clone(), EventSubscribe::new(["a"]), answer);
    assert!(other.poll_next_unpin(&mut cx).is_ready());
}
