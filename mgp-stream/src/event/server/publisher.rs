//! The publisher of events, which applications hold: its channels, and the subscriptions to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_types::mgp::{
    ActionHint, ChannelError, ChannelName, ChannelPattern, Event, EventSeverity, SubscriptionId, Timestamp,
};
use mgp_types::{Object, Principal, RawJson};
use parking_lot::RwLock;
use tokio::sync::watch;

use super::feed::EventFeed;
use super::gate::AudienceMember;

/// Publishes events; handlers and applications hold it. Clones publish to the same subscribers.
///
/// A channel has to be declared before anything is published on it, because clients are told which channels there are.
/// Publishing never waits: slow subscribers find out which events they missed. Publishing takes a lock that only
/// opening and closing of subscriptions hold against it, and allocates nothing while the channel has no subscriber.
///
/// ```
/// use mgp_stream::event::Publisher;
/// use mgp_types::{Object, Principal, RawJson};
/// use mgp_types::mgp::EventSeverity;
///
/// let publisher = Publisher::new(["model.token_usage", "system.error"])?;
/// let data = Object::parse(r#"{"tokens_used":1500}"#)?;
/// publisher.publish("model.token_usage", EventSeverity::Info, &data)?;
/// assert!(publisher.publish("model.errors", EventSeverity::Error, &data).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Publisher(Arc<ChannelTable>);

/// The reason why an event was not published.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// The application did not declare this channel.
    #[error("the channel {0:?} is not declared: call `Publisher::declare` first")]
    Undeclared(String),
    /// The data is larger than an event may be.
    #[error("the data of an event has at most {} bytes, not {bytes}", Publisher::MAX_DATA_BYTES)]
    TooLarge {
        /// The size of the data in bytes.
        bytes: usize,
    },
}

impl Publisher {
    /// The size of the data of an event at most, in bytes: events are news, not contents.
    pub const MAX_DATA_BYTES: usize = 64 * 1024;

    /// Creates a publisher with these channels, and no subscribers.
    ///
    /// # Errors
    /// A name in the list is not a channel name.
    pub fn new<I: IntoIterator<Item: AsRef<str>>>(channels: I) -> Result<Self, ChannelError> {
        let publisher = Self(Arc::default());
        channels.into_iter().try_for_each(|channel| publisher.declare(channel.as_ref()))?;
        Ok(publisher)
    }

    /// Adds a channel. Subscriptions with a matching pattern include the channel from now on.
    ///
    /// # Errors
    /// The name is not a channel name.
    pub fn declare(&self, channel: &str) -> Result<(), ChannelError> {
        self.add(channel.parse()?, None);
        Ok(())
    }

    /// Adds a channel that clients find by another name, too: a gateway has the channel `system.error` of the server
    /// `files` on `files.system.error`, and a client may ask for `system.error` or `system.*` as if it asked the server.
    /// Its events come under the other name to clients that asked for exactly that, unless another channel is called so.
    ///
    /// # Errors
    /// One of the names is not a channel name.
    pub fn declare_as(&self, channel: &str, other_name: &str) -> Result<(), ChannelError> {
        self.add(channel.parse()?, Some(other_name.parse()?));
        Ok(())
    }

    /// Adds a pattern that clients can subscribe to while no channel of it is known, under two names: a gateway's server
    /// accepted the second one.
    pub fn declare_family(&self, family: ChannelPattern, other_name: ChannelPattern) {
        self.change(|table| drop(table.families.insert(family, other_name)));
    }

    /// Calls `visit` with each pattern of each subscription, and the subscriber.
    pub fn for_each_subscribed(&self, mut visit: impl FnMut(Option<&Principal>, &ChannelPattern)) {
        for feed in &self.0.subscribers.read().feeds {
            feed.patterns.iter().for_each(|pattern| visit(feed.spectator.principal.as_ref(), pattern));
        }
    }

    /// Returns whether somebody has subscribed to one of the channels.
    pub fn is_heard(&self, channels: &[&str]) -> bool {
        let table = self.0.subscribers.read();
        channels.iter().any(|name| table.channels.get(*name).is_some_and(|channel| !channel.feeds.is_empty()))
    }

