//! The events that a server publishes, brought to the channels under its name.

use std::sync::Arc;

use mgp_stream::event::EventItem;
use mgp_types::mgp::{ChannelPattern, EventSeverity, EventSubscribe, Extension};
use mgp_types::{Object, RawJson, Session, code};
use tokio::time::Instant;

use super::connection_shared::ConnectionShared;
use super::stale_lists::Pauses;
use super::support::ServerClient;

impl ConnectionShared {
    /// Subscribes to all that the server publishes, if it negotiated events, and publishes it under the server's name for as
    /// long as the connection lasts.
    pub(super) async fn follow_events(self: Arc<Self>, client: ServerClient, session: Arc<Session>) {
        if !session.has(&Extension::Events) {
            return;
        }
        let mut wanted = everything();
        let server = &self.server;
        let mut pauses = Pauses::default();
        loop {
            let began = Instant::now();
            match client.events(wanted).await {
                Ok(mut events) => {
                    for channel in &events.answer().available {
                        if let Err(error) = self.declare_channel(channel) {
                            tracing::debug!(server = %server, %error, "a channel is left out");
                        }
                    }
                    while let Some(item) = events.next().await {
                        match item {
                            EventItem::Event(event) => {
                                let severity = event.severity.unwrap_or(EventSeverity::Info);
                                self.publish_event(&event.channel, severity, event.data);
                            }
                            missed => {
                                tracing::debug!(server = %server, ?missed, "events of a server are lost");
                            }
                        }
                    }
                    wanted = events.resuming();
                }
                Err(error) => {
                    tracing::debug!(server = %server, %error, "the events of a server cannot be had");
                    if error.code() == code::METHOD_NOT_FOUND {
                        return;
                    }
                    wanted = everything();
                }
            }
            tokio::time::sleep(pauses.after(began)).await;
        }
    }

    /// Publishes an event on a server's channel as one of the kernel, under the server's name.
    pub(super) fn publish_event(&self, channel: &str, severity: EventSeverity, mut data: Object) {
        if channel == "lifecycle" {
            // The event is about this server, whatever it says.
            data.set("server_id", RawJson::from_text(self.server.as_str()));
        }
        let outcome = self.declare_channel(channel).and_then(|channel| {
            let events = &self.support.events;
            events.tell_of_server(&self.line, &channel, severity, &data).map_err(|error| error.to_string())
        });
        if let Err(error) = outcome {
            tracing::debug!(server = %self.server, %error, "an event is dropped");
        }
    }

    /// Declares a channel of the server. Returns its name with the server in front.
    ///
    /// # Errors
    /// The channel is another server's, or this one has too many.
    fn declare_channel(&self, channel: &str) -> Result<String, String> {
        let events = &self.support.events;
        let Some(full) = events.channel_of(&self.line, channel) else {
            return Err(format!("the channel {channel:?} is another's"));
        };
        let mut declared = self.channels.lock();
        if !declared.contains(&*full) {
            if declared.len() >= MAX_CHANNELS {
                return Err(format!("the server publishes on more than {MAX_CHANNELS} channels"));
            }
            events.publisher.declare_as(&full, channel).map_err(|error| error.to_string())?;
            declared.insert(full.as_str().into());
        }
        Ok(full)
    }
}

/// The wish for all channels. Servers that know no `*` have those of the standard families.
fn everything() -> EventSubscribe {
    EventSubscribe::new(std::iter::once("*").chain(ChannelPattern::STANDARD).collect::<Vec<_>>())
}

const MAX_CHANNELS: usize = 64;
