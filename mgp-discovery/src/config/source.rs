//! Parsed TOML files, with the positions of their values.

use std::ops::Range;
use std::path::{Path, PathBuf};

use toml_edit::{Document, Item, Key, Table, TableLike, Value};

use super::problem::{ConfigError, Problem, Severity};

/// The texts of the parser for common mistakes, and how to mend each.
const HELP: [(&str, &str); 7] = [
    ("unicode", r"write texts with a backslash in single quotes, such as 'C:\tools\server.exe'"),
    ("escape", r"write texts with a backslash in single quotes, such as 'C:\tools\server.exe'"),
    ("expected newline", "a value ends with its line: remove what follows it, such as a comma"),
    ("key with no value", "write `key = value`, with texts in double quotes"),
    ("string values must be quoted", "write texts in double quotes"),
    ("invalid float", "write texts in double quotes"),
    ("invalid boolean", "write texts in double quotes"),
];

/// A TOML file, with the positions of its values.
pub(super) struct ConfigSource {
    file: PathBuf,
    document: Document<String>,
}

/// The path to a value, from the outside in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ValuePath(Vec<PathStep>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Key(String),
    Index(usize),
}

/// A value of a document, in any of its forms.
#[derive(Clone, Copy)]
pub(super) enum TomlNode<'a> {
    Item(&'a Item),
    Value(&'a Value),
    Table(&'a Table),
}

impl ConfigSource {
    pub(super) fn parse(file: &Path, text: &str) -> Result<Self, ConfigError> {
        match Document::parse(text.to_owned()) {
            Ok(document) => Ok(Self { file: file.into(), document }),
            Err(error) => {
                let span = error.span().unwrap_or(text.len()..text.len());
                let what = error.message().trim_end().replace('\n', "; ");
                let help = if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') {
                    Some(
                        "this is JSON, and TOML is wanted: `mgp import FILE` reads the JSON of other clients",
                    )
                } else {
                    HELP.iter().find(|(sign, _)| what.contains(sign)).map(|(_, help)| *help)
                };
                // The begin and the kind of the unreadable value are unknown, so that the line is veiled.
                let problem = Problem::at(Severity::Error, file, text, span, what).veiled();
                Err(help.into_iter().fold(problem, Problem::instead).into())
            }
        }
    }

    pub(super) fn document(&self) -> &Document<String> {
        &self.document
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns a problem of a value, or of its parent where there is no such value.
    pub(super) fn value(&self, severity: Severity, place: &ValuePath, what: impl Into<String>) -> Problem {
        let (_, value) = self.spans(place);
        self.problem(severity, place, value, what)
    }

    /// Returns a problem of a key.
    pub(super) fn key(&self, severity: Severity, place: &ValuePath, what: impl Into<String>) -> Problem {
        let (key, value) = self.spans(place);
        self.problem(severity, place, key.unwrap_or(value), what)
    }

    fn problem(
        &self,
        severity: Severity,
        place: &ValuePath,
        span: Range<usize>,
        what: impl Into<String>,
    ) -> Problem {
        let problem =
            Problem::at(severity, &self.file, self.document.raw(), span, what).key(place.to_string());
        if place.is_confidential() { problem.veiled() } else { problem }
    }

    fn spans(&self, place: &ValuePath) -> (Option<Range<usize>>, Range<usize>) {
        let mut node = TomlNode::Table(self.document.as_table());
        let (mut key, mut value) = (None, 0..0);
        for step in &place.0 {
            let next = match step {
                PathStep::Key(name) => {
                    node.table().and_then(|table| table.get_key_value(name)).map(|(name, item)| {
                        key = name.span();
                        TomlNode::Item(item)
                    })
                }
                PathStep::Index(index) => node.element(*index),
            };
            let Some(next) = next else { break };
            node = next;
            // A table that only appears in dotted keys or the headers below it has no position of its own.
            if let Some(span) = node.span().or_else(|| key.clone()) {
                value = span;
            }
        }
        (key, value)
    }
}

impl ValuePath {
    pub(super) fn key(&self, name: impl Into<String>) -> Self {
        self.then(PathStep::Key(name.into()))
    }

    pub(super) fn index(&self, index: usize) -> Self {
        self.then(PathStep::Index(index))
    }

    /// Returns the place at `path` within this one, as faults name it: `args[1]`, `env.NAME`. Names with a dot lead to
    /// their parent, which is near enough to be shown.
    pub(super) fn path(&self, path: &str) -> Self {
        if path.is_empty() {
            return self.clone();
        }
        let (path, index) = match path.strip_suffix(']').and_then(|path| path.rsplit_once('[')) {
            Some((list, index)) => (list, index.parse().ok()),
            None => (path, None),
        };
        let place = path.split('.').fold(self.clone(), |place, key| place.key(key));
        match index {
            Some(index) => place.index(index),
            None => place,
        }
    }

    /// Returns the keys that lead to the place, without the numbers of list entries.
    pub(super) fn keys(&self) -> String {
        let keys = self.0.iter().filter_map(|step| match step {
            PathStep::Key(name) => Some(name.as_str()),
            PathStep::Index(_) => None,
        });
        keys.collect::<Vec<_>>().join(".")
    }

    /// Returns whether the place often holds secrets, or is within one that does.
    pub(super) fn is_confidential(&self) -> bool {
        let names = [
            "env", "headers", "otlp_headers", "args", "url", "otlp", "embedder", "client_secret",
            "private_key",
        ];
        self.0.iter().any(|step| matches!(step, PathStep::Key(name) if names.contains(&name.as_str())))
    }

    /// Returns whether the value is the one at `place`, or lies within it.
    pub(super) fn is_within(&self, place: &Self) -> bool {
        self.0.starts_with(&place.0)
    }

    fn then(&self, step: PathStep) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl std::fmt::Display for ValuePath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                PathStep::Index(index) => write!(f, "[{index}]")?,
                PathStep::Key(name) => {
                    let dot = if index == 0 { "" } else { "." };
                    write!(f, "{dot}{}", Key::new(name.as_str()).display_repr())?;
                }
            }
        }
        Ok(())
    }
}