    /// Returns a receiver that is told whenever [`is_heard`](Self::is_heard) may say something else.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes.subscribe()
    }

    /// Publishes an event that happened now.
    ///
    /// # Errors
    /// The channel is not declared, or the data is larger than [`MAX_DATA_BYTES`](Self::MAX_DATA_BYTES).
    pub fn publish(&self, channel: &str, severity: EventSeverity, data: &Object) -> Result<(), PublishError> {
        self.publish_to(channel, severity, data, |_| true)
    }

    /// Publishes an event of another publisher, with the time, severity and hint of that one, to the subscribers whom it
    /// concerns, as [`publish_to`](Self::publish_to) does.
    ///
    /// # Errors
    /// The errors of [`publish`](Self::publish); the hint counts as data.
    pub fn relay(
        &self,
        channel: &str,
        event: &Event,
        concerns: impl Fn(Option<&Principal>) -> bool,
    ) -> Result<(), PublishError> {
        let news = News {
            severity: event.severity,
            timestamp: Some(event.timestamp),
            data: &event.data,
            hint: event.action_hint.as_deref(),
        };
        self.publish_news(channel, &news, concerns)
    }

    /// Publishes an event that happened now to the subscribers whom it concerns, of all that see the channel. Others
    /// cannot tell that there was an event.
    ///
    /// # Errors
    /// The errors of [`publish`](Self::publish).
    pub fn publish_to(
        &self,
        channel: &str,
        severity: EventSeverity,
        data: &Object,
        concerns: impl Fn(Option<&Principal>) -> bool,
    ) -> Result<(), PublishError> {
        self.publish_news(channel, &News::new(severity, data), concerns)
    }

    /// Publishes an event that happened now, with what a client may do about it. The hint is advice for clients of the
    /// extension `subscribe_notify`, which show it and do not follow it unasked.
    ///
    /// # Errors
    /// The errors of [`publish`](Self::publish); the hint counts as data.
    pub fn publish_with_hint(
        &self,
        channel: &str,
        severity: EventSeverity,
        data: &Object,
        hint: &ActionHint,
    ) -> Result<(), PublishError> {
        self.publish_news(channel, &News { hint: Some(hint), ..News::new(severity, data) }, |_| true)
    }

    fn publish_news(
        &self,
        channel: &str,
        news: &News<'_>,
        concerns: impl Fn(Option<&Principal>) -> bool,
    ) -> Result<(), PublishError> {
        let raw = news.data.to_raw();
        let hint_bytes = news.hint.and_then(|hint| Some(RawJson::from_value(hint).ok()?.as_bytes().len()));
        let bytes = raw.as_bytes().len() + hint_bytes.unwrap_or(0);
        if bytes > Self::MAX_DATA_BYTES {
            return Err(PublishError::TooLarge { bytes });
        }
        let table = self.0.subscribers.read();
        let Some((channel, Channel { feeds, other_name })) = table.channels.get_key_value(channel) else {
            return Err(PublishError::Undeclared(channel.into()));
        };
        let gets = |feed: &&Arc<EventFeed>| {
            feed.filter.includes(news.severity)
                && feed.sees(channel.as_str(), &concerns)
                && feed.terms.admit(news.data)
        };
        let mut wanting = feeds.iter().filter(gets).peekable();
        // The event is made once, and only if there is a subscriber that wants it and may see it.
        if wanting.peek().is_some() {
            let event = Arc::new(PublishedEvent {
                channel: channel.clone(),
                other_name: other_name.clone().filter(|other| !table.channels.contains_key(other)),
                timestamp: news.timestamp.unwrap_or_else(Timestamp::now),
                severity: news.severity,
                // The event outlives the frame in which its data may have come.
                data: Object::from_raw(&raw.detached()).unwrap_or_default(),
                hint: news.hint.cloned().map(Box::new),
                bytes,
            });
            wanting.for_each(|feed| feed.push(&event));
        }
        Ok(())
    }

    /// Adds a channel, which clients find by its other name, too.
    fn add(&self, channel: ChannelName, other_name: Option<ChannelName>) {
        self.change(|ChannelSubscribers { channels, feeds, .. }| {
            channels.entry(channel).or_insert_with_key(|name| {
                let mut channel = Channel { other_name, feeds: Vec::new() };
                channel.feeds = feeds.iter().filter(|feed| channel.is_wanted(name, feed)).cloned().collect();
                channel
            });
        });
    }

    /// Returns the names of all channels that `spectator` may know of.
    pub(super) fn available(&self, spectator: &AudienceMember) -> Vec<String> {
        let table = self.0.subscribers.read();
        let names = table.channels.keys().map(ChannelName::as_str);
        names.filter(|channel| spectator.sees(channel)).map(str::to_owned).collect()
    }

    /// Returns whether the pattern stands for a channel, or is a family, that `spectator` may know of.
    pub(super) fn has_channel(&self, pattern: &ChannelPattern, spectator: &AudienceMember) -> bool {
        let table = self.0.subscribers.read();
        let channels = table.channels.iter().filter(|(name, channel)| channel.is_meant(name, pattern));
        let families = table.families.iter().filter(|(name, other)| [*name, *other].contains(&pattern));
        let mut names =
            channels.map(|(name, _)| name.as_str()).chain(families.map(|(name, _)| name.as_str()));
        names.any(|name| spectator.sees(name))
    }

    #[cfg(test)]
    pub(super) fn has_subscribers(&self) -> bool {
        !self.0.subscribers.read().feeds.is_empty()
    }

    pub(super) fn open(&self, feed: &Arc<EventFeed>) {
        self.change(|ChannelSubscribers { channels, feeds, .. }| {
            for (name, channel) in channels {
                if channel.is_wanted(name, feed) {
                    channel.feeds.push(Arc::clone(feed));
                }
            }
            feeds.push(Arc::clone(feed));
        });
    }

    /// Takes these feeds out, all at once: publishers wait meanwhile.
    pub(super) fn close<'a>(&self, closed: impl IntoIterator<Item = &'a EventFeed>) {
        if closed.into_iter().map(EventFeed::close).count() == 0 {
            return;
        }
        self.change(|ChannelSubscribers { channels, feeds, .. }| {
            for feeds in channels.values_mut().map(|channel| &mut channel.feeds).chain([feeds]) {
                feeds.retain(|feed| !feed.is_closed());
            }
        });
    }

    /// Changes the table, and tells those who wait for changes once the lock is free.
    fn change(&self, change: impl FnOnce(&mut ChannelSubscribers)) {
        change(&mut self.0.subscribers.write());
        self.0.changes.send_modify(|changes| *changes += 1);
    }
}

