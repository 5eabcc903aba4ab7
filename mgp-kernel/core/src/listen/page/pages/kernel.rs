//! The kernel itself: how it runs, its keys, the decisions that hold, and its configuration.

use maud::{Markup, html};
use mgp_types::Error;

use super::super::layout::{Page, bar, block, button, field, form, moment, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::audit::{AgentCalls, Callers};
use crate::admin::config::ShowConfig;
use crate::admin::keys::{KeyRow, ListKeys};
use crate::admin::permissions::{GrantRow, ListGrants, answered_cells};
use crate::admin::questions::OpenQuestion;
use crate::admin::status::{KernelStatus, ReadStats, ReadStatus, Stats};
use crate::terminal::TextWriter;

pub(super) async fn page(client: &PageClient) -> Result<Page, Error> {
    let status = client.ask(&ReadStatus {}).await?;
    let counted = client.ask(&ReadStats {}).await?;
    let keys = client.ask(&ListKeys::default()).await?;
    let grants = client.ask(&ListGrants::default()).await?;
    let config = client.ask(&ShowConfig {}).await?;
    let key_row = |key: &KeyRow| revocable(&key.cells(), "keys/revoke", &[("id", &key.id)], "Revoke");
    let answer_row = |open: &OpenQuestion| {
        revocable(&answered_cells(open), "permissions/reset", &[("what", &open.id)], "Take back")
    };
    let answers = grants.waiting.iter().map(answer_row);
    let confirmed = grants.confirmed.iter().map(|row| {
        let what = row.question.as_deref().unwrap_or_default();
        revocable(&row.cells(), "permissions/reset", &[("what", what)], "Take back")
    });
    let grant_rows = grants.grants.iter().map(grant_row).chain(answers).chain(confirmed);
    let set_at =
        config.set_at.iter().map(|(key, place)| html! { td { (visible(key)) } td { (visible(place)) } });
    let new_key = html! {
        div.row {
            input type="hidden" name="_show" value="1";
            (field("Agent", &html! { input name="owner" required; }))
            (field("Note", &html! { input name="label"; }))
            (field("It may", &html! {
                select name="permissions:json" {
                    option value=(r#"["ToolsListAll"]"#) { "list all tools" }
                    option value=(r#"["ToolsListAll",{"ToolInvoke":"*"}]"#) { "list and call all tools" }
                }
            }))
            button { "Issue a key" }
        }
    };
    let body = html! {
        section #status data-live { (running(&status)) (counts(&counted)) }
        @if !status.waiting.is_empty() {
            p.notice { "Changes of the configuration wait: " (status.waiting.join(", ")) }
            (button("config/reload", &[], "/kernel", "Take the changed configuration", "primary"))
        }
        h2 { "Keys" }
        (table(&KEYS, keys.keys.iter().map(key_row), "There are no keys."))
        (form("keys/new", "/kernel", &new_key))
        h2 { "Decisions that hold" }
        (table(&GRANTS, grant_rows, "Nothing was decided."))
        h2 { "Configuration in effect" }
        (block(&TextWriter::text_of(&config)))
        (table(&["Key", "Set at"], set_at, "No file sets a key."))
    };
    Ok(Page::new("Kernel", body))
}

fn running(status: &KernelStatus) -> Markup {
    let clients = status.clients.iter().map(|client| {
        html! {
            td { a href={ "/record?agent_id=" (segment(&client.agent_id)) } { (visible(&client.agent_id)) } }
            td { (visible(client.said.as_deref().unwrap_or("–"))) }
            td { (visible(client.program.as_deref().unwrap_or("–"))) }
            td.number { (client.connected_secs) " s" }
        }
    });
    html! {
        dl {
            dt { "Version" } dd { (status.version) }
            dt { "Running" } dd { "process " (status.pid) ", since " (moment(status.since)) }
            dt { "State" } dd { (status.state.display()) }
            @if let Some(http) = &status.http {
                dt { "Clients over HTTP" } dd { (http.address) @if let Some(error) = &http.error { ": " (error) } }
            }
            @if let Some(link) = &status.link {
                dt { "Decisions of other kernels" } dd { (visible(&link.text())) }
            }
            dt { "Decisions" } dd {
                @if status.locked { "impossible: no operator passphrase is set. Set one: mgp operators passphrase" }
                @else if status.without_proof { "need no operator passphrase" } @else { "need the operator passphrase" }
            }
        }
        h2 { "Clients" }
        (table(&["Agent", "Says it is", "Started by", "Connected"], clients, "No client is connected."))
    }
}

/// Returns what there is, each number with the way to it, and the tokens that the index of tools spares.
fn counts(stats: &Stats) -> Markup {
    let all = stats.tool_tokens;
    let tokens = [
        ("All definitions", all),
        ("Listed", stats.listed_tokens),
        ("Spared by each list", stats.saved_tokens),
    ];
    let tokens =
        tokens.map(|(of, number)| html! { td { (of) } td.number { (number) } td { (bar(0, number, all)) } });
    let Callers { since, agents } = &stats.callers;
    let most = agents.first().map_or(0, |busiest| busiest.calls);
    let types = segment(r#"["TOOL_EXECUTED","TOOL_BLOCKED"]"#);
    let caller = |AgentCalls { agent_id, calls }: &AgentCalls| {
        let id = segment(agent_id);
        html! {
            td { a href={ "/access?agent_id=" (id) } { (visible(agent_id)) } }
            td.number { a href={ "/record?agent_id=" (id) "&since=" (since) "&event_types:json=" (types) } { (calls) } }
            td { (bar(0, *calls, most)) }
        }
    };
    html! {
        h2 { "Counts" }
        dl {
            dt { "Servers" } dd { a href="/servers" { (stats.servers) } } dt { "Tools" } dd { a href="/tools" { (stats.tools) } }
            dt { "Questions that wait" } dd { a href="/" { (stats.pending) } }
            dt { "Events in the record" } dd { a href="/record" { (stats.audit_events) } }
            dt { "Level of the list" } dd { (stats.level) }
        }
        (table(&["Tokens", "Number", "Share"], tokens, ""))
        h2 { "Calls of the last day" }
        (table(&["Agent", "Calls", "Share"], agents.iter().map(caller), "Nobody called a tool."))
    }
}

/// Returns the row of something that an operation takes back.
fn revocable(cells: &[String], operation: &str, params: &[(&str, &str)], label: &str) -> Markup {
    html! {
        @for cell in cells { td { (visible(cell)) } }
        td { (button(operation, params, "/kernel", label, "quiet")) }
    }
}

fn grant_row(grant: &GrantRow) -> Markup {
    let mut params = vec![("what", grant.server_id.as_str()), ("permission", grant.permission.as_str())];
    params.extend(grant.agent_id.as_ref().map(|agent| ("agent_id", agent.as_str())));
    let label = if grant.agent_id.is_some() { "Take back" } else { "Take back for every agent" };
    revocable(&grant.cells(), "permissions/reset", &params, label)
}

/// The headings of keys.
const KEYS: [&str; 7] = ["Key", "Agent", "Allows", "Note", "Last used", "Until", "Change"];
/// The headings of decisions.
const GRANTS: [&str; 8] = ["Server", "Permission", "Agent", "Decision", "By", "Until", "Scope", "Change"];
