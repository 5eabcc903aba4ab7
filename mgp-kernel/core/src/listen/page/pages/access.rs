//! Which agents may use which servers and tools, and the rules that say so.

use maud::{Markup, html};
use mgp_types::Error;
use mgp_types::mgp::{AccessPermission, ToolName};

use super::super::form::Form;
use super::super::layout::{Page, button, field, form, moment, more, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::access::{AccessEntries, AccessMatrix, AccessRow, ListAccess, ReadAccessMatrix};
use crate::terminal::word_of;

pub(super) async fn page(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let (wanted, asked): (ListAccess, ReadAccessMatrix) = (query.to()?, query.to()?);
    let found = client.ask(&wanted).await?;
    let decided = client.ask(&asked).await?;
    let value = |name: &str| query.get(name).unwrap_or_default();
    let fields = html! {
        div.row {
            (field("Agent", &html! { input name="agent_id" value=(value("agent_id")) required; }))
            (field("Server", &html! { input name="server_id" value=(value("server_id")) required; }))
            (field("Tool", &html! { input name="tool_name" placeholder="all tools"; }))
            (field("Rule", &html! { select name="permission" { option value="allow" { "allow" } option value="deny" { "deny" } } }))
            button.primary { "Add" }
        }
    };
    let body = html! {
        p {
            "Where no rule is about an agent: " strong { (found.default_policy) } "."
            @if wanted.agent_id.is_some() || wanted.server_id.is_some() { " " a href="/access" { "All agents and servers" } }
        }
        div #matrix data-live { (matrix(&decided)) }
        @for (of, next) in [("agents", decided.next_agents), ("rows", decided.next_rows)] {
            @if next.is_some() { div.row { p { "There are more " (of) ":" } (more("/access", query, &format!("{of}:json"), next)) } }
        }
        h2 { "Rules" }
        div #entries data-live { (rules(&found)) }
        (more("/access", query, "offset:json", found.next_offset))
        h2 { "A new rule" }
        (form("access/grant", "/access", &fields))
    };
    Ok(Page::new("Access", body))
}

/// Returns the decisions about agents, one in each column, at servers and their tools.
fn matrix(decided: &AccessMatrix) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Agents at servers" {
            table {
                thead {
                    tr {
                        th scope="col" { "Server or tool" }
                        @for agent in &decided.agents { th scope="col" { a href={ "/access?agent_id=" (segment(agent)) } { (visible(agent)) } } }
                    }
                }
                tbody { @for row in &decided.rows { tr { (cells(row, &decided.agents)) } } }
            }
        }
    }
}

fn cells(row: &AccessRow, agents: &[String]) -> Markup {
    let server = segment(row.server_id.as_str());
    html! {
        th scope="row" {
            @if let Some(tool) = &row.tool { a href={ "/tools/" (segment(tool)) } { (visible(tool)) } }
            @else { a href={ "/access?server_id=" (server) } { (visible(row.server_id.as_str())) } }
        }
        @for (agent, cell) in agents.iter().zip(&row.cells) {
            @let (class, word) = if cell.allows { ("allows", "allowed") } else { ("refuses", "refused") };
            td {
                a href={ "/access?agent_id=" (segment(agent)) "&server_id=" (server) } { span class={ "badge " (class) } { (word) } }
                span.faint { " by " (word_of(cell.source).replace('_', " ")) }
                @if let Some(group) = &cell.group { span.faint { " for " (visible(group.as_str())) } }
                @if row.tool.is_none() && cell.tool_rules > 0 { span.faint { ", rules for tools: " (cell.tool_rules) } }
            }
        }
    }
}

/// Returns the rules, each with a button that takes it back.
fn rules(found: &AccessEntries) -> Markup {
    let rows = found.entries.iter().map(|stored| {
        let entry = &stored.entry;
        let (agent, server) = (entry.agent_id.as_str(), entry.server_id.as_str());
        let tool = entry.tool_name.as_ref().map(ToolName::as_str);
        let word = if entry.permission == AccessPermission::Allow { "allows" } else { "refuses" };
        let mut params = vec![("agent_id", agent), ("server_id", server)];
        params.extend(tool.map(|tool| ("tool_name", tool)));
        html! {
            td { a href={ "/record?agent_id=" (segment(agent)) } { (visible(agent)) } }
            td { (visible(server)) }
            td { (visible(tool.unwrap_or("all tools"))) }
            td { span class={ "badge " (word) } { (word) } }
            td { (visible(&entry.granted_by)) ", " (moment(entry.granted_at)) }
            td { (button("access/revoke", &params, "/access", "Take back", "quiet")) }
        }
    });
    table(&["Agent", "Server", "Tool", "Rule", "By", "Change"], rows, "There are no rules.")
}
