//! The events that a server publishes, brought to the channels under its name.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_client_sdk::Client;
use mgp_stream::event::EventItem;
use mgp_types::mgp::{ChannelPattern, EventSeverity, EventSubscribe, Extension};
use mgp_types::{Object, RawJson, RpcService, Session, code};
use parking_lot::Mutex;
use tokio::time::Instant;

use super::asking_again::Pauses;
use super::connection_key::ConnectionKey;
use super::support::ServerSupport;

/// Subscribes to all that the server publishes, if it negotiated events, and publishes it under the server's name for as
/// long as the connection lasts.
pub(super) async fn follow<S>(channels: ServerChannels, client: Client<S>, session: Arc<Session>)
where
    S: RpcService<Future: 'static> + Sync,
{
    if !session.mgp.as_ref().is_some_and(|mgp| mgp.has(&Extension::Events)) {
        return;
    }
    let mut wanted = everything();
    let server = &channels.line.server;
    let mut pauses = Pauses::default();
    loop {
        let began = Instant::now();
        match client.events(wanted).await {
            Ok(mut events) => {
                for channel in &events.answer().available {
                    if let Err(error) = channels.declare(channel) {
                        tracing::debug!(server = %server, %error, "a channel is left out");
                    }
                }
                while let Some(item) = events.next().await {
                    match item {
                        EventItem::Event(event) => {
                            let severity = event.severity.unwrap_or(EventSeverity::Info);
                            channels.publish(&event.channel, severity, event.data);
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

/// The wish for all channels. Servers that know no `*` have those of the standard families.
fn everything() -> EventSubscribe {
    EventSubscribe::new(std::iter::once("*").chain(ChannelPattern::STANDARD).collect::<Vec<_>>())
}

/// The channels under a server's name, to which one connection to the server publishes. Clones share them.
#[derive(Clone)]
pub(super) struct ServerChannels {
    line: ConnectionKey,
    support: Arc<ServerSupport>,
    declared: Arc<Mutex<HashSet<Box<str>, RandomState>>>,
}

impl ServerChannels {
    pub(super) fn new(line: ConnectionKey, support: Arc<ServerSupport>) -> Self {
        Self { line, support, declared: Arc::default() }
    }

    /// Publishes an event on a server's channel as one of the kernel, under the server's name.
    pub(super) fn publish(&self, channel: &str, severity: EventSeverity, mut data: Object) {
        if channel == "lifecycle"
            && let Ok(server) = RawJson::from_value(self.line.server.as_str())
        {
            // The event is about this server, whatever it says.
            data.set("server_id", server);
        }
        let outcome = self.declare(channel).and_then(|channel| {
            let events = &self.support.events;
            events.tell_of_server(&self.line, &channel, severity, &data).map_err(|error| error.to_string())
        });
        if let Err(error) = outcome {
            tracing::debug!(server = %self.line.server, %error, "an event is dropped");
        }
    }

    /// Declares a channel of the server. Returns its name with the server in front.
    ///
    /// # Errors
    /// The channel is another server's, or this one has too many.
    fn declare(&self, channel: &str) -> Result<String, String> {
        let events = &self.support.events;
        let Some(full) = events.channel_of(&self.line, channel) else {
            return Err(format!("the channel {channel:?} is another's"));
        };
        let mut declared = self.declared.lock();
        if !declared.contains(&*full) {
            if declared.len() >= MAX_CHANNELS {
                return Err(format!("the server publishes on more than {MAX_CHANNELS} channels"));
            }
            events.publisher().declare_as(&full, channel).map_err(|error| error.to_string())?;
            declared.insert(full.as_str().into());
        }
        Ok(full)
    }
}

const MAX_CHANNELS: usize = 64;
