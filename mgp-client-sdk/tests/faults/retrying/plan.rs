//! The plan of a run with layers that try again: its calls, and the outcome of each attempt.

use std::fmt;
use std::time::Duration;

use mgp_types::Revision;
use mgp_types::mgp::code;

use crate::rng::Rng;

/// Calls through layers that try again, and how each of their attempts goes.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    /// For each call in all.
    pub(super) deadline: Duration,
    pub(super) max_retries: u32,
    /// The number of calls that run at once.
    pub(super) places: usize,
    /// After how many calls the breaker may open, and for how long.
    pub(super) breaker: (u32, Duration),
    pub(super) attempt_timeout: Duration,
    pub(super) calls: Vec<Planned>,
}

#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) nonce: u64,
    pub(super) at: Duration,
    pub(super) tool: Tool,
    pub(super) dropped_after: Option<Duration>,
    /// The outcome of each attempt, with its delay; further ones are answered.
    pub(super) attempts: Vec<(Duration, Attempt)>,
}

/// The known facts about a tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Tool {
    /// The tool only reads.
    Safe,
    /// The tool changes something.
    Unsafe,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Attempt {
    Answer,
    Fail(Failure),
    Hang,
    Garbled,
    Crash,
}

/// An error of the server's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Failure {
    pub(super) code: i64,
    /// True if it may pass; `None` for an error that does not say anything.
    pub(super) retryable: Option<bool>,
    pub(super) after_ms: u64,
    pub(super) strategy: &'static str,
    pub(super) max_retries: Option<u32>,
}

impl Failure {
    /// Returns whether the code says that the tool did not run.
    pub(super) const fn is_refusal(self) -> bool {
        matches!(
            self.code,
            code::RATE_LIMITED | code::SERVER_RESTARTING | code::SERVER_DRAINING | code::ACCESS_DENIED
        )
    }
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0xF1 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let span = rng.pick(&[1, 500, 5000]);
        let trouble = rng.pick(&[20, 60, 95]);
        let calls = (0..rng.within(1..16)).map(|nonce| Planned {
            nonce,
            at: rng.millis(0..span),
            tool: rng.pick(&[Tool::Safe, Tool::Safe, Tool::Unsafe, Tool::Nothing]),
            dropped_after: rng.chance(10).then(|| rng.millis(0..1000)),
            attempts: (0..8).map(|_| (rng.millis(0..40), attempt(trouble, &mut rng))).collect(),
        });
        let calls = calls.collect();
        Self {
            seed,
            era,
            deadline: Duration::from_millis(rng.pick(&[100, 1000, 10_000, 60_000])),
            max_retries: u32::try_from(rng.within(0..6)).unwrap(),
            places: usize::try_from(rng.pick(&[1, 5, 100])).unwrap(),
            breaker: (rng.pick(&[3, 20, 1000]), rng.millis(50..2000)),
            attempt_timeout: Duration::from_millis(rng.pick(&[50, 500, 5000])),
            calls,
        }
    }
}

fn attempt(trouble: u64, rng: &mut Rng) -> Attempt {
    if !rng.chance(trouble) {
        return Attempt::Answer;
    }
    match rng.within(0..100) {
        0..70 => Attempt::Fail(Failure {
            code: rng.pick(CODES),
            retryable: rng.pick(&[Some(true), Some(true), Some(true), Some(false), None]),
            after_ms: rng.pick(&[0, 0, 1, 1, 30, 800, 100_000]),
            strategy: rng.pick(&["immediate", "fixed_delay", "exponential_backoff", "lunar"]),
            max_retries: rng.pick(&[None, Some(0), Some(1), Some(3), Some(1000)]),
        }),
        70..85 => Attempt::Hang,
        85..97 => Attempt::Garbled,
        _ => Attempt::Crash,
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, era, deadline, max_retries, places, breaker, attempt_timeout, calls } = self;
        writeln!(f, "seed {seed}, {}, {deadline:?} in all, {attempt_timeout:?} an attempt", era.as_str())?;
        writeln!(f, "  {max_retries} retries, {places} at once, the breaker: {breaker:?}")?;
        for call in calls {
            writeln!(
                f,
                "  {:?}: call #{} of a tool that is {:?}, dropped after {:?}",
                call.at, call.nonce, call.tool, call.dropped_after
            )?;
            for (after, attempt) in &call.attempts {
                writeln!(f, "    after {after:?}: {attempt:?}")?;
            }
        }
        Ok(())
    }
}

const CODES: &[i64] = &[
    code::RATE_LIMITED,
    code::RATE_LIMITED,
    code::SERVER_RESTARTING,
    code::SERVER_DRAINING,
    code::ACCESS_DENIED,
    code::RESOURCE_EXHAUSTED,
    code::UPSTREAM_ERROR,
    code::TIMEOUT,
    -32603,
];
