//! Subscriptions to events in the words of the extension `subscribe_notify`.

use std::time::Duration;

use mgp_types::ext::{
    ExtensionId, ExtensionIds, OwnSubscriptions, SubscriptionAnswer, SubscriptionRequest, SubscriptionStatus,
};
use mgp_types::mgp::{EventSubscribed, Timestamp};
use mgp_types::{Error, Object, Request, Response, RpcService, code};

use crate::subscription::OpenedEvents;
use crate::{Call, Client, ClientBuilder, EventStream};

impl<L, I> ClientBuilder<L, I> {
    /// Declares that the client subscribes to events with filters and a time: [`Client::subscribe_events`].
    pub fn event_subscriptions(self) -> Self {
        self.extension(ExtensionId::SubscribeNotify.id(), &Object::new())
    }
}

impl<S: RpcService> Client<S> {
    /// Subscribes to events by name, filter and time, in the same way in both eras. From a server that does not push them,
    /// they are fetched in the interval that it names.
    ///
    /// The stream gives [`Gone`](crate::EventItem::Gone) when the server ends the subscription, because its time is over
    /// or for a reason of its own. What an event's [`action_hint`](crate::mgp::Event::action_hint) suggests is left to the
    /// application: nothing is called.
    ///
    /// # Errors
    /// The server does not declare the extension (-32601), has none of the events (4004), already has a subscription with
    /// the id (3026), refuses, or cannot be reached.
    pub async fn subscribe_events(&self, wanted: &SubscriptionRequest) -> Result<EventStream<S>, Error> {
        if !ExtensionIds::read(&self.capabilities()).has(ExtensionId::SubscribeNotify) {
            let message = "the server does not declare `subscribe_notify`: subscribe with `Client::events`";
            return Err(Error::new(code::METHOD_NOT_FOUND, message));
        }
        let read = |answer: Object| opened(&answer, &wanted.events);
        self.open_events(wanted.in_words_of_mgp()?, &wanted.in_both_words(), read).await
    }

    /// Lists the subscriptions of this client, and all events of the server.
    pub fn event_subscriptions(&self) -> Call<S, OwnSubscriptions> {
        self.call(Request::with_body(OwnSubscriptions::METHOD, &Object::new()), Response::body)
    }
}

impl<S: RpcService> EventStream<S> {
    /// Returns the moment at which the server ends the subscription; `None` if the server did not tell.
    pub const fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }
}

/// Reads an answer in either vocabulary.
fn opened(answer: &Object, wanted: &[String]) -> Result<OpenedEvents, Error> {
    let response = Response::new(answer.to_raw());
    let Ok(subscription) = answer.to::<SubscriptionAnswer>() else {
        // The server speaks MGP alone.
        return Ok(OpenedEvents { answer: response.body()?, poll_interval: None, expires_at: None });
    };
    if subscription.status == SubscriptionStatus::Denied {
        let reason = subscription.reason.unwrap_or_else(|| "the server has none of these events".into());
        return Err(Error::new(code::RESOURCE_NOT_FOUND, String::from(reason)));
    }
    let mut answer = answer.to::<EventSubscribed>().unwrap_or_else(|_| subscription.in_words_of_mgp(wanted));
    if !subscription.supported {
        // Events that are asked for are asked for by their numbers, which begin with 1.
        answer.last_seq.get_or_insert(0);
    }
    let seconds = subscription.poll_interval_seconds.filter(|_| !subscription.supported);
    let poll_interval = seconds.map(|seconds| Duration::from_secs(u64::from(seconds.max(1))));
    Ok(OpenedEvents { answer, poll_interval, expires_at: subscription.expires_at })
}
