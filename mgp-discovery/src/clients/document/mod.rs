//! The files of clients as trees that know where each part stands.
//!
//! JSON with comments, YAML and TOML all become the same [`Node`], so that what a server's entry means is said once, and
//! what is wrong with it can be said with line and column.

mod json;
mod toml;
mod yaml;

use std::{fmt, ops::Range};

pub(crate) use self::json::skip_trivia;
pub(crate) use crate::Position;

/// How a file is written.
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

/// A text is not what its format asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) at: Position,
    pub(crate) what: String,
}

/// A value, and the bytes of the text that it stands in.
///
/// Two nodes are equal when they say the same; where they stand and in which order their members come is no part of it.
#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) value: Value,
}

#[derive(Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number as it is written.
    Number(String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Member>),
}

#[derive(Clone)]
pub(crate) struct Member {
    pub(crate) key: String,
    pub(crate) key_span: Range<usize>,
    pub(crate) node: Node,
}

impl Node {
    pub(crate) fn new(span: Range<usize>, value: Value) -> Self {
        Self { span, value }
    }

    /// A value that stands in no text yet.
    pub(crate) fn made(value: Value) -> Self {
        Self::new(0..0, value)
    }

    pub(crate) fn made_text(text: &str) -> Self {
        Self::made(Value::Text(text.to_owned()))
    }

    /// The member of that name. Of several, the last: that is the one which clients use.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        self.members().iter().rev().find(|member| member.key == key).map(|member| &member.node)
    }

    /// What lies at the end of a path of names.
    pub(crate) fn at(&self, path: &[impl AsRef<str>]) -> Option<&Self> {
        path.iter().try_fold(self, |node, key| node.get(key.as_ref()))
    }

    pub(crate) fn members(&self) -> &[Member] {
        if let Value::Map(members) = &self.value { members } else { &[] }
    }

    pub(crate) fn items(&self) -> &[Self] {
        if let Value::List(items) = &self.value { items } else { &[] }
    }

    pub(crate) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = &self.value { Some(text) } else { None }
    }

    /// A scalar as text, since clients accept `"PORT": 8080`, too.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Text(text) | Value::Number(text) => Some(text.clone()),
            Value::Bool(yes) => Some(yes.to_string()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// What kind of value this is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Map(_) => "a table",
        }
    }
}

impl Member {
    pub(crate) fn made(key: &str, node: Node) -> Self {
        Self { key: key.to_owned(), key_span: 0..0, node }
    }
}

impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::Null, Value::Null) => true,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Number(a), Value::Number(b)) | (Value::Text(a), Value::Text(b)) => a == b,
            (Value::List(a), Value::List(b)) => a == b,
            (Value::Map(a), Value::Map(b)) => {
                a.len() == b.len() && a.iter().all(|member| other.get(&member.key) == self.get(&member.key))
            }
            _ => false,
        }
    }
}

// Files of clients hold secrets, so nothing of their contents is shown.
impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:?}", self.kind(), self.span)
    }
}

/// Reads a text. One without any contents is an empty table.
pub(crate) fn parse(format: Format, text: &str) -> Result<Node, SyntaxError> {
    match format {
        Format::Json => json::parse(text),
        Format::Yaml => yaml::parse(text),
        Format::Toml => toml::parse(text),
    }
}

/// How deep values may lie in one another.
pub(crate) const MAX_DEPTH: usize = 64;

/// The text without the mark that some editors put at its start.
pub(crate) fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}
