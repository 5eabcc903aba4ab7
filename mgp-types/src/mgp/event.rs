//! The bodies of events (§13.2, §13.3), with what later drafts add to lose none: numbers and replay.

mod channel;
mod subscription_id;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Deserializer, Serialize};

pub use self::channel::{ChannelError, ChannelName, ChannelPattern};
pub use self::subscription_id::SubscriptionId;
use super::Timestamp;
use super::words::words;
use crate::{Object, RawJson};

words! {
    /// How severe an event is; a later one is more severe.
    EventSeverity {
        /// Of interest to those who look for faults.
        Debug = "debug",
        /// Something happened as it should.
        Info = "info",
        /// Something is about to go wrong.
        Warning = "warning",
        /// Something went wrong.
        Error = "error",
        /// Somebody has to act at once.
        Critical = "critical",
    }
}

/// The parameters of `mgp/events/subscribe` (§13.2).
///
/// The last two members resume a subscription whose session is gone; the specification has no word for that.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventSubscribe {
    /// The wanted channels, as they were written: names and [patterns](ChannelPattern).
    #[serde(default)]
    pub channels: Vec<String>,
    /// Which of their events are wanted.
    #[serde(default, skip_serializing_if = "EventFilter::is_empty")]
    pub filter: EventFilter,
    /// The subscription to resume, in place of opening one; it keeps its channels and its filter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subscription_id: Option<SubscriptionId>,
    /// The number of the last event that arrived; those after it are sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_seq: Option<u64>,
}

impl EventSubscribe {
    /// Asks for events of these channels.
    pub fn new<I: IntoIterator<Item: Into<String>>>(channels: I) -> Self {
        Self { channels: channels.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Only those that are at least so severe.
    pub const fn with_min_severity(mut self, severity: EventSeverity) -> Self {
        self.filter.min_severity = Some(severity);
        self
    }

    /// Resumes a subscription after the event with this number.
    pub fn resuming(mut self, subscription: SubscriptionId, after_seq: u64) -> Self {
        self.subscription_id = Some(subscription);
        self.after_seq = Some(after_seq);
        self
    }

    /// The member of the filter of `subscriptions/listen`, and of its acknowledgement, that holds these parameters and
    /// their [answer](EventSubscribed): where a connection has no way back to the client, events travel on the stream
    /// of a request that listens.
    pub const LISTEN_MEMBER: &str = "dev.cloto/mgp/events";
}

/// Which events of a channel are wanted (§13.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventFilter {
    /// The least severe that are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_severity: Option<EventSeverity>,
}

impl EventFilter {
    /// Whether all events are wanted.
    pub const fn is_empty(&self) -> bool {
        self.min_severity.is_none()
    }

    /// Whether an event of this severity is wanted.
    pub fn includes(&self, severity: EventSeverity) -> bool {
        self.min_severity.is_none_or(|least| severity >= least)
    }
}

/// The result of `mgp/events/subscribe`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventSubscribed {
    /// The names and patterns that the subscription is for.
    pub subscribed: Vec<String>,
    /// Those that stand for no channel of the server.
    #[serde(default)]
    pub unsupported: Vec<String>,
    /// The name of the subscription. It is a secret: whoever has it can resume the subscription.
    pub subscription_id: SubscriptionId,
    /// The channels that the server has; the specification lets clients discover them by subscribing, without saying
    /// how.
    #[serde(default)]
    pub available: Vec<String>,
    /// The number of the last event so far, 0 if there was none; a server that does not say it numbers nothing, or not
    /// each subscription on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_seq: Option<u64>,
    /// What a resumed subscription lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<EventGap>,
}

impl EventSubscribed {
    /// The answer about `subscription`, in which nothing is subscribed yet.
    pub const fn new(subscription: SubscriptionId) -> Self {
        Self {
            subscribed: Vec::new(),
            unsupported: Vec::new(),
            subscription_id: subscription,
            available: Vec::new(),
            last_seq: None,
            gap: None,
        }
    }
}

/// Events of a subscription that are lost: the server does not have them any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "a range has two ends")]
pub struct EventGap {
    /// The number of the first.
    pub from: u64,
    /// The number of the last.
    pub to: u64,
}

