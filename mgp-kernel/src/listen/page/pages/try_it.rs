//! The form that calls a tool, made from the schema of its arguments.

use std::borrow::Cow;

use maud::{Markup, html};
use mgp_types::{Object, RawJson};

use super::super::layout::{field, form, segment, visible};

/// Returns the form that calls the tool `name`.
pub(super) fn form_of(name: &str, definition: &Object) -> Markup {
    let schema = definition.object("inputSchema").unwrap_or_default();
    let required: Vec<String> = schema.get("required").and_then(|names| names.to().ok()).unwrap_or_default();
    let properties = schema.object("properties").unwrap_or_default();
    let fields = html! {
        input type="hidden" name="name" value=(name);
        @for (argument, shape) in properties.iter() {
            (one(&argument, &Object::from_raw(&shape).unwrap_or_default(), required.iter().any(|name| *name == argument)))
        }
        button.primary { "Call it" }
    };
    form("call", &format!("/tools/{}", segment(name)), &fields)
}

/// Returns the field of an argument. What is neither a text, a number nor a choice is written as JSON.
fn one(argument: &str, shape: &Object, is_required: bool) -> Markup {
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
