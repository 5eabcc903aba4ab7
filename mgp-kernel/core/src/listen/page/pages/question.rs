//! The page of one question: all of what is asked, and what an answer covers.

use std::time::Duration;

use maud::{Markup, html};
use mgp_types::Error;
use mgp_types::mgp::{Decision, RiskLevel, Timestamp};

use super::super::layout::{Page, block, button, field, form, moment, risk, segment, visible};
use super::super::page_client::PageClient;
use crate::admin::questions::{OpenQuestion, ShowQuestion, ShownQuestion};

pub(super) async fn page(client: &PageClient, id: &str) -> Result<Page, Error> {
    let ShownQuestion { question, arguments, can_be_edited, edited } =
        client.ask(&ShowQuestion { id: id.to_owned() }).await?;
    // The whole arguments take the place of those in the message.
    let is_argument = |line: &&str| arguments.is_some() && line.starts_with('{');
    let message: Vec<&str> = question.message.lines().take_while(|line| !is_argument(line)).collect();
    let body = html! {
        div #question data-live {
            (facts(&question))
            p { (visible(&message.join("\n"))) }
            @if let Some(arguments) = &arguments { h2 { "Arguments" } (block(arguments)) }
            (answers(&question))
            @if let Some(edited) = &edited { h2 { "Approved with these arguments instead" } (block(edited)) }
        }
        // What is typed here stands outside of what is brought up to date: a lost edit would approve the call as it came.
        @if let Some(arguments) = arguments.filter(|_| can_be_edited && question.decision.is_none()) {
            (edit(&question.id, &arguments))
        }
    };
    let about = question.tool_name.as_ref().map(|tool| format!("{}.{tool}", question.server_id));
    Ok(Page::new(about.unwrap_or_else(|| question.server_id.to_string()), body))
}

/// Returns the form that approves a call with other arguments, which begins with its own.
fn edit(id: &str, arguments: &str) -> Markup {
    let fields = html! {
        input type="hidden" name="id" value=(id);
        input type="hidden" name="_needs" value="arguments:json";
        (field("Arguments (the agent is told)", &html! { textarea name="arguments:json" spellcheck="false" required { (visible(arguments)) } }))
        button.primary { "Approve with these arguments" }
    };
    html! {
        details { summary { "Approve with other arguments" } (form("permissions/approve", "/", &fields)) }
    }
}

fn facts(question: &OpenQuestion) -> Markup {
    let server = question.server_id.as_str();
    html! {
        dl {
            dt { "Server" } dd { a href={ "/servers/" (segment(server)) } { (visible(server)) } }
            @if let Some(tool) = &question.tool_name { dt { "Tool" } dd { (visible(tool.as_str())) } }
            @if let Some(permission) = &question.permission { dt { "Permission" } dd { code { (visible(permission.as_str())) } } }
            @if let Some(agent) = &question.agent_id {
                dt { "Agent" } dd { a href={ "/record?agent_id=" (segment(agent)) } { (visible(agent)) } }
            }
            dt { "Risk" } dd { (risk(question.risk)) }
            dt { "Asked" } dd { (moment(question.asked_at)) }
            @if let Some(end) = question.ends_at { dt { "Until" } dd { time datetime=(end) { (end) } } }
        }
    }
}

fn answers(question: &OpenQuestion) -> Markup {
    let here = format!("/questions/{}", segment(&question.id));
    let id = ("id", question.id.as_str());
    let approve = |params: &[(&str, &str)], label: &str| {
        let params: Vec<_> = [id].into_iter().chain(params.iter().copied()).collect();
        button("permissions/approve", &params, "/", label, "primary")
    };
    if let Some(decision) = question.decision {
        let word = if decision == Decision::Approved { "Approved" } else { "Denied" };
        return html! {
            p.notice {
                (word) " by " (visible(question.answered_by.as_deref().unwrap_or("an operator")))
                "; the answer waits until the same is asked again."
            }
            (button("permissions/reset", &[("what", &question.id)], &here, "Forget the answer", ""))
        };
    }
    let in_an_hour = Timestamp::now().saturating_add(Duration::from_hours(1)).to_string();
    let is_call = question.permission.is_none() && question.tool_name.is_some();
    html! {
        h2 { "Your answer" }
        div.row {
            @if is_call {
                (approve(&[], "Approve this call"))
                @if question.risk < RiskLevel::Dangerous {
                    (approve(&[("max_uses:json", "10")], "Approve it and the next 9 of this tool"))
                }
            } @else if question.permission.is_some() {
                (approve(&[("lasts", "once")], "Approve for this call"))
                (approve(&[], "Approve for the session"))
                (approve(&[("expires_at", &in_an_hour)], "Approve for an hour"))
                (approve(&[("lasts", "always")], "Approve always, for this agent"))
            } @else {
                (approve(&[], "Approve this server"))
            }
        }
        (form("permissions/deny", "/", &html! {
            div.row.below {
                input type="hidden" name="id" value=(question.id);
                @if question.tool_name.is_some() {
                    (field("Why not (the agent is told)", &html! { input name="reason" maxlength="500" autocomplete="off"; }))
                }
                button.danger { "Deny" }
            }
        }))
        p.faint {
            "An answer is for exactly what stands here: other arguments, another agent or another tool ask again."
        }
    }
}