/// The channels with their subscribers, and the number of changes of both.
#[derive(Debug, Default)]
struct ChannelTable {
    subscribers: RwLock<ChannelSubscribers>,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct ChannelSubscribers {
    channels: BTreeMap<ChannelName, Channel>,
    /// The patterns that can be subscribed to while no channel of them is known, with their other names.
    families: BTreeMap<ChannelPattern, ChannelPattern>,
    /// The feeds of all subscribers: a channel that is declared later has to find those whose patterns match it.
    feeds: Vec<Arc<EventFeed>>,
}

/// A channel, and the subscribers to it.
#[derive(Debug)]
struct Channel {
    /// The name by which clients find the channel, too.
    other_name: Option<ChannelName>,
    feeds: Vec<Arc<EventFeed>>,
}

impl Channel {
    /// Returns whether a pattern stands for the channel called `name`.
    fn is_meant(&self, name: &ChannelName, pattern: &ChannelPattern) -> bool {
        let mut names = [Some(name), self.other_name.as_ref()].into_iter().flatten();
        names.any(|name| pattern.matches(name.as_str()))
    }

    fn is_wanted(&self, name: &ChannelName, feed: &EventFeed) -> bool {
        feed.patterns.iter().any(|pattern| self.is_meant(name, pattern))
    }
}

/// The content of an event that is being published.
struct News<'a> {
    severity: Option<EventSeverity>,
    /// The time of the event; `None` for now.
    timestamp: Option<Timestamp>,
    data: &'a Object,
    hint: Option<&'a ActionHint>,
}

impl<'a> News<'a> {
    fn new(severity: EventSeverity, data: &'a Object) -> Self {
        Self { severity: Some(severity), timestamp: None, data, hint: None }
    }
}

/// An event before it is numbered, shared by all subscribers.
#[derive(Debug)]
pub(super) struct PublishedEvent {
    pub(super) channel: ChannelName,
    /// The other name of the channel, if no other channel is called so.
    pub(super) other_name: Option<ChannelName>,
    pub(super) timestamp: Timestamp,
    pub(super) severity: Option<EventSeverity>,
    pub(super) data: Object,
    pub(super) hint: Option<Box<ActionHint>>,
    pub(super) bytes: usize,
}

impl PublishedEvent {
    /// Returns the event with number `seq` of `subscription`, under the name by which one of `patterns` asks for it.
    pub(super) fn to_event(
        &self,
        subscription: SubscriptionId,
        patterns: &[ChannelPattern],
        seq: u64,
    ) -> Event {
        let is_asked_for =
            |other: &&ChannelName| patterns.iter().any(|pattern| pattern.as_str() == other.as_str());
        let channel = self.other_name.as_ref().filter(is_asked_for).unwrap_or(&self.channel);
        let mut event =
            Event::new(subscription, channel.as_str(), self.timestamp, self.data.clone()).with_seq(seq);
        event.severity = self.severity;
        event.action_hint.clone_from(&self.hint);
        event
    }
}
