//! Subscriptions to the changes at a server, and its events (MGP §13.2) as a stream.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use mgp_stream::event::{EventItem, Events};
use mgp_types::mcp::{SubscriptionFilter, SubscriptionsListenParams, UnsubscribeParams};
use mgp_types::mgp::{EventSubscribe, EventSubscribed, Timestamp, method};
use mgp_types::{BoxFuture, Error, Method, Object, Request, Response, RpcService};

use crate::Client;
use crate::changes::{Change, SubscriptionSlot};

/// The changes that the server reports; a [`Stream`].
///
/// The stream ends when the server ends it, or after an error. Dropping it ends the subscription.
#[must_use = "changes arrive only while they are taken"]
pub struct Subscription<S: RpcService> {
    client: Client<S>,
    place: Arc<SubscriptionSlot>,
    /// The request whose answer ends the subscription, where there are no sessions.
    listening: Option<BoxFuture<'static, Result<Response, Error>>>,
    /// The resources to unsubscribe from at the end, in a session.
    uris: Vec<String>,
    ended: bool,
}

impl<S: RpcService> Client<S> {
    /// Asks for notifications of changes, in the same way in both eras.
    ///
    /// In a session, resources are subscribed to one by one, and the server reports changes of its lists anyway.
    /// Without sessions one request stays open for the changes.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn subscribe(&self, filter: SubscriptionFilter) -> Result<Subscription<S>, Error> {
        let stateless = self.is_stateless();
        let uris = filter.resource_subscriptions.clone().unwrap_or_default();
        let place = self.shared.listeners.changes.open(filter.clone(), stateless);
        let mut subscription =
            Subscription { client: self.clone(), place, listening: None, uris: Vec::new(), ended: false };
        if stateless {
            subscription.listen(filter).await?;
            return Ok(subscription);
        }
        for uri in uris {
            self.subscribe_resource(uri.as_str()).await?;
            subscription.uris.push(uri);
        }
        Ok(subscription)
    }
}

impl<S: RpcService> Subscription<S> {
    /// Returns the next change; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Change, Error>> {
        std::future::poll_fn(|cx| self.poll_change(cx)).await
    }

    /// Returns the part of the filter that the server agreed to; `None` in a session, where the server does not tell.
    pub fn honoured(&self) -> Option<SubscriptionFilter> {
        self.place.honoured()
    }

    /// Ends the subscription.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn close(mut self) -> Result<(), Error> {
        self.listening = None;
        for uri in std::mem::take(&mut self.uris) {
            self.client.unsubscribe_resource(uri).await?;
        }
        Ok(())
    }

    /// Opens the request and waits until the server has acknowledged it.
    async fn listen(&mut self, filter: SubscriptionFilter) -> Result<(), Error> {
        let request = Request::with_body(Method::LISTEN, &SubscriptionsListenParams::new(filter))?;
        // An acknowledgement does not say what it acknowledges, so there is one to come at a time.
        let shared = Arc::clone(&self.client.shared);
        let _turn = shared.subscribing.lock().await;
        self.listening = Some(Box::pin(self.client.pass(request)));
        let timeout = self.client.shared.timeouts.0;
        let acknowledged = std::future::poll_fn(|cx| {
            if let Some(listening) = &mut self.listening
                && let Poll::Ready(outcome) = listening.as_mut().poll(cx)
            {
                self.listening = None;
                self.ended = true;
                return Poll::Ready(outcome.map(drop));
            }
            self.place.poll_acknowledged(cx).map(Ok)
        });
        tokio::time::timeout(timeout, acknowledged).await.unwrap_or_else(|_| {
            Err(Error::timeout("the server did not acknowledge the subscription in time"))
        })
    }

    pub(crate) fn poll_change(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Change, Error>>> {
        if let Some(change) = self.place.next(cx) {
            return Poll::Ready(Some(Ok(change)));
        }
        if self.ended {
            return Poll::Ready(None);
        }
        let Some(listening) = &mut self.listening else {
            // In a session no request would fail with the connection.
            if !self.place.is_lost() {
                return Poll::Pending;
            }
            self.ended = true;
            return Poll::Ready(Some(Err(Error::disconnected("the connection is closed"))));
        };
        let Poll::Ready(outcome) = listening.as_mut().poll(cx) else { return Poll::Pending };
        self.listening = None;
        self.ended = true;
        // Changes that came before the end are still to be taken.
        match (self.place.next(cx), outcome) {
            (Some(change), _) => Poll::Ready(Some(Ok(change))),
            (None, Err(error)) if error.origin() != mgp_types::Origin::Cancelled => {
                Poll::Ready(Some(Err(error)))
            }
            (None, _) => Poll::Ready(None),
        }
    }
}

impl<S: RpcService + Unpin> Stream for Subscription<S> {
    type Item = Result<Change, Error>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_change(cx)
    }
}

impl<S: RpcService> Drop for Subscription<S> {
    fn drop(&mut self) {
        self.client.shared.listeners.changes.close(&self.place);
        let uris = std::mem::take(&mut self.uris);
        // Outside of a runtime there is no connection left to notify.
        if let (false, Ok(runtime)) = (uris.is_empty(), tokio::runtime::Handle::try_current()) {
            let client = self.client.clone();
            // The task ends with its calls, each of which ends in time.
            runtime.spawn(async move {
                for uri in uris {
                    if let Err(error) = client.send(&UnsubscribeParams::new(uri)).await {
                        tracing::debug!(%error, "the subscription could not be ended");
                    }
                }
            });
        }
    }
}

mgp_types::partial_debug!([S: RpcService] Subscription<S>, self => ended: self.ended);

