//! The policy of restarts: whether and when a server that ended is started again.

use std::collections::VecDeque;
use std::time::Duration;

use mgp_types::mgp::RestartPolicy;
use serde::{Deserialize, Serialize};

use crate::span::share;

mgp_types::with_defaults! {
    /// The configuration of restarts (§11.5). Operators set it; the configuration is never negotiated. Default: the
    /// values of the specification's example.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[non_exhaustive]
    pub struct RestartSettings {
        /// The cases in which a server is started again.
        pub restart_policy: RestartPolicy = RestartPolicy::OnFailure,
        /// The number of restarts within the window; after that the server stays down. More than 4096 means no limit.
        pub max_restarts: u32 = 5,
        /// The length of the window in seconds.
        pub restart_window_secs: u64 = 300,
        /// The wait before the first restart of a window, in milliseconds; each further one waits twice as long.
        pub backoff_base_ms: u64 = 1000,
        /// The longest wait in milliseconds.
        pub backoff_max_ms: u64 = 30_000,
    }
}

/// The way in which a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it ended as it should, or it did not")]
pub enum ServerEnd {
    /// The server ended as it should.
    InOrder,
    /// The server ended in error.
    InError,
}

/// The decision about a server that ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RestartDecision {
    /// The server is started again after this time.
    Restart {
        /// The wait before the start.
        after: Duration,
    },
    /// The policy leaves the server stopped.
    Stay,
    /// The server was restarted too often within the window; the detail for the audit record is
    /// [`RestartSettings::LIMIT_EXCEEDED`].
    GiveUp,
}

impl RestartSettings {
    /// The reason in the event, and in the change of state, of a server that is given up (§11.5).
    pub const LIMIT_EXCEEDED: &'static str = "restart_limit_exceeded";
}

/// The restarts of one server within the window.
///
/// A restart counts whether it succeeds or not: the limit is for servers that connect and soon end again. Restarts are
/// forgotten with time only.
#[derive(Debug, Clone)]
pub(crate) struct Restarts {
    settings: RestartSettings,
    /// The times of the restarts in the window, oldest first; never more than `max_restarts` and [`MAX_COUNTED`].
    recent: VecDeque<Duration>,
}

/// The number of restarts that are counted. A limit that is meant as none must not fill the memory.
const MAX_COUNTED: usize = 4096;

/// The shortest wait. Settings without a wait must not let a server that ends at once take up a whole core.
const SHORTEST_WAIT: Duration = Duration::from_millis(10);

impl Restarts {
    /// Creates the record of a server without restarts.
    pub(crate) const fn new(settings: RestartSettings) -> Self {
        Self { settings, recent: VecDeque::new() }
    }

    /// Decides about a server that ended at `now`, the time since any fixed moment, and counts the restart.
    ///
    /// Servers that end together should not start together: half of the waiting time depends on `chance`, a random
    /// number.
    pub(crate) fn decide(&mut self, ended: ServerEnd, now: Duration, chance: u32) -> RestartDecision {
        let wanted = match self.settings.restart_policy {
            RestartPolicy::Never => false,
            RestartPolicy::OnFailure => ended == ServerEnd::InError,
            RestartPolicy::Always => true,
        };
        if !wanted {
            return RestartDecision::Stay;
        }
        let window = Duration::from_secs(self.settings.restart_window_secs);
        while self.recent.front().is_some_and(|then| now.saturating_sub(*then) >= window) {
            self.recent.pop_front();
        }
        let so_far = u32::try_from(self.recent.len()).unwrap_or(u32::MAX);
        if so_far >= self.settings.max_restarts {
            return RestartDecision::GiveUp;
        }
        if self.recent.len() >= MAX_COUNTED {
            self.recent.pop_front();
        }
        self.recent.push_back(now);
        RestartDecision::Restart { after: self.backoff(so_far, chance) }
    }

    /// Forgets the restarts so far, because a caller wants the server started whatever happened before.
    pub(crate) fn forget(&mut self) {
        self.recent.clear();
    }

    fn backoff(&self, so_far: u32, chance: u32) -> Duration {
        let doubled =
            self.settings.backoff_base_ms.saturating_mul(1u64.checked_shl(so_far).unwrap_or(u64::MAX));
        let longest = doubled.min(self.settings.backoff_max_ms);
        let half = Duration::from_millis(longest) / 2;
        half.saturating_add(share(half, chance)).max(SHORTEST_WAIT)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // covers: MGP-11.5-01, MGP-11.5-05..09
    #[test]
    fn the_settings_have_the_keys_of_the_specification() {
        let json = concat!(
            r#"{"restart_policy":"on_failure","max_restarts":5,"restart_window_secs":300,"#,
            r#""backoff_base_ms":1000,"backoff_max_ms":30000}"#
        );
        assert_eq!(serde_json::from_str::<RestartSettings>(json).unwrap(), RestartSettings::default());
        assert_eq!(serde_json::to_string(&RestartSettings::default()).unwrap(), json);
        assert!(serde_json::from_str::<RestartSettings>(r#"{"restart_policy":"sometimes"}"#).is_err());
    }

    #[test]
    fn what_is_forgotten_does_not_count() {
        let mut settings = RestartSettings { max_restarts: 1, ..RestartSettings::default() };
        (settings.backoff_base_ms, settings.backoff_max_ms) = (0, 0);
        let mut restarts = Restarts::new(settings);
        let first = restarts.decide(ServerEnd::InError, Duration::ZERO, 0);
        assert_eq!(
            first,
            RestartDecision::Restart { after: Duration::from_millis(10) },
            "there always is a wait"
        );
        assert_eq!(restarts.decide(ServerEnd::InError, Duration::ZERO, 0), RestartDecision::GiveUp);
        restarts.forget();
        assert_eq!(restarts.decide(ServerEnd::InError, Duration::ZERO, 0), first);
    }

    #[test]
    fn a_limit_that_is_none_takes_no_more_memory_each_time() {
        let mut settings = RestartSettings { max_restarts: u32::MAX, ..RestartSettings::default() };
        (settings.restart_policy, settings.restart_window_secs) = (RestartPolicy::Always, u64::MAX);
        let mut restarts = Restarts::new(settings);
        for number in 0..10_000 {
            let verdict = restarts.decide(ServerEnd::InError, Duration::from_millis(number), u32::MAX);
            assert!(matches!(verdict, RestartDecision::Restart { .. }));
        }
        assert_eq!(restarts.recent.len(), MAX_COUNTED);
    }

    proptest! {
        #[test]
        fn the_budget_holds_whatever_happens(
            steps in prop::collection::vec((any::<bool>(), 0u64..200_000, any::<u32>()), 0..60),
            max_restarts in 0u32..8,
            base in any::<u64>(),
        ) {
            let settings = RestartSettings {
                restart_policy: RestartPolicy::Always,
                max_restarts,
                backoff_base_ms: base,
                ..RestartSettings::default()
            };
            let mut restarts = Restarts::new(settings);
            let (mut now, mut started) = (Duration::ZERO, Vec::new());
            for (in_error, pause, chance) in steps {
                now += Duration::from_millis(pause);
                let ended = if in_error { ServerEnd::InError } else { ServerEnd::InOrder };
                if let RestartDecision::Restart { after } = restarts.decide(ended, now, chance) {
                    prop_assert!(after <= Duration::from_secs(30));
                    started.push(now);
                }
                let within = started.iter().filter(|then| now.saturating_sub(**then) < Duration::from_mins(5)).count();
                prop_assert!(within <= max_restarts as usize);
            }
        }
    }
}
