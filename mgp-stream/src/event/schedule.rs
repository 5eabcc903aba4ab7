//! Tests of both sides by random schedules: a connection that loses, repeats, reorders and breaks.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mgp_types::mgp::{EventSeverity, EventSubscribe, SubscriptionId};
use mgp_types::{Gated, code};

use super::peer::{ClientConnection, data, serve};
use super::server::{Bounds, EventQuotas};
use super::{EventItem, Events, EventsGate, Publisher, Subscriber};
use crate::doubles::{TestServer, settle};
use crate::seeded_random::{self, SeededRandom};

type Connection = ClientConnection<Gated<EventsGate, TestServer>>;

struct World {
    dice: SeededRandom,
    publisher: Publisher,
    server: Gated<EventsGate, TestServer>,
    connection: Connection,
    subscriber: Subscriber,
    /// The events; none while they are resumed.
    events: Option<Events<Connection>>,
    polled: bool,
    buffered: u64,
    published: u64,
    /// The subscriptions that were opened, and the number of events published by then.
    openings: Vec<(SubscriptionId, u64)>,
    view: View,
}

/// The events that the reader was given.
#[derive(Default)]
struct View {
    /// The opening to which the events belong, once one has come.
    subscription: Option<usize>,
    next: u64,
    given: u64,
    missed: u64,
    gone: u64,
}

const IDLE: Duration = Duration::from_mins(5);

impl World {
    async fn new(dice: SeededRandom) -> Self {
        let publisher = Publisher::new(["a.b", "a.quiet"]).unwrap();
        let buffered = dice.one_of(&[4, 12, 1000]);
        let usual = EventQuotas::default();
        let bounds = Bounds { events: usize::try_from(buffered).unwrap(), ..usual.bounds };
        let quotas = EventQuotas { bounds, idle_timeout: IDLE, ..usual };
        let server = serve(&publisher, quotas);
        let polled = dice.one_in(3);
        let connection = connect(&server, polled);
        let subscriber = Subscriber::new();
        let events = subscriber.subscribe(connection.clone(), wanted_events()).await.unwrap();
        let openings = vec![(events.answer().subscription_id.clone(), 0)];
        let view = View { next: 1, ..View::default() };
        Self {
            dice,
            publisher,
            server,
            connection,
            subscriber,
            events: Some(read(events, polled)),
            polled,
            buffered,
            published: 0,
            openings,
            view,
        }
    }

    async fn step(&mut self) {
        match self.dice.below(12) {
            0..=4 => self.publish(),
            5..=7 => self.deliver(false).await,
            8..=9 => {
                let most = self.dice.below(8);
                self.read(most);
            }
            10 => tokio::time::sleep(Duration::from_millis(self.dice.below(8000))).await,
            _ if self.dice.one_in(2) => self.connection.port.cut(),
            _ => {
                if self.dice.one_in(8) {
                    tokio::time::sleep(IDLE * 2).await;
                }
                self.reconnect().await;
            }
        }
    }

    fn publish(&mut self) {
        for _ in 0..=self.dice.below(4) {
            self.published += 1;
            self.publisher.publish("a.b", EventSeverity::Warning, &data(self.published)).unwrap();
            // Events that are not wanted leave no trace in the numbers.
            self.publisher.publish("a.quiet", EventSeverity::Debug, &data(0)).unwrap();
        }
    }

    async fn deliver(&mut self, safely: bool) {
        settle().await;
        let mut arriving = self.connection.port.events();
        if !safely && self.dice.one_in(3) && arriving.len() > 1 {
            let place = usize::try_from(self.dice.below(arriving.len() as u64)).unwrap();
            arriving.rotate_left(place);
        }
        for event in arriving {
            if safely || !self.dice.one_in(5) {
                if self.dice.one_in(10) {
                    self.subscriber.push(event.clone());
                }
                self.subscriber.push(event);
            }
        }
    }

