//! The terms that a client asked for by the extension `subscribe_notify`: values of the data, a time, and an id.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::ext::{
    ExtensionId, PayloadFilter, SubscriptionAnswer, SubscriptionEnded, SubscriptionRequest,
    SubscriptionStatus, event_in_both_words,
};
use mgp_types::mgp::{
    Event, EventReplayed, EventSubscribe, EventSubscribed, SubscriptionId, Timestamp, method, written,
};
use mgp_types::{Error, Object, RawJson, Request, Session};
use tokio::time::Instant;

/// The terms of a subscription beyond channels and severity. A client that speaks MGP alone has none.
#[derive(Debug, Clone, Default)]
pub(super) struct SubscriptionTerms(Option<Arc<ExtensionTerms>>);

#[derive(Debug)]
struct ExtensionTerms {
    chosen_id: Option<SubscriptionId>,
    filter: PayloadFilter,
    ends: Instant,
    expires_at: Timestamp,
}

/// The seconds after which a client that nothing is pushed to asks again.
const POLL_INTERVAL_SECONDS: u32 = 30;

/// Returns whether the client declared the extension.
pub(super) fn are_known(session: &Session) -> bool {
    session.extensions().has(ExtensionId::SubscribeNotify)
}

impl SubscriptionTerms {
    /// Reads the wish of a client, in the words that it uses.
    pub(super) fn read(params: &Object, session: &Session) -> Result<(EventSubscribe, Self), Error> {
        if !are_known(session) || !params.contains(SubscriptionRequest::EVENTS) {
            let asked = params.to().map_err(|error| Error::invalid_params(error.to_string()))?;
            return Ok((asked, Self::default()));
        }
        let request = SubscriptionRequest::read(params)?;
        let asked = request.in_words_of_mgp()?;
        let time = Duration::from_secs(request.ttl_seconds.into());
        let terms = ExtensionTerms {
            filter: PayloadFilter::new(&request.filter)?,
            chosen_id: request.subscription_id,
            ends: Instant::now() + time,
            expires_at: Timestamp::now().saturating_add(time),
        };
        Ok((asked, Self(Some(Arc::new(terms)))))
    }

    pub(super) fn chosen_id(&self) -> Option<&SubscriptionId> {
        self.0.as_ref()?.chosen_id.as_ref()
    }

    pub(super) fn ends(&self) -> Option<Instant> {
        self.0.as_ref().map(|terms| terms.ends)
    }

    /// Returns the end of the subscription as a time of day.
    pub(super) fn expires_at(&self) -> Option<Timestamp> {
        self.0.as_ref().map(|terms| terms.expires_at)
    }

    /// Returns whether events with these data are wanted. Unwanted events get no number.
    pub(super) fn admit(&self, data: &Object) -> bool {
        self.0.as_ref().is_none_or(|terms| terms.filter.admits(data))
    }

    /// Returns the params of the notification of an event.
    pub(super) fn write(&self, event: &Event, is_after_gap: bool) -> Option<Object> {
        match self.0 {
            Some(_) => Some(event_in_both_words(event, is_after_gap)),
            None => Object::from_value(event).ok(),
        }
    }

    /// Returns the answer to a subscription, whose events are pushed or waited for.
    pub(super) fn write_answer(&self, answer: &EventSubscribed, is_pushed: bool) -> Result<RawJson, Error> {
        let Some(terms) = &self.0 else {
            return written(answer);
        };
        let mut subscription = SubscriptionAnswer::of(answer);
        if subscription.status == SubscriptionStatus::Active {
            subscription.expires_at = Some(terms.expires_at);
        }
        if !is_pushed {
            subscription.supported = false;
            subscription.poll_interval_seconds = Some(POLL_INTERVAL_SECONDS);
            subscription.poll_method = Some(method::EVENTS_REPLAY.into());
        }
        Ok(subscription.beside(answer))
    }

    /// Returns the answer to a client that asks for events; `None` if MGP's own words do.
    pub(super) fn write_replay(&self, answer: &EventReplayed) -> Option<RawJson> {
        self.0.as_ref()?;
        let mut last = None;
        let events = answer.events.iter().map(|event| {
            let is_after_gap =
                last.map_or_else(|| answer.gap.is_some(), |last: u64| event.seq > Some(last + 1));
            last = event.seq;
            event_in_both_words(event, is_after_gap)
        });
        let events: Vec<Object> = events.collect();
        let mut both = Object::from_value(answer).ok()?;
        both.set("events", RawJson::from_value(&events).ok()?);
        Some(both.to_raw())
    }

    /// Returns the news that the time of a subscription is over; `None` if it has none.
    pub(super) fn end(&self, id: &SubscriptionId) -> Option<Request> {
        self.0.as_ref()?;
        let params = Object::from_value(&SubscriptionEnded::in_time(id.clone())).ok()?;
        Some(Request::notify(SubscriptionEnded::METHOD, params))
    }
}
