//! The plan of a run with a tool that asks: its calls, and the answers of its client.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::guest::Leaving;
use crate::rng::Rng;

/// Calls of a tool that asks, and how its client answers.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    pub(super) calls: Vec<Planned>,
    pub(super) leaving: (Duration, Leaving),
}

#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) nonce: u64,
    pub(super) at: Duration,
    /// The time for which the tool waits for its answer.
    pub(super) patience: Duration,
    /// The answers, each with its delay after the question, the first or a repeated one.
    pub(super) answers: Vec<Answer>,
    /// The time at which the call is taken back, after it was made.
    pub(super) taken_back: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Answer {
    /// The number of the repetition that is answered, from 0 on.
    pub(super) to: usize,
    pub(super) after: Duration,
    pub(super) what: What,
}

/// The kinds of answers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum What {
    First,
    Second,
    /// None of the options.
    Unfit,
    /// An option of another question.
    OfOther,
    /// The user says nothing.
    Null,
    /// The right thing, by another client.
    ByOther,
    /// The right thing, of a question that nobody asked.
    UnknownId,
    /// No id.
    NoId,
    /// No response.
    NoResponse,
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xC1 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let calls = (0..rng.within(1..6)).map(|nonce| Planned::any(nonce, &mut rng)).collect();
        let at = if rng.chance(25) { rng.millis(1..9000) } else { Duration::from_secs(50) };
        let leaving = (at, rng.pick(&[Leaving::CloseWrites, Leaving::Vanish, Leaving::Reset]));
        Self { seed, era, calls, leaving }
    }
}

impl Planned {
    fn any(nonce: u64, rng: &mut Rng) -> Self {
        let answers = (0..rng.within(0..4)).map(|_| {
            let longest = rng.pick(&[10, 500, 4000, 20_000]);
            let to = if rng.chance(70) { 0 } else { usize::try_from(rng.within(1..4)).unwrap() };
            Answer { to, after: rng.millis(0..longest), what: rng.pick(WHAT) }
        });
        let answers = answers.collect();
        Self {
            nonce,
            at: rng.millis(0..500),
            patience: Duration::from_millis(rng.pick(&[50, 1000, 8000, 30_000])),
            answers,
            taken_back: rng.chance(15).then(|| rng.millis(0..8000)),
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}", self.seed, self.era.as_str())?;
        for call in &self.calls {
            writeln!(f, "  {call:?}")?;
        }
        writeln!(f, "  {:?}: {:?}", self.leaving.0, self.leaving.1)
    }
}

const WHAT: &[What] = &[
    What::First,
    What::First,
    What::First,
    What::Second,
    What::Unfit,
    What::OfOther,
    What::Null,
    What::ByOther,
    What::UnknownId,
    What::NoId,
    What::NoResponse,
];
