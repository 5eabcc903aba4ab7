//! The events of a server: the channels that the kernel subscribes to there, and the events that it publishes of them.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use mgp_client_sdk::{EventStream, StandingRequestsService};
use mgp_stream::event::EventItem;
use mgp_types::mgp::{ChannelPattern, Event, EventSubscribe, EventSubscribed, Extension};
use mgp_types::{BoxedService, RawJson, Session, code};
use tokio::time::{Instant, sleep, timeout};

use super::connection_shared::ConnectionShared;
use super::stale_lists::Pauses;
use super::support::ServerClient;

/// The kernel's subscription at a server.
struct ServerSubscription {
    stream: EventStream<StandingRequestsService<BoxedService>>,
    /// The events that came on the subscription before this one while this one began. Such an event may come again.
    overlap: Vec<Event>,
}

impl ConnectionShared {
    /// Publishes the events of a server that negotiated them under the server's name, for as long as the connection lasts.
    ///
    /// The kernel has one subscription at the server: to all channels, and to those that clients name, because a server need
    /// not know `*`. It is replaced when clients name others.
    pub(super) async fn follow_events(self: Arc<Self>, client: ServerClient, session: Arc<Session>) {
        if !session.has(&Extension::Events) {
            return;
        }
        let mut changes = self.support.events.changes();
        let mut pauses = Pauses::default();
        let (mut open, mut resuming) = (None::<ServerSubscription>, None::<EventSubscribe>);
        let mut asked = BTreeSet::new();
        loop {
            let began = Instant::now();
            changes.mark_unchanged();
            let (named, last_request) = self.support.events.wanted_at(&self.key);
            let mut opened = None;
            if open.as_ref().is_none_or(|open| self.lacks(open, &asked, &named)) {
                let wanted = resuming.take().filter(|_| named == asked);
                asked = named;
                match client.events(wanted.unwrap_or_else(|| everything_and(&asked))).await {
                    Ok(stream) => {
                        self.note_channels(stream.answer());
                        opened = Some(stream);
                    }
                    Err(error) => {
                        tracing::debug!(server = %self.server, %error, "a server refuses a subscription");
                        if error.code() == code::METHOD_NOT_FOUND {
                            self.state.asked_channels.send_replace(u64::MAX);
                            return;
                        }
                    }
                }
            }
            self.state.asked_channels.send_replace(last_request);
            if let Some(stream) = opened {
                // A server may send events at once, and they are for those who asked for them.
                self.support.events.answered(last_request).await;
                open = Some(self.replace(open, stream));
            }
            let is_over = match &mut open {
                None => true,
                Some(open) => loop {
                    tokio::select! {
                        item = open.stream.next() => match item {
                            Some(item) => self.take_event(open, item),
                            None => break true,
                        },
                        () = changes.changed() => break false,
                    }
                },
            };
            if is_over {
                resuming = open.take().map(|open| open.stream.resuming());
                sleep(pauses.after(began)).await;
            }
        }
    }

    /// Returns whether the server has to be asked for other channels than it was `asked` for. One that accepted `*` sends all
    /// that it has, so it is asked for channels alone of which it has not told.
    fn lacks(
        &self,
        open: &ServerSubscription,
        asked: &BTreeSet<ChannelPattern>,
        named: &BTreeSet<ChannelPattern>,
    ) -> bool {
        if !open.stream.answer().subscribed.iter().any(|pattern| pattern == "*") {
            return asked != named;
        }
        let known = self.state.channels.lock();
        named.difference(asked).any(|pattern| !known.iter().any(|channel| pattern.matches(channel)))
    }

    /// Declares the channels that the server has or accepted.
    fn note_channels(&self, answer: &EventSubscribed) {
        for channel in answer.available.iter().chain(&answer.subscribed).filter(|channel| *channel != "*") {
            if let Err(error) = self.declare_channel(channel) {
                tracing::debug!(server = %self.server, %error, "a channel is left out");
            }
        }
    }

    /// Goes over to a new subscription, and ends the former one.
    fn replace(
        &self,
        former: Option<ServerSubscription>,
        stream: EventStream<StandingRequestsService<BoxedService>>,
    ) -> ServerSubscription {
        let mut overlap = Vec::new();
        if let Some(mut former) = former {
            while let Some(Some(item)) = former.stream.next().now_or_never() {
                if let EventItem::Event(event) = &item {
                    overlap.push(event.clone());
                }
                self.take_event(&mut former, item);
            }
            // Some servers give each of their subscriptions the same id.
            if former.stream.answer().subscription_id != stream.answer().subscription_id {
                let mut beside = self.state.beside.lock();
                while beside.try_join_next().is_some() {}
                beside.spawn(async move {
                    let ended = timeout(UNSUBSCRIBE_TIMEOUT, former.stream.unsubscribe()).await;
                    tracing::debug!(?ended, "a subscription was replaced");
                });
            }
        }
        ServerSubscription { stream, overlap }
    }

    /// Publishes an event that came on a subscription, unless it came on the one before.
    fn take_event(&self, open: &mut ServerSubscription, item: EventItem) {
        match item {
            EventItem::Event(event) => {
                let is_same = |other: &Event| {
                    (&other.channel, other.timestamp, &other.data)
                        == (&event.channel, event.timestamp, &event.data)
                };
                match open.overlap.iter().position(is_same) {
                    Some(at) => drop(open.overlap.remove(at)),
                    None => self.publish_event(event),
                }
            }
            missed => tracing::debug!(server = %self.server, ?missed, "events of a server are lost"),
        }
    }

    /// Publishes an event of the server under the server's name.
    pub(super) fn publish_event(&self, mut event: Event) {
        if event.channel == "lifecycle" {
            // The event is about this server, whatever it says.
            event.data.set("server_id", RawJson::from_text(self.server.as_str()));
        }
        let outcome = self.declare_channel(&event.channel).and_then(|channel| {
            let events = &self.support.events;
            events.tell_of_server(&self.key, &channel, &event).map_err(|error| error.to_string())
        });
        if let Err(error) = outcome {
            tracing::debug!(server = %self.server, %error, "an event is dropped");
        }
    }

    /// Declares a channel of the server, or a pattern that it accepts. Returns its name with the server in front.
    ///
    /// # Errors
    /// The channel is another server's, or this one has too many.
    fn declare_channel(&self, channel: &str) -> Result<String, String> {
        let events = &self.support.events;
        let Some(full) = events.channel_of(&self.key, channel) else {
            return Err(format!("the channel {channel:?} is another's"));
        };
        let mut known = self.state.channels.lock();
        if !known.contains(channel) {
            if known.len() >= MAX_CHANNELS {
                return Err(format!("the server publishes on more than {MAX_CHANNELS} channels"));
            }
            events.declare(&full, channel).map_err(|error| error.to_string())?;
            known.insert(channel.into());
        }
        Ok(full)
    }
}

/// Returns the request for all channels, and for those that clients name. Servers that know no `*` have those of the standard
/// families.
fn everything_and(named: &BTreeSet<ChannelPattern>) -> EventSubscribe {
    let all = std::iter::once("*").chain(ChannelPattern::STANDARD);
    let others =
        named.iter().map(ChannelPattern::as_str).filter(|name| !ChannelPattern::STANDARD.contains(name));
    EventSubscribe::new(all.chain(others).take(MAX_CHANNELS).collect::<Vec<_>>())
}

const MAX_CHANNELS: usize = 64;
const UNSUBSCRIBE_TIMEOUT: Duration = Duration::from_secs(5);
