//! Changes of `mgp.toml` by commands, which keep comments and order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, RawString, Table, Value};

use super::model::{Config, FolderRule, ServerConfig};
use super::problem::ConfigError;
use crate::{AtomicFile, FileReaders};

/// A configuration file that a program changes while its comments and order stay.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    path: PathBuf,
    before: String,
    document: DocumentMut,
}

/// The reason for which a file was not changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The file has errors, or would have after the change.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The file already has a server of this id.
    #[error("the file already has a server `{0}`; run `mgp remove {0}` first, or choose another id")]
    Exists(String),
    /// The file has no server of this id.
    #[error("there is no server `{0}` in this file")]
    Missing(String),
    /// The configuration of the server has errors.
    #[error("the server `{id}` cannot be written: {why}")]
    Unfit {
        /// The id of the server.
        id: String,
        /// The errors, each with the remedy.
        why: String,
    },
    /// A value has no form in TOML.
    #[error("a value cannot be written as TOML: {0}")]
    Unwritable(String),
    /// The file could not be read or written.
    #[error("{path}: {error}", path = path.display())]
    Io {
        /// The path of the file.
        path: PathBuf,
        /// The error of the system.
        error: io::Error,
    },
}

impl ConfigFile {
    /// Opens a file; a missing file is treated as empty, and is created by [`save`](Self::save).
    pub fn open(path: impl Into<PathBuf>) -> Result<Self, EditError> {
        let path = path.into();
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            Err(error) => return Err(EditError::Io { path, error }),
        };
        Self::new(path, text)
    }

    fn new(path: PathBuf, before: String) -> Result<Self, EditError> {
        Config::parse(&path, &before)?;
        let document = before.parse().map_err(|error: toml_edit::TomlError| unwritable(&error))?;
        Ok(Self { path, before, document })
    }

    /// Adds a server after the others, without keys that have their default. Text above it stays there: comments, too.
    pub fn add(&mut self, server: &ServerConfig) -> Result<(), EditError> {
        if self.position(&server.id).is_some() {
            return Err(EditError::Exists(server.id.clone()));
        }
        let table = self.judged(server)?;
        self.push("servers", table);
        Ok(())
    }

    /// Adds a rule for the folders that are open to clients after the others.
    pub fn open_folders(&mut self, rule: &FolderRule) -> Result<(), EditError> {
        let table = without_defaults(rule)?;
        self.push("folders", table);
        Ok(())
    }

    fn push(&mut self, list: &str, mut table: Table) {
        if !matches!(self.document.get(list), Some(Item::Value(_))) {
            self.place(list, &mut table);
        }
        let all = self.document.entry(list).or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
        match all {
            Item::ArrayOfTables(tables) => tables.push(table),
            Item::Value(Value::Array(array)) => array.push(table.into_inline_table()),
            other => *other = Item::ArrayOfTables(ArrayOfTables::from_iter([table])),
        }
    }

    /// Returns a server as a table of the file, if a file with this server alone would be valid.
    fn judged(&self, server: &ServerConfig) -> Result<Table, EditError> {
        let table = written(server)?;
        let mut alone = DocumentMut::new();
        alone.insert("servers", Item::ArrayOfTables(ArrayOfTables::from_iter([table.clone()])));
        match Config::parse(&self.path, &alone.to_string()) {
            Ok(_) => Ok(table),
            Err(error) => Err(EditError::Unfit { id: server.id.clone(), why: told(&error) }),
        }
    }

    /// Removes a server, with the comment right above it.
    pub fn remove(&mut self, id: &str) -> Result<(), EditError> {
        let index = self.position(id).ok_or_else(|| EditError::Missing(id.to_owned()))?;
        match self.document.get_mut("servers") {
            Some(Item::ArrayOfTables(tables)) => {
                let removed = tables.get(index).map(|table| (table.position(), kept_comment(table)));
                tables.remove(index);
                if tables.is_empty() {
                    self.document.remove("servers");
                }
                if let Some((position, comment)) = removed.filter(|(_, comment)| !comment.is_empty()) {
                    self.put_before_next(position, &comment);
                }
            }
            Some(Item::Value(Value::Array(array))) => {
                array.remove(index);
            }
            _ => {}
        }
        Ok(())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file after the changes.
    pub fn text(&self) -> String {
        self.document.to_string()
    }

    /// Returns the text of the file when it was opened.
    pub fn text_before(&self) -> &str {
        &self.before
    }

    /// Writes the file in one step: at any time the file is the old one or the new one. A new file is only for its owner.
    /// A text that could not be read again is not written.
    pub fn save(&self, readers: FileReaders) -> Result<(), EditError> {
        let text = self.text();
        Config::parse(&self.path, &text)?;
        AtomicFile::put(&self.path, &text, readers)
            .map_err(|error| EditError::Io { path: self.path.clone(), error })
    }

    fn position(&self, id: &str) -> Option<usize> {
        let is_it = |found: Option<&str>| found == Some(id);
        match self.document.get("servers")? {
            Item::ArrayOfTables(tables) => {
                tables.iter().position(|table| is_it(table.get("id").and_then(Item::as_str)))
            }
            Item::Value(Value::Array(array)) => array.iter().position(|server| {
                is_it(server.as_inline_table().and_then(|table| table.get("id")).and_then(Value::as_str))
            }),
            _ => None,
        }
    }

    /// Sets the position of a new entry of `list`: behind the last one, or at the end of the file. Comments of the section
    /// before stay above it.
    fn place(&mut self, list: &str, table: &mut Table) {
        let position = match self.document.get_mut(list) {
            Some(Item::ArrayOfTables(tables)) => tables.iter_mut().filter_map(last_position).max(),
            _ => last_position(self.document.as_table_mut()).map(|last| last + 1),
        };
        table.set_position(position);
        let mut above = String::new();
        match self.next_after(position) {
            None => {
                above.push_str(self.document.trailing().as_str().unwrap_or_default());
                self.document.set_trailing("");
            }
            Some(next) => self.change_prefix(next, |prefix| {
                let (of_last, own) = of_last_section(prefix);
                above.push_str(of_last);
                own.to_owned()
            }),
        }
        if !above.is_empty() && !above.ends_with('\n') {
            above.push('\n');
        }
        if !above.is_empty() || !self.document.is_empty() {
            above.push('\n');
        }
        table.decor_mut().set_prefix(above);
    }

    fn put_before_next(&mut self, removed: Option<isize>, comment: &str) {
        let Some(next) = self.next_after(removed) else {
            let trailing = format!("{comment}{}", self.document.trailing().as_str().unwrap_or_default());
            return self.document.set_trailing(format!("{}\n", trailing.trim_end()));
        };
        self.change_prefix(next, |prefix| format!("{comment}{}", prefix.trim_start_matches('\n')));
    }

    /// Returns the position of the section that follows this one.
    fn next_after(&mut self, position: Option<isize>) -> Option<isize> {
        let mut next = None;
        each_table(self.document.as_table_mut(), &mut |table| {
            let after = table.position().filter(|other| Some(*other) > position);
            next = next.into_iter().chain(after).min();
        });
        next
    }

    fn change_prefix(&mut self, position: isize, mut change: impl FnMut(&str) -> String) {
        each_table(self.document.as_table_mut(), &mut |table| {
            if table.position() == Some(position) {
                let changed = change(prefix(table));
                table.decor_mut().set_prefix(changed);
            }
        });
    }
}

