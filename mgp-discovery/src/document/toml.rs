//! TOML, as `mgp.toml` and Codex have it, read as a tree.

use toml_edit::{Document, DocumentMut, Item, Table, TableLike, TomlError, Value as Toml};

use super::{DocumentMember, DocumentNode, DocumentValue, Position, SyntaxError};

pub(super) fn parse(text: &str) -> Result<DocumentNode, SyntaxError> {
    let document = Document::parse(text).map_err(|why| wrong(text, &why))?;
    Ok(tree(&document))
}

/// Returns a document that was read as a tree.
pub(crate) fn tree<S: AsRef<str>>(document: &Document<S>) -> DocumentNode {
    DocumentNode::new(0..document.raw().len(), table(document.as_table()))
}

/// Reads a text as a document that can be changed and keeps its comments and blanks.
pub(crate) fn editable(text: &str) -> Result<DocumentMut, SyntaxError> {
    text.parse().map_err(|why| wrong(text, &why))
}

fn wrong(text: &str, why: &TomlError) -> SyntaxError {
    SyntaxError {
        at: Position::of(text, why.span().map_or(0, |span| span.start)),
        what: why.message().trim().replace('\n', ", "),
    }
}

/// Returns the value of a table. The parser bounds how deep values lie in one another.
fn table(table: &dyn TableLike) -> DocumentValue {
    let members = table.iter().map(|(key, value)| {
        let key_span = table.key(key).and_then(toml_edit::Key::span).unwrap_or_default();
        let mut node = item(value);
        if node.span.is_empty() {
            node.span = key_span.clone();
        }
        DocumentMember { key: key.to_owned(), key_span, node }
    });
    DocumentValue::Map(members.collect())
}

fn item(item: &Item) -> DocumentNode {
    let value = match item {
        Item::None => DocumentValue::Null,
        Item::Value(value) => return scalar(value),
        Item::Table(inner) => table(inner),
        Item::ArrayOfTables(tables) => {
            let node = |inner: &Table| DocumentNode::new(inner.span().unwrap_or_default(), table(inner));
            DocumentValue::List(tables.iter().map(node).collect())
        }
    };
    DocumentNode::new(item.span().unwrap_or_default(), value)
}

fn scalar(value: &Toml) -> DocumentNode {
    let node = match value {
        Toml::String(text) => DocumentValue::Text(text.value().clone()),
        Toml::Integer(number) => DocumentValue::Number(number.value().to_string()),
        // A whole number with a fraction keeps it.
        Toml::Float(number) => DocumentValue::Number(format!("{:?}", number.value())),
        Toml::Boolean(yes) => DocumentValue::Bool(*yes.value()),
        Toml::Datetime(time) => DocumentValue::Number(time.value().to_string()),
        Toml::InlineTable(inner) => table(inner),
        Toml::Array(items) => DocumentValue::List(items.iter().map(scalar).collect()),
    };
    DocumentNode::new(value.span().unwrap_or_default(), node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stand_where_the_text_has_them() {
        let text = "[m.x]\ncommand = \"c\"\n";
        let node = parse(text).unwrap();
        assert_eq!(&text[node.at(&["m", "x", "command"]).unwrap().span.clone()], "\"c\"");
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_column() {
        assert_eq!(parse("a = 1\nb = = 2\n").unwrap_err().at.line, 2);
        for deep in [format!("a = {}", "[".repeat(100_000)), format!("{}b = 1", "a.".repeat(100_000))] {
            assert!(parse(&deep).is_err());
        }
    }
}
