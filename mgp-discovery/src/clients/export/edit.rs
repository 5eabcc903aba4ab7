//! Edits of a text that leave everything else as it is.

use jsonc_parser::cst::{CstInputValue, CstObject};
use serde::Serialize as _;
use serde_json::Value;
use toml_edit::{Item, Table, ser::ValueSerializer};

use super::{ClientFileChange, SyntaxError};
use crate::document;

/// The text with its change, or the fault for which it has none.
type EditOutcome = Result<String, SyntaxError>;

/// Changes JSON. Comments, blanks and the order of all other members stay.
pub(super) fn json(text: &str, home: &[&str], change: &ClientFileChange, entry: &Value) -> EditOutcome {
    let file = document::json::editable(text)?;
    let path: Vec<&str> = home.iter().copied().chain([change.name.as_str()]).collect();
    let mut object = file.object_value_or_set();
    let mut depth = 0;
    while let Some(inner) = home.get(depth).and_then(|key| object.object_value(key)) {
        (object, depth) = (inner, depth + 1);
    }
    if depth == home.len() {
        for name in change.without.iter().filter(|name| **name != change.name) {
            if let Some(server) = object.get(name) {
                server.remove();
            }
        }
    }
    let within = |value, key: &&str| Value::Object([((*key).to_owned(), value)].into_iter().collect());
    put(&object, path[depth], &path[depth + 1..].iter().rev().fold(entry.clone(), within));
    let end = if text.trim().is_empty() { "\n" } else { "" };
    Ok(format!("{file}{end}"))
}

/// Puts a property into an object.
fn put(object: &CstObject, key: &str, value: &Value) {
    let first = object.properties().first().and_then(|first| first.name()?.as_string_lit());
    match (object.get(key), first) {
        (Some(old), _) => old.set_value(input(value)),
        // To append a property, the parser would put an object that stands on one line on several.
        (None, Some(first)) if !object.to_string().contains('\n') => {
            first.set_raw_value(format!("{}:{value},{}", Value::from(key), first.raw_value()));
        }
        (None, _) => {
            object.append(key, input(value));
        }
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}

/// Changes TOML. Comments, blanks and the order of all other tables stay.
pub(super) fn toml(text: &str, home: &[&str], change: &ClientFileChange, entry: &Value) -> EditOutcome {
    let mut document = document::toml::editable(text)?;
    let mut servers = document.as_item_mut();
    for key in home {
        servers = servers.as_table_like_mut().expect("it was looked at").entry(key).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
    }
    if let Some(servers) = servers.as_table_like_mut() {
        for name in change.without.iter().filter(|name| **name != change.name) {
            servers.remove(name);
        }
        let members = entry.as_object().into_iter().flatten().filter_map(|(key, value)| {
            Some((key, Item::Value(value.serialize(ValueSerializer::new()).ok()?)))
        });
        servers.insert(&change.name, Item::Table(members.collect()));
    }
    Ok(document.to_string())
}
