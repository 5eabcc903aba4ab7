//! Times and spans of time on the command line.

use std::time::Duration;

use mgp_types::mgp::Timestamp;

/// A moment on the command line: a time in the form of RFC 3339, or its distance from now, such as `90s`, `15m`, `2h`
/// or `30d`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Moment {
    At(Timestamp),
    Away(Duration),
}

impl Moment {
    /// Returns the moment as a time, where spans lie in the future.
    pub(super) fn ahead(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Away(span) => now.saturating_add(span),
        }
    }

    /// Returns the moment as a time, where spans lie in the past.
    pub(super) fn ago(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Away(span) => {
                let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
                Timestamp::from_millis(now.as_millis().saturating_sub(millis)).unwrap_or(Timestamp::EPOCH)
            }
        }
    }
}

/// Parses a moment.
pub(super) fn moment(text: &str) -> Result<Moment, String> {
    if let Ok(time) = text.parse() {
        return Ok(Moment::At(time));
    }
    span(text).map(Moment::Away).map_err(|_| {
        format!("`{text}` is neither a time like 2026-02-27T12:00:00Z nor a span like 15m, 2h or 30d")
    })
}

/// Parses a span of time; a number alone is in seconds.
pub(super) fn span(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: Option<u64> = match &text[digits.len()..] {
        "ms" => Some(1),
        "" | "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let millis = unit.zip(digits.parse::<u64>().ok()).and_then(|(unit, count)| unit.checked_mul(count));
    millis
        .map(Duration::from_millis)
        .ok_or_else(|| format!("`{text}` is not a span of time such as 500ms, 30s, 15m, 2h or 30d"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_times_or_spans() {
        assert_eq!(span("90").unwrap(), Duration::from_secs(90));
        assert_eq!(span("500ms").unwrap(), Duration::from_millis(500));
        assert_eq!(span("2h").unwrap(), Duration::from_hours(2));
        for wrong in ["", "h", "-1s", "1w", "99999999999999999999s", "18446744073709551615d", "1é"] {
            assert!(span(wrong).is_err(), "{wrong}");
        }
        let now: Timestamp = "2026-02-27T12:00:00Z".parse().unwrap();
        assert_eq!(moment("1d").unwrap().ago(now).to_string(), "2026-02-26T12:00:00.000Z");
        assert_eq!(moment("1d").unwrap().ahead(now).to_string(), "2026-02-28T12:00:00.000Z");
        assert_eq!(moment("2026-02-27T12:00:00Z").unwrap().ahead(Timestamp::EPOCH), now);
    }
}
