//! The schedule of probes, and the judgement of their answers.

use std::num::NonZeroU32;
use std::time::Duration;

use mgp_types::mgp::HealthStatus;

use crate::random_source::share;
use crate::span::LONGEST;

/// The settings of probes: when they are sent, and when a server counts as down.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProbeSettings {
    /// The time between probes.
    pub interval: Duration,
    /// The time for an answer; the specification gives servers 5 seconds (§11.3).
    pub answer_within: Duration,
    /// The number of missing answers in a row after which a server is down.
    pub misses: NonZeroU32,
    /// The time until the next probe, where an answer is missing and the server has no call that keeps it busy, or cannot be
    /// reached at all; the usual time if left out. With it, a server that works on calls has 30 seconds until the next probe.
    pub recheck: Option<Duration>,
}

impl Default for ProbeSettings {
    /// Returns a probe every 30 seconds, with three missing answers.
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(30),
            answer_within: Duration::from_secs(5),
            misses: const { NonZeroU32::new(3).expect("is not zero") },
            recheck: None,
        }
    }
}

impl ProbeSettings {
    /// Returns the settings for a server whose end nobody reports, such as one behind a URL: one that is away is noticed
    /// within 15 seconds.
    pub fn remote() -> Self {
        Self {
            interval: Duration::from_secs(7),
            answer_within: Duration::from_millis(2500),
            misses: const { NonZeroU32::new(2).expect("is not zero") },
            recheck: Some(Duration::from_millis(250)),
        }
    }

    /// Returns the wait before the first probe; `chance` is a random number.
    pub(super) fn first(&self, chance: u32) -> Duration {
        share(self.interval.min(LONGEST), chance).max(SHORTEST_WAIT)
    }

    /// Returns the wait after a probe, varied by `chance`, a random number.
    pub(super) fn next(&self, chance: u32) -> Duration {
        let fifth = self.interval.min(LONGEST) / 5;
        (fifth * 4 + share(fifth * 2, chance)).max(SHORTEST_WAIT)
    }

    /// Returns the wait after a missing answer; `None` for the usual one.
    pub(super) fn after_a_miss(&self, beat: ProbeResult, calls: u64) -> Option<Duration> {
        match beat {
            ProbeResult::Unreachable => self.recheck,
            ProbeResult::Missed if calls == 0 => self.recheck,
            ProbeResult::Missed => self.recheck.map(|_| BUSY),
            ProbeResult::Answered(_) | ProbeResult::NotAsked => None,
        }
    }
}

/// The wait after a missing answer of a server that works on calls, and may do one thing at a time.
const BUSY: Duration = Duration::from_secs(30);

/// The shortest wait: an interval of zero must not become a busy loop.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

/// The result of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "an answer came, or did not, or nobody was asked")]
pub enum ProbeResult {
    /// The server answered with this health.
    Answered(HealthStatus),
    /// No answer came in time.
    Missed,
    /// The server could not be reached.
    Unreachable,
    /// The server was not asked, so that its health is unknown.
    NotAsked,
}

/// The health of a server, as far as is known here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "what a server can say of itself, and what it cannot")]
pub enum ServerHealth {
    /// The server was not asked yet, or is not connected.
    #[default]
    Unknown,
    /// The server reported this health. An answer that came too late, or not at all, makes it at least degraded.
    Known(HealthStatus),
    /// The server has not answered for too long, and was ended; the state stays until there is another incarnation.
    Down,
}

/// The judgement of a server by its answers, as a value without a clock.
///
/// Only silence makes a server down. A server that reports itself unhealthy still answers: the kernel reports that, and
/// does not restart the server, because it knows best whether that would help, and may be working for others.
#[derive(Debug, Clone)]
pub(super) struct HealthTracker {
    limit: NonZeroU32,
    missed: u32,
    health: ServerHealth,
}

impl HealthTracker {
    /// Creates a judgement without answers; `misses` missing answers in a row are too many.
    pub(super) const fn new(misses: NonZeroU32) -> Self {
        Self { limit: misses, missed: 0, health: ServerHealth::Unknown }
    }

    /// Returns whether the last probe was answered, or none was sent yet.
    pub(super) const fn is_well(&self) -> bool {
        self.missed == 0
    }

    /// Returns the health of the server after this probe.
    pub(super) fn judge(&mut self, beat: ProbeResult) -> ServerHealth {
        match beat {
            ProbeResult::Answered(status) => {
                self.missed = 0;
                self.health = ServerHealth::Known(status);
            }
            ProbeResult::Missed | ProbeResult::Unreachable => {
                self.missed = self.missed.saturating_add(1);
                self.health = if self.missed >= self.limit.get() {
                    ServerHealth::Down
                } else if self.health == ServerHealth::Known(HealthStatus::Unhealthy) {
                    self.health
                } else {
                    ServerHealth::Known(HealthStatus::Degraded)
                };
            }
            ProbeResult::NotAsked => {}
        }
        self.health
    }
}

#[cfg(test)]
mod tests {
    use HealthStatus::{Degraded, Healthy, Unhealthy};

    use super::*;

    fn health_after(beats: &[ProbeResult]) -> ServerHealth {
        let mut pulse = HealthTracker::new(NonZeroU32::new(3).unwrap());
        beats.iter().map(|beat| pulse.judge(*beat)).last().unwrap_or_default()
    }

    // covers: MGP-11.3-02, MGP-11.3-08..10
    #[test]
    fn silence_degrades_at_once_and_is_death_only_in_a_row() {
        use ProbeResult::{Answered, Missed, NotAsked, Unreachable};
        for (beats, expected) in [
            (vec![], ServerHealth::Unknown),
            (vec![NotAsked], ServerHealth::Unknown),
            (vec![Answered(Healthy)], ServerHealth::Known(Healthy)),
            (vec![Answered(Healthy), Missed], ServerHealth::Known(Degraded)),
            (vec![Answered(Unhealthy), Missed], ServerHealth::Known(Unhealthy)),
            (vec![Missed, Missed], ServerHealth::Known(Degraded)),
            (vec![Missed, Missed, Answered(Healthy), Missed, Missed], ServerHealth::Known(Degraded)),
            (vec![Missed, NotAsked, Missed, Missed], ServerHealth::Down),
            (vec![Missed, Unreachable, Unreachable], ServerHealth::Down),
            (vec![Answered(Unhealthy); 9], ServerHealth::Known(Unhealthy)),
        ] {
            assert_eq!(health_after(&beats), expected, "{beats:?}");
        }
    }
}
