//! The actions of one client at a server that streams, which follow from its seed.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::guest::Leaving;
use crate::rng::Rng;
use crate::turn::{GARBAGE, Garbage};

/// The moves of one client at a server that streams, which follow from its seed alone.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    /// In order of time.
    pub(super) moves: Vec<(Duration, Move)>,
    pub(super) leaving: (Duration, Leaving),
}

/// A move of the client. Each request has an id of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Move {
    /// Has the server count to `to`, a number every so many milliseconds.
    Count {
        id: i64,
        to: u64,
        millis: u64,
        wanted: Wanted,
    },
    /// `mgp/stream/cancel`, for one of the calls or none.
    Stop {
        id: i64,
        of: i64,
    },
    /// `notifications/cancelled`.
    TakeBack {
        of: i64,
    },
    /// So many chunks a second; none at all stop the stream.
    Pace {
        of: i64,
        per_second: u32,
    },
    /// These chunks did not arrive.
    Miss {
        of: i64,
        from: u64,
        to: u64,
    },
    /// A check that the server is alive.
    Ping {
        id: i64,
    },
    /// Events of calls that end.
    Subscribe {
        id: i64,
    },
    Odd {
        id: i64,
        what: Odd,
    },
    /// The client reads nothing for this time.
    StopReading(Duration),
}

/// The wish of a call for the form of its result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Wanted {
    InParts,
    AtOnce,
}

/// Messages that are of no use to a server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Odd {
    PaceIsText,
    PaceIsNegative,
    PaceOfNoCall,
    MissedIsText,
    MissedOfNoCall,
    MissedIsEverything,
    /// Stops a call that it does not name.
    StopsNothing,
    /// Stops something that is named by an object.
    StopsUnnamed,
    /// Answers a question that nobody asked.
    Responds,
    /// Asks for events of a subscription that is not its own.
    Replays,
    /// Streams to the server.
    Chunk,
    Garbage(Garbage),
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xB1 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let span = rng.pick(&[50, 300, 2000]);
        let mut times: Vec<_> = (0..rng.within(2..25)).map(|_| rng.millis(0..span)).collect();
        times.sort_unstable();
        let mut making = Making { calls: Vec::new(), next: 1, may_rest: rng.chance(20) };
        let moves: Vec<_> = times.into_iter().map(|at| (at, making.any(&mut rng))).collect();
        let at = if rng.chance(30) { rng.millis(0..span) } else { Duration::from_secs(15) };
        let moves = moves.into_iter().filter(|(moment, _)| *moment <= at).collect();
        let leaving =
            rng.pick(&[Leaving::CloseWrites, Leaving::CloseWrites, Leaving::Vanish, Leaving::Reset]);
        Self { seed, era, moves, leaving: (at, leaving) }
    }
}

/// The ids that are used up while a plan is made.
struct Making {
    calls: Vec<i64>,
    next: i64,
    may_rest: bool,
}

impl Making {
    fn any(&mut self, rng: &mut Rng) -> Move {
        match rng.within(0..20) {
            0..7 => {
                let id = self.fresh();
                self.calls.push(id);
                let wanted = if rng.chance(80) { Wanted::InParts } else { Wanted::AtOnce };
                let (to, millis) = (rng.pick(&[0, 1, 3, 10, 40, 40]), rng.pick(&[0, 1, 5, 50, 50]));
                Move::Count { id, to, millis, wanted }
            }
            7..10 => Move::Stop { id: self.fresh(), of: self.call(rng) },
            10 => Move::TakeBack { of: self.call(rng) },
            11..13 => Move::Pace { of: self.call(rng), per_second: rng.pick(&[0, 2, 20, 200, 2_000_000]) },
            13..15 => {
                let from = rng.within(0..4);
                Move::Miss { of: self.call(rng), from, to: from + rng.within(1..5) }
            }
            15 => Move::Ping { id: self.fresh() },
            16 => Move::Subscribe { id: self.fresh() },
            17 if self.may_rest => Move::StopReading(rng.millis(1..12_000)),
            _ => {
                let odd = rng.pick(ODD);
                let garbage = || Odd::Garbage(GARBAGE[usize::try_from(self.next).unwrap() % GARBAGE.len()]);
                let what = if rng.chance(30) { garbage() } else { odd };
                Move::Odd { id: self.fresh(), what }
            }
        }
    }

    fn fresh(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    /// Returns one of the calls, whether it is over or not; mostly the last one.
    fn call(&self, rng: &mut Rng) -> i64 {
        match self.calls.last() {
            None => 1_000_000,
            Some(last) if rng.chance(60) => *last,
            Some(_) => rng.pick(&self.calls),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}", self.seed, self.era.as_str())?;
        for (at, what) in &self.moves {
            writeln!(f, "  {at:?}: {what:?}")?;
        }
        writeln!(f, "  {:?}: {:?}", self.leaving.0, self.leaving.1)
    }
}

const ODD: &[Odd] = &[
    Odd::PaceIsText,
    Odd::PaceIsNegative,
    Odd::PaceOfNoCall,
    Odd::MissedIsText,
    Odd::MissedOfNoCall,
    Odd::MissedIsEverything,
    Odd::StopsNothing,
    Odd::StopsUnnamed,
    Odd::Responds,
    Odd::Replays,
    Odd::Chunk,
];