impl<'a> TomlNode<'a> {
    pub(super) fn table(self) -> Option<&'a dyn TableLike> {
        match self {
            Self::Item(item) => item.as_table_like(),
            Self::Value(value) => value.as_inline_table().map(|table| table as &dyn TableLike),
            Self::Table(table) => Some(table),
        }
    }

    /// Returns the number of elements of a list; `None` for other values.
    pub(super) fn len(self) -> Option<usize> {
        match self {
            Self::Item(Item::ArrayOfTables(tables)) => Some(tables.len()),
            _ => self.array().map(toml_edit::Array::len),
        }
    }

    pub(super) fn element(self, index: usize) -> Option<Self> {
        match self {
            Self::Item(Item::ArrayOfTables(tables)) => tables.get(index).map(Self::Table),
            _ => self.array()?.get(index).map(Self::Value),
        }
    }

    pub(super) fn scalar(self) -> Option<&'a Value> {
        match self {
            Self::Item(item) => item.as_value(),
            Self::Value(value) => Some(value),
            Self::Table(_) => None,
        }
    }

    /// Returns the kind of the value, in words for messages.
    pub(super) fn kind(self) -> &'static str {
        match self.scalar() {
            Some(Value::String(_)) => "a text",
            Some(Value::Integer(_)) => "a whole number",
            Some(Value::Float(_)) => "a number with a fraction",
            Some(Value::Boolean(_)) => "a boolean",
            Some(Value::Datetime(_)) => "a date or time",
            Some(Value::Array(_)) => "a list",
            None if self.len().is_some() => "a list of tables",
            Some(Value::InlineTable(_)) | None => "a table",
        }
    }

    fn array(self) -> Option<&'a toml_edit::Array> {
        self.scalar().and_then(Value::as_array)
    }

    fn span(self) -> Option<Range<usize>> {
        match self {
            Self::Item(item) => item.span(),
            Self::Value(value) => value.span(),
            Self::Table(table) => table.span(),
        }
    }
}
