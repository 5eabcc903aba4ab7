//! The record: what happened, filtered by an address, whether it is as it was written, and what is missing.

use std::borrow::Cow;

use maud::{Markup, html};
use mgp_security::audit::{GAP, KERNEL_LOST, PRUNED};
use mgp_types::mgp::AuditEvent;
use mgp_types::{Error, Object};

use super::super::form::Form;
use super::super::layout::{Page, block, field, moment, more, segment, table, visible};
use super::super::page_client::PageClient;
use super::super::plot;
use super::waterfall::waterfall;
use crate::admin::audit::{CountEvents, EventRow, QueryEvents, ReadLogEnd, VerifyLog};
use crate::terminal::word_of;

pub(super) async fn page(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let wanted: QueryEvents = query.to()?;
    let is_of_one_chain = query.get("trace_id").is_some();
    let wanted = QueryEvents { limit: wanted.limit.or(Some(ROWS)), oldest_first: is_of_one_chain, ..wanted };
    let found = client.ask(&wanted).await?;
    let end = client.ask(&ReadLogEnd {}).await?;
    let rows: Vec<_> = found.events.iter().map(row).collect();
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
                @let at = verified.changed_at.unwrap_or_default();
                p.notice.bad role="alert" {
                    "It was changed at the event " a href={ "/record?behind:json=" (at.saturating_add(1)) } { (at) } ": "
                    (verified.flaw.unwrap_or_default())
                }
            }
        }
        @if is_of_one_chain { div #chain data-live { (waterfall(&found.events)) } }
        div #events data-live {
            (table(&["When", "What", "Who", "About", "Result", "Details"], &rows, "Nothing was recorded that fits."))
        }
        (more("/record", query, "behind:json", found.next_behind))
    };
    Ok(Page::new("Record", body))
}

fn row(row: &EventRow) -> Markup {
    let Ok(event) = row.event.to::<AuditEvent>() else { return html! { td { (row.seq) } } };
    let target =
        Object::from_raw(&row.event).ok().and_then(|event| event.object("target")).unwrap_or_default();
    let said = |name: &str| target.text(name).map(Cow::into_owned);
    let about = [said("server_id"), said("tool_name")].into_iter().flatten().collect::<Vec<_>>().join(".");
    let result = word_of(event.result);
    html! {
        td id={ "event-" (row.seq) } { (moment(event.timestamp)) }
        td { a href={ "/record?trace_id=" (event.trace_id) } { (visible(&event.event_type.to_string())) } }
        td { a href={ "/record?agent_id=" (segment(&event.actor.id)) } { (visible(&event.actor.id)) } }
        td { (visible(&about)) }
        td { span class={ "badge " (result) } { (result.to_lowercase()) } }
        td { details { summary { "details" } (block(&event.details.to_raw().to_string())) } }
    }
}

/// The number of events of a page, unless the address asks for others.
const ROWS: u32 = 50;
