//! The pictures of a day: a bar for each hour, which leads to its events.

use maud::{Markup, html};

use crate::admin::audit::HourCount;

/// A bar of a picture: its height and that of its marked part, in any unit, and what it says.
type Bar = (u64, u64, String);

/// Returns the picture of the events of a day, in which those that are no success are marked. `path` is the beginning of the
/// addresses to which its bars lead.
pub(super) fn events(hours: &[HourCount], path: &str) -> Markup {
    picture("The newest events of the last day, by hour", "bad", hours, path, |hour| {
        let (whole, marked) = (hour.events, hour.failed);
        let text = format!("{}: {whole} events, {marked} of them no success", hour.since);
        (whole > 0).then_some((whole, marked, text))
    })
}

/// Returns the picture of the times that calls took in a day, in which those of the faster half are marked.
pub(super) fn times(hours: &[HourCount], path: &str) -> Markup {
    picture("The times of calls of the last day, by hour", "half", hours, path, |hour| {
        let (half, most) = (hour.p50_ms?, hour.p95_ms?);
        let text = format!("{}: half within {half} ms, 95 % within {most} ms", hour.since);
        // A call that took no time is a call.
        Some((most.max(1), half, text))
    })
}

fn picture(
    label: &str,
    mark: &str,
    hours: &[HourCount],
    path: &str,
    bar: impl Fn(&HourCount) -> Option<Bar>,
) -> Markup {
    let bars: Vec<_> =
        hours.iter().enumerate().filter_map(|(place, hour)| Some((place, hour, bar(hour)?))).collect();
    let most = bars.iter().map(|(_, _, (whole, ..))| *whole).max().unwrap_or(1);
    let height = |value: u64| value.saturating_mul(HEIGHT).div_ceil(most);
    html! {
        svg.day viewBox={ "0 0 480 " (HEIGHT) } role="group" aria-label=(label) {
            @for (place, hour, (whole, marked, text)) in &bars {
                @let (whole, marked) = (height(*whole), height(*marked));
                a href={ (path) "since=" (hour.since) "&until=" (hour.until) } aria-label=(text) {
                    title { (text) }
                    rect.bar x=(place * 20 + 2) y=(HEIGHT - whole) width="16" height=(whole) {}
                    rect class={ "bar " (mark) } x=(place * 20 + 2) y=(HEIGHT - marked) width="16" height=(marked) {}
                }
            }
        }
    }
}

/// The height of a picture.
const HEIGHT: u64 = 60;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::Timestamp;

    use super::*;

    fn hour(p50_ms: Option<u64>, p95_ms: Option<u64>) -> HourCount {
        let (since, until) = (Timestamp::EPOCH, Timestamp::from_millis(3_600_000).unwrap());
        HourCount { since, until, events: 4, failed: 1, p50_ms, p95_ms }
    }

    #[test]
    fn bars_are_as_high_as_what_they_stand_for_and_lead_to_it() {
        let shown = events(&[hour(None, None)], "/record?server_id=a&").into_string();
        let link =
            "/record?server_id=a&amp;since=1970-01-01T00:00:00.000Z&amp;until=1970-01-01T01:00:00.000Z";
        assert!(shown.contains(link), "{shown}");
        assert!(shown.contains(r#"height="60""#) && shown.contains(r#"height="15""#), "{shown}");
        assert!(!times(&[hour(None, None)], "/record?").into_string().contains("<rect"));
        // What a server says of itself may be any number.
        let odd = times(&[hour(Some(0), Some(0)), hour(Some(1), Some(i64::MAX.unsigned_abs()))], "/record?");
        assert_eq!(odd.into_string().matches("<a ").count(), 2);
    }
}
