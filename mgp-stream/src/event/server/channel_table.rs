//! The channels of a publisher, and the subscriptions to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_types::mgp::{ChannelName, ChannelPattern, Event, EventSeverity, SubscriptionId, Timestamp};
use mgp_types::{Object, Principal};
use parking_lot::RwLock;
use tokio::sync::watch;

use super::feed::EventFeed;
use super::gate::AudienceMember;
use super::terms::{EventHint, with_hint};

/// The channels, their subscribers, and the number of changes of both.
#[derive(Debug, Default)]
pub(super) struct ChannelTable(RwLock<ChannelSubscribers>, watch::Sender<u64>);

#[derive(Debug, Default)]
struct ChannelSubscribers {
    channels: BTreeMap<ChannelName, Channel>,
    /// The feeds of all subscribers: a channel that is declared later has to find those whose patterns match it.
    feeds: Vec<Arc<EventFeed>>,
}

/// A channel, and the subscribers to it.
#[derive(Debug)]
struct Channel {
    /// The name by which patterns of the standard families find the channel, too.
    other_name: Option<ChannelName>,
    feeds: Vec<Arc<EventFeed>>,
}

impl Channel {
    /// Returns whether a pattern stands for the channel called `name`.
    fn is_meant(&self, name: &ChannelName, pattern: &ChannelPattern) -> bool {
        let by_other_name =
            |other: &ChannelName| pattern.is_of_standard_family() && pattern.matches(other.as_str());
        pattern.matches(name.as_str()) || self.other_name.as_ref().is_some_and(by_other_name)
    }

    fn is_wanted(&self, name: &ChannelName, feed: &EventFeed) -> bool {
        feed.patterns.iter().any(|pattern| self.is_meant(name, pattern))
    }
}

/// An event before it is numbered, shared by all subscribers.
#[derive(Debug)]
pub(super) struct PublishedEvent {
    pub(super) channel: ChannelName,
    pub(super) timestamp: Timestamp,
    pub(super) severity: EventSeverity,
    pub(super) data: Object,
    pub(super) hint: Option<EventHint>,
    pub(super) bytes: usize,
}

impl PublishedEvent {
    /// Returns the event with number `seq` of `subscription`.
    pub(super) fn to_event(&self, subscription: SubscriptionId, seq: u64) -> Event {
        let event = Event::new(subscription, self.channel.as_str(), self.timestamp, self.data.clone())
            .with_severity(self.severity)
            .with_seq(seq);
        with_hint(event, self.hint.as_ref())
    }
}

impl ChannelTable {
    /// Adds a channel, which patterns of the standard families find by its other name, too.
    pub(super) fn declare(&self, channel: ChannelName, other_name: Option<ChannelName>) {
        let mut table = self.0.write();
        let ChannelSubscribers { channels, feeds } = &mut *table;
        channels.entry(channel).or_insert_with_key(|name| {
            let mut channel = Channel { other_name, feeds: Vec::new() };
            channel.feeds = feeds.iter().filter(|feed| channel.is_wanted(name, feed)).cloned().collect();
            channel
        });
        drop(table);
        self.1.send_modify(|changes| *changes += 1);
    }

    /// Gives the event to each subscriber that wants it and may see it. The event is made once, and only if there is
    /// such a subscriber. Returns whether the channel exists.
    pub(super) fn publish(
        &self,
        channel: &str,
        severity: EventSeverity,
        data: &Object,
        concerns: impl Fn(Option<&Principal>) -> bool,
        make: impl FnOnce(&ChannelName) -> PublishedEvent,
    ) -> bool {
        let table = self.0.read();
        let Some((channel, Channel { feeds, .. })) = table.channels.get_key_value(channel) else {
            return false;
        };
        let gets = |feed: &&Arc<EventFeed>| {
            feed.filter.includes(severity) && feed.sees(channel.as_str(), &concerns) && feed.terms.admit(data)
        };
        let mut wanting = feeds.iter().filter(gets).peekable();
        if wanting.peek().is_some() {
            let event = Arc::new(make(channel));
            wanting.for_each(|feed| feed.push(&event));
        }
        true
    }

    /// Returns the names of all channels that `spectator` may know of.
    pub(super) fn available(&self, spectator: &AudienceMember) -> Vec<String> {
        let table = self.0.read();
        let names = table.channels.keys().map(ChannelName::as_str);
        names.filter(|channel| spectator.sees(channel)).map(str::to_owned).collect()
    }

    /// Returns whether the pattern stands for a channel that `spectator` may know of.
    pub(super) fn has(&self, pattern: &ChannelPattern, spectator: &AudienceMember) -> bool {
        let table = self.0.read();
        table.channels.iter().any(|(name, it)| it.is_meant(name, pattern) && spectator.sees(name.as_str()))
    }

    /// Returns whether one of the channels has a subscriber.
    pub(super) fn is_heard(&self, channels: &[&str]) -> bool {
        let table = self.0.read();
        channels.iter().any(|name| table.channels.get(*name).is_some_and(|channel| !channel.feeds.is_empty()))
    }

    /// Returns a receiver that is told whenever there may be other subscribers.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.1.subscribe()
    }

    #[cfg(test)]
    pub(super) fn has_subscribers(&self) -> bool {
        !self.0.read().feeds.is_empty()
    }

    pub(super) fn open(&self, feed: &Arc<EventFeed>) {
        let mut table = self.0.write();
        let ChannelSubscribers { channels, feeds } = &mut *table;
        for (name, channel) in channels {
            if channel.is_wanted(name, feed) {
                channel.feeds.push(Arc::clone(feed));
            }
        }
        feeds.push(Arc::clone(feed));
        drop(table);
        self.1.send_modify(|changes| *changes += 1);
    }

    /// Takes these feeds out, all at once: publishers wait meanwhile.
    pub(super) fn close<'a>(&self, closed: impl IntoIterator<Item = &'a EventFeed>) {
        if closed.into_iter().map(EventFeed::close).count() == 0 {
            return;
        }
        let mut table = self.0.write();
        let ChannelSubscribers { channels, feeds } = &mut *table;
        for feeds in channels.values_mut().map(|channel| &mut channel.feeds).chain([feeds]) {
            feeds.retain(|feed| !feed.is_closed());
        }
        drop(table);
        self.1.send_modify(|changes| *changes += 1);
    }
}
