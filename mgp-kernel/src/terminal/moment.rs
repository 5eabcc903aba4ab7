//! Times and spans of time on the command line.

use std::time::Duration;

use mgp_types::mgp::Timestamp;

/// Parses a time in the form of RFC 3339, or its distance from now, such as `90s`, `15m`, `2h` or `30d`, where spans lie
/// in the future.
pub(crate) fn ahead(text: &str) -> Result<Timestamp, String> {
    moment(text, |span| Timestamp::now().saturating_add(span))
}

/// Parses a time as [`ahead`] does, where spans lie in the past.
pub(crate) fn ago(text: &str) -> Result<Timestamp, String> {
    moment(text, |span| {
        let millis = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let now = Timestamp::now().as_millis();
        Timestamp::from_millis(now.saturating_sub(millis)).unwrap_or(Timestamp::EPOCH)
    })
}

fn moment(text: &str, away: impl FnOnce(Duration) -> Timestamp) -> Result<Timestamp, String> {
    text.parse().or_else(|_| span(text).map(away)).map_err(|_| {
        format!("`{text}` is neither a time like 2026-02-27T12:00:00Z nor a span like 15m, 2h or 30d")
    })
}

/// Parses a span of time; a number alone is in seconds.
pub(crate) fn span(text: &str) -> Result<Duration, String> {
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
    let span = millis.map(Duration::from_millis);
    span.ok_or_else(|| format!("`{text}` is not a span of time such as 500ms, 30s, 15m, 2h or 30d"))
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
            assert!(span(wrong).is_err() && ahead(wrong).is_err(), "{wrong}");
        }
        let day = Duration::from_hours(24);
        let (now, later, before) = (Timestamp::now(), ahead("1d").unwrap(), ago("1d").unwrap());
        assert!(later >= now.saturating_add(day) && before.saturating_add(day) >= now);
        assert!(before < now && later < now.saturating_add(day + Duration::from_mins(1)));
        let time = "2026-02-27T12:00:00Z";
        assert_eq!(
            (ahead(time).unwrap(), ago(time).unwrap()),
            (time.parse().unwrap(), time.parse().unwrap())
        );
    }
}
