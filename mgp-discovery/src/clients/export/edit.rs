//! Edits of a text that leave everything else as it is.

use std::ops::Range;

use super::{
    ClientFileChange, ClientKind, DocumentMember, DocumentNode, DocumentValue, ExportError, Position,
    document, edit_json, edit_toml, edit_yaml,
};
use crate::clients::Format;

/// The file to change, as it was parsed.
pub(super) struct EditTarget<'a> {
    pub(super) text: &'a str,
    pub(super) root: &'a DocumentNode,
    pub(super) home: &'a [&'static str],
    /// Set if servers stand in a list, each with its name in it.
    pub(super) listed: bool,
}

impl EditTarget<'_> {
    pub(super) fn by_hand(&self, at: usize) -> ExportError {
        ExportError::ByHand { at: Position::of(self.text, at) }
    }

    /// Returns the line ending of the text.
    pub(super) fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// Returns the start of the line in which `at` lies.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// Returns the end of the line in which `at` lies, its line break included.
    pub(super) fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |newline| at + newline + 1)
    }
}

/// A part of a text, and its replacement. Parts do not overlap.
pub(super) type Splice = (Range<usize>, String);

pub(super) fn splice(text: &str, mut splices: Vec<Splice>) -> String {
    splices.sort_by_key(|(part, _)| part.start);
    let mut out = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for (part, new) in splices {
        out.push_str(&text[done..part.start]);
        out.push_str(&new);
        done = part.end;
    }
    out.push_str(&text[done..]);
    out
}

pub(super) fn edit(
    kind: ClientKind,
    text: &str,
    root: &DocumentNode,
    home: &'static [&'static str],
    change: &ClientFileChange,
    entry: &DocumentNode,
) -> Result<String, ExportError> {
    let listed = kind == ClientKind::Continue;
    let expected = expected(text, root, home, change, entry, listed)?;
    let (remove, put): (Remove, Put) = match kind.format() {
        Format::Json => (|target, names| Ok(edit_json::remove(target, names)), edit_json::put),
        Format::Yaml => (edit_yaml::remove, edit_yaml::put),
        Format::Toml => (edit_toml::remove, edit_toml::put),
    };
    let mut gone: Vec<&str> =
        change.without.iter().map(String::as_str).filter(|name| *name != change.name).collect();
    if kind.format() == Format::Yaml {
        // The server is removed here and put in again where new ones go.
        gone.push(&change.name);
    }
    let without = remove(&EditTarget { text, root, home, listed }, &gone)?;
    let root = parse(kind, &without)?;
    let after = put(&EditTarget { text: &without, root: &root, home, listed }, &change.name, entry)?;
    // The texts of others are changed only if the outcome is certain.
    let at = root.at(home).map_or(0, |node| node.span.start);
    if parse(kind, &after)? == expected {
        Ok(after)
    } else {
        Err(ExportError::ByHand { at: Position::of(&without, at) })
    }
}

type Remove = fn(&EditTarget<'_>, &[&str]) -> Result<String, ExportError>;
type Put = fn(&EditTarget<'_>, &str, &DocumentNode) -> Result<String, ExportError>;

fn parse(kind: ClientKind, text: &str) -> Result<DocumentNode, ExportError> {
    let read = document::parse(kind.format(), text);
    read.map_err(|wrong| ExportError::ByHand { at: wrong.at })
}

/// Returns the tree that the changed file must have.
fn expected(
    text: &str,
    root: &DocumentNode,
    home: &[&str],
    change: &ClientFileChange,
    entry: &DocumentNode,
    listed: bool,
) -> Result<DocumentNode, ExportError> {
    let mut expected = root.clone();
    let mut node = &mut expected;
    for (depth, key) in home.iter().enumerate() {
        let occupied = |node: &DocumentNode| ExportError::Occupied {
            at: Position::of(text, node.span.start),
            place: if depth == 0 { "the file".to_owned() } else { home[..depth].join(".") },
            found: node.kind(),
        };
        if matches!(node.value, DocumentValue::Null) {
            node.value = DocumentValue::Map(Vec::new());
        }
        if !matches!(node.value, DocumentValue::Map(_)) {
            return Err(occupied(node));
        }
        refuse_repeated(text, node)?;
        let DocumentValue::Map(members) = &mut node.value else { return Err(occupied(root)) };
        let index = members.iter().position(|member| member.key == *key).unwrap_or_else(|| {
            members.push(DocumentMember::made(key, DocumentNode::made(DocumentValue::Null)));
            members.len() - 1
        });
        node = &mut members[index].node;
    }
    if matches!(node.value, DocumentValue::Null) {
        node.value = if listed { DocumentValue::List(Vec::new()) } else { DocumentValue::Map(Vec::new()) };
    }
    refuse_repeated(text, node)?;
    let goes = |name: &str| name == change.name || change.without.iter().any(|gone| gone == name);
    match &mut node.value {
        DocumentValue::Map(members) if !listed => {
            members.retain(|member| !goes(&member.key));
            members.push(DocumentMember::made(&change.name, entry.clone()));
        }
        DocumentValue::List(items) if listed => {
            items.retain(|item| !item.get("name").and_then(DocumentNode::text).is_some_and(goes));
            items.push(entry.clone());
        }
        _ => {
            let at = Position::of(text, node.span.start);
            return Err(ExportError::Occupied { at, place: home.join("."), found: node.kind() });
        }
    }
    Ok(expected)
}

fn refuse_repeated(text: &str, node: &DocumentNode) -> Result<(), ExportError> {
    let mut seen = std::collections::HashSet::new();
    match node.members().iter().find(|member| !seen.insert(member.key.as_str())) {
        None => Ok(()),
        Some(member) => Err(ExportError::Repeated {
            at: Position::of(text, member.key_span.start),
            name: member.key.clone(),
        }),
    }
}
