//! The plan of a run with a server that asks: its questions, and the client's treatment of them.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::rng::Rng;

/// The questions of a server, and the client's reactions.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    pub(super) questions: Vec<Question>,
    /// The time at which the call is answered that the questions are about.
    pub(super) answered: Duration,
    pub(super) ending: (Duration, Ending),
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Question {
    /// Also its place in the plan.
    pub(super) number: usize,
    /// The time at which it is asked, and asked again, from the beginning of the call on.
    pub(super) at: [Option<Duration>; 4],
    pub(super) shape: Shape,
    /// The time for which the server waits.
    pub(super) patience: Duration,
    /// The time for which the client thinks; `None` if it has no answer.
    pub(super) thinks: Option<Duration>,
    pub(super) acknowledged: Acknowledged,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Shape {
    Confirmation,
    /// Of a type that nobody knows.
    Unknown,
    /// The question needs no answer.
    Notification,
    /// Its id is taken by the question before it.
    SameId,
    NoId,
    LongId,
    OddId,
    /// About a call that never was.
    OtherCall,
    NoCall,
}

/// The server's acknowledgement of an answer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Acknowledged {
    Well,
    Refused,
    Never,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Ending {
    Closed,
    Dropped,
    Crash,
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xD1 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let count = usize::try_from(rng.within(1..8)).unwrap();
        let questions = (0..count).map(|number| Question::any(number, &mut rng)).collect();
        let at = if rng.chance(40) { rng.millis(0..3000) } else { Duration::from_mins(1) };
        let how = rng.pick(&[Ending::Closed, Ending::Dropped, Ending::Crash]);
        Self { seed, era, questions, answered: rng.millis(0..6000), ending: (at, how) }
    }
}

impl Question {
    fn any(number: usize, rng: &mut Rng) -> Self {
        let mut at = [None; 4];
        let mut time = rng.millis(0..1000);
        for place in &mut at[..usize::try_from(rng.within(1..5)).unwrap()] {
            *place = Some(time);
            time += rng.pick(&[0, 1, 200, 5000].map(Duration::from_millis));
        }
        let thinks = (!rng.chance(15)).then(|| rng.pick(&[0, 0, 1, 100, 2000, 20_000]));
        Self {
            number,
            at,
            shape: if rng.chance(60) { Shape::Confirmation } else { rng.pick(SHAPES) },
            patience: Duration::from_millis(rng.pick(&[50, 1000, 10_000])),
            thinks: thinks.map(Duration::from_millis),
            acknowledged: rng.pick(&[
                Acknowledged::Well,
                Acknowledged::Well,
                Acknowledged::Refused,
                Acknowledged::Never,
            ]),
        }
    }

    /// Returns the times of the question.
    pub(super) fn times(&self) -> impl Iterator<Item = Duration> {
        self.at.into_iter().flatten()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "seed {}, {}, the call is answered after {:?}",
            self.seed,
            self.era.as_str(),
            self.answered
        )?;
        for question in &self.questions {
            writeln!(f, "  {question:?}")?;
        }
        writeln!(f, "  {:?}: {:?}", self.ending.0, self.ending.1)
    }
}

const SHAPES: &[Shape] = &[
    Shape::Unknown,
    Shape::Notification,
    Shape::SameId,
    Shape::NoId,
    Shape::LongId,
    Shape::OddId,
    Shape::OtherCall,
    Shape::NoCall,
];