/// The parameters of `mgp/events/unsubscribe` (§13.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventUnsubscribe {
    /// Which subscription ends.
    pub subscription_id: SubscriptionId,
}

impl EventUnsubscribe {
    /// Ends `subscription`.
    pub const fn new(subscription: SubscriptionId) -> Self {
        Self { subscription_id: subscription }
    }
}

/// The result of `mgp/events/unsubscribe`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventUnsubscribed {
    /// Whether there was such a subscription; servers that answer `{}` have ended it.
    #[serde(default = "yes")]
    pub unsubscribed: bool,
}

impl EventUnsubscribed {
    /// The subscription ended, or there was none.
    pub const fn new(unsubscribed: bool) -> Self {
        Self { unsubscribed }
    }
}

const fn yes() -> bool {
    true
}

/// The parameters of `notifications/mgp.event` (§13.3).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "Received")]
#[non_exhaustive]
pub struct Event {
    /// Whose event it is.
    pub subscription_id: SubscriptionId,
    /// Where it happened.
    pub channel: String,
    /// When it happened.
    pub timestamp: Timestamp,
    /// What happened.
    pub data: Object,
    /// How severe it is, if the server says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub severity: Option<EventSeverity>,
    /// Which event of the subscription it is, from 1 without gaps (later drafts).
    #[serde(rename = "_mgp.seq", skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

impl Event {
    /// An event without severity and number.
    pub fn new(
        subscription: SubscriptionId,
        channel: impl Into<String>,
        timestamp: Timestamp,
        data: Object,
    ) -> Self {
        Self {
            subscription_id: subscription,
            channel: channel.into(),
            timestamp,
            data,
            severity: None,
            seq: None,
        }
    }

    /// With how severe it is.
    pub const fn with_severity(mut self, severity: EventSeverity) -> Self {
        self.severity = Some(severity);
        self
    }

    /// With its number.
    pub const fn with_seq(mut self, seq: u64) -> Self {
        self.seq = Some(seq);
        self
    }
}

/// An event as servers write it: later drafts have the number flat here and nested in audit events, so both are read.
/// What only adds to an event is left out if it cannot be read.
#[derive(Deserialize)]
struct Received {
    subscription_id: SubscriptionId,
    channel: String,
    timestamp: Timestamp,
    #[serde(default)]
    data: Object,
    #[serde(default, deserialize_with = "if_readable")]
    severity: Option<EventSeverity>,
    #[serde(default, rename = "_mgp.seq", deserialize_with = "if_readable")]
    flat: Option<u64>,
    #[serde(default, rename = "_mgp", deserialize_with = "if_readable")]
    nested: Option<Numbered>,
}

#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}

impl From<Received> for Event {
    fn from(event: Received) -> Self {
        Self {
            subscription_id: event.subscription_id,
            channel: event.channel,
            timestamp: event.timestamp,
            data: event.data,
            severity: event.severity,
            seq: event.flat.or_else(|| event.nested.map(|numbered| numbered.seq)),
        }
    }
}

fn if_readable<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: Deserializer<'de>,
{
    RawJson::deserialize(deserializer).map(|raw| raw.to().ok())
}

/// The parameters of `mgp/events/replay` (later drafts).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventReplay {
    /// Of which subscription.
    pub subscription_id: SubscriptionId,
    /// The number of the last event that is not wanted.
    #[serde(default)]
    pub after_seq: u64,
    /// How many are wanted at most; the server may give fewer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
}

impl EventReplay {
    /// Asks for the events of `subscription` after this number.
    pub const fn new(subscription: SubscriptionId, after_seq: u64) -> Self {
        Self { subscription_id: subscription, after_seq, limit: None }
    }

    /// At most so many.
    pub const fn with_limit(mut self, limit: u64) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// The result of `mgp/events/replay`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub struct EventReplayed {
    /// The events, in order.
    pub events: Vec<Event>,
    /// Which of the wanted ones are lost; they come before all that are not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<EventGap>,
    /// The number of the last event so far: with a greater one than that of the last in `events`, there is more.
    #[serde(default)]
    pub last_seq: u64,
}
