//! The terms of subscriptions without the extension `subscribe_notify`: there are none.

use mgp_types::mgp::{Event, EventReplayed, EventSubscribe, EventSubscribed, SubscriptionId, written};
use mgp_types::{Error, Object, RawJson, Request, Session};
use tokio::time::Instant;

/// The terms of a subscription beyond channels and severity. There are none without the feature `ext`.
#[derive(Debug, Clone)]
pub(super) struct Terms;

pub(super) const fn are_known(_: &Session) -> bool {
    false
}

#[allow(clippy::unused_self, reason = "the terms of the extension have the same methods")]
impl Terms {
    pub(super) fn read(params: &Object, _: &Session) -> Result<(EventSubscribe, Self), Error> {
        let asked = params.to().map_err(|error| Error::invalid_params(error.to_string()))?;
        Ok((asked, Self))
    }

    pub(super) const fn chosen_id(&self) -> Option<&SubscriptionId> {
        None
    }

    pub(super) const fn ends(&self) -> Option<Instant> {
        None
    }

    pub(super) const fn admit(&self, _: &Object) -> bool {
        true
    }

    pub(super) fn write(&self, event: &Event, _: bool) -> Option<Object> {
        Object::from_value(event).ok()
    }

    pub(super) fn write_answer(&self, answer: &EventSubscribed, _: bool) -> Result<RawJson, Error> {
        written(answer)
    }

    pub(super) const fn write_replay(&self, _: &EventReplayed) -> Option<RawJson> {
        None
    }

    pub(super) const fn end(&self, _: &SubscriptionId) -> Option<Request> {
        None
    }
}
