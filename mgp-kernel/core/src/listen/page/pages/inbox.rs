//! The inbox: what waits for a decision, and what happens now.

use maud::{Markup, html};
use mgp_types::Error;

use super::super::layout::{Page, button, moment, risk, segment, visible};
use super::super::page_client::PageClient;
use super::servers::overview;
use crate::admin::operation::ServersToBegin;
use crate::admin::questions::{ListPending, OpenQuestion, UndecidedPermission};
use crate::admin::servers::ListServers;

pub(super) async fn page(client: &PageClient) -> Result<Page, Error> {
    let waiting = client.ask(&ListPending {}).await?;
    let servers = client.ask(&ListServers { begin: ServersToBegin::None }).await?.servers;
    let held: u64 = servers.iter().map(|server| server.held + server.flagged).sum();
    let open: Vec<_> = waiting.questions.iter().filter(|question| question.decision.is_none()).collect();
    let title = match open.len() {
        0 => "Nothing waits for you".to_owned(),
        1 => "1 question waits".to_owned(),
        number => format!("{number} questions wait"),
    };
    let body = html! {
        div #waiting data-live {
            @for question in open { (card(question)) }
            @for needed in &waiting.undecided { (undecided(needed)) }
            @if held > 0 {
                p.card { "Held or flagged definitions: " a href="/definitions?waiting:json=true" { (held) } }
            }
        }
        h2 { "Servers" }
        div #servers data-live { (overview(&servers)) }
        p { a href="/record" { "What happened" } }
    };
    Ok(Page::new(title, body))
}

fn card(question: &OpenQuestion) -> Markup {
    let about = question.tool_name.as_ref().map(|tool| format!("{}.{tool}", question.server_id));
    let about = about.unwrap_or_else(|| question.server_id.to_string());
    let first = question.message.lines().next().unwrap_or_default();
    html! {
        article.card {
            h3 { a href={ "/questions/" (segment(&question.id)) } { (visible(&about)) } " " (risk(question.risk)) }
            p { (visible(first)) }
            p.faint {
                @if let Some(agent) = &question.agent_id { (visible(agent)) ", " }
                "asked " (moment(question.asked_at))
            }
        }
    }
}

fn undecided(needed: &UndecidedPermission) -> Markup {
    let about = [("server_id", needed.server_id.as_str()), ("permission", needed.permission.as_str())];
    html! {
        article.card {
            h3 {
                a href={ "/servers/" (segment(needed.server_id.as_str())) } { (visible(needed.server_id.as_str())) }
                " needs " code { (visible(needed.permission.as_str())) } " " (risk(needed.risk))
            }
            p.faint { "Nobody has decided about it. An answer here is for the calls of all agents." }
            div.row { (button("permissions/grant", &about, "/", "Grant", "primary")) (button("permissions/revoke", &about, "/", "Deny", "danger")) }
        }
    }
}
