//! The channels of a publisher, and the subscriptions to them.

use std::collections::BTreeMap;
use std::sync::Arc;

use mgp_types::mgp::{ChannelName, Event, EventSeverity, SubscriptionId, Timestamp};
use mgp_types::{Object, Principal};
use parking_lot::RwLock;

use super::feed::EventFeed;
use super::gate::AudienceMember;

/// The channels, and their subscribers.
#[derive(Debug, Default)]
pub(super) struct ChannelTable(RwLock<ChannelSubscribers>);

#[derive(Debug, Default)]
struct ChannelSubscribers {
    subscribers: BTreeMap<ChannelName, Vec<Arc<EventFeed>>>,
    /// The feeds of all subscribers: a channel that is declared later has to find those whose patterns match it.
    feeds: Vec<Arc<EventFeed>>,
}

/// An event before it is numbered, shared by all subscribers.
#[derive(Debug)]
pub(super) struct PublishedEvent {
    pub(super) channel: ChannelName,
    pub(super) timestamp: Timestamp,
    pub(super) severity: EventSeverity,
    pub(super) data: Object,
    pub(super) bytes: usize,
}

impl PublishedEvent {
    /// Returns the event with number `seq` of `subscription`.
    pub(super) fn to_event(&self, subscription: SubscriptionId, seq: u64) -> Event {
        Event::new(subscription, self.channel.as_str(), self.timestamp, self.data.clone())
            .with_severity(self.severity)
            .with_seq(seq)
    }
}

impl ChannelTable {
    pub(super) fn declare(&self, channel: ChannelName) {
        let mut channels = self.0.write();
        let ChannelSubscribers { subscribers, feeds } = &mut *channels;
        subscribers.entry(channel).or_insert_with_key(|channel| {
            feeds.iter().filter(|feed| feed.wants_channel(channel.as_str())).cloned().collect()
        });
    }

    /// Gives the event to each subscriber that wants it and may see it. The event is made once, and only if there is
    /// such a subscriber. Returns whether the channel exists.
    pub(super) fn publish(
        &self,
        channel: &str,
        severity: EventSeverity,
        concerns: impl Fn(Option<&Principal>) -> bool,
        make: impl FnOnce(&ChannelName) -> PublishedEvent,
    ) -> bool {
        let channels = self.0.read();
        let Some((channel, feeds)) = channels.subscribers.get_key_value(channel) else { return false };
        let gets =
            |feed: &&Arc<EventFeed>| feed.wants_severity(severity) && feed.sees(channel.as_str(), &concerns);
        let mut wanting = feeds.iter().filter(gets).peekable();
        if wanting.peek().is_some() {
            let event = Arc::new(make(channel));
            wanting.for_each(|feed| feed.push(&event));
        }
        true
    }

    /// Returns the names of all channels that `spectator` may know of.
    pub(super) fn available(&self, spectator: &AudienceMember) -> Vec<String> {
        let channels = self.0.read();
        let names = channels.subscribers.keys().map(ChannelName::as_str);
        names.filter(|channel| spectator.sees(channel)).map(str::to_owned).collect()
    }

    /// Returns whether `wanted` holds for one of the channels.
    pub(super) fn has(&self, wanted: impl Fn(&str) -> bool) -> bool {
        self.0.read().subscribers.keys().any(|channel| wanted(channel.as_str()))
    }

    #[cfg(test)]
    pub(super) fn has_subscribers(&self) -> bool {
        !self.0.read().feeds.is_empty()
    }

    pub(super) fn open(&self, feed: &Arc<EventFeed>) {
        let mut channels = self.0.write();
        let wanted = channels.subscribers.iter_mut().filter(|(name, _)| feed.wants_channel(name.as_str()));
        wanted.for_each(|(_, feeds)| feeds.push(Arc::clone(feed)));
        channels.feeds.push(Arc::clone(feed));
    }

    /// Takes these feeds out, all at once: publishers wait meanwhile.
    pub(super) fn close<'a>(&self, closed: impl IntoIterator<Item = &'a EventFeed>) {
        if closed.into_iter().map(EventFeed::close).count() == 0 {
            return;
        }
        let mut channels = self.0.write();
        let ChannelSubscribers { subscribers, feeds } = &mut *channels;
        for feeds in subscribers.values_mut().chain([feeds]) {
            feeds.retain(|feed| !feed.is_closed());
        }
    }
}
