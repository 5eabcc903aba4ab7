//! Both sides against each other on a connection that loses, repeats and reorders what it brings, and breaks.

use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use mgp_types::mgp::{EventSeverity, EventSubscribe, SubscriptionId};

use super::doubles::{Bare, Peer, data, serve, settle};
use super::{EventItem, EventQuotas, Events, Publisher, ServeEvents, Subscriber};

type Connection = Peer<ServeEvents<Bare>>;

/// A generator of numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }
}

struct World {
    dice: Dice,
    publisher: Publisher,
    server: ServeEvents<Bare>,
    connection: Connection,
    subscriber: Subscriber,
    events: Events<Connection>,
    polled: bool,
    buffered: u64,
    published: u64,
    /// The subscriptions that were opened, and how many events had been published by then.
    openings: Vec<(SubscriptionId, u64)>,
    view: View,
}

/// What the reader was given.
#[derive(Default)]
struct View {
    /// Which opening the events are of, once one has come.
    subscription: Option<usize>,
    next: u64,
    given: u64,
    missed: u64,
    gone: u64,
}

const IDLE: Duration = Duration::from_mins(5);

impl World {
    async fn new(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let publisher = Publisher::new(["a.b", "a.quiet"]).unwrap();
        let buffered = [4, 12, 1000][usize::try_from(dice.roll(3)).unwrap()];
        let quotas = EventQuotas::new()
            .with_buffered_events(usize::try_from(buffered).unwrap())
            .with_idle_timeout(IDLE);
        let server = serve(&publisher, quotas);
        let polled = dice.one_in(3);
        let connection = connect(&server, polled);
        let subscriber = Subscriber::new();
        let wanted = EventSubscribe::new(["a.*"]).with_min_severity(EventSeverity::Info);
        let mut events = subscriber.subscribe(connection.clone(), wanted).await.unwrap();
        if polled {
            events = events.polled(Duration::from_secs(5));
        }
        let openings = vec![(events.answer().subscription_id.clone(), 0)];
        let view = View { next: 1, ..View::default() };
        Self {
            dice,
            publisher,
            server,
            connection,
            subscriber,
            events,
            polled,
            buffered,
            published: 0,
            openings,
            view,
        }
    }

    async fn step(&mut self) {
        match self.dice.roll(12) {
            0..=4 => self.publish(),
            5..=7 => self.deliver(false).await,
            8..=9 => {
                let most = self.dice.roll(8);
                self.read(most);
            }
            10 => tokio::time::sleep(Duration::from_millis(self.dice.roll(8000))).await,
            _ if self.dice.one_in(2) => self.connection.pipe.cut(),
            _ => {
                if self.dice.one_in(8) {
                    tokio::time::sleep(IDLE * 2).await;
                }
                self.reconnect().await;
            }
        }
    }

    fn publish(&mut self) {
        for _ in 0..=self.dice.roll(4) {
            self.published += 1;
            self.publisher.publish("a.b", EventSeverity::Warning, &data(self.published)).unwrap();
            // What is not wanted leaves no trace in the numbers.
            self.publisher.publish("a.quiet", EventSeverity::Debug, &data(0)).unwrap();
        }
    }

    async fn deliver(&mut self, safely: bool) {
        settle().await;
        let mut arriving = self.connection.pipe.events();
        if !safely && self.dice.one_in(3) && arriving.len() > 1 {
            let place = usize::try_from(self.dice.roll(arriving.len() as u64)).unwrap();
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
        self.events.resubscribe(self.connection.clone()).await.unwrap();
        let id = &self.events.answer().subscription_id;
        if self.openings.last().is_none_or(|(last, _)| last != id) {
            self.openings.push((id.clone(), self.published));
        }
    }

    fn read(&mut self, most: u64) {
        for _ in 0..most {
            let Some(Some(item)) = self.events.next().now_or_never() else { return };
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

fn connect(server: &ServeEvents<Bare>, polled: bool) -> Connection {
    if polled { Peer::stateless(server) } else { Peer::new(server) }
}

#[test]
fn the_view_is_what_was_published_with_every_loss_reported() {
    let (mut given, mut missed, mut gone, mut safe) = (0, 0, 0, 0);
    for seed in 0..1000 {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let seed_of_panic = SaidOnPanic(seed);
        runtime.block_on(async {
            let mut world = World::new(seed).await;
            for _ in 0..80 {
                world.step().await;
            }
            // Everything is accounted for once the connection holds.
            world.reconnect().await;
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_secs(6)).await;
                world.deliver(true).await;
                world.read(u64::MAX);
            }
            let last = world.openings.len() - 1;
            assert!(world.view.subscription.is_none_or(|known| known == last));
            assert_eq!(world.openings[last].1 + world.view.next - 1, world.published);
            if world.buffered == 1000 && last == 0 {
                assert_eq!((world.view.given, world.view.missed), (world.published, 0));
                safe += 1;
            }
            given += world.view.given;
            missed += world.view.missed;
            gone += world.view.gone;
        });
        drop(seed_of_panic);
    }
    println!("{given} given, {missed} missed, {gone} gone, {safe} seeds without loss");
    assert!(given > 10_000 && missed > 1000 && gone > 100 && safe > 100, "the schedule tries nothing");
}

/// Says which seed it was.
struct SaidOnPanic(u64);

impl Drop for SaidOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("seed {}", self.0);
        }
    }
}
