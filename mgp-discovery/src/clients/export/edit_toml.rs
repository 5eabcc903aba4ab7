//! Edits of TOML.

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, Value as Toml};

use super::{DocumentNode, DocumentValue, ExportError, edit::EditTarget};

pub(super) fn remove(target: &EditTarget<'_>, names: &[&str]) -> Result<String, ExportError> {
    let mut document = parse(target)?;
    if let Some(servers) =
        target.home.first().and_then(|home| document.get_mut(home)).and_then(Item::as_table_like_mut)
    {
        for name in names {
            servers.remove(name);
        }
    }
    Ok(document.to_string())
}

pub(super) fn put(target: &EditTarget<'_>, name: &str, entry: &DocumentNode) -> Result<String, ExportError> {
    let mut document = parse(target)?;
    let Some(home) = target.home.first() else { return Err(target.by_hand(0)) };
    let home = document.entry(home).or_insert_with(|| {
        let mut servers = Table::new();
        servers.set_implicit(true);
        Item::Table(servers)
    });
    if let Some(inline) = home.as_inline_table_mut() {
        inline.insert(name, value(entry));
    } else if let Some(servers) = home.as_table_mut() {
        let mut table = Table::new();
        for member in entry.members() {
            table.insert(&member.key, Item::Value(value(&member.node)));
        }
        servers.insert(name, Item::Table(table));
    }
    Ok(document.to_string())
}

fn parse(target: &EditTarget<'_>) -> Result<DocumentMut, ExportError> {
    target.text.parse().map_err(|_| target.by_hand(0))
}

fn value(node: &DocumentNode) -> Toml {
    match &node.value {
        // TOML has no null, and no entry has one.
        DocumentValue::Null => Toml::from(""),
        DocumentValue::Bool(yes) => Toml::from(*yes),
        DocumentValue::Number(text) | DocumentValue::Text(text) => Toml::from(text.as_str()),
        DocumentValue::List(items) => Toml::Array(items.iter().map(value).collect::<Array>()),
        DocumentValue::Map(members) => {
            let members = members.iter().map(|member| (member.key.as_str(), value(&member.node)));
            Toml::InlineTable(members.collect::<InlineTable>())
        }
    }
}
