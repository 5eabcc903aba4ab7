//! Events over connections that break and come back.

mod peer;
mod plan;

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::EventItem;
use mgp_types::mgp::{EventSubscribe, ExtensionSet, Offer};
use mgp_types::{Error, code};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use self::peer::Peer;
use self::plan::Plan;
use crate::play::{PlainClient, builder};
use crate::runner::counted;
use crate::stage;
use crate::tally::Tally;

#[tokio::test(start_paused = true)]
async fn events_over_connections_that_break() {
    let least = [("events", 8_000), ("missed", 200), ("resumed", 500), ("forgotten", 100)];
    counted(Plan::from_seed, run, &least).await;
}

/// Returns all faults of one run.
async fn run(plan: Plan, tally: Tally) -> Vec<String> {
    let peer = Peer::new(plan);
    let (calm, is_calm) = watch::channel(false);
    let happening = tokio::spawn(peer.clone().happen(is_calm));
    let mut reader = Reader::default();
    let reading = reader.read(&peer, &calm);
    let ended = tokio::time::timeout(LONGEST, reading).await.is_ok();
    happening.abort();
    if !ended {
        reader.wrong.push(format!("{} events, and {} were told", peer.count(), reader.next - 1));
    }
    for (what, times) in reader.counted {
        tally.add(what, times);
    }
    reader.wrong
}

/// A reader of the events of all connections.
struct Reader {
    /// The wish for the next connection.
    wanted: EventSubscribe,
    /// The subscription that is read, and the number of its next event.
    subscription: Option<String>,
    next: u64,
    /// The number of items of each kind.
    counted: Vec<(&'static str, usize)>,
    wrong: Vec<String>,
}

impl Default for Reader {
    fn default() -> Self {
        let wanted = EventSubscribe::new(["system.*"]);
        Self { wanted, subscription: None, next: 1, counted: Vec::new(), wrong: Vec::new() }
    }
}

impl Reader {
    /// Reads on, connection by connection, until the last event is told.
    async fn read(&mut self, peer: &Arc<Peer>, calm: &watch::Sender<bool>) {
        loop {
            let (number, breaks) = peer.next_connection();
            let (reader, writer) = stage::open(peer, number);
            let offer = Offer::new(ExtensionSet::from_names(["events"]));
            let connecting = builder().mgp(offer).connect_io(reader, writer);
            let Ok(client) = connecting.await else {
                self.wrong.push("the handshake failed".to_owned());
                return;
            };
            match breaks {
                Some((breaks, pause)) => {
                    // The server may be the one who ends it.
                    let end = Instant::now() + breaks + Duration::from_millis(5);
                    let _ = tokio::time::timeout_at(end, self.read_one(peer, client, None)).await;
                    tokio::time::sleep(pause).await;
                }
                None => return self.read_one(peer, client, Some(calm)).await,
            }
        }
    }

    /// Reads on one connection, until it ends or there is nothing more to come.
    async fn read_one(&mut self, peer: &Arc<Peer>, client: PlainClient, calm: Option<&watch::Sender<bool>>) {
        let mut events = loop {
            match client.events(self.wanted.clone()).await {
                Ok(events) => break events,
                Err(error) if self.is_forgotten(&error) => self.forget(),
                Err(_) => return,
            }
        };
        let (subscription, opened_at) = peer.subscription();
        if self.subscription.as_ref() == Some(&subscription) {
            self.counted.push(("resumed", 1));
        } else {
            (self.subscription, self.next) = (Some(subscription), 1);
        }
        if let Some(calm) = calm {
            calm.send_replace(true);
        }
        let rest = peer.rest();
        self.wanted = events.resuming();
        loop {
            if calm.is_some() && opened_at + self.next > peer.all() {
                return;
            }
            let Some(item) = events.next().await else { return };
            self.take(&item, peer);
            self.wanted = events.resuming();
            tokio::time::sleep(rest).await;
        }
    }

    fn is_forgotten(&self, error: &Error) -> bool {
        error.code() == code::RESOURCE_NOT_FOUND && self.wanted.subscription_id.is_some()
    }

    fn forget(&mut self) {
        self.counted.push(("forgotten", 1));
        *self = Self {
            counted: std::mem::take(&mut self.counted),
            wrong: std::mem::take(&mut self.wrong),
            ..Self::default()
        };
    }

    fn take(&mut self, item: &EventItem, peer: &Peer) {
        match item {
            EventItem::Event(event) => {
                self.counted.push(("events", 1));
                let data: Value = serde_json::from_slice(event.data.to_raw().as_bytes()).unwrap();
                if event.seq != Some(self.next)
                    || data["number"] != self.next
                    || data["of"].as_str() != self.subscription.as_deref()
                {
                    self.wrong
                        .push(format!("number {} of {:?} is next: {event:?}", self.next, self.subscription));
                }
                self.next = event.seq.unwrap_or(0) + 1;
            }
            EventItem::Missed { from, to } => {
                self.counted.push(("missed", 1));
                if *from != self.next || to < from || *to >= peer.first_kept() {
                    let kept = peer.first_kept();
                    self.wrong
                        .push(format!("number {} is next, kept is from {kept} on: {item:?}", self.next));
                }
                self.next = to + 1;
            }
            _ => self.wrong.push(format!("nothing of the kind happened: {item:?}")),
        }
    }
}

/// Everything is told by then.
const LONGEST: Duration = Duration::from_mins(10);