/// Returns the last position of a table and the tables in it.
fn last_position(table: &mut Table) -> Option<isize> {
    let mut last = table.position();
    each_table(table, &mut |inner| last = last.max(inner.position()));
    last
}

/// Splits the text above a section: lines that follow the section before without a blank line belong to that one.
fn of_last_section(prefix: &str) -> (&str, &str) {
    match prefix.find("\n\n") {
        Some(blank) if !prefix.starts_with('\n') => prefix.split_at(blank + 1),
        _ => ("", prefix),
    }
}

/// Returns the text above the comment of a table, up to a blank line, which does not belong to the table.
fn kept_comment(table: &Table) -> String {
    let prefix = prefix(table);
    let kept = prefix.rfind("\n\n").map_or("", |blank| &prefix[..blank + 2]);
    if kept.contains('#') { kept.to_owned() } else { String::new() }
}

fn prefix(table: &Table) -> &str {
    table.decor().prefix().and_then(RawString::as_str).unwrap_or_default()
}

fn each_table(table: &mut Table, act: &mut impl FnMut(&mut Table)) {
    for (_, item) in table.iter_mut() {
        match item {
            Item::Table(table) => {
                act(table);
                each_table(table, act);
            }
            Item::ArrayOfTables(tables) => {
                for table in tables.iter_mut() {
                    act(table);
                    each_table(table, act);
                }
            }
            _ => {}
        }
    }
}

/// Returns the text of an error, without the positions in a file that does not exist.
fn told(error: &ConfigError) -> String {
    let each = error.problems().iter().map(|problem| match &problem.instead {
        Some(instead) => format!("{}: {instead}", problem.what),
        None => problem.what.clone(),
    });
    each.collect::<Vec<_>>().join("; ")
}

/// Returns a server in the form in which a person would write it.
fn written(server: &ServerConfig) -> Result<Table, EditError> {
    let mut table = without_defaults(server)?;
    let mut nested = |key: &str, inner: Table| table.insert(key, Item::Table(inner));
    if let Some(mgp) = &server.mgp {
        nested("mgp", without_defaults(mgp)?);
    }
    let security = without_defaults(&server.security)?;
    if !security.is_empty() {
        nested("security", security);
    }
    let limits = without_defaults(&server.limits)?;
    if !limits.is_empty() {
        nested("limits", limits);
    }
    for (key, tables) in [("tools", named(&server.tools)?), ("agents", named(&server.agents)?)] {
        if !tables.is_empty() {
            nested(key, tables);
        }
    }
    for (_, item) in table.iter_mut() {
        if let Item::Value(Value::InlineTable(inline)) = item {
            *item = Item::Table(std::mem::take(inline).into_table());
        }
    }
    // Keys go before tables, or they would belong to those.
    table.sort_values_by(|_, one, _, other| one.is_table().cmp(&other.is_table()));
    Ok(table)
}

fn named<T: Serialize + Default>(tables: &std::collections::BTreeMap<String, T>) -> Result<Table, EditError> {
    let mut all = Table::new();
    all.set_implicit(true);
    for (name, each) in tables {
        all.insert(name, Item::Table(without_defaults(each)?));
    }
    Ok(all)
}

fn without_defaults<T: Serialize + Default>(value: &T) -> Result<Table, EditError> {
    let table = |value: &T| toml_edit::ser::to_document(value).map(|document| document.as_table().clone());
    let mut said = table(value).map_err(|error| unwritable(&error))?;
    let unsaid = table(&T::default()).map_err(|error| unwritable(&error))?;
    let text = |item: &Item| item.to_string().trim().to_owned();
    said.retain(|key, item| unsaid.get(key).is_none_or(|default| text(default) != text(item)));
    Ok(said)
}

fn unwritable(error: &dyn std::fmt::Display) -> EditError {
    EditError::Unwritable(error.to_string())
}
