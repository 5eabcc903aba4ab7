//! The bodies of events (§13.2, §13.3), with the numbers and the replay of later drafts, so that no event is lost.

#[cfg(test)]
mod tests;

use std::borrow::Borrow;

use serde::{Deserialize, Deserializer};

use super::{SubscriptionId, Timestamp};
use crate::macros::words::words;
use crate::macros::{checked_texts, record};
use crate::{Object, RawJson};

words! {
    /// The severity of an event; a later one in the list is more severe.
    EventSeverity {
        /// The event interests people who look for faults.
        Debug = "debug",
        /// The event is part of normal work.
        Info = "info",
        /// The event announces a fault.
        Warning = "warning",
        /// The event is a fault.
        Error = "error",
        /// The event is a fault on which somebody must act at once.
        Critical = "critical",
    }
}

record! {
    /// The parameters of `mgp/events/subscribe` (§13.2).
    ///
    /// The last two members resume a subscription whose session is gone; the specification has no message for that.
    pub struct EventSubscribe: Eq, Default {
        /// The wanted channels, as they were written: names and [patterns](ChannelPattern).
        default channels: Vec<String>;
        /// The filter of the events of those channels.
        #[serde(skip_serializing_if = "EventFilter::is_empty")]
        default filter: EventFilter;
        /// The subscription to resume, in place of opening one. Its channels and its filter stay.
        optional subscription_id: SubscriptionId;
        /// The number of the last event that arrived; the server sends the later ones again.
        optional after_seq: u64;
    }

    /// The filter of the events of a channel (§13.2).
    pub struct EventFilter: Copy, Eq, Default {
        /// The least severity of a wanted event.
        optional min_severity: EventSeverity;
    }

    /// The result of `mgp/events/subscribe`.
    pub struct EventSubscribed: Eq {
        /// The names and patterns that the subscription is for.
        plain subscribed: Vec<String>;
        /// The names and patterns that stand for no channel of the server.
        default unsupported: Vec<String>;
        /// The id of the subscription. The id is a secret: its holder can resume the subscription.
        required subscription_id: SubscriptionId;
        /// The channels of the server. The specification lets clients discover them by subscribing, without saying how.
        default available: Vec<String>;
        /// The number of the last event so far, 0 before the first one; `None` from a server that does not number the
        /// events of each subscription.
        optional last_seq: u64;
        /// The events that a resumed subscription lost.
        optional gap: EventGap;
    }

    /// The numbers of events of a subscription that the server has no more.
    pub struct EventGap as exhaustive: Copy, Eq {
        /// The number of the first lost event.
        plain from: u64;
        /// The number of the last lost event.
        plain to: u64;
    }

    /// The parameters of `mgp/events/unsubscribe` (§13.2).
    pub struct EventUnsubscribe: Eq {
        /// The subscription to end.
        required subscription_id: SubscriptionId;
    }

    /// The result of `mgp/events/unsubscribe`.
    pub struct EventUnsubscribed: Copy, Eq {
        /// True if the subscription existed; servers that answer `{}` have ended it.
        #[serde(default = "yes")]
        required unsubscribed: bool;
    }

    /// The parameters of `notifications/mgp.event` (§13.3).
    #[serde(try_from = "Received")]
    pub struct Event {
        /// The subscription that the event belongs to.
        required subscription_id: SubscriptionId;
        /// The channel of the event.
        required channel: into String;
        /// The time of the event.
        required timestamp: Timestamp;
        /// The content of the event.
        required data: Object;
        /// The severity of the event, if the server tells it.
        optional severity: EventSeverity => with_severity;
        /// The number of the event in its subscription, from 1 without gaps (later drafts).
        #[serde(rename = "_mgp.seq")]
        optional seq: u64 => with_seq;
        /// The server's suggestion what to do about the event (extension `subscribe_notify`).
        optional action_hint: Box<ActionHint>;
    }

    /// A suggestion of a server what to do about an event. It is advice: nothing follows it unasked.
    pub struct ActionHint as exhaustive: Default {
        /// The tool to call.
        optional recommended_tool: Box<str>;
        /// The arguments of the call.
        optional parameters: Object;
        /// The reason for which the call would be of use.
        optional reason: Box<str>;
    }

    /// The parameters of `mgp/events/replay` (later drafts).
    pub struct EventReplay: Eq {
        /// The subscription whose events are wanted.
        required subscription_id: SubscriptionId;
        /// The number of the last event that is not wanted.
        #[serde(default)]
        required after_seq: u64;
        /// The greatest number of wanted events; the server may return fewer.
        optional limit: u64 => with_limit;
    }

    /// The result of `mgp/events/replay`.
    pub struct EventReplayed: Default {
        /// The events, in order.
        required events: Vec<Event>;
        /// The wanted events that are lost; they come before all others.
        optional gap: EventGap;
        /// The number of the last event so far. There are more events if it is greater than the last number in `events`.
        default last_seq: u64;
    }
}

