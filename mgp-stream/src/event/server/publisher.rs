//! The publisher of events, which applications hold.

use std::sync::Arc;

use mgp_types::mgp::{ChannelError, ChannelName, EventSeverity, Timestamp};
use mgp_types::{Object, Principal};

use tokio::sync::watch;

use super::channel_table::{ChannelTable, PublishedEvent};
use super::terms::{EventHint, bytes_of_hint};

/// Publishes events; handlers and applications hold it. Clones publish to the same subscribers.
///
/// A channel has to be declared before anything is published on it, because clients are told which channels there are.
/// Publishing never waits: slow subscribers find out which events they missed. Publishing takes a lock that only
/// opening and closing of subscriptions hold against it, and allocates nothing while the channel has no subscriber.
///
/// ```
/// use mgp_stream::event::Publisher;
/// use mgp_types::{Object, Principal};
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
        self.0.declare(ChannelName::try_from(channel)?, None);
        Ok(())
    }

    /// Adds a channel that patterns of the standard families (§13.5) find by another name, too: a gateway has the channel
    /// `system.error` of the server `files` on `files.system.error`, and `system.*` stands for it as if the server were
    /// asked.
    ///
    /// # Errors
    /// A name in the list is not a channel name.
    pub fn declare_as(&self, channel: &str, other_name: &str) -> Result<(), ChannelError> {
        self.0.declare(ChannelName::try_from(channel)?, Some(ChannelName::try_from(other_name)?));
        Ok(())
    }

    /// Returns whether somebody has subscribed to one of the channels.
    pub fn is_heard(&self, channels: &[&str]) -> bool {
        self.0.is_heard(channels)
    }

    /// Returns a receiver that is told whenever [`is_heard`](Self::is_heard) may say something else.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.0.changes()
    }

    /// Publishes an event that happened now.
    ///
    /// # Errors
    /// The channel is not declared, or the data is larger than [`MAX_DATA_BYTES`](Self::MAX_DATA_BYTES).
    pub fn publish(&self, channel: &str, severity: EventSeverity, data: &Object) -> Result<(), PublishError> {
        self.publish_to(channel, severity, data, |_| true)
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
        self.publish_event(channel, severity, data, None, concerns)
    }

    /// Publishes an event that happened now, with what a client may do about it. The hint is advice for clients of the
    /// extension `subscribe_notify`, which show it and do not follow it unasked.
    ///
    /// # Errors
    /// The errors of [`publish`](Self::publish); the hint counts as data.
    #[cfg(feature = "ext")]
    pub fn publish_with_hint(
        &self,
        channel: &str,
        severity: EventSeverity,
        data: &Object,
        hint: &EventHint,
    ) -> Result<(), PublishError> {
        self.publish_event(channel, severity, data, Some(hint), |_| true)
    }

    fn publish_event(
        &self,
        channel: &str,
        severity: EventSeverity,
        data: &Object,
        hint: Option<&EventHint>,
        concerns: impl Fn(Option<&Principal>) -> bool,
    ) -> Result<(), PublishError> {
        let members = data;
        let data = data.to_raw();
        let bytes = data.as_bytes().len() + hint.map_or(0, bytes_of_hint);
        if bytes > Self::MAX_DATA_BYTES {
            return Err(PublishError::TooLarge { bytes });
        }
        let make = |channel: &ChannelName| PublishedEvent {
            channel: channel.clone(),
            timestamp: Timestamp::now(),
            severity,
            // The event outlives the frame in which its data may have come.
            data: Object::from_raw(&data.detached()).unwrap_or_default(),
            hint: hint.cloned(),
            bytes,
        };
        if self.0.publish(channel, severity, members, concerns, make) {
            Ok(())
        } else {
            Err(PublishError::Undeclared(channel.into()))
        }
    }

    pub(super) fn board(&self) -> &ChannelTable {
        &self.0
    }
}
