//! The servers: their states, what went wrong last, and their orders.

use std::time::Duration;

use maud::{Markup, html};
use mgp_types::Error;

use super::super::layout::{Page, block, button, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::operation::ServersToBegin;
use crate::admin::server_orders::ReadServerLog;
use crate::admin::servers::{ListServers, ServerRow};

pub(super) async fn all(client: &PageClient) -> Result<Page, Error> {
    let servers = client.ask(&ListServers { begin: ServersToBegin::None }).await?.servers;
    Ok(Page::new("Servers", html! { div #servers data-live { (overview(&servers)) } }))
}

/// Returns a table of servers.
pub(super) fn overview(servers: &[ServerRow]) -> Markup {
    let row = |server: &ServerRow| {
        let id = segment(server.id.as_str());
        html! {
            td { a href={ "/servers/" (id) } { (visible(server.id.as_str())) } }
            td { (state(server)) }
            td.number { a href={ "/tools?server_id=" (id) } { (server.tools) } }
            td.number { @if server.held > 0 { a href={ "/definitions?server_id=" (id) "&waiting:json=true" } { (server.held) } } @else { "0" } }
            td.number { a href={ "/record?server_id=" (id) } { (server.calls.ended) } }
            td.number { (server.calls.failed) }
            td.number { (server.calls.p95_micros.map_or_else(|| "–".to_owned(), took)) }
            td.number { (server.restarts) }
        }
    };
    let rows: Vec<_> = servers.iter().map(row).collect();
    let headings = ["Server", "State", "Tools", "Held", "Calls", "Failed", "p95", "Restarts"];
    table(&headings, &rows, "No server is configured: `mgp add` or `mgp import` adds some.")
}

fn state(server: &ServerRow) -> Markup {
    let word = if server.enabled { server.state.to_string() } else { "disabled".to_owned() };
    html! {
        span class={ "badge " (word) } { (word) }
        @if let Some(why) = server.why() { " " span.faint { (visible(why)) } }
    }
}

fn took(micros: u64) -> String {
    format!("{:.1?}", Duration::from_micros(micros))
}

pub(super) async fn one(client: &PageClient, id: &str) -> Result<Page, Error> {
    let servers = client.ask(&ListServers { begin: ServersToBegin::None }).await?.servers;
    let server = servers.iter().find(|server| server.id.as_str() == id);
    let log = client.ask(&ReadServerLog { server_id: id.into(), lines: LOG_LINES }).await?;
    let here = format!("/servers/{}", segment(id));
    let order = |order: &str, label: &str, kind: &str| {
        button(&format!("server/{order}"), &[("server_id", id)], &here, label, kind)
    };
    let body = html! {
        div #server data-live {
            @if let Some(server) = server { (facts(server)) }
            @if let Some(reason) = &log.reason { p.notice.bad { (visible(reason)) } }
        }
        div.row { (order("restart", "Restart", "")) (order("start", "Start", "")) (order("stop", "Stop", "danger")) }
        h2 { "Last lines of its standard error" }
        div #log data-live {
            @if log.lines.is_empty() { p.none { "It wrote nothing." } } @else { (block(&log.lines.join("\n"))) }
        }
    };
    Ok(Page::new(id, body))
}

fn facts(server: &ServerRow) -> Markup {
    let id = segment(server.id.as_str());
    html! {
        dl {
            dt { "State" } dd { (state(server)) }
            @if let Some(description) = &server.description { dt { "Description" } dd { (visible(description)) } }
            dt { "Reached by" } dd { (visible(&server.transport)) }
            @if let Some(revision) = &server.protocol { dt { "Revision of MCP" } dd { (visible(revision)) } }
            @if let Some(mgp) = &server.mgp { dt { "MGP" } dd { (visible(mgp)) } }
            dt { "Tools" } dd { a href={ "/tools?server_id=" (id) } { (server.tools) } }
            dt { "Calls" } dd { a href={ "/record?server_id=" (id) } { (server.calls.ended) } ", " (server.calls.failed) " failed, " (server.calls.in_work) " in work" }
            @if let (Some(half), Some(most)) = (server.calls.p50_micros, server.calls.p95_micros) {
                dt { "Times" } dd { "half within " (took(half)) ", 95 % within " (took(most)) }
            }
            dt { "Restarts" } dd { (server.restarts) }
            @if let Some(pid) = server.pid { dt { "Process" } dd { (pid) } }
        }
    }
}

/// The number of lines of a log that are shown.
const LOG_LINES: u32 = 200;