impl EventSubscribe {
    /// Asks for events of these channels.
    pub fn new<I: IntoIterator<Item: Into<String>>>(channels: I) -> Self {
        Self { channels: channels.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    crate::setters! { self =>
        /// Narrows the wish to events of at least this severity.
        pub fn with_min_severity(severity: EventSeverity) => self.filter.min_severity = Some(severity);

        /// Resumes a subscription after the event with this number.
        pub fn resuming(subscription: SubscriptionId, after_seq: u64) =>
            (self.subscription_id, self.after_seq) = (Some(subscription), Some(after_seq));
    }

    /// The member with these parameters and their [answer](EventSubscribed) in the filter of `subscriptions/listen` and
    /// in its acknowledgement. Where a connection has no way back to the client, events travel on the stream of a
    /// request that listens.
    pub const LISTEN_MEMBER: &str = "dev.cloto/mgp/events";
}

impl EventFilter {
    /// Returns whether all events pass.
    pub const fn is_empty(&self) -> bool {
        self.min_severity.is_none()
    }

    /// Returns whether an event passes. One whose server tells no severity passes every filter: nothing says that it is
    /// less severe.
    pub fn includes(&self, severity: Option<EventSeverity>) -> bool {
        self.min_severity.is_none_or(|least| severity.is_none_or(|severity| severity >= least))
    }
}

pub(crate) const fn yes() -> bool {
    true
}

/// An event as servers write it. Later drafts have the number flat here and nested in audit events, so both places are
/// read; servers of the extension `subscribe_notify` call the channel `event` and the data `payload`. An additional
/// member that cannot be read is left out.
#[derive(Deserialize)]
struct Received {
    subscription_id: SubscriptionId,
    channel: Option<String>,
    #[serde(default, deserialize_with = "if_readable")]
    event: Option<String>,
    timestamp: Timestamp,
    #[serde(default)]
    data: Object,
    #[serde(default, deserialize_with = "if_readable")]
    payload: Option<Object>,
    #[serde(default, deserialize_with = "if_readable")]
    seq: Option<u64>,
    #[serde(default, deserialize_with = "if_readable")]
    action_hint: Option<Box<ActionHint>>,
    #[serde(default, deserialize_with = "if_readable")]
    severity: Option<EventSeverity>,
    #[serde(default, rename = "_mgp.seq", deserialize_with = "if_readable")]
    flat: Option<u64>,
    #[serde(default, rename = "_mgp", deserialize_with = "if_readable")]
    nested: Option<Object>,
}

impl TryFrom<Received> for Event {
    type Error = &'static str;

    fn try_from(event: Received) -> Result<Self, Self::Error> {
        let channel = event.channel.or(event.event).ok_or("an event names its `channel`, or its `event`")?;
        let data = if event.data.is_empty() { event.payload.unwrap_or_default() } else { event.data };
        Ok(Self {
            subscription_id: event.subscription_id,
            channel,
            timestamp: event.timestamp,
            data,
            severity: event.severity,
            seq: event.flat.or_else(|| event.nested?.get("seq")?.to().ok()).or(event.seq),
            action_hint: event.action_hint,
        })
    }
}

pub(crate) fn if_readable<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: serde::de::DeserializeOwned,
    D: Deserializer<'de>,
{
    RawJson::deserialize(deserializer).map(|raw| raw.to().ok())
}

checked_texts! {
    /// A channel that events are published on: words with dots between, like `model.token_usage` (§13.5).
    ///
    /// The families `model`, `system`, `tool` and `security` of the specification are a convention and no rule: other
    /// programs have channels outside of them.
    ChannelName by check_name => ChannelError;

    /// The wish of a client: one channel by its name, `model.*` for all below `model`, or `*` for all. The word of a standard
    /// family, as `model`, means the same as `model.*`.
    ///
    /// ```
    /// use mgp_types::mgp::ChannelPattern;
    ///
    /// let pattern: ChannelPattern = "model.*".parse()?;
    /// assert!(pattern.matches("model.token_usage") && pattern.matches("model.rate.limit"));
    /// assert!(!pattern.matches("model") && !pattern.matches("models.x"));
    /// assert!("model.*.x".parse::<ChannelPattern>().is_err());
    /// # Ok::<(), mgp_types::mgp::ChannelError>(())
    /// ```
    ChannelPattern by check_pattern => ChannelError;
}

const MAX_BYTES: usize = 128;

/// A text that names no channel, nor channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The text is longer than names of channels may be.
    #[error("the name of a channel has at most {MAX_BYTES} bytes")]
    TooLong,
    /// The text is not made of words with dots between.
    #[error("the name of a channel is words of letters, digits, `_`, `-` and `:` with dots between")]
    Malformed,
}

impl Borrow<str> for ChannelName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl ChannelPattern {
    /// The families of channels that the specification names (§13.5).
    pub const STANDARD: [&'static str; 4] = ["model.*", "system.*", "tool.*", "security.*"];

    /// Returns whether the pattern stands for the channel.
    pub fn matches(&self, channel: &str) -> bool {
        match self.0.strip_suffix('*') {
            Some(prefix) => channel.len() > prefix.len() && channel.starts_with(prefix),
            None => match channel.strip_prefix(&*self.0) {
                Some(rest) => rest.is_empty() || (rest.starts_with('.') && self.is_standard_family()),
                None => false,
            },
        }
    }

    fn is_standard_family(&self) -> bool {
        Self::STANDARD.iter().any(|standard| standard.strip_suffix(".*") == Some(&*self.0))
    }
}

fn check_name(text: &str) -> Result<(), ChannelError> {
    if text.len() > MAX_BYTES {
        return Err(ChannelError::TooLong);
    }
    let sane = |word: &str| !word.is_empty() && word.bytes().all(is_of_a_word);
    if text.split('.').all(sane) { Ok(()) } else { Err(ChannelError::Malformed) }
}

/// Checks a pattern. A star stands for all that may follow, so only the last word can be one.
fn check_pattern(text: &str) -> Result<(), ChannelError> {
    match text.strip_suffix('*') {
        Some("") => Ok(()),
        Some(_) if text.len() > MAX_BYTES => Err(ChannelError::TooLong),
        Some(before) => check_name(before.strip_suffix('.').ok_or(ChannelError::Malformed)?),
        None => check_name(text),
    }
}

const fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b':')
}
