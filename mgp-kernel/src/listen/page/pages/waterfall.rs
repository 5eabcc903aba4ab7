//! The picture of one chain of requests: its events on one axis of time.

use maud::{Markup, html};
use mgp_types::Object;
use mgp_types::mgp::AuditEvent;

use super::super::layout::{bar, table, visible};
use crate::admin::audit::EventRow;

/// Returns the picture of a chain: a row for each event, with a bar from its beginning to its end.
pub(super) fn waterfall(events: &[EventRow]) -> Markup {
    let mut spans: Vec<_> = events.iter().filter_map(EventSpan::of).collect();
    spans.sort_by_key(|span| span.begin);
    let start = spans.first().map_or(0, |span| span.begin);
    let after = |span: &EventSpan| (span.begin - start).unsigned_abs();
    let took = |span: &EventSpan| u64::from(span.took.unwrap_or_default());
    let whole = spans.iter().map(|span| after(span) + took(span)).max().unwrap_or_default();
    let row = |span: &EventSpan| {
        let EventSpan { seq, event: AuditEvent { event_type, details, .. }, .. } = span;
        html! {
            td {
                a href={ "#event-" (seq) } { (visible(event_type.as_str())) }
                @if details.contains("retry") { ": made again after a pause" }
                @if let Some(by) = details.text("approved_by") { ", approved by " (visible(&by)) }
            }
            td.number { (after(span)) " ms" }
            td.number { @if span.took.is_some() { (took(span)) " ms" } @else { "–" } }
            td { (bar(after(span), took(span), whole)) }
        }
    };
    let rows: Vec<_> = spans.iter().map(row).collect();
    table(&["Event", "Begins after", "Takes", "Time"], &rows, "There is no such chain of requests.")
}

/// An event with its place on the axis of time.
struct EventSpan {
    seq: u64,
    event: AuditEvent,
    /// The time at which it began, in milliseconds since 1970.
    begin: i64,
    /// The number of milliseconds that it took, where the record says so.
    took: Option<u32>,
}

impl EventSpan {
    /// Returns the place of an event; `None` if it cannot be read.
    fn of(row: &EventRow) -> Option<Self> {
        let event: AuditEvent = row.event.to().ok()?;
        let number = |of: &Object, name: &str| of.get(name)?.to::<u32>().ok();
        let duration = number(&event.details, "duration_ms");
        let pause = event.details.object("retry").and_then(|retry| number(&retry, "after_ms"));
        // A call is recorded when it ends, and a pause when it begins.
        let begin = event.timestamp.as_millis() - i64::from(duration.unwrap_or_default());
        Some(Self { seq: row.seq, event, begin, took: duration.or(pause) })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns the row of an event of one chain, at this second.
    fn row(seq: u64, second: u32, kind: &str, details: &serde_json::Value) -> EventRow {
        let event = json!({
            "timestamp": format!("2026-01-01T00:00:{second:02}.000Z"),
            "trace_id": "00000000-0000-0000-0000-000000000007",
            "event_type": kind,
            "actor": {"type": "agent", "id": "agent.x"},
            "target": {"server_id": "notes", "tool_name": "remove_note"},
            "result": "SUCCESS",
            "details": details,
        });
        serde_json::from_str(&json!({"seq": seq, "hash": "", "event": event}).to_string()).unwrap()
    }

    #[test]
    fn a_call_begins_before_what_happened_in_it() {
        let rows = [
            row(
                1,
                3,
                "TOOL_EXECUTED",
                &json!({"retry": {"attempt": 1, "max": 3, "after_ms": 500, "code": 1}}),
            ),
            row(2, 4, "PERMISSION_GRANTED", &json!({})),
            row(3, 5, "TOOL_EXECUTED", &json!({"duration_ms": 4_000, "approved_by": "<b>ada"})),
        ];
        let shown = waterfall(&rows).into_string();
        let place = |text: &str| shown.find(text).unwrap_or_else(|| panic!("{text}: {shown}"));
        assert!(place("#event-3") < place("#event-1") && place("#event-1") < place("#event-2"), "{shown}");
        assert!(place("approved by &lt;b&gt;ada") < place("2000 ms"), "{shown}");
        assert!(place("made again after a pause") < place("500 ms"), "{shown}");
        assert!(
            shown.contains(r#"x="0" width="1000""#) && shown.contains(r#"x="500" width="125""#),
            "{shown}"
        );
        assert!(shown.contains(r#"x="750" width="4""#) && !shown.contains("style"), "{shown}");
    }

    #[test]
    fn a_chain_without_events_is_told() {
        assert!(waterfall(&[]).into_string().contains("There is no such chain"));
    }
}
