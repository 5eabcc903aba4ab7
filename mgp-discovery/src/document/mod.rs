//! Files of clients and `mgp.toml` as trees that know where each part stands.
//!
//! JSON with comments, YAML and TOML all become the same [`DocumentNode`], so that the meaning of a server's entry is defined
//! once, and errors have a line and column.

pub(crate) mod json;
pub(crate) mod toml;
mod yaml;

use std::ops::Range;

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// JSON, in which comments and trailing commas are allowed.
    Json,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
}

/// A text does not follow its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: Position,
    pub(crate) what: String,
}

/// A value, and the bytes of the text in which it stands.
#[derive(Clone)]
pub(crate) struct DocumentNode {
    pub(crate) span: Range<usize>,
    pub(crate) value: DocumentValue,
}

#[derive(Clone)]
pub(crate) enum DocumentValue {
    Null,
    Bool(bool),
    /// A number or a time.
    Number(String),
    Text(String),
    List(Vec<DocumentNode>),
    Map(Vec<DocumentMember>),
}

#[derive(Clone)]
pub(crate) struct DocumentMember {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: DocumentNode,
}

impl DocumentNode {
    pub(crate) fn new(span: Range<usize>, value: DocumentValue) -> Self {
        Self { span, value }
    }

    /// Returns the value of the member of that name.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.member(key).map(|member| &member.node)
    }

    /// Returns the member of that name. Of several, the last: clients use that one.
    pub(crate) fn member(&self, key: &str) -> Option<&DocumentMember> {
        self.members().iter().rev().find(|member| member.key == key)
    }

    /// Returns the node at the end of a path of names.
    pub(crate) fn at(&self, path: &[impl AsRef<str>]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key.as_ref()))
    }

    pub(crate) fn members(&self) -> &[DocumentMember] {
        if let DocumentValue::Map(members) = &self.value { members } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Self] {
        if let DocumentValue::List(items) = &self.value { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let DocumentValue::Text(text) = &self.value { Some(text) } else { None }
    }

    /// Returns a scalar as text, because clients accept `"PORT": 8080`, too.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            DocumentValue::Text(text) | DocumentValue::Number(text) => Some(text.clone()),
            DocumentValue::Bool(yes) => Some(yes.to_string()),
            DocumentValue::Null | DocumentValue::List(_) | DocumentValue::Map(_) => None,
        }
    }

    /// Returns a whole number.
    pub(crate) fn number(&self) -> Option<i64> {
        if let DocumentValue::Number(text) = &self.value { text.parse().ok() } else { None }
    }

    /// Returns the kind of this value, in words for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            DocumentValue::Null => "nothing",
            DocumentValue::Bool(_) => "a truth value",
            DocumentValue::Number(_) => "a number",
            DocumentValue::Text(_) => "a text",
            DocumentValue::List(_) => "a list",
            DocumentValue::Map(_) => "a table",
        }
    }
}

// Files of clients hold secrets, so that no contents are shown.
mgp_types::write_as!(Debug of DocumentNode, self => "{} at {:?}", self.kind(), self.span);

/// Reads a text. A text without any contents is an empty table.
pub(crate) fn parse(format: Format, text: &str) -> Result<DocumentNode, SyntaxError> {
    match format {
        Format::Json => json::parse(text),
        Format::Yaml => yaml::parse(text),
        Format::Toml => toml::parse(text),
    }
}

/// Returns the text without the byte order mark that some editors put at its start.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// A position in a text; both numbers begin at 1, and columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a line and a column are a position")]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in the line, from 1.
    pub column: usize,
}

impl Position {
    /// Returns the position of the byte at `offset`; the middle of a character counts as its start, and an offset past
    /// the end as the end.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

mgp_types::write_as!(Display of Position, self => "line {}, column {}", self.line, self.column);
