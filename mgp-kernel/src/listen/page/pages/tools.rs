//! The tools, and what each rule would answer to a call of one.

use std::borrow::Cow;

use maud::{Markup, html};
use mgp_types::{AskedRule, Error, Object, RawJson, code};

use super::super::form::Form;
use super::super::layout::{Page, block, field, more, risk, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::explain::{ExplainCall, ExplainedCall};
use crate::admin::operation::PageRequest;
use crate::admin::tools::{ListTools, ToolRow};
use crate::terminal::word_of;

pub(super) async fn all(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let mut wanted: ListTools =
        query.params()?.to().map_err(|error| Error::invalid_params(error.to_string()))?;
    let word = query.get("_word").unwrap_or_default().to_lowercase();
    let has_word = |tool: &&ToolRow| {
        let text = [tool.name.as_str(), &description(tool)].concat().to_lowercase();
        word.split_whitespace().all(|word| text.contains(word))
    };
    let row = |tool: &ToolRow| {
        html! {
            td { a href={ "/tools/" (segment(&tool.name)) } { (visible(&tool.name)) } }
            td { a href={ "/servers/" (segment(tool.server_id.as_str())) } { (visible(tool.server_id.as_str())) } }
            td { (risk(tool.risk)) }
            td { (visible(description(tool).lines().next().unwrap_or_default())) }
        }
    };
    let (mut rows, mut next) = (Vec::new(), Some(wanted.page.offset));
    while let Some(offset) = next.filter(|_| rows.len() < ROWS) {
        wanted.page = PageRequest { offset, limit: word.is_empty().then_some(200) };
        let found = client.ask(&wanted).await?;
        rows.extend(found.tools.iter().filter(has_word).map(row));
        next = found.next_offset;
    }
    let filter = html! {
        form.row action="/tools" {
            (field("Words", &html! { input name="_word" value=(word); }))
            (field("Server", &html! { input name="server_id" value=(query.get("server_id").unwrap_or_default()); }))
            button { "Filter" }
        }
    };
    let body = html! {
        (filter)
        (table(&["Tool", "Server", "Risk", "Description"], &rows, "No tool is offered that fits."))
        (more("/tools", query, "offset:json", next))
    };
    Ok(Page::new("Tools", body))
}

pub(super) async fn one(client: &PageClient, name: &str, query: &Form) -> Result<Page, Error> {
    let wanted = ListTools { name: Some(name.to_owned()), ..ListTools::default() };
    let found = client.ask(&wanted).await?.tools.into_iter().next();
    let tool = found.ok_or_else(|| Error::new(code::TOOL_NOT_FOUND, format!("there is no tool `{name}`")))?;
    let arguments = query.get("arguments:json").unwrap_or("{}");
    let explained = match query.get("arguments:json") {
        Some(arguments) => Some(explain(client, name, arguments, query.get("agent")).await?),
        None => None,
    };
    let body = html! {
        dl {
            dt { "Server" } dd { a href={ "/servers/" (segment(tool.server_id.as_str())) } { (visible(tool.server_id.as_str())) } }
            dt { "Risk" } dd { (risk(tool.risk)) }
            dt { "Definition" } dd {
                a href={ "/definitions/" (segment(tool.server_id.as_str())) "/" (segment(tool.tool_name.as_str())) } { "what was approved" }
            }
        }
        p { (visible(&description(&tool))) }
        h2 { "Why" }
        p.faint { "What each rule would answer to a call. The call is not made." }
        form {
            (field("Arguments", &html! { textarea name="arguments:json" spellcheck="false" { (arguments) } }))
            (field("Agent", &html! { input name="agent" value=(query.get("agent").unwrap_or_default()) placeholder="a client of this user"; }))
            button.primary { "Ask the rules" }
        }
        @if let Some(explained) = &explained { (verdict(explained)) }
        h2 { "Definition" }
        (block(&pretty(&tool.definition)))
    };
    Ok(Page::new(&tool.name, body))
}

async fn explain(
    client: &PageClient,
    name: &str,
    arguments: &str,
    agent: Option<&str>,
) -> Result<ExplainedCall, Error> {
    let arguments = RawJson::parse(arguments.to_owned())
        .map_err(|error| Error::invalid_params(format!("the arguments are no JSON: {error}")))?;
    let agent = agent.map(str::to_owned);
    client.ask(&ExplainCall { name: name.to_owned(), arguments, agent, folder: None }).await
}

fn verdict(explained: &ExplainedCall) -> Markup {
    let row = |asked: &AskedRule| {
        let word = word_of(asked.answer);
        html! { td { (asked.rule) } td { span class={ "badge " (word) } { (word) } } td { (visible(&asked.reason)) } }
    };
    let rows: Vec<_> = explained.rules.iter().map(row).collect();
    html! { div aria-live="polite" { (table(&["Rule", "Answer", "Why"], &rows, "No rule is asked.")) } }
}

fn description(tool: &ToolRow) -> String {
    let definition = Object::from_raw(&tool.definition).unwrap_or_default();
    definition.text("description").map(Cow::into_owned).unwrap_or_default()
}

pub(super) fn pretty(json: &RawJson) -> String {
    let value: Result<serde_json::Value, _> = json.to();
    value.ok().and_then(|value| serde_json::to_string_pretty(&value).ok()).unwrap_or_else(|| json.to_string())
}

/// The number of tools that a page shows at least, where there are so many.
const ROWS: usize = 200;
