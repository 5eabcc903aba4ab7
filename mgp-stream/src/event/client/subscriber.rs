//! The client's routing of event notifications to the streams that subscribed to them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Context;
use std::time::Duration;

use foldhash::fast::RandomState;
use futures_util::task::AtomicWaker;
use mgp_types::mgp::{Event, EventSubscribe, EventSubscribed, EventUnsubscribe, SubscriptionId, method};
use mgp_types::{Error, Request, RpcService, Session};
use parking_lot::Mutex;
use scopeguard::guard;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use super::assembly::bytes_of;
use super::events::ask;
use super::{EventAssembly, EventItem, Events};

/// Brings events to those who subscribed to them. Clones share their subscriptions.
///
/// The application gives the subscriber the notifications of [`EVENT`](mgp_types::Method::EVENT). Events may overtake
/// the answer that names their subscription: while a subscription is being opened, a bounded number of events of
/// unknown subscriptions waits.
///
/// Unsubscribing is optional. A server that still sends events of a dropped stream is told to stop, by a task of the
/// subscriber, when the next one [arrives](Self::receive); not when the stream is dropped, because the subscription may
/// go on [elsewhere](Events::resuming) by then, and does not send here any more. A subscription without events takes a
/// place at its server until the session ends and its time is over.
#[derive(Debug, Clone, Default)]
pub struct Subscriber(Arc<Mutex<Routes>>);

#[derive(Debug, Default)]
struct Routes {
    inboxes: HashMap<SubscriptionId, Arc<Inbox>, RandomState>,
    subscribing: usize,
    early: VecDeque<Event>,
    early_bytes: usize,
    /// The last subscriptions whose stream was dropped without ending them.
    left: VecDeque<SubscriptionId>,
    /// The tasks that end dropped subscriptions.
    ending: JoinSet<()>,
}

/// The number of dropped subscriptions that are remembered.
const MAX_LEFT: usize = 64;

impl Subscriber {
    /// Creates a subscriber without subscriptions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the notification of an event, as it arrived. A subscription whose stream was dropped is ended.
    pub fn receive(&self, notification: &Request) {
        let event = match notification.body::<Event>() {
            Ok(event) => event,
            Err(error) => return tracing::debug!(%error, "an event is malformed"),
        };
        let id = event.subscription_id.clone();
        self.push(event);
        if let (Some(session), Ok(runtime)) = (&notification.context.session, Handle::try_current())
            && self.is_left(&id)
        {
            let ending = &mut self.0.lock().ending;
            while ending.try_join_next().is_some() {}
            ending.spawn_on(end(id, Arc::clone(session)), &runtime);
        }
    }

    /// Takes the notification that the server ended a subscription, as it arrived. Its events end with
    /// [`EventItem::Gone`].
    pub fn receive_end(&self, notification: &Request) {
        let ended = match notification.body::<mgp_types::ext::SubscriptionEnded>() {
            Ok(ended) => ended,
            Err(error) => return tracing::debug!(%error, "the end of a subscription is malformed"),
        };
        let inbox = self.0.lock().inboxes.remove(&ended.subscription_id);
        if let Some(inbox) = inbox {
            inbox.with(EventAssembly::end);
            inbox.reader.wake();
        }
    }

