//! The plan of a run with a supervisor: the connections, the orders and the calls.

use std::fmt;
use std::time::Duration;

use mgp_client_sdk::{RestartPolicy, RestartSettings};
use mgp_types::Revision;

use crate::rng::Rng;

/// The course of each connection to a server, with the orders and calls meanwhile.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) seed: u64,
    pub(super) era: Revision,
    pub(super) restarts: RestartSettings,
    /// The connections in order; further ones go well.
    pub(super) lives: Vec<Life>,
    pub(super) steps: Vec<(Duration, Step)>,
    /// True if the server is restarted in the end, until it goes well.
    pub(super) ends_well: bool,
}

/// The course of one connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Life {
    pub(super) greeting: Reception,
    pub(super) listing: Reception,
    pub(super) death: Option<(Duration, Death)>,
    /// The time that a call takes; `None` for ever.
    pub(super) calls: Option<Duration>,
}

/// The treatment of the first requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reception {
    Well(Duration),
    Hangs,
    Refuses,
    Garbage,
    Crash,
}

/// The end of a connection, after its first requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Death {
    Crash,
    /// The server says nothing more, and is there.
    CloseWrites,
    /// The connection answers nothing more.
    Hangs,
    /// A line that does not end.
    Garbles,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    Call { nonce: u64, timeout: Duration },
    Start,
    Restart,
    Stop(Duration),
}

impl Plan {
    pub(super) fn from_seed(seed: u64) -> Self {
        let mut rng = Rng::new(seed ^ 0x51 << 56);
        let era = rng.pick(&[Revision::V2025_11_25, Revision::V2026_07_28]);
        let mut restarts = RestartSettings::default();
        restarts.restart_policy = rng.pick(&[
            RestartPolicy::Always,
            RestartPolicy::OnFailure,
            RestartPolicy::OnFailure,
            RestartPolicy::Never,
        ]);
        restarts.max_restarts = u32::try_from(rng.within(0..6)).unwrap();
        restarts.restart_window_secs = rng.pick(&[1, 20, 300]);
        restarts.backoff_base_ms = rng.pick(&[0, 100, 1000]);
        restarts.backoff_max_ms = rng.pick(&[100, 5000]);
        let lives = (0..rng.within(0..8)).map(|_| Life::any(&mut rng)).collect();
        let span = rng.pick(&[2000, 20_000, 200_000]);
        let mut steps: Vec<_> =
            (0..rng.within(0..30)).map(|nonce| (rng.millis(0..span), Step::any(nonce, &mut rng))).collect();
        steps.push((Duration::ZERO, Step::Start));
        steps.sort_by_key(|(at, _)| *at);
        Self { seed, era, restarts, lives, steps, ends_well: rng.chance(60) }
    }
}

impl Life {
    fn any(rng: &mut Rng) -> Self {
        let longest = rng.pick(&[10, 1000, 60_000]);
        let death = [Death::Crash, Death::Crash, Death::CloseWrites, Death::Hangs, Death::Garbles];
        let calls = (!rng.chance(20)).then(|| rng.millis(0..500));
        Self {
            greeting: Reception::any(rng),
            listing: Reception::any(rng),
            death: Some((rng.millis(0..longest), rng.pick(&death))),
            calls,
        }
    }

    /// Returns a life in which nothing happens.
    pub(super) const fn long() -> Self {
        let well = Reception::Well(Duration::ZERO);
        Self { greeting: well, listing: well, death: None, calls: Some(Duration::ZERO) }
    }
}

impl Reception {
    fn any(rng: &mut Rng) -> Self {
        match rng.within(0..16) {
            0 => Self::Hangs,
            1 => Self::Refuses,
            2 => Self::Garbage,
            3 => Self::Crash,
            _ => Self::Well(rng.millis(0..50)),
        }
    }
}

impl Step {
    fn any(nonce: u64, rng: &mut Rng) -> Self {
        match rng.within(0..20) {
            0 => Self::Start,
            1 => Self::Restart,
            2 => Self::Stop(rng.millis(0..2000)),
            _ => Self::Call { nonce, timeout: Duration::from_millis(rng.pick(&[50, 1000, 10_000])) },
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {}, {:?}", self.seed, self.era.as_str(), self.restarts)?;
        for life in &self.lives {
            writeln!(f, "  {life:?}")?;
        }
        for (at, step) in &self.steps {
            writeln!(f, "  {at:?}: {step:?}")?;
        }
        writeln!(f, "  ends well: {}", self.ends_well)
    }
}
