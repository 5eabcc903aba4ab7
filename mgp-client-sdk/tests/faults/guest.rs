//! The actions of one client at a server, which follow from its seed.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::rng::Rng;
use crate::turn::{GARBAGE, Garbage};

/// The moves of one client at a server, which follow from its seed alone.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) seed: u64,
    pub(crate) era: Revision,
    /// In order of time.
    pub(crate) moves: Vec<(Duration, Move)>,
    pub(crate) leaving: (Duration, Leaving),
}

/// A move of a client.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Move {
    /// A call under an id; `nonce` is the call's own number, which its answer has to repeat.
    Call {
        id: i64,
        nonce: u64,
        tool: Tool,
    },
    /// A call written byte by byte, all within this moment.
    SlowCall {
        id: i64,
        nonce: u64,
        tool: Tool,
    },
    Cancel {
        id: i64,
    },
    Garbage(Garbage),
    /// Notifications that nobody knows, or with odd params.
    Notifications,
    /// Answers to requests that the server never made.
    Replies,
    /// So many requests at once, with ids of their own from `first` on.
    Flood {
        first: i64,
        times: i64,
    },
    /// The client reads nothing for this time.
    StopReading(Duration),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Tool {
    Echo,
    Later(Duration),
    Hang,
}

/// The way in which a client leaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Leaving {
    /// The client sends nothing more, and reads until the end.
    CloseWrites,
    Vanish,
    Reset,
}

/// The kinds of trouble that a client makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trouble {
    /// Cancels, ids that are in use, half of what it says.
    Calls,
    /// Bytes that are no messages, and messages that nobody asked for.
    Garbage,
    /// Many requests, and no eye for the answers.
    Floods,
}

impl Guest {
    pub(crate) fn from_seed(trouble: Trouble, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ (trouble as u64) << 48);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let mut guest = Making { ids: Vec::new(), cancelled: Vec::new(), next: 1 };
        let mut times: Vec<_> = (0..rng.within(1..25)).map(|_| rng.millis(0..300)).collect();
        times.sort_unstable();
        let moves = times.into_iter().map(|at| (at, guest.any(trouble, &mut rng)));
        let mut moves: Vec<_> = moves.collect();
        let at = if rng.chance(40) { rng.millis(0..400) } else { Duration::from_secs(3) };
        moves.retain(|(moment, _)| *moment <= at);
        let leaving =
            rng.pick(&[Leaving::CloseWrites, Leaving::CloseWrites, Leaving::Vanish, Leaving::Reset]);
        Self { seed, era, moves, leaving: (at, leaving) }
    }
}

/// The ids that are used up while a guest is made.
struct Making {
    ids: Vec<i64>,
    cancelled: Vec<i64>,
    next: i64,
}

impl Making {
    fn any(&mut self, trouble: Trouble, rng: &mut Rng) -> Move {
        match (trouble, rng.within(0..10)) {
            (_, 0..3) => Move::Call { id: self.fresh(), nonce: rng.next() >> 32, tool: tool(rng) },
            (Trouble::Calls, 3) => {
                Move::SlowCall { id: self.fresh(), nonce: rng.next() >> 32, tool: tool(rng) }
            }
            (Trouble::Calls, 4..7) => self.cancel(rng),
            (Trouble::Calls, _) => self.used(rng),
            (Trouble::Garbage, 3..7) => Move::Garbage(rng.pick(GARBAGE)),
            (Trouble::Garbage, 7) => Move::Notifications,
            (Trouble::Garbage, _) => Move::Replies,
            (Trouble::Floods, 3..8) => {
                let (first, times) = (self.next, rng.pick(&[1, 5, 20, 50]));
                self.next += times;
                Move::Flood { first, times }
            }
            (Trouble::Floods, _) => Move::StopReading(rng.millis(1..500)),
        }
    }

    fn fresh(&mut self) -> i64 {
        self.ids.push(self.next);
        self.next += 1;
        self.next - 1
    }

    /// Returns a call under an id that is in use, or was.
    ///
    /// An id that was taken back is not used again: then nobody could tell for which of the two the answer is.
    fn used(&mut self, rng: &mut Rng) -> Move {
        let free: Vec<_> = self.ids.iter().filter(|id| !self.cancelled.contains(id)).copied().collect();
        let id = if free.is_empty() { self.fresh() } else { rng.pick(&free) };
        Move::Call { id, nonce: rng.next() >> 32, tool: tool(rng) }
    }

    fn cancel(&mut self, rng: &mut Rng) -> Move {
        let once = |id: &i64| self.ids.iter().filter(|other| *other == id).count() == 1;
        let open: Vec<_> = self.ids.iter().filter(|id| once(id)).copied().collect();
        let id = if open.is_empty() { 1_000_000 } else { rng.pick(&open) };
        self.cancelled.push(id);
        Move::Cancel { id }
    }
}

fn tool(rng: &mut Rng) -> Tool {
    match rng.within(0..6) {
        0..3 => Tool::Echo,
        3..5 => Tool::Later(rng.millis(0..400)),
        _ => Tool::Hang,
    }
}

impl fmt::Display for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}", self.seed, self.era.as_str())?;
        for (at, what) in &self.moves {
            writeln!(f, "  {at:?}: {what:?}")?;
        }
        writeln!(f, "  {:?}: {:?}", self.leaving.0, self.leaving.1)
    }
}