    /// Takes an event that arrived. An event of an unknown subscription is dropped.
    pub fn push(&self, event: Event) {
        let mut routes = self.0.lock();
        if let Some(inbox) = routes.inboxes.get(&event.subscription_id) {
            let inbox = Arc::clone(inbox);
            drop(routes);
            inbox.with(|assembly| assembly.push(event));
            inbox.reader.wake();
        } else if routes.subscribing > 0 {
            let bytes = bytes_early(&event);
            if routes.early.len() < MAX_EARLY && routes.early_bytes + bytes <= MAX_EARLY_BYTES {
                routes.early_bytes += bytes;
                routes.early.push_back(event);
            }
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
        let _subscribing = self.expecting();
        let answer = ask(service.clone(), method::EVENTS_SUBSCRIBE, &wanted).await?.body()?;
        Ok(self.opened(service, wanted, answer))
    }

    /// Returns the events of a subscription that was opened in another way, like with a request that listens.
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
            // The subscription was opened before: the server goes on after this event, not after the last one.
            inbox.with(|assembly| assembly.resume(after_seq, &answer));
        }
        self.route(&answer.subscription_id, &inbox);
        Events::new(service, self.clone(), wanted, answer, inbox)
    }

    /// Keeps events that overtake the name of their subscription while the returned value is held, for subscriptions
    /// that are opened in another way than by [`subscribe`](Self::subscribe).
    #[must_use = "early events are kept only while it is held"]
    pub fn expecting(&self) -> impl Drop + Send + use<> {
        self.0.lock().subscribing += 1;
        guard(self.clone(), |subscriber| {
            let mut routes = subscriber.0.lock();
            routes.subscribing -= 1;
            if routes.subscribing == 0 {
                routes.early.clear();
                routes.early_bytes = 0;
            }
        })
    }

    /// Routes events of the subscription to `inbox`, first those that came early.
    pub(super) fn route(&self, id: &SubscriptionId, inbox: &Arc<Inbox>) {
        let mut routes = self.0.lock();
        let (own, others) = std::mem::take(&mut routes.early)
            .into_iter()
            .partition::<VecDeque<_>, _>(|event| event.subscription_id == *id);
        routes.early_bytes -= own.iter().map(bytes_early).sum::<usize>();
        routes.early = others;
        // The early events are brought under the lock, so that no later event comes before them.
        inbox.with(|assembly| own.into_iter().for_each(|event| assembly.push(event)));
        routes.left.retain(|left| left != id);
        let before = routes.inboxes.insert(id.clone(), Arc::clone(inbox));
        drop(routes);
        drop(before);
        inbox.reader.wake();
    }

    /// Brings no more events of the subscription to `inbox`.
    pub(super) fn forget(&self, id: &SubscriptionId, inbox: &Arc<Inbox>) {
        let forgotten = self.0.lock().take(id, inbox);
        drop(forgotten);
    }

    /// Notes that the stream of a subscription was dropped without ending it.
    pub(super) fn leave(&self, id: &SubscriptionId, inbox: &Arc<Inbox>) {
        let mut routes = self.0.lock();
        let Some(forgotten) = routes.take(id, inbox) else { return };
        if routes.left.len() >= MAX_LEFT {
            routes.left.pop_front();
        }
        routes.left.push_back(id.clone());
        drop(routes);
        drop(forgotten);
    }

    /// Returns whether the stream of the subscription was dropped. The answer is yes once.
    fn is_left(&self, id: &SubscriptionId) -> bool {
        let mut routes = self.0.lock();
        let place = routes.left.iter().position(|left| left == id);
        place.is_some_and(|place| routes.left.remove(place).is_some())
    }
}

impl Routes {
    /// Takes out the inbox of a subscription, unless the events go to another one: a server may give a later subscription
    /// the same name.
    fn take(&mut self, id: &SubscriptionId, inbox: &Arc<Inbox>) -> Option<Arc<Inbox>> {
        let is_current = self.inboxes.get(id).is_some_and(|current| Arc::ptr_eq(current, inbox));
        if is_current { self.inboxes.remove(id) } else { None }
    }
}

/// The bytes of these events at most.
const MAX_EARLY_BYTES: usize = 1024 * 1024;

/// The number of events that wait for the answer that names their subscription.
const MAX_EARLY: usize = 256;

/// The time that ending a subscription may take.
const ENDING: Duration = Duration::from_secs(10);

/// Ends a subscription at the server.
async fn end(id: SubscriptionId, session: Arc<Session>) {
    let Ok(request) = Request::with_body(method::EVENTS_UNSUBSCRIBE, &EventUnsubscribe::new(id)) else {
        return;
    };
    if !matches!(tokio::time::timeout(ENDING, session.outbox.call(request)).await, Ok(Ok(_))) {
        tracing::debug!("the server did not end a subscription that is not read any more");
    }
}

/// Returns the bytes of an early event with its name, which can be of any length.
fn bytes_early(event: &Event) -> usize {
    bytes_of(event) + event.subscription_id.as_str().len()
}

/// An assembly shared by the connection that brings events and the stream that reads them.
pub(super) struct Inbox {
    assembly: Mutex<EventAssembly>,
    /// The reader, which is woken without a lock: the woken task may be any code, and may read at once.
    reader: AtomicWaker,
}

impl Inbox {
    pub(super) fn new(answer: &EventSubscribed) -> Self {
        Self { assembly: Mutex::new(EventAssembly::new(answer)), reader: AtomicWaker::new() }
    }

    /// Takes out the next item; if there is none, the reader is woken when one comes.
    pub(super) fn pop(&self, cx: &Context<'_>) -> Option<EventItem> {
        self.reader.register(cx.waker());
        self.assembly.lock().pop()
    }

    /// Runs `use_it` on the assembly, without waking the reader.
    pub(super) fn with<R>(&self, use_it: impl FnOnce(&mut EventAssembly) -> R) -> R {
        use_it(&mut self.assembly.lock())
    }
}

mgp_types::partial_debug!(Inbox, self => assembly: self.assembly.lock());
