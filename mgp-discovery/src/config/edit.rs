//! Changes of `mgp.toml` by commands, which keep comments and order.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mgp_types::mgp::AskRule;
use serde::Serialize;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, TomlError, Value};

use super::model::{Config, FolderRule, ServerConfig};
use super::problem::ConfigError;
use crate::atomic_file::if_found;
use crate::document::{self, DocumentNode, DocumentValue, Format};
use crate::{AtomicFile, FileReaders};

/// A configuration file that a program changes while its comments and order stay.
#[derive(Debug, Clone)]
pub struct ConfigFile {
    path: PathBuf,
    before: String,
    text: String,
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
        let before = match if_found(fs::read_to_string(&path)) {
            Ok(text) => text.unwrap_or_default(),
            Err(error) => return Err(EditError::Io { path, error }),
        };
        Config::parse(&path, &before)?;
        Ok(Self { path, text: before.clone(), before })
    }

    /// Adds a server after the others, without keys that have their default. Text above it stays there: comments, too.
    pub fn add(&mut self, server: &ServerConfig) -> Result<(), EditError> {
        if self.position(&server.id).is_some() {
            return Err(EditError::Exists(server.id.clone()));
        }
        let table = written(server)?;
        if let Err(error) = Config::parse(&self.path, &alone("servers", &table)) {
            return Err(EditError::Unfit { id: server.id.clone(), why: describe(&error) });
        }
        self.push("servers", table)
    }

    /// Sets these keys of a server as `server` has them. Its other keys stay, and so do comments.
    pub fn update(&mut self, server: &ServerConfig, keys: &[&str]) -> Result<(), EditError> {
        let index = self.position(&server.id).ok_or_else(|| EditError::Missing(server.id.clone()))?;
        let (wanted, mut document) = (written(server)?, self.document()?);
        // Both ways to write a list of tables have the same tables.
        let entry = document.get_mut("servers").and_then(|servers| servers.get_mut(index));
        let Some(entry) = entry.and_then(Item::as_table_like_mut) else { return Ok(()) };
        for key in keys {
            match wanted.get(key) {
                Some(item) => drop(entry.insert(key, item.clone())),
                None => drop(entry.remove(key)),
            }
        }
        self.text = document.to_string();
        Ok(())
    }

    /// Adds a rule for the folders that are open to clients after the others.
    pub fn open_folders(&mut self, rule: &FolderRule) -> Result<(), EditError> {
        self.push("folders", without_defaults(rule)?)
    }

    /// Sets the rule for which calls a person is asked about, in place of the rule about the same calls.
    pub fn set_ask(&mut self, rule: &AskRule) -> Result<(), EditError> {
        self.forget_ask(rule)?;
        let table = toml_edit::ser::to_document(rule).map_err(|error| unwritable(&error))?;
        self.push("ask", table.as_table().clone())
    }

    /// Removes the rules about the same calls as `rule`, and returns whether there were any.
    pub fn forget_ask(&mut self, rule: &AskRule) -> Result<bool, EditError> {
        let mut found = false;
        loop {
            let config = Config::parse(&self.path, &self.text)?.0;
            let Some(index) = config.ask.iter().position(|known| known.is_about_the_same(rule)) else {
                return Ok(found);
            };
            self.remove_entry("ask", index)?;
            found = true;
        }
    }

    fn push(&mut self, list: &str, table: Table) -> Result<(), EditError> {
        let mut document = self.document()?;
        if let Some(Item::Value(Value::Array(array))) = document.get_mut(list) {
            array.push(table.into_inline_table());
            self.text = document.to_string();
            return Ok(());
        }
        let headers = Headers::of(&self.text);
        let (before, after) = self.text.split_at(headers.end_of(list));
        let blank = match before {
            "" => "",
            _ if before.ends_with('\n') => "\n",
            _ => "\n\n",
        };
        self.text = format!("{before}{blank}{}{after}", alone(list, &table));
        Ok(())
    }

    /// Removes a server, with the comment right above it.
    pub fn remove(&mut self, id: &str) -> Result<(), EditError> {
        let index = self.position(id).ok_or_else(|| EditError::Missing(id.to_owned()))?;
        self.remove_entry("servers", index)
    }

    fn remove_entry(&mut self, list: &str, index: usize) -> Result<(), EditError> {
        let mut document = self.document()?;
        if let Some(Item::Value(Value::Array(array))) = document.get_mut(list) {
            array.remove(index);
            self.text = document.to_string();
            return Ok(());
        }
        let headers = Headers::of(&self.text);
        let entry = headers.entries(list).swap_remove(index);
        let sections: Vec<_> = entry
            .iter()
            .map(|header| (headers.text_above(*header), headers.text_above(headers.next(*header))))
            .collect();
        let kept = sections[0].0 + kept_comment(&self.text[sections[0].0..entry[0]]);
        let has_kept = kept > sections[0].0;
        for (start, end) in sections.into_iter().rev() {
            self.text.replace_range(start.max(kept)..end, "");
        }
        if has_kept {
            let rest = self.text.split_off(kept);
            let rest = rest.trim_start_matches('\n');
            self.text.truncate(if rest.is_empty() { self.text.trim_end().len() + 1 } else { kept });
            self.text.push_str(rest);
        }
        Ok(())
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file after the changes.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the text of the file when it was opened.
    pub fn text_before(&self) -> &str {
        &self.before
    }

    /// Writes the file in one step: at any time the file is the old one or the new one. A new file is only for its owner.
    /// A text that could not be read again is not written.
    pub fn save(&self, readers: FileReaders) -> Result<(), EditError> {
        Config::parse(&self.path, &self.text)?;
        AtomicFile::put(&self.path, &self.text, readers)
            .map_err(|error| EditError::Io { path: self.path.clone(), error })
    }

    fn position(&self, id: &str) -> Option<usize> {
        let is_it = |server: &DocumentNode| server.get("id").and_then(DocumentNode::text) == Some(id);
        tree(&self.text).get("servers")?.items().iter().position(is_it)
    }

    fn document(&self) -> Result<DocumentMut, EditError> {
        self.text.parse().map_err(|error: TomlError| unwritable(&error))
    }
}

