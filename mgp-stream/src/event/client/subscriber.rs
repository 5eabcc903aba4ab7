use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::{Event, EventSubscribe, EventSubscribed, SubscriptionId, method};
use mgp_types::{Error, RpcService};
use parking_lot::Mutex;

use super::Events;
use super::assembly::bytes_of;
use super::events::ask;
use super::inbox::Inbox;

/// Brings events to those who subscribed to them. Clones share their subscriptions.
///
/// Whoever receives notifications gives it those of [`EVENT`](mgp_types::Method::EVENT). Events may overtake the answer
/// that names their subscription: while somebody subscribes, a bounded number of events of unknown subscriptions waits.
#[derive(Debug, Clone, Default)]
pub struct Subscriber(Arc<Mutex<Routes>>);

#[derive(Debug, Default)]
struct Routes {
    inboxes: HashMap<SubscriptionId, Arc<Inbox>, RandomState>,
    subscribing: usize,
    early: VecDeque<Event>,
    early_bytes: usize,
}

impl Subscriber {
    /// A subscriber without subscriptions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes an event that arrived. One that nobody subscribed to is dropped.
    pub fn push(&self, event: Event) {
        let mut routes = self.0.lock();
        if let Some(inbox) = routes.inboxes.get(&event.subscription_id) {
            let inbox = Arc::clone(inbox);
            drop(routes);
            inbox.push(event);
        } else if routes.subscribing > 0 {
            routes.keep_early(event);
        }
    }

    /// Subscribes to events of the server that `service` leads to.
    ///
    /// # Errors
    /// The server refuses, or cannot be reached.
    ///
    /// # Cancel safety
    /// Dropping the future takes the call back; a server that has answered by then keeps the subscription until the
    /// session ends.
    pub async fn subscribe<S: RpcService>(
        &self,
        service: S,
        wanted: EventSubscribe,
    ) -> Result<Events<S>, Error> {
        let _subscribing = self.subscribing();
        let answer = ask(service.clone(), method::EVENTS_SUBSCRIBE, &wanted).await?.body()?;
        Ok(self.opened(service, wanted, answer))
    }

    /// The events of a subscription that was opened in another way, like with a request that listens.
    pub fn opened<S: RpcService>(
        &self,
        service: S,
        wanted: EventSubscribe,
        answer: EventSubscribed,
    ) -> Events<S> {
        let inbox = Arc::new(Inbox::new(&answer));
        if wanted.subscription_id.as_ref() == Some(&answer.subscription_id)
            && let Some(after_seq) = wanted.after_seq
        {
            // It was opened before: the server goes on after this event, not after the last one.
            inbox.with(|assembly| assembly.resume(after_seq, &answer));
        }
        self.route(&answer.subscription_id, &inbox);
        Events::new(service, self.clone(), wanted, answer, inbox)
    }

    /// Keeps events that overtake the name of their subscription, while the returned value is held: for those who open
    /// one in another way than by [`subscribe`](Self::subscribe).
    #[must_use = "early events are kept only while it is held"]
    pub fn expecting(&self) -> impl Drop + Send + use<> {
        self.subscribing()
    }

    /// Brings events of the subscription to `inbox`, first those that came early.
    pub(super) fn route(&self, id: &SubscriptionId, inbox: &Arc<Inbox>) {
        let mut routes = self.0.lock();
        let (own, others) = std::mem::take(&mut routes.early)
            .into_iter()
            .partition::<VecDeque<_>, _>(|event| event.subscription_id == *id);
        routes.early_bytes -= own.iter().map(bytes_of).sum::<usize>();
        routes.early = others;
        // Under the lock, so that no later event comes before them.
        for event in own {
            inbox.push(event);
        }
        routes.inboxes.insert(id.clone(), Arc::clone(inbox));
    }

    pub(super) fn forget(&self, id: &SubscriptionId) {
        self.0.lock().inboxes.remove(id);
    }

    /// Keeps early events while it lives.
    pub(super) fn subscribing(&self) -> Subscribing {
        self.0.lock().subscribing += 1;
        Subscribing(self.clone())
    }
}

impl Routes {
    fn keep_early(&mut self, event: Event) {
        let bytes = bytes_of(&event);
        if self.early.len() < MAX_EARLY && self.early_bytes + bytes <= MAX_EARLY_BYTES {
            self.early_bytes += bytes;
            self.early.push_back(event);
        }
    }
}

/// Somebody waits for the name of a subscription.
#[derive(Debug)]
pub(super) struct Subscribing(Subscriber);

impl Drop for Subscribing {
    fn drop(&mut self) {
        let mut routes = self.0.0.lock();
        routes.subscribing -= 1;
        if routes.subscribing == 0 {
            routes.early.clear();
            routes.early_bytes = 0;
        }
    }
}

/// How many events wait for the answer that names their subscription.
const MAX_EARLY: usize = 256;
/// How many bytes they have at most.
const MAX_EARLY_BYTES: usize = 1024 * 1024;
