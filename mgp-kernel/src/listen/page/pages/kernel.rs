//! The kernel itself: how it runs, its keys, the decisions that hold, and its configuration.

use maud::{Markup, html};
use mgp_types::Error;

use super::super::layout::{Page, block, button, field, form, moment, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::config::ShowConfig;
use crate::admin::keys::ListKeys;
use crate::admin::permissions::ListGrants;
use crate::admin::status::{KernelStatus, ReadStats, ReadStatus};
use crate::terminal::{TextForm, TextWriter};

pub(super) async fn page(client: &PageClient) -> Result<Page, Error> {
    let status = client.ask(&ReadStatus {}).await?;
    let counts = client.ask(&ReadStats {}).await?;
    let keys = client.ask(&ListKeys::default()).await?;
    let grants = client.ask(&ListGrants::default()).await?;
    let config = client.ask(&ShowConfig {}).await?;
    let new_key = html! {
        div.row {
            input type="hidden" name="_show" value="1";
            (field("Agent", &html! { input name="owner" required; }))
            (field("Note", &html! { input name="note"; }))
            button { "Issue a key" }
        }
    };
    let lost_key = html! {
        div.row {
            (field("Key", &html! { input name="id" required; }))
            button.danger { "Revoke" }
        }
    };
    let body = html! {
        section #status data-live { (running(&status)) (text(&counts)) }
        @if !status.waiting.is_empty() {
            p.notice { "Changes of the configuration wait: " (status.waiting.join(", ")) }
            (button("config/reload", &[], "/kernel", "Take the changed configuration", "primary"))
        }
        h2 { "Keys" }
        (text(&keys))
        (form("keys/new", "/kernel", &new_key))
        (form("keys/revoke", "/kernel", &lost_key))
        h2 { "Decisions that hold" }
        (text(&grants))
        h2 { "Configuration in effect" }
        (text(&config))
    };
    Ok(Page::new("Kernel", body))
}

fn running(status: &KernelStatus) -> Markup {
    let clients: Vec<_> = status
        .clients
        .iter()
        .map(|client| {
            html! {
                td { a href={ "/record?agent_id=" (segment(&client.agent_id)) } { (visible(&client.agent_id)) } }
                td { (visible(client.said.as_deref().unwrap_or("–"))) }
                td { (visible(client.program.as_deref().unwrap_or("–"))) }
                td.number { (client.connected_secs) " s" }
            }
        })
        .collect();
    html! {
        dl {
            dt { "Version" } dd { (status.version) }
            dt { "Running" } dd { "process " (status.pid) ", since " (moment(status.since)) }
            dt { "State" } dd { (status.state.display()) }
            @if let Some(http) = &status.http {
                dt { "Clients over HTTP" } dd { (http.address) @if let Some(error) = &http.error { ": " (error) } }
            }
            dt { "Decisions" } dd {
                @if status.without_proof { "take no proof that a person is there" } @else { "take a proof that a person is there" }
            }
        }
        h2 { "Clients" }
        (table(&["Agent", "Says it is", "Started by", "Connected"], &clients, "No client is connected."))
        h2 { "Counts" }
    }
}

/// Returns what a command prints of the reply.
fn text(reply: &impl TextForm) -> Markup {
    block(&TextWriter::text_of(reply))
}
