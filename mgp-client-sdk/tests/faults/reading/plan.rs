//! The plan of a run with streamed results: the calls, their readers and the server.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;

use crate::rng::Rng;

/// Some calls whose results are streamed, how they are read, and what the server makes of them.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    pub(super) calls: Vec<Planned>,
    /// The time at which the server ends, from the beginning of the calls on.
    pub(super) crash: Option<Duration>,
}

#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// The call's own number, which its chunks and its answer repeat.
    pub(super) nonce: u64,
    pub(super) at: Duration,
    /// From one sign of life to the next.
    pub(super) timeout: Duration,
    pub(super) max_timeout: Duration,
    pub(super) reader: Reader,
    /// The steps of the server, each after a pause.
    pub(super) steps: Vec<(Duration, Step)>,
    pub(super) again: Again,
    pub(super) on_cancel: OnCancel,
}

/// The reader of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reader {
    Eager,
    /// So much time after each part.
    Slow(Duration),
    /// After so many parts nothing for a while.
    Stops(usize, Duration),
    /// After so many parts only the result is of interest.
    Finishes(usize),
    DropsAfter(Duration),
    CancelsAfter(Duration),
}

/// A step of the server in a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Chunk(u64),
    Progress,
    /// This chunk cannot be sent again.
    Lost(u64),
    Stray(Stray),
    /// The answer, with how many chunks were sent, if it says so.
    Answer(Option<u64>),
    Refuse,
}

/// A message that is no part of the call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Stray {
    /// A chunk of a call that never was.
    UnknownCall,
    /// A chunk of the call that ended last.
    FinishedCall,
    /// A chunk of a call that is still to come.
    FutureCall,
    NoCall,
    /// The call is named by a list.
    OddCall,
    TextIndex,
    NegativeIndex,
    NoContent,
    /// Something that is no list of numbers is lost.
    OddLoss,
    OddProgress,
}

/// The server's reaction to missed chunks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Again {
    Silent,
    Sends,
    Loses,
    /// Sends the first and loses the others.
    Half,
    /// Sends them twice, the last first.
    Twice,
}

/// The server's reaction to the stop of a call.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum OnCancel {
    /// Says so, and then answers the call.
    Stops,
    /// Answers the call first.
    AnswersFirst,
    NotActive,
    Unknown,
    Silent,
    Crashes,
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xA1 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let calls = (0..rng.within(1..6)).map(|nonce| Planned::any(nonce, &mut rng)).collect();
        let crash = rng.chance(25).then(|| rng.millis(0..3000));
        Self { seed, era, calls, crash }
    }
}

impl Planned {
    fn any(nonce: u64, rng: &mut Rng) -> Self {
        let reader = match rng.within(0..10) {
            0..4 => Reader::Eager,
            4 => Reader::Slow(rng.millis(1..200)),
            5 => Reader::Stops(usize::try_from(rng.within(0..5)).unwrap(), rng.millis(1..8000)),
            6 => Reader::Finishes(usize::try_from(rng.within(0..5)).unwrap()),
            7 => Reader::DropsAfter(rng.millis(0..1500)),
            _ => Reader::CancelsAfter(rng.millis(0..1500)),
        };
        let timeout = rng.pick(&[200, 1000, 5000, 60_000]);
        let again = [Again::Silent, Again::Sends, Again::Loses, Again::Half, Again::Twice];
        let on_cancel = [
            OnCancel::Stops,
            OnCancel::Stops,
            OnCancel::AnswersFirst,
            OnCancel::NotActive,
            OnCancel::Unknown,
            OnCancel::Silent,
            OnCancel::Crashes,
        ];
        Self {
            nonce,
            at: rng.millis(0..300),
            timeout: Duration::from_millis(timeout),
            max_timeout: Duration::from_millis(timeout * rng.pick(&[1, 3, 10])),
            reader,
            steps: steps(reader, rng),
            again: rng.pick(&again),
            on_cancel: rng.pick(&on_cancel),
        }
    }
}

/// Chunks in some order, some of them twice and some never, among other things.
fn steps(reader: Reader, rng: &mut Rng) -> Vec<(Duration, Step)> {
    let is_long = matches!(reader, Reader::Slow(_) | Reader::Stops(..)) && rng.chance(50);
    let sent = if is_long { rng.within(80..200) } else { rng.within(0..12) };
    let mut chunks: Vec<u64> = (0..sent).collect();
    let disorder = rng.pick(&[0, 0, 10, 40]);
    for place in 1..chunks.len() {
        if rng.chance(disorder) {
            let other = place.saturating_sub(usize::try_from(rng.within(1..4)).unwrap());
            chunks.swap(place, other);
        }
    }
    let loss = rng.pick(&[0, 0, 10, 50]);
    let mut what = Vec::new();
    for index in chunks {
        if rng.chance(loss) {
            continue;
        }
        what.push(Step::Chunk(index));
        match rng.within(0..20) {
            0 => what.push(Step::Chunk(rng.within(0..index + 1))),
            1 => what.push(Step::Progress),
            2 => what.push(Step::Lost(rng.within(0..sent + 2))),
            3..6 => what.push(Step::Stray(rng.pick(STRAYS))),
            _ => {}
        }
    }
    if rng.chance(3) {
        // Out of all reach.
        what.push(Step::Chunk(rng.pick(&[5000, 1 << 40, u64::MAX])));
    }
    match rng.within(0..12) {
        0 => {}
        1 => what.push(Step::Refuse),
        2 => what.push(Step::Answer(None)),
        3 => what.push(Step::Answer(Some(sent / 2))),
        4 => what.push(Step::Answer(Some(sent + 3))),
        _ => what.push(Step::Answer(Some(sent))),
    }
    if rng.chance(30) {
        what.extend([Step::Chunk(sent), Step::Chunk(0), Step::Lost(0)]);
    }
    let longest = rng.pick(&[1, 1, 30, 300, 2000]);
    what.into_iter().map(|step| (rng.millis(0..longest), step)).collect()
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}", self.seed, self.era.as_str())?;
        for call in &self.calls {
            writeln!(
                f,
                "  {:?}: call #{}, {:?} for each part, {:?} in all, read {:?}; server {:?}, if stopped {:?}",
                call.at, call.nonce, call.timeout, call.max_timeout, call.reader, call.again, call.on_cancel
            )?;
            for (after, step) in &call.steps {
                writeln!(f, "    after {after:?}: {step:?}")?;
            }
        }
        writeln!(f, "  the server ends: {:?}", self.crash)
    }
}

const STRAYS: &[Stray] = &[
    Stray::UnknownCall,
    Stray::FinishedCall,
    Stray::FutureCall,
    Stray::NoCall,
    Stray::OddCall,
    Stray::TextIndex,
    Stray::NegativeIndex,
    Stray::NoContent,
    Stray::OddLoss,
    Stray::OddProgress,
];
