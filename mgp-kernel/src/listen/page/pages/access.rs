//! Which agents may use which servers and tools, and the rules that say so.

use maud::html;
use mgp_types::Error;
use mgp_types::mgp::{AccessPermission, ToolName};

use super::super::form::Form;
use super::super::layout::{Page, button, field, form, moment, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::access::ListAccess;

pub(super) async fn page(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let wanted: ListAccess =
        query.params()?.to().map_err(|error| Error::invalid_params(error.to_string()))?;
    let found = client.ask(&wanted).await?;
    let rows: Vec<_> = found
        .entries
        .iter()
        .map(|stored| {
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
        })
        .collect();
    let fields = html! {
        div.row {
            (field("Agent", &html! { input name="agent_id" required; }))
            (field("Server", &html! { input name="server_id" required; }))
            (field("Tool", &html! { input name="tool_name" placeholder="all tools"; }))
            (field("Rule", &html! { select name="permission" { option value="allow" { "allow" } option value="deny" { "deny" } } }))
            button.primary { "Add" }
        }
    };
    let body = html! {
        p { "Where no rule is about an agent: " strong { (found.default_policy) } "." }
        div #entries data-live {
            (table(&["Agent", "Server", "Tool", "Rule", "By", "Change"], &rows, "There are no rules."))
        }
        h2 { "A new rule" }
        (form("access/grant", "/access", &fields))
    };
    Ok(Page::new("Access", body))
}
