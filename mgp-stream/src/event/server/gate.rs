//! The server's gate for subscriptions, in front of the router, and requests that listen (`subscriptions/listen`).

use std::sync::Arc;

use mgp_types::ext::OwnSubscriptions;
use mgp_types::mgp::{
    ChannelPattern, EventReplay, EventSubscribe, EventUnsubscribe, EventUnsubscribed, Extension, method,
    written,
};
use mgp_types::{
    BoxFuture, Error, Flow, Gate, Method, Object, Outbox, OutboxPort, Principal, RawJson, Request,
    RequestKind, Response, StreamId, mcp,
};
use parking_lot::Mutex;

use super::Publisher;
use super::feed::{EventQuotas, EventRoute};
use super::registry::{FeedAttachment, SubscriptionCaller, SubscriptionRegistry};
use super::terms::{self, SubscriptionTerms};
use crate::session::negotiated;

/// Serves subscriptions to the events of a [`Publisher`]. Clones share them.
///
/// The gate sits inside of the layers that authenticate and authorise, in front of the service that serves
/// `subscriptions/listen`. The gate reads `session`, `principal` and `outbox` of the context and writes `outbox` of a
/// request that listens for events. Requests that have nothing to do with events pass at the cost of a comparison of
/// names, without an allocation. Methods of events pass too unless the peer negotiated `events`, so that they are
/// unknown as they are to any MCP server.
///
/// Where the session has a way to the client, events are pushed on it. Otherwise a client asks for them
/// (`mgp/events/replay`), or listens: a `subscriptions/listen` whose filter has the member
/// [`LISTEN_MEMBER`](mgp_types::mgp::EventSubscribe::LISTEN_MEMBER) gets events on its own stream, after the
/// acknowledgement, which has the answer in a member of the same name.
///
/// All clients see all channels, unless [`for_audience`](Self::for_audience) says otherwise.
///
/// A subscription belongs to its owner: the principal or, for anonymous clients, any client that knows its name. An id
/// that the client chose itself proves nothing: there the principal decides, or the session. For others the subscription
/// does not exist. All subscriptions and their tasks end with the last clone.
#[derive(Clone)]
pub struct EventsGate(Arc<SubscriptionRegistry>);

impl EventsGate {
    /// Returns a gate with the usual quotas: 32 subscriptions of one owner, 1,024 in all, 64 channels in each; an unused
    /// subscription is kept for an hour; its last 1,000 events, or 4 MiB of them, can be sent again.
    pub fn new(publisher: Publisher) -> Self {
        Self::with_quotas(publisher, EventQuotas::default())
    }

    pub(in crate::event) fn with_quotas(publisher: Publisher, quotas: EventQuotas) -> Self {
        let everybody = Arc::new(|_: Option<&Principal>, _: &str| true);
        Self(Arc::new(SubscriptionRegistry::new(publisher, quotas, everybody)))
    }

    /// Returns a gate with subscriptions of its own, in which each client sees the channels that `audience` allows its
    /// principal. Hidden channels do not exist for the client.
    ///
    /// `audience` decides anew for each event, because permissions change while subscriptions last. Publishers wait for
    /// the decision.
    pub fn for_audience(
        self,
        audience: impl Fn(Option<&Principal>, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let (publisher, quotas) = (self.0.publisher.clone(), self.0.quotas.clone());
        Self(Arc::new(SubscriptionRegistry::new(publisher, quotas, Arc::new(audience))))
    }

    /// Returns the channels that a request is to subscribe to, by itself or on the stream of a request that listens, so that
    /// a gateway can ask other servers for them first. What is wrong with a request shows when the gate answers it.
    pub fn wanted_channels(&self, request: &Request) -> Vec<ChannelPattern> {
        let listens = request.method == *mcp::method::LISTEN;
        let wish = if listens {
            request
                .params
                .object(NOTIFICATIONS)
                .and_then(|filter| filter.object(EventSubscribe::LISTEN_MEMBER))
        } else {
            (request.method == *method::EVENTS_SUBSCRIBE).then(|| request.params.clone())
        };
        let (Some(wish), Some(session)) = (wish.filter(|_| is_for_us(request)), &request.context.session)
        else {
            return Vec::new();
        };
        let asked =
            SubscriptionTerms::read(&wish, session).map(|(asked, _)| asked.channels).unwrap_or_default();
        asked.iter().filter_map(|channel| channel.parse().ok()).take(self.0.quotas.channels).collect()
    }
}

impl Gate for EventsGate {
    /// The value that keeps events flowing to a request that listens; `None` for other requests.
    type Pass = Option<ListeningRequest>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        match request.method.as_str() {
            method::EVENTS_SUBSCRIBE | method::EVENTS_UNSUBSCRIBE | method::EVENTS_REPLAY
                if is_for_us(request) =>
            {
                Flow::Answer(answer(&self.0, request))
            }
            OwnSubscriptions::METHOD if is_for_us(request) => Flow::Answer(list(&self.0, request)),
            mcp::method::LISTEN if is_for_us(request) => open(&self.0, request).into(),
            _ => Flow::Pass(None),
        }
    }
}

mgp_types::partial_debug!(EventsGate, self => publisher: self.0.publisher);

fn is_for_us(request: &Request) -> bool {
    let session = request.context.session.as_deref();
    request.kind == RequestKind::Call
        && (negotiated(session, &Extension::Events) || session.is_some_and(terms::are_known))
}

