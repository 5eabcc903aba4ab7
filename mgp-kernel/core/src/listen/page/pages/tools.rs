//! The tools, and what each rule would answer to a call of one.

use std::borrow::Cow;

use maud::{Markup, html};
use mgp_types::mgp::{DiscoverTools, DiscoveredTools, FoundTool, MatchEvidence, method};
use mgp_types::{AskedRule, Error, Object, RawJson, code};

use super::super::form::Form;
use super::super::layout::{Page, field, form, json, more, risk, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::tools::{ExplainCall, ExplainedCall, ListTools, ToolRow};
use crate::terminal::word_of;

pub(super) async fn all(client: &PageClient, query: &Form) -> Result<Page, Error> {
    if let Some(task) = query.get("_task") {
        return found(client, task).await;
    }
    let mut wanted: ListTools = query.to()?;
    wanted.page.limit = Some(ROWS);
    let found = client.ask(&wanted).await?;
    let (words, of_risk) = (query.get("words").unwrap_or_default(), query.get("risk").unwrap_or_default());
    let row = |tool: &ToolRow| {
        let of = [("server_id", tool.server_id.as_str()), ("tool_name", tool.tool_name.as_str())];
        html! {
            td { input type="checkbox" name="_each" value=(Form::of(&of).to_query()) aria-label={ "Select " (tool.name) }; }
            td { a href={ "/tools/" (segment(&tool.name)) } { (visible(&tool.name)) } }
            td { a href={ "/servers/" (segment(tool.server_id.as_str())) } { (visible(tool.server_id.as_str())) } }
            td { (risk(tool.risk)) }
            td { (visible(description(tool).lines().next().unwrap_or_default())) }
        }
    };
    let filter = html! {
        form.row action="/tools" {
            (field("Words", &html! { input name="words" value=(words); }))
            (field("Server", &html! { input name="server_id" value=(query.get("server_id").unwrap_or_default()); }))
            (field("Risk", &html! {
                select name="risk" {
                    @for risk in ["", "safe", "moderate", "dangerous"] { option value=(risk) selected[risk == of_risk] { (if risk.is_empty() { "any" } else { risk }) } }
                }
            }))
            button { "Filter" }
        }
    };
    let list = html! {
        (table(&["Select", "Tool", "Server", "Risk", "Description"], found.tools.iter().map(row), "No tool is offered that fits."))
        @if !found.tools.is_empty() {
            div.row.below {
                (field("For the agent", &html! { input name="agent_id" required; }))
                (field("The selected tools are", &html! { select name="permission" { option value="allow" { "allowed" } option value="deny" { "denied" } } }))
                button { "Set" }
            }
        }
    };
    let body = html! {
        form.row action="/tools" {
            (field("Find as an agent does", &html! { input name="_task" placeholder="a task, in words" required; }))
            button { "Find" }
        }
        (filter)
        (form("access/grant", "/access", &list))
        (more("/tools", query, "offset:json", found.next_offset))
    };
    Ok(Page::new("Tools", body))
}

/// Returns the page of what an agent finds for a task, and why.
async fn found(client: &PageClient, task: &str) -> Result<Page, Error> {
    let wanted = DiscoverTools::new(task).max_results(20).explain();
    let wanted = RawJson::from_value(&wanted).and_then(|wanted| wanted.to());
    let wanted = wanted.map_err(|error| Error::internal(error.to_string()))?;
    let found = client.send(method::TOOLS_DISCOVER, wanted).await?;
    let found: DiscoveredTools = found.to().map_err(|error| Error::internal(error.to_string()))?;
    let row = |tool: &FoundTool| {
        let MatchEvidence { words, meaning, prior } = tool.evidence.unwrap_or_default();
        html! {
            td { a href={ "/tools/" (segment(&tool.name)) } { (visible(&tool.name)) } }
            @for share in [words, meaning, prior] { td.number { (format!("{share:.1}")) } }
            td { (visible(tool.description.lines().next().unwrap_or_default())) }
        }
    };
    let headings = ["Tool", "Words", "Meaning", "Server named", "Description"];
    let body = html! {
        (table(&headings, found.tools.iter().map(row), "An agent finds no tool for this."))
        p { a href="/tools" { "All tools" } }
    };
    Ok(Page::new(format!("For \u{201c}{task}\u{201d}"), body))
}

pub(super) async fn one(client: &PageClient, name: &str, query: &Form) -> Result<Page, Error> {
    let wanted = ListTools { name: Some(name.to_owned()), ..ListTools::default() };
    let found = client.ask(&wanted).await?.tools.into_iter().next();
    let tool = found.ok_or_else(|| Error::new(code::TOOL_NOT_FOUND, format!("there is no tool `{name}`")))?;
    let arguments = query.get("arguments:json").unwrap_or("{}");
    let explained = match query.get("arguments:json") {
        Some(arguments) => {
            let wrong = |error| Error::invalid_params(format!("the arguments are no JSON: {error}"));
            let arguments = RawJson::parse(arguments.to_owned()).map_err(wrong)?;
            let agent = query.get("agent").map(str::to_owned);
            let call = ExplainCall { name: name.to_owned(), arguments, agent, folder: None };
            Some(client.ask(&call).await?)
        }
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
        h2 { "Call it" }
        p.faint { "The same rules apply as to a call by " code { "mgp call" } "." }
        (form_of(&tool.name, &Object::from_raw(&tool.definition).unwrap_or_default()))
        h2 { "Why" }
        p.faint { "What each rule would answer to a call. The call is not made." }
        form {
            (field("Arguments", &html! { textarea name="arguments:json" spellcheck="false" { (arguments) } }))
            (field("Agent", &html! { input name="agent" value=(query.get("agent").unwrap_or_default()) placeholder="a client of this user"; }))
            button.primary { "Ask the rules" }
        }
        @if let Some(explained) = &explained { (verdict(explained)) }
        h2 { "Definition" }
        (json(&tool.definition))
    };
    Ok(Page::new(&tool.name, body))
}

fn verdict(explained: &ExplainedCall) -> Markup {
    let row = |asked: &AskedRule| {
        let word = word_of(asked.answer);
        html! { td { (asked.rule) } td { span class={ "badge " (word) } { (word) } } td { (visible(&asked.reason)) } }
    };
    html! { div aria-live="polite" { (table(&["Rule", "Answer", "Why"], explained.rules.iter().map(row), "No rule is asked.")) } }
}

fn description(tool: &ToolRow) -> String {
    let definition = Object::from_raw(&tool.definition).unwrap_or_default();
    definition.text("description").map(Cow::into_owned).unwrap_or_default()
}

/// The number of tools on a page.
const ROWS: u32 = 200;

/// Returns the form that calls the tool `name`.
fn form_of(name: &str, definition: &Object) -> Markup {
    let schema = definition.object("inputSchema").unwrap_or_default();
    let required: Vec<String> = schema.get("required").and_then(|names| names.to().ok()).unwrap_or_default();
    let properties = schema.object("properties").unwrap_or_default();
    let fields = html! {
        input type="hidden" name="name" value=(name);
        @for (argument, shape) in properties.iter() {
            (argument_field(&argument, &Object::from_raw(&shape).unwrap_or_default(), required.iter().any(|name| *name == argument)))
        }
        button.primary { "Call it" }
    };
    form("call", &format!("/tools/{}", segment(name)), &fields)
}

/// Returns the field of an argument. What is neither a text, a number nor a choice is written as JSON.
fn argument_field(argument: &str, shape: &Object, is_required: bool) -> Markup {
    let about = shape.text("description").unwrap_or(Cow::Borrowed(""));
    let label = format!("{argument}{}", if is_required { " (needed)" } else { "" });
    let (text, json) = (format!("arguments.{argument}"), format!("arguments.{argument}:json"));
    let choices: Vec<RawJson> = shape.get("enum").and_then(|choices| choices.to().ok()).unwrap_or_default();
    let mut choices: Vec<String> = choices.iter().map(ToString::to_string).collect();
    let kind = shape.text("type").unwrap_or(Cow::Borrowed(""));
    if kind == "boolean" {
        choices = vec!["true".to_owned(), "false".to_owned()];
    }
    let input = html! {
        @if !choices.is_empty() {
            select name=(json) required[is_required] {
                option value="" { "–" }
                @for choice in &choices { option value=(choice) { (visible(choice)) } }
            }
        } @else if kind == "number" || kind == "integer" {
            input type="number" step=[(kind == "number").then_some("any")] name=(json) required[is_required];
        } @else if kind == "string" {
            textarea.short name=(text) required[is_required] spellcheck="false" {}
        } @else {
            textarea.short name=(json) required[is_required] spellcheck="false" placeholder="JSON" {}
        }
    };
    html! { (field(&label, &input)) @if !about.is_empty() { p.faint { (visible(&about)) } } }
}
