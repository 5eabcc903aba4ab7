//! The servers: their states, what they are given, what went wrong last, their orders, and the form that adds some.

use std::time::Duration;

use maud::{Markup, html};
use mgp_types::Error;

use super::super::form::Form;
use super::super::layout::{Page, block, button, field, form, segment, table, visible};
use super::super::page_client::PageClient;
use super::super::plot;
use crate::admin::audit::CountEvents;
use crate::admin::operation::ServersToBegin;
use crate::admin::server_orders::{ReadServerLog, ServerDetails, ShowServer};
use crate::admin::servers::{ListServers, ServerRow};
use crate::install::{InstallLookup, InstallRequest};
use crate::terminal::TextWriter;

pub(super) async fn all(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let servers = client.ask(&ListServers { begin: ServersToBegin::None }).await?.servers;
    let name = query.get("name").unwrap_or_default();
    let found = if name.is_empty() { Markup::default() } else { found(client, name).await };
    let fields = html! {
        div.row {
            (field("Id", &html! { input name="server_id"; }))
            (field("Command line, or URL", &html! { input name="start" placeholder="npx -y PACKAGE"; }))
        }
        (field("Or the configuration of a client", &html! {
            textarea name="pasted" spellcheck="false" placeholder=r#"{"mcpServers": {"NAME": {"command": "PROGRAM"}}}"# {}
        }))
        button.primary { "Add" }
    };
    let body = html! {
        div #servers data-live { (overview(&servers)) }
        h2 { "Add a server by name" }
        p.faint { "The registry is searched, and what would be started is shown before anything is written." }
        form method="get" action="/servers" {
            (field("Name", &html! { input name="name" value=(name) placeholder="weather"; }))
            button { "Search" }
        }
        (found)
        h2 { "Add a server" }
        p.faint { "It is written to the configuration, as by " code { "mgp add" } ". What looks like a secret is kept among your secrets." }
        (form("servers/add", "/servers", &fields))
    };
    Ok(Page::new("Servers", body))
}

/// Returns what the registry says to a search: the servers that may be meant, or what would be started.
async fn found(client: &PageClient, name: &str) -> Markup {
    let request = InstallRequest { name: name.to_owned(), ..InstallRequest::default() };
    let InstallLookup { found, plan, needed } = match client.ask(&request).await {
        Ok(lookup) => lookup,
        Err(error) => return html! { p.notice.bad role="status" { (visible(error.message())) } },
    };
    let rows = found.iter().map(|(name, version, about)| {
        let there = format!("/servers?name={}", segment(name));
        html! { td { a href=(there) { (visible(name)) } } td { (visible(version)) } td { (visible(about)) } }
    });
    let none = "No server of the registry has this name.";
    html! {
        (table(&["Server", "Version", "Description"], rows, none))
        @for value in needed { p.notice { "It needs " (visible(&value.name)) ", which " code { "mgp install" } " takes." } }
        @if let Some(plan) = plan {
            (block(&TextWriter::text_of(&plan)))
            (form("servers/install", "/servers", &html! {
                input type="hidden" name="name" value=(name);
                input type="hidden" name="command" value=(plan.command);
                input type="hidden" name="variables" value=(plan.variables.join(" "));
                (field("Id", &html! { input name="server_id" value=(plan.server_id); }))
                button.primary { "Add" }
            }))
        }
    }
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
    let rows = servers.iter().map(row);
    let headings = ["Server", "State", "Tools", "Held", "Calls", "Failed", "p95", "Restarts"];
    table(&headings, rows, "No server is configured: servers are added on the page of the servers.")
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
    let details = client.ask(&ShowServer { server_id: id.into() }).await?;
    let hours = client.ask(&CountEvents { server_id: Some(id.into()) }).await?.hours;
    let here = format!("/servers/{}", segment(id));
    let events = format!("/record?server_id={}&", segment(id));
    let order = |order: &str, label: &str, kind: &str| {
        button(&format!("server/{order}"), &[("server_id", id)], &here, label, kind)
    };
    let body = html! {
        div #server data-live {
            @if let Some(server) = server { (facts(server, &details)) }
            @if let Some(reason) = &log.reason { p.notice.bad { (visible(reason)) } }
        }
        div.row { (order("restart", "Restart", "")) (order("start", "Start", "")) (order("stop", "Stop", "danger"))
            @if details.login.is_some() { (order("login", "Sign in", "")) }
        }
        h2 { "The last day, by hour" }
        div #day data-live {
            p.faint { "Events, with those that are no success" }
            (plot::events(&hours, &events))
            p.faint { "Times of calls, waits for people included: of half of them, and of 95 %" }
            (plot::times(&hours, &events))
        }
        h2 { "Last lines of its standard error" }
        div #log data-live {
            @if log.lines.is_empty() { p.none { "It wrote nothing." } } @else { (block(&log.lines.join("\n"))) }
        }
    };
    Ok(Page::new(id, body))
}

fn facts(server: &ServerRow, details: &ServerDetails) -> Markup {
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
            @if let Some(login) = &details.login { dt { "Login" } dd { (visible(login)) } }
            @if !details.variables.is_empty() {
                dt { "Variables" } dd { @for name in &details.variables { code { (visible(name)) } " " } }
            }
            @if let Some(confined) = &details.confined { dt { "Confined" } dd { (visible(confined)) } }
            @for opened in &details.opened { dt { "Opened to it" } dd { (visible(opened)) } }
        }
    }
}

/// The number of lines of a log that are shown.
const LOG_LINES: u32 = 200;