fn answer(registry: &Arc<SubscriptionRegistry>, request: &Request) -> Result<Response, Error> {
    let caller = SubscriptionCaller::of(request)?;
    if request.method == *method::EVENTS_SUBSCRIBE {
        let (asked, terms) = SubscriptionTerms::read(&request.params, caller.session)?;
        registry.subscribe(caller, &asked, terms).map(Response::plain)
    } else if request.method == *method::EVENTS_UNSUBSCRIBE {
        let asked: EventUnsubscribe = request.body()?;
        // The specification does not say how this is answered.
        let is_ended = registry.unsubscribe(caller, &asked.subscription_id);
        written(&EventUnsubscribed::new(is_ended)).map(Response::plain)
    } else {
        let asked: EventReplay = request.body()?;
        let (answer, terms) = registry.replay(caller, &asked)?;
        terms.write_replay(&answer).map_or_else(|| written(&answer), Ok).map(Response::plain)
    }
}

fn list(registry: &SubscriptionRegistry, request: &Request) -> Result<Response, Error> {
    written(&registry.list(SubscriptionCaller::of(request)?)).map(Response::plain)
}

/// Decides whether a principal may know of a channel, and see the events published on it.
pub(super) type Audience = dyn Fn(Option<&Principal>, &str) -> bool + Send + Sync;

/// A subscriber, and the audience that decides what it sees.
#[derive(Clone)]
pub(super) struct AudienceMember {
    pub(super) principal: Option<Principal>,
    audience: Arc<Audience>,
}

impl AudienceMember {
    pub(super) fn new(principal: Option<&Principal>, audience: &Arc<Audience>) -> Self {
        Self { principal: principal.cloned(), audience: Arc::clone(audience) }
    }

    pub(super) fn sees(&self, channel: &str) -> bool {
        (self.audience)(self.principal.as_ref(), channel)
    }
}

mgp_types::partial_debug!(AudienceMember, self => principal: self.principal);

/// A request that listens for events. Dropping this value ends the sending; the subscription stays and can be resumed.
pub struct ListeningRequest {
    acknowledgement: Arc<Acknowledgement>,
    is_new: bool,
}

const NOTIFICATIONS: &str = "notifications";

/// Opens the subscription that a `subscriptions/listen` asks for, if it asks for one, and takes the wish out of the
/// request: inner services do not see it.
pub(super) fn open(
    registry: &Arc<SubscriptionRegistry>,
    request: &mut Request,
) -> Result<Option<ListeningRequest>, Error> {
    let Some(mut filter) = request.params.object(NOTIFICATIONS) else {
        return Ok(None);
    };
    let Some(wish) = filter.remove(EventSubscribe::LISTEN_MEMBER) else { return Ok(None) };
    if !request.context.outbox.is_open() {
        return Ok(None);
    }
    let wish = Object::from_raw(&wish).map_err(|error| Error::invalid_params(error.to_string()))?;
    let (asked, terms) = SubscriptionTerms::read(&wish, request.context.session()?)?;
    let holder = EventRoute::Stream(request.context.outbox.clone());
    let opened = registry.open(SubscriptionCaller::of(request)?, &asked, terms, Some(holder))?;
    let answer = opened.terms.write_answer(&opened.answer, true)?;
    let outbox = std::mem::take(&mut request.context.outbox);
    let stream = outbox.stream();
    let acknowledgement = Arc::new(Acknowledgement {
        registry: Arc::clone(registry),
        attachment: opened.attachment,
        after_seq: opened.after_seq,
        outbox,
        answer: Mutex::new(Some(answer)),
    });
    request.context.outbox = Outbox::new(acknowledgement.clone(), stream);
    request.params.set(NOTIFICATIONS, filter.to_raw());
    Ok(Some(ListeningRequest { acknowledgement, is_new: asked.subscription_id.is_none() }))
}

mgp_types::partial_debug!(ListeningRequest);

impl Drop for ListeningRequest {
    fn drop(&mut self) {
        let Acknowledgement { registry, attachment, answer, .. } = &*self.acknowledgement;
        let unacknowledged = answer.lock().take().is_some();
        match attachment {
            // The client never learned the name of the subscription.
            Some(attachment) if self.is_new && unacknowledged => registry.withdraw(attachment),
            Some(attachment) => registry.detach(attachment),
            None => {}
        }
    }
}

/// The part of an acknowledgement that is about events.
struct Acknowledgement {
    registry: Arc<SubscriptionRegistry>,
    attachment: Option<FeedAttachment>,
    after_seq: u64,
    outbox: Outbox,
    /// The answer, taken by the acknowledgement and by the end of the request: nothing is sent after either.
    answer: Mutex<Option<RawJson>>,
}

impl Acknowledgement {
    /// Sends the acknowledgement with the answer in it, and then events: the acknowledgement is the first message of
    /// its stream.
    async fn send(&self, mut notification: Request, answer: RawJson) -> Result<(), Error> {
        let honoured = notification.params.object_mut_or_new(NOTIFICATIONS);
        honoured.set(EventSubscribe::LISTEN_MEMBER, answer);
        self.outbox.notify(notification).await?;
        if let Some(attachment) = self.attachment.clone() {
            self.registry.start(attachment, self.after_seq);
        }
        Ok(())
    }
}

/// The outbox of a request that listens: the acknowledgement takes the answer with it.
impl OutboxPort for Acknowledgement {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method == Method::ACKNOWLEDGED
            && let Some(answer) = self.answer.lock().take()
        {
            return Box::pin(self.send(notification, answer));
        }
        Box::pin(self.outbox.notify(notification))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.outbox.call(request))
    }
}
