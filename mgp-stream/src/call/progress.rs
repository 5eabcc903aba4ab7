//! The progress of a call, and the notifications that carry it.

use std::time::Duration;

use mgp_types::Session;
use mgp_types::mgp::{Extension, StreamProgress};

use crate::session::negotiated;

/// The share of a call that is done, from 0 to 1.
///
/// ```
/// use std::time::Duration;
///
/// use mgp_stream::call::Progress;
///
/// let progress = Progress::of(13.0, Some(20.0)).expect("the whole is known");
/// let report = progress.report(Some("Processing batch 13/20"), Duration::from_secs(13));
/// assert_eq!((report.progress, report.estimated_remaining_ms), (0.65, Some(7000)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress(f64);

impl Progress {
    /// Returns whether calls in `session` are reported by `notifications/mgp.stream.progress` (§12.6), beside the
    /// notification of MCP for those that sent a token.
    pub fn is_known_to(session: &Session) -> bool {
        let has = |extension| negotiated(Some(session), extension);
        has(&Extension::Progress) || has(&Extension::Streaming)
    }

    /// Returns `progress` as a share of `total`. Without a total, `progress` has to be a share below 1 itself: from 1
    /// on it can as well be a count.
    pub fn of(progress: f64, total: Option<f64>) -> Option<Self> {
        let fraction = match total {
            Some(total) if total > 0.0 => progress / total,
            None if progress < 1.0 => progress,
            Some(_) | None => return None,
        };
        (fraction >= 0.0).then(|| Self(fraction.min(1.0)))
    }

    /// Returns the share, from 0 to 1.
    pub const fn fraction(self) -> f64 {
        self.0
    }

    /// Returns the time that the rest takes if the call goes on as it did in the time `elapsed`; `None` at the very
    /// beginning.
    pub fn remaining(self, elapsed: Duration) -> Option<Duration> {
        if self.0 <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(elapsed.as_secs_f64() * (1.0 - self.0) / self.0).ok()
    }

    /// Returns the report about a call that has run for `elapsed`.
    pub fn report(self, message: Option<&str>, elapsed: Duration) -> StreamProgress {
        let mut report = StreamProgress::new(self.0);
        report.message = message.map(Into::into);
        report.estimated_remaining_ms = self.remaining(elapsed).map(|remaining| {
            let millis = (remaining + Duration::from_micros(500)).as_millis();
            u64::try_from(millis).unwrap_or(u64::MAX)
        });
        report
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Revision;

    use super::*;
    use crate::doubles;

    fn session(names: &[&str]) -> Session {
        doubles::session(Revision::LATEST, names)
    }

    // covers: MGP-12.6-01
    #[test]
    fn each_caller_is_told_in_the_forms_it_knows() {
        for names in [&["streaming"][..], &["progress"]] {
            assert!(Progress::is_known_to(&session(names)), "{names:?}");
        }
        for names in [&["audit"][..], &[]] {
            assert!(!Progress::is_known_to(&session(names)), "{names:?}");
        }
    }

    // covers: MGP-12.6-03, MGP-12.6-05
    #[test]
    fn what_is_done_is_a_part_and_tells_the_rest() {
        let part = |progress, total| Progress::of(progress, total).map(Progress::fraction);
        assert_eq!(part(5.0, Some(20.0)), Some(0.25));
        assert_eq!(part(30.0, Some(20.0)), Some(1.0));
        assert_eq!(part(0.5, None), Some(0.5));
        for (progress, total) in [
            (3.0, None),
            (1.0, None),
            (-1.0, None),
            (1.0, Some(0.0)),
            (1.0, Some(-4.0)),
            (1.0, Some(f64::NAN)),
            (f64::NAN, Some(1.0)),
            (f64::NAN, None),
            (f64::INFINITY, Some(f64::INFINITY)),
        ] {
            assert_eq!(part(progress, total), None, "{progress} {total:?}");
        }
        let quarter = Progress::of(1.0, Some(4.0)).unwrap();
        assert_eq!(quarter.remaining(Duration::from_secs(2)), Some(Duration::from_secs(6)));
        assert_eq!(Progress::of(0.0, None).unwrap().remaining(Duration::from_secs(2)), None);
        assert_eq!(Progress::of(1e-300, None).unwrap().remaining(Duration::from_secs(2)), None);
        assert_eq!(Progress::of(4.0, Some(4.0)).unwrap().remaining(Duration::MAX), Some(Duration::ZERO));
    }
}
