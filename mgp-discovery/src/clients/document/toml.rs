//! TOML, as Codex writes it, read as a tree.

use toml_edit::{Document, Item, TableLike, Value as Toml};

use super::{DocumentMember, DocumentNode, DocumentValue, MAX_DEPTH, Position, SyntaxError};

pub(super) fn parse(text: &str) -> Result<DocumentNode, SyntaxError> {
    let document = Document::parse(text).map_err(|why| SyntaxError {
        at: Position::of(text, why.span().map_or(0, |span| span.start)),
        what: why.message().trim().replace('\n', ", "),
    })?;
    let too_deep = || SyntaxError {
        at: Position::of(text, 0),
        what: format!("values are nested deeper than {MAX_DEPTH} levels"),
    };
    let value = table(document.as_table(), 0).ok_or_else(too_deep)?;
    Ok(DocumentNode::new(0..text.len(), value))
}

/// Returns the node of a table; `None` if the values lie too deep in one another.
fn table(table: &dyn TableLike, depth: usize) -> Option<DocumentValue> {
    let mut members = Vec::new();
    for (key, value) in table.iter() {
        let key_span = table.key(key).and_then(toml_edit::Key::span).unwrap_or_default();
        let mut node = item(value, depth + 1)?;
        if node.span.is_empty() {
            node.span = key_span.clone();
        }
        members.push(DocumentMember { key: key.to_owned(), key_span, node });
    }
    Some(DocumentValue::Map(members))
}

fn item(item: &Item, depth: usize) -> Option<DocumentNode> {
    if depth > MAX_DEPTH {
        return None;
    }
    let value = match item {
        Item::None => DocumentValue::Null,
        Item::Value(value) => scalar(value, depth)?,
        Item::Table(inner) => table(inner, depth)?,
        Item::ArrayOfTables(tables) => {
            let nodes = tables.iter().map(|inner| {
                Some(DocumentNode::new(inner.span().unwrap_or_default(), table(inner, depth + 1)?))
            });
            DocumentValue::List(nodes.collect::<Option<_>>()?)
        }
    };
    Some(DocumentNode::new(item.span().unwrap_or_default(), value))
}

fn scalar(value: &Toml, depth: usize) -> Option<DocumentValue> {
    if depth > MAX_DEPTH {
        return None;
    }
    Some(match value {
        Toml::String(text) => DocumentValue::Text(text.value().clone()),
        Toml::Integer(number) => DocumentValue::Number(number.value().to_string()),
        Toml::Float(number) => DocumentValue::Number(number.value().to_string()),
        Toml::Boolean(yes) => DocumentValue::Bool(*yes.value()),
        Toml::Datetime(time) => DocumentValue::Text(time.value().to_string()),
        Toml::InlineTable(inner) => table(inner, depth)?,
        Toml::Array(items) => {
            let nodes = items.iter().map(|inner| {
                Some(DocumentNode::new(inner.span().unwrap_or_default(), scalar(inner, depth + 1)?))
            });
            DocumentValue::List(nodes.collect::<Option<_>>()?)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_inline_tables_are_the_same() {
        let one = parse("[m.x]\ncommand = \"c\"\nargs = [\"a\"]\n").unwrap();
        let other = parse("m = { x = { args = ['a'], command = 'c' } }\n").unwrap();
        assert_eq!(one, other);
    }

    #[test]
    fn values_stand_where_the_text_has_them() {
        let text = "[m.x]\ncommand = \"c\"\n";
        let node = parse(text).unwrap();
        assert_eq!(&text[node.at(&["m", "x", "command"]).unwrap().span.clone()], "\"c\"");
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_column() {
        assert_eq!(parse("a = 1\nb = = 2\n").unwrap_err().at.line, 2);
    }
}