/// The headers of a file, such as `[listen]`, and the ends of its values, by their offsets.
struct Headers<'t> {
    text: &'t str,
    root: DocumentNode,
    all: Vec<usize>,
    ends: Vec<usize>,
}

impl<'t> Headers<'t> {
    fn of(text: &'t str) -> Self {
        let mut headers = Self { text, root: tree(text), all: Vec::new(), ends: Vec::new() };
        for member in headers.root.members() {
            visit(&member.node, text, &mut headers.all, &mut headers.ends);
        }
        headers
    }

    /// Returns the headers of each entry of a list: its own, then those within it.
    fn entries(&self, list: &str) -> Vec<Vec<usize>> {
        let entries = self.root.get(list).map(DocumentNode::items).unwrap_or_default();
        let headers_of = |entry| {
            let mut headers = Vec::new();
            visit(entry, self.text, &mut headers, &mut Vec::new());
            headers.sort_unstable();
            headers
        };
        entries.iter().map(headers_of).collect()
    }

    /// Returns the next header, or the end of the file.
    fn next(&self, header: usize) -> usize {
        self.all.iter().copied().filter(|other| *other > header).min().unwrap_or(self.text.len())
    }

    /// Returns the start of the comments and blank lines above a header.
    fn text_above(&self, header: usize) -> usize {
        let Some(end) = self.ends.iter().copied().filter(|end| *end <= header).max() else { return 0 };
        self.text[end..header].find('\n').map_or(header, |newline| end + newline + 1)
    }

    /// Returns the place of a new entry of a list: behind the last one, or at the end of the file. Lines that follow the
    /// section before without a blank line belong to that one.
    fn end_of(&self, list: &str) -> usize {
        let next = self.entries(list).concat().into_iter().max().map(|last| self.next(last));
        let Some(next) = next.filter(|next| *next < self.text.len()) else { return self.text.len() };
        let start = self.text_above(next);
        let above = &self.text[start..next];
        let blank = above.find("\n\n").filter(|_| !above.starts_with('\n'));
        blank.map_or(start, |blank| start + blank + 1)
    }
}

/// Collects the headers in a value, and the ends of all values in it.
fn visit(node: &DocumentNode, text: &str, headers: &mut Vec<usize>, ends: &mut Vec<usize>) {
    ends.push(node.span.end);
    let is_header = matches!(node.value, DocumentValue::Map(_)) && text[node.span.start..].starts_with('[');
    headers.extend(is_header.then_some(node.span.start));
    for inner in node.items().iter().chain(node.members().iter().map(|member| &member.node)) {
        visit(inner, text, headers, ends);
    }
}

/// Returns the tree of a text, which was read before.
fn tree(text: &str) -> DocumentNode {
    let empty = DocumentNode::new(0..0, DocumentValue::Null);
    document::parse(Format::Toml, text).unwrap_or(empty)
}

/// Returns the length of the text above the comment of a section, up to a blank line, which does not belong to the section.
fn kept_comment(above: &str) -> usize {
    above.rfind("\n\n").map(|blank| blank + 2).filter(|end| above[..*end].contains('#')).unwrap_or_default()
}

/// Returns the text of an entry of a list.
fn alone(list: &str, table: &Table) -> String {
    let mut document = DocumentMut::new();
    document.insert(list, Item::ArrayOfTables(ArrayOfTables::from_iter([table.clone()])));
    document.to_string()
}

/// Returns the text of an error, without the positions in a file that does not exist.
fn describe(error: &ConfigError) -> String {
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
    if let Some(confinement) = &server.confinement {
        nested("confinement", without_defaults(confinement)?);
    }
    if let Some(mgp) = &server.mgp {
        nested("mgp", without_defaults(mgp)?);
    }
    for (key, inner) in [
        ("security", without_defaults(&server.security)?),
        ("limits", without_defaults(&server.limits)?),
        ("tools", named(&server.tools)?),
        ("agents", named(&server.agents)?),
    ] {
        if !inner.is_empty() {
            nested(key, inner);
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
