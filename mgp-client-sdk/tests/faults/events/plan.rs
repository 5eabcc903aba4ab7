//! The plan of a run with events: the events, and the breaks of the connections.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::rng::Rng;

/// The events of a server, and the breaks of its connections.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    /// The time at which each event happens.
    pub(super) events: Vec<Duration>,
    /// The number of the last events that the server keeps.
    pub(super) kept: u64,
    /// The connections in order. After the last one nothing goes wrong any more.
    pub(super) connections: Vec<Connection>,
    /// The time for which the reader rests after each event.
    pub(super) rest: Duration,
}

/// The course of one connection.
#[derive(Debug, Clone)]
pub(super) struct Connection {
    /// The time at which it breaks, from its beginning on.
    pub(super) breaks: Duration,
    /// True if it is the server who breaks it.
    pub(super) hangs_up: bool,
    /// The time for which nobody connects after it.
    pub(super) pause: Duration,
    /// The fate of each pushed event; the rest are pushed as they should be.
    pub(super) pushes: Vec<Push>,
    /// The answer to each request; the rest get the right answer.
    pub(super) answers: Vec<Answer>,
    /// True if the server has forgotten the subscription when this connection is made.
    pub(super) forgets: bool,
}

/// The fate of an event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Push {
    AsIs,
    Lost,
    Twice,
    /// After the next one.
    Later,
    /// An older one again.
    WithOlder,
    /// The event comes after one of another subscription.
    AfterForeign,
    /// The event comes after a message that is no event.
    AfterOdd,
}

/// The answer of a server to a request for events.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Answer {
    AsAsked,
    /// Fewer than were asked for.
    One,
    /// In another order, some of them twice.
    Shuffled,
    /// An error that may pass.
    Busy,
    /// A result that is none.
    Odd,
    After(Duration),
    /// The connection breaks instead.
    Break,
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xE1 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let longest = rng.pick(&[1, 50, 400]);
        let mut at = Duration::ZERO;
        let events = (0..rng.within(5..40)).map(|_| {
            at += rng.millis(0..longest);
            at
        });
        let events = events.collect();
        let kept = rng.pick(&[1, 3, 10, 1000]);
        let connections = (0..rng.within(0..5)).map(|_| Connection::any(&mut rng)).collect();
        let rest = rng.pick(&[0, 0, 0, 1, 30]);
        Self { seed, era, events, kept, connections, rest: Duration::from_millis(rest) }
    }
}

impl Connection {
    fn any(rng: &mut Rng) -> Self {
        let trouble = rng.pick(&[10, 30, 80]);
        let pushes = (0..20).map(|_| if rng.chance(trouble) { rng.pick(PUSHES) } else { Push::AsIs });
        let pushes = pushes.collect();
        let answers = (0..6).map(|_| match rng.within(0..10) {
            0..3 => Answer::AsAsked,
            3 => Answer::After(rng.millis(1..300)),
            _ => rng.pick(ANSWERS),
        });
        let answers = answers.collect();
        let (breaks, pause) = (rng.millis(1..4000), rng.pick(&[0, 10, 1000]));
        let pause = Duration::from_millis(pause);
        Self { breaks, hangs_up: rng.chance(50), pause, pushes, answers, forgets: rng.chance(15) }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}, the last {} are kept", self.seed, self.era.as_str(), self.kept)?;
        writeln!(f, "  events at {:?}", self.events)?;
        writeln!(f, "  read with rests of {:?}", self.rest)?;
        for connection in &self.connections {
            writeln!(f, "  {connection:?}")?;
        }
        Ok(())
    }
}

const PUSHES: &[Push] =
    &[Push::Lost, Push::Lost, Push::Twice, Push::Later, Push::WithOlder, Push::AfterForeign, Push::AfterOdd];
const ANSWERS: &[Answer] = &[Answer::One, Answer::Shuffled, Answer::Busy, Answer::Odd, Answer::Break];
