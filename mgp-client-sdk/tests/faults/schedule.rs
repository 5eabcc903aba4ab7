//! The schedule of one run on both sides, which follows from its seed.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::rng::Rng;
use crate::turn::{Act, Turn};

/// Everything that happens in one run, on both sides. It follows from its seed alone.
#[derive(Debug, Clone)]
pub(crate) struct Schedule {
    pub(crate) seed: u64,
    pub(crate) era: Revision,
    /// The number of clients that the one server has.
    pub(crate) sessions: usize,
    pub(crate) calls: Vec<Planned>,
    /// The sessions that listen for changes.
    pub(crate) listening: Vec<usize>,
    pub(crate) ending: Ending,
    /// The treatment of the requests of each handshake; further ones are answered.
    pub(crate) opening: Vec<Turn>,
}

/// A call: the act of the client, and the server's treatment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Planned {
    /// The call's own number, which its answer has to repeat.
    pub(crate) nonce: u64,
    pub(crate) session: usize,
    pub(crate) at: Duration,
    pub(crate) deadline: Duration,
    pub(crate) dropped_after: Option<Duration>,
    pub(crate) turn: Turn,
}

/// The end of the clients.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ending {
    pub(crate) at: Duration,
    pub(crate) how: HowEnded,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum HowEnded {
    Closed,
    Dropped,
}

/// The kinds of trouble that the server makes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Family {
    /// The stream stays whole; what comes over it is odd, late, or not asked for.
    Answers,
    /// Bytes that are no messages.
    Garbage,
    /// The stream breaks.
    Breaks,
    /// Several clients at once, and everything of the above.
    Sessions,
    /// The handshake is treated as calls are in the others.
    Openings,
}

impl Schedule {
    pub(crate) fn from_seed(family: Family, seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ (family as u64) << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let sessions = match family {
            Family::Sessions => rng.within(2..5),
            _ => 1,
        };
        let calls = match family {
            Family::Openings => rng.within(1..3),
            _ => rng.within(1..6 + 6 * sessions),
        };
        let calls = (0..calls).map(|nonce| Planned {
            nonce,
            session: usize::try_from(rng.within(0..sessions)).unwrap(),
            at: rng.millis(0..300),
            deadline: Duration::from_millis(rng.pick(&[50, 200, 1000, 60_000])),
            dropped_after: rng.chance(15).then(|| rng.millis(0..200)),
            turn: Turn { after: after(&mut rng), act: family.act(&mut rng) },
        });
        let calls = calls.collect();
        let opening = match family {
            Family::Openings => {
                (0..6).map(|_| Turn { after: after(&mut rng), act: Act::any(&mut rng) }).collect()
            }
            _ => Vec::new(),
        };
        let sessions = usize::try_from(sessions).unwrap();
        let listening = (0..sessions).filter(|_| rng.chance(40)).collect();
        let at = if rng.chance(30) { rng.millis(0..400) } else { Duration::from_mins(2) };
        let ending = Ending { at, how: rng.pick(&[HowEnded::Closed, HowEnded::Dropped]) };
        Self { seed, era, sessions, calls, listening, ending, opening }
    }
}

impl Family {
    fn act(self, rng: &mut Rng) -> Act {
        match self {
            Self::Answers | Self::Openings => Act::orderly(rng),
            Self::Garbage => Act::garbled(rng),
            Self::Breaks => Act::breaking(rng),
            Self::Sessions => Act::any(rng),
        }
    }
}

fn after(rng: &mut Rng) -> Duration {
    let longest = rng.pick(&[1, 1, 10, 100, 500, 3000]);
    rng.millis(0..longest)
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}, {} session(s)", self.seed, self.era.as_str(), self.sessions)?;
        for (number, turn) in self.opening.iter().enumerate() {
            writeln!(f, "  handshake request {number}: after {:?}: {:?}", turn.after, turn.act)?;
        }
        if !self.listening.is_empty() {
            writeln!(f, "  listening: {:?}", self.listening)?;
        }
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_by_key(|call| call.at);
        for call in calls {
            let Planned { nonce, session, at, deadline, dropped_after, turn } = call;
            write!(f, "  {at:?}: session {session} calls #{nonce}, for at most {deadline:?}")?;
            if let Some(after) = dropped_after {
                write!(f, ", dropped after {after:?}")?;
            }
            writeln!(f, "; server after {:?}: {:?}", turn.after, turn.act)?;
        }
        writeln!(f, "  {:?}: clients {:?}", self.ending.at, self.ending.how)
    }
}

#[test]
fn the_same_seed_gives_the_same_schedule() {
    for seed in 0..50 {
        let describe = || Schedule::from_seed(Family::Sessions, seed).to_string();
        assert_eq!(describe(), describe());
        assert_ne!(describe(), Schedule::from_seed(Family::Sessions, seed + 1000).to_string());
    }
}
