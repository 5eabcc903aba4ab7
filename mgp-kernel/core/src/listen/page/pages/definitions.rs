//! The definitions of servers: those that are held or flagged, and what changed in one.

use maud::{Markup, html};
use mgp_security::definition::{DefinitionChange, DefinitionName};
use mgp_types::Error;
use mgp_types::mgp::ServerId;

use super::super::form::Form;
use super::super::layout::{Page, block, button, form, json, more, segment, table, visible};
use super::super::page_client::PageClient;
use crate::admin::pins::{ListPins, PinDiff, PinRow, PinnedName};
use crate::terminal::word_of;

pub(super) async fn all(client: &PageClient, query: &Form) -> Result<Page, Error> {
    let mut wanted: ListPins = query.to()?;
    wanted.page.limit = Some(ROWS);
    let found = client.ask(&wanted).await?;
    let waiting: Vec<_> = found.pins.iter().filter_map(approval).collect();
    let none = if wanted.waiting { "No definition is held or flagged." } else { "No definition is known." };
    let body = html! {
        p {
            @if wanted.waiting { a href="/definitions" { "All definitions" } }
            @else { a href="/definitions?waiting:json=true" { "Only those that are held or flagged" } }
        }
        (form("pins/approve", "/definitions?waiting:json=true", &html! {
            (table(&["Select", "Definition", "Server", "State", "Why"], found.pins.iter().map(row), none))
            @if !waiting.is_empty() {
                div.row.below { button { "Approve those that are selected" } }
            }
        }))
        @if !waiting.is_empty() {
            (form("pins/approve", "/definitions?waiting:json=true", &html! {
                @for one in &waiting { input type="hidden" name="_each" value=(one); }
                button { "Approve all that wait here: " (waiting.len()) }
            }))
        }
        (more("/definitions", query, "offset:json", found.next_offset))
    };
    Ok(Page::new("Definitions", body))
}

fn row(pin: &PinRow) -> Markup {
    let (server, name) = (pin.server_id.as_str(), pin.name.to_string());
    html! {
        td {
            @if let Some(one) = approval(pin) {
                input type="checkbox" name="_each" value=(one) aria-label={ "Select " (name) };
            }
        }
        td { a href={ "/definitions/" (segment(server)) "/" (segment(&name)) } { (visible(&name)) } }
        td { a href={ "/servers/" (segment(server)) } { (visible(server)) } }
        td { (state(pin)) }
        td { @if let Some(standing) = &pin.standing { (visible(&standing.reason)) } }
    }
}

/// Returns the fields that approve the definition that waits, as one value; `None` if none does.
fn approval(pin: &PinRow) -> Option<String> {
    let (name, despite, digest) = (pin.name.to_string(), despite(pin), pin.waiting.as_deref()?);
    let server = pin.server_id.as_str();
    let of = [("server_id", server), ("name", &*name), ("digest", digest), ("despite:json", &*despite)];
    Some(Form::of(&of).to_query())
}

/// Returns the rules that an approval is given in spite of, as JSON.
fn despite(pin: &PinRow) -> String {
    let rules = pin.standing.as_ref().map(|standing| &*standing.rules).unwrap_or_default();
    serde_json::to_string(rules).unwrap_or_default()
}

fn state(pin: &PinRow) -> Markup {
    let word = pin.standing.as_ref().map_or_else(|| word_of(pin.state), |standing| standing.is.clone());
    html! { span class={ "badge " (word) } { (word) } }
}

pub(super) async fn one(client: &PageClient, server: &str, name: &str) -> Result<Page, Error> {
    let wanted = PinnedName { server_id: ServerId::from(server), name: DefinitionName::from(name) };
    let found = client.ask(&wanted).await?;
    let PinDiff { row, definition, changes, omitted, .. } = &found;
    let change = |change: &DefinitionChange| {
        html! {
            td { code { (visible(&change.pointer)) } }
            td { @if let Some(before) = &change.before { del { (block(before)) } } }
            td { @if let Some(after) = &change.after { ins { (block(after)) } } }
        }
    };
    let here = format!("/definitions/{}/{}", segment(server), segment(name));
    let despite = despite(row);
    let body = html! {
        dl {
            dt { "Server" } dd { a href={ "/servers/" (segment(server)) } { (visible(server)) } }
            dt { "State" } dd { (state(row)) }
            @if let Some(standing) = &row.standing { dt { "Why" } dd { (visible(&standing.reason)) } }
        }
        @if let Some(digest) = &row.waiting {
            (button(
                "pins/approve",
                &[("server_id", server), ("name", name), ("digest", digest), ("despite:json", &despite)],
                &here,
                "Approve what stands here",
                "primary",
            ))
        }
        @if !changes.is_empty() {
            h2 { "What changed since it was approved" }
            (table(&["At", "Before", "After"], changes.iter().map(change), ""))
            @if *omitted > 0 { p.faint { "and " (omitted) " more changes" } }
        }
        h2 { "Definition" }
        @if let Some(definition) = definition { (json(definition)) }
    };
    Ok(Page::new(name, body))
}

/// The number of definitions on a page.
const ROWS: u32 = 200;
