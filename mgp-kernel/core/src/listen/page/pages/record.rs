//! The record: what happened, filtered by an address, whether it is as it was written, and what is missing.

use std::borrow::Cow;

use maud::{Markup, html};
use mgp_security::audit::{GAP, KERNEL_LOST, PRUNED};
use mgp_types::mgp::AuditEvent;
use mgp_types::{Error, Object};

use super::super::form::Form;
use super::super::layout::{Page, bar, block, field, moment, more, segment, table, visible};
use super::super::page_client::PageClient;
use super::super::plot;
use crate::admin::audit::{CountEvents, EventRow, QueryEvents, ReadLogEnd, VerifyLog};
use crate::terminal::word_of;

pub(super) async fn page(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let wanted: QueryEvents = query.to()?;
    let is_of_one_chain = query.get("trace_id").is_some();
    let wanted = QueryEvents { limit: wanted.limit.or(Some(ROWS)), oldest_first: is_of_one_chain, ..wanted };
    let found = client.ask(&wanted).await?;
    let end = client.ask(&ReadLogEnd {}).await?;
    let verified = match query.get("_verify") {
        Some(_) => Some(client.ask(&VerifyLog::default()).await?),
        None => None,
    };
    let gaps = segment(&format!(r#"["{GAP}","{KERNEL_LOST}","{PRUNED}"]"#));
    let filter = |name: &str, label: &str| {
        field(label, &html! { input name=(name) value=(query.get(name).unwrap_or_default()); })
    };
    let body = html! {
        div #day data-live { (plot::events(&client.ask(&CountEvents::default()).await?.hours, "/record?")) }
        form.row action="/record" {
            (filter("agent_id", "Agent")) (filter("server_id", "Server")) (filter("result", "Result"))
            (filter("trace_id", "Chain of requests"))
            button { "Filter" }
        }
        p.faint {
            "The record ends at " code { (end.seq) ":" (end.hash) } ". " a href="/record?_verify=1" { "Verify it now" }
            ". " a href={ "/record?event_types:json=" (gaps) } { "What is missing from it" }
            ". " a href={ "/record/export?" (query.to_query()) } download { "Download what fits the filter" }
        }
        @if let Some(verified) = verified {
            @if verified.intact {
                p.notice { "Nobody changed it: " (verified.events.unwrap_or_default()) " events were checked." }
            } @else {
                p.notice.bad role="alert" {
                    "It was changed"
                    @if let Some(at) = verified.changed_at {
                        " at the event " a href={ "/record?here:json=true&behind:json=" (at.saturating_add(1)) } { (at) }
                    }
                    ": " (visible(&verified.flaw.unwrap_or_default()))
                }
            }
        }
        @if let Some(why) = &found.only_here {
            p.notice.bad role="alert" { "Only events of this kernel are shown, and none of others: " (visible(why)) }
        }
        @if is_of_one_chain { div #chain data-live { (waterfall(&found.events)) } }
        div #events data-live {
            (table(&["When", "What", "Who", "About", "Result", "Details"], found.events.iter().map(row), "Nothing was recorded that fits."))
        }
        (more("/record", query, "behind:json", found.next_behind))
    };
    Ok(Page::new("Record", body))
}

fn row(row: &EventRow) -> Markup {
    let Ok(event) = row.event.to::<AuditEvent>() else { return html! { td { (row.name()) } } };
    let target =
        Object::from_raw(&row.event).ok().and_then(|event| event.object("target")).unwrap_or_default();
    let said = |name: &str| target.text(name).map(Cow::into_owned);
    let about = [said("server_id"), said("tool_name")].into_iter().flatten().collect::<Vec<_>>().join(".");
    let result = word_of(event.result);
    html! {
        td id={ "event-" (row.name()) } { (moment(event.timestamp)) }
        td { a href={ "/record?trace_id=" (event.trace_id) } { (visible(&event.event_type.to_string())) } }
        td { a href={ "/record?agent_id=" (segment(&event.actor.id)) } { (visible(&event.actor.id)) } }
        td { (visible(&about)) }
        td { span class={ "badge " (result) } { (result.to_lowercase()) } }
        td { details { summary { "details" } (block(&event.details.to_raw().to_string())) } }
    }
}

/// The number of events of a page, unless the address asks for others.
const ROWS: u32 = 50;

/// Returns the picture of a chain: a row for each event, with a bar from its beginning to its end.
fn waterfall(events: &[EventRow]) -> Markup {
    let mut spans: Vec<_> = events.iter().filter_map(EventSpan::of).collect();
    spans.sort_by_key(|span| span.begin);
    let start = spans.first().map_or(0, |span| span.begin);
    let after = |span: &EventSpan| (span.begin - start).unsigned_abs();
    let took = |span: &EventSpan| u64::from(span.took.unwrap_or_default());
    let whole = spans.iter().map(|span| after(span) + took(span)).max().unwrap_or_default();
    let row = |span: &EventSpan| {
        let EventSpan { name, event: AuditEvent { event_type, details, .. }, .. } = span;
        html! {
            td {
                a href={ "#event-" (name) } { (visible(event_type.as_str())) }
                @if details.contains("retry") { ": made again after a pause" }
                @if let Some(by) = details.text("approved_by") { ", approved by " (visible(&by)) }
            }
            td.number { (after(span)) " ms" }
            td.number { @if span.took.is_some() { (took(span)) " ms" } @else { "–" } }
            td { (bar(after(span), took(span), whole)) }
        }
    };
    let rows = spans.iter().map(row);
    table(&["Event", "Begins after", "Takes", "Time"], rows, "There is no such chain of requests.")
}

/// An event with its place on the axis of time.
struct EventSpan {
    name: String,
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
        Some(Self { name: row.name(), event, begin, took: duration.or(pause) })
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