/// The events of one subscription (MGP §13.2), in order and each once: a [`Stream`].
///
/// Events that got lost on the way are asked for again; the server reports those that it no longer has as
/// [`Missed`](EventItem::Missed). After a reconnect, [`resuming`](Self::resuming) tells a new client where to go on.
#[must_use = "events arrive only while they are taken"]
pub struct EventStream<S: RpcService> {
    events: Events<S>,
    /// The request on which events come, where there are no sessions. The request ends with the connection, and ends
    /// the stream.
    listening: Option<Subscription<S>>,
    /// The moment at which the server ends the subscription, if it told.
    #[cfg_attr(not(feature = "ext"), expect(dead_code, reason = "only the extension has a time"))]
    pub(crate) expires_at: Option<Timestamp>,
    /// The client, which keeps the connection.
    client: Client<S>,
}

/// The answer of a server to a request for events.
pub(crate) struct OpenedEvents {
    pub(crate) answer: EventSubscribed,
    /// The interval in which events are asked for, if the server pushes none.
    pub(crate) poll_interval: Option<Duration>,
    pub(crate) expires_at: Option<Timestamp>,
}

const POLL_INTERVAL: Duration = Duration::from_secs(5);

impl<S: RpcService> Client<S> {
    /// Subscribes to events, in the same way in both eras. From a server without sessions that does not push them, they
    /// are fetched every few seconds.
    ///
    /// # Errors
    /// The server has no events (-32601, or -32602 from some servers), refuses, or cannot be reached.
    pub async fn events(&self, wanted: EventSubscribe) -> Result<EventStream<S>, Error> {
        let params = Object::from_value(&wanted)
            .map_err(|error| Error::invalid_params("the channels are not JSON").with_source(error))?;
        let read = |answer: Object| {
            let answer = Response::new(answer.to_raw()).body()?;
            Ok(OpenedEvents { answer, poll_interval: None, expires_at: None })
        };
        self.open_events(wanted, &params, read).await
    }

    /// Subscribes to events with these parameters, which ask for what is `wanted`.
    pub(crate) async fn open_events(
        &self,
        wanted: EventSubscribe,
        params: &Object,
        read: impl FnOnce(Object) -> Result<OpenedEvents, Error>,
    ) -> Result<EventStream<S>, Error> {
        let subscriber = &self.shared.listeners.subscriber;
        let _early = subscriber.expecting();
        let listening = if self.is_stateless() { self.listen_for_events(params).await? } else { None };
        let is_heard = listening.is_some();
        let (answer, listening) = if let Some((answer, listening)) = listening {
            (answer, Some(listening))
        } else {
            let request = Request::with_body(method::EVENTS_SUBSCRIBE, params);
            let answer = self.call(request, Response::body).await?;
            // In a session the stream only listens for the end of the connection.
            let stateless = self.is_stateless();
            let ending =
                if stateless { None } else { Some(self.subscribe(SubscriptionFilter::new()).await?) };
            (answer, ending)
        };
        let OpenedEvents { answer, poll_interval, expires_at } = read(answer)?;
        let mut events = subscriber.opened(self.stack.clone(), wanted, answer);
        // Without sessions, events that do not come on a stream are fetched.
        let usual = (self.is_stateless() && !is_heard).then_some(POLL_INTERVAL);
        if let Some(every) = poll_interval.or(usual) {
            events = events.polled(every);
        }
        Ok(EventStream { events, listening, expires_at, client: self.clone() })
    }

    /// Asks for events on the stream of a request that listens; returns `None` if the server does not send them there.
    async fn listen_for_events(&self, params: &Object) -> Result<Option<(Object, Subscription<S>)>, Error> {
        let mut filter = SubscriptionFilter::new();
        filter.extra.insert(EventSubscribe::LISTEN_MEMBER, params.to_raw());
        let listening = self.subscribe(filter).await?;
        let honoured = listening.honoured().unwrap_or_default();
        let answer = honoured.extra.get(EventSubscribe::LISTEN_MEMBER).and_then(|raw| raw.to().ok());
        Ok(answer.map(|answer: Object| (answer, listening)))
    }
}

impl<S: RpcService> EventStream<S> {
    /// Returns the next event, or a report in place of one; `None` at the end.
    pub async fn next(&mut self) -> Option<EventItem> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }

    /// Returns the server's answer: the subscribed and the unsupported channels, and all that there are.
    pub const fn answer(&self) -> &EventSubscribed {
        self.events.answer()
    }

    /// Returns the subscription for the next client, so that no event is lost in between.
    pub fn resuming(&self) -> EventSubscribe {
        self.events.resuming()
    }

    /// Ends the subscription; returns whether the server still had it.
    ///
    /// # Errors
    /// The server refuses, or cannot be reached.
    pub async fn unsubscribe(self) -> Result<bool, Error> {
        let _client = self.client;
        self.events.unsubscribe().await
    }
}

impl<S: RpcService> Stream for EventStream<S> {
    type Item = EventItem;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<EventItem>> {
        let this = self.get_mut();
        // The stream asks for no changes; polling drives the request.
        let ended = this.listening.as_mut().is_some_and(|listening| {
            loop {
                match listening.poll_change(cx) {
                    Poll::Ready(Some(Ok(_))) => {}
                    polled => break polled.is_ready(),
                }
            }
        });
        match Pin::new(&mut this.events).poll_next(cx) {
            Poll::Pending if ended => Poll::Ready(None),
            polled => polled,
        }
    }
}

/// The stream pins no field in place; the futures are boxed.
impl<S: RpcService> Unpin for EventStream<S> {}

mgp_types::partial_debug!([S: RpcService] EventStream<S>, self => answer: self.answer());
