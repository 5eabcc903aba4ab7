//! The time for which answers are waited for, the same on all sides.

use std::time::Duration;

use mgp_types::mgp::CallbackRequest;

pub(super) const USUAL: Duration = Duration::from_mins(1);

/// Returns the time that the asking server waits.
///
/// A server that names no time is taken to wait as long as most do. The same holds for 0: no user can answer in no
/// time, and some servers write 0 for no limit. The time of a callback that needs no answer means nothing.
pub(super) fn of(asked: &CallbackRequest) -> Duration {
    let millis = asked.timeout_ms.filter(|millis| *millis > 0 && asked.callback_type.wants_answer());
    millis.map_or(USUAL, |millis| within_bounds(Duration::from_millis(millis)))
}

const LONGEST: Duration = Duration::from_hours(24);
const SHORTEST: Duration = Duration::from_millis(1);

/// Returns `wait` bounded to a time that a peer can be told in whole milliseconds, and that clocks can bear.
pub(super) fn within_bounds(wait: Duration) -> Duration {
    wait.clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::CallbackType;

    use super::*;

    // covers: MGP-13.4-08
    #[test]
    fn every_time_that_a_server_can_name_is_one_that_can_be_waited_for() {
        let asked = |kind: &str| CallbackRequest::new("a", CallbackType::from(kind), "?");
        for (millis, expected) in
            [(0, USUAL), (1, SHORTEST), (7000, Duration::from_secs(7)), (u64::MAX, LONGEST)]
        {
            assert_eq!(of(&asked("input").with_timeout_ms(millis)), expected, "{millis}");
        }
        assert_eq!(of(&asked("input")), USUAL);
        assert_eq!(of(&asked("notification").with_timeout_ms(1)), USUAL);
        assert_eq!(within_bounds(Duration::MAX), LONGEST);
        assert_eq!(within_bounds(Duration::ZERO), SHORTEST);
    }
}