    async fn reconnect(&mut self) {
        self.connection = connect(&self.server, self.polled);
        let wanted = self.events.take().unwrap().resuming();
        let events = match self.subscriber.subscribe(self.connection.clone(), wanted).await {
            Err(error) => {
                assert_eq!(error.code(), code::RESOURCE_NOT_FOUND);
                self.subscriber.subscribe(self.connection.clone(), wanted_events()).await.unwrap()
            }
            events => events.unwrap(),
        };
        let id = &events.answer().subscription_id;
        if self.openings.last().is_none_or(|(last, _)| last != id) {
            self.view.check(&EventItem::Gone, &self.openings);
            self.openings.push((id.clone(), self.published));
        }
        self.events = Some(read(events, self.polled));
    }

    /// Returns whether nothing can have been lost.
    fn is_safe(&self) -> bool {
        self.buffered == 1000 && self.openings.len() == 1
    }

    fn read(&mut self, most: u64) {
        for _ in 0..most {
            let events = self.events.as_mut().unwrap();
            let Some(Some(item)) = events.next().now_or_never() else { return };
            self.view.check(&item, &self.openings);
            let is_last = self.view.subscription == Some(self.openings.len() - 1);
            if let EventItem::Missed { to, .. } = item
                && is_last
            {
                let last = self.published - self.openings[self.openings.len() - 1].1;
                assert!(to + self.buffered <= last, "{to} of {last} was still there");
            }
        }
    }
}

impl View {
    #[track_caller]
    fn check(&mut self, item: &EventItem, openings: &[(SubscriptionId, u64)]) {
        match item {
            EventItem::Event(event) => {
                let place = openings.iter().position(|(id, _)| *id == event.subscription_id).unwrap();
                assert!(self.subscription.is_none_or(|known| known == place), "not without a word");
                self.subscription = Some(place);
                assert_eq!(event.seq, Some(self.next));
                assert_eq!(event.data, data(openings[place].1 + self.next));
                self.next += 1;
                self.given += 1;
            }
            EventItem::Missed { from, to } => {
                assert_eq!(*from, self.next);
                assert!(to >= from);
                self.missed += to - from + 1;
                self.next = to + 1;
            }
            EventItem::Gone => {
                self.subscription = None;
                self.next = 1;
                self.gone += 1;
            }
            other @ EventItem::Dropped(_) => panic!("{other:?}"),
        }
    }
}

fn wanted_events() -> EventSubscribe {
    EventSubscribe::new(["a.*"]).with_min_severity(EventSeverity::Info)
}

fn read(events: Events<Connection>, polled: bool) -> Events<Connection> {
    if polled { events.polled(Duration::from_secs(5)) } else { events }
}

fn connect(server: &Gated<EventsGate, TestServer>, polled: bool) -> Connection {
    if polled { ClientConnection::stateless(server) } else { ClientConnection::new(server) }
}

#[test]
fn the_view_is_what_was_published_with_every_loss_reported() {
    let (mut given, mut missed, mut gone, mut safe) = (0, 0, 0, 0);
    let is_all = seeded_random::run(0..1000, run, |world| {
        given += world.view.given;
        missed += world.view.missed;
        gone += world.view.gone;
        safe += u64::from(world.is_safe());
    });
    let is_seen = given > 10_000 && missed > 1000 && gone > 100 && safe > 100;
    assert!(is_seen || !is_all, "the schedules try nothing: {given} {missed} {gone} {safe}");
}

async fn run(dice: SeededRandom) -> World {
    let mut world = World::new(dice).await;
    for _ in 0..80 {
        world.step().await;
    }
    // Each event is accounted for once the connection holds.
    world.reconnect().await;
    for _ in 0..4 {
        tokio::time::sleep(Duration::from_secs(6)).await;
        world.deliver(true).await;
        world.read(u64::MAX);
    }
    let last = world.openings.len() - 1;
    assert!(world.view.subscription.is_none_or(|known| known == last));
    assert_eq!(world.openings[last].1 + world.view.next - 1, world.published);
    if world.is_safe() {
        assert_eq!((world.view.given, world.view.missed), (world.published, 0));
    }
    world
}
