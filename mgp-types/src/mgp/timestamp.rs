//! Moments in time, as MGP writes them.

use std::str::FromStr;
use std::time::Duration;

use crate::macros::text_traits;

/// A moment, to the millisecond; on the wire RFC 3339 in UTC, like `2026-02-27T12:00:00.000Z`.
///
/// Timestamps are compared as times, never as text: the same moment may be written with another offset.
///
/// ```
/// use mgp_types::mgp::Timestamp;
///
/// let noon: Timestamp = "2026-02-27T13:00:00+01:00".parse()?;
/// assert_eq!(noon.to_string(), "2026-02-27T12:00:00.000Z");
/// # Ok::<(), mgp_types::mgp::TimestampError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

/// The error of a text that is no RFC 3339 time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a time as in RFC 3339, like `2026-02-27T12:00:00Z`")]
pub struct TimestampError;

impl Timestamp {
    /// The beginning of 1970.
    pub const EPOCH: Self = Self(jiff::Timestamp::UNIX_EPOCH);

    /// Returns the current time of the system's clock.
    pub fn now() -> Self {
        Self::from_millis(jiff::Timestamp::now().as_millisecond()).unwrap_or(Self::EPOCH)
    }

    /// Returns the moment `millis` milliseconds after the beginning of 1970; `None` beyond the years -9999 to 9999.
    pub fn from_millis(millis: i64) -> Option<Self> {
        jiff::Timestamp::from_millisecond(millis).ok().map(Self)
    }

    /// Returns the milliseconds since the beginning of 1970.
    pub fn as_millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the moment `span` later, at most the end of the year 9999.
    pub fn saturating_add(self, span: Duration) -> Self {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        Self::from_millis(self.as_millis().saturating_add(millis)).unwrap_or(Self(jiff::Timestamp::MAX))
    }

    /// Returns the time from `earlier` to this moment; zero if this moment is before it.
    pub fn since(self, earlier: Self) -> Duration {
        let millis = self.as_millis().saturating_sub(earlier.as_millis());
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }
}

crate::write_as!(Display of Timestamp, self => "{:.3}", self.0);

impl FromStr for Timestamp {
    type Err = TimestampError;

    fn from_str(text: &str) -> Result<Self, TimestampError> {
        // RFC 3339 is narrower than the parser: it has a `T`, no weeks and no zone in brackets.
        let narrow = text.len() >= 20 && text.as_bytes()[10] | 0x20 == b't' && !text.contains('[');
        let time: jiff::Timestamp = if narrow { text.parse().ok() } else { None }.ok_or(TimestampError)?;
        Self::from_millis(time.as_millisecond()).ok_or(TimestampError)
    }
}

text_traits!(Timestamp: SerializeDisplay, DeserializeFromStr);

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-6.3-03
    #[test]
    fn a_time_is_written_in_utc_with_milliseconds() {
        let time = Timestamp::from_millis(1_772_193_600_000).unwrap();
        assert_eq!(serde_json::to_string(&time).unwrap(), r#""2026-02-27T12:00:00.000Z""#);
    }

    #[test]
    fn offsets_and_fractions_are_read_and_compared_as_time() {
        let utc: Timestamp = "2026-03-01T00:00:00Z".parse().unwrap();
        for same in ["2026-03-01T02:00:00+02:00", "2026-02-28T19:00:00-05:00", "2026-03-01t00:00:00.000000z"]
        {
            assert_eq!(same.parse::<Timestamp>().unwrap(), utc, "{same}");
        }
        assert!("2026-03-01T00:00:00.001Z".parse::<Timestamp>().unwrap() > utc);
        assert_eq!(utc.saturating_add(Duration::from_secs(1)).since(utc), Duration::from_secs(1));
        assert_eq!(utc.since(utc.saturating_add(Duration::from_secs(1))), Duration::ZERO);
    }

    #[test]
    fn what_is_no_rfc_3339_time_is_refused() {
        for text in [
            "", "2026-03-01", "2026-03-01 00:00:00Z", "2026-03-01T00:00:00", "tomorrow",
            "2026-13-01T00:00:00Z",
        ] {
            assert!(text.parse::<Timestamp>().is_err(), "{text}");
        }
    }
}
