//! The plan of a change to a client's file, such as adding a server, and its texts with their secrets hidden.

mod apply;
mod edit;

use std::ops::Range;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use similar::TextDiff;

pub use self::apply::{ApplyError, roll_back};
use super::{ClientKind, Format, ImportError, import};
use crate::Position;
use crate::clients::secret;
use crate::document::{self, DocumentNode, DocumentValue, SyntaxError};

/// The way in which a client reaches the server that is put into its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClientEntry {
    /// The client starts a program.
    Command {
        /// The program.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
    },
    /// The client speaks Streamable HTTP to this URL.
    Url(String),
}

/// A change to a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever changes a file")]
pub struct ClientFileChange {
    /// The name of the server that is put in. A server that has this name is replaced.
    pub name: String,
    /// The way in which the client reaches that server.
    pub entry: ClientEntry,
    /// The servers to take out, by the names that the client has for them.
    pub without: Vec<String>,
}

/// The text of a file, and the text it would have after a change.
///
/// Files of clients hold secrets: the two texts have them, their difference and `Debug` do not.
#[derive(Clone, PartialEq, Eq)]
pub struct ExportPlan {
    path: PathBuf,
    before: Option<String>,
    after: String,
    diff: String,
}

impl ExportPlan {
    /// Returns the difference, in the form of `diff -u`, with secrets as `***`.
    pub fn diff(&self) -> &str {
        &self.diff
    }

    /// Returns whether the change has any effect.
    pub fn changes(&self) -> bool {
        self.before.as_deref() != Some(&self.after)
    }
}

mgp_types::partial_debug!(ExportPlan, self => path: self.path, diff: self.diff);

/// The reason why a file cannot be changed as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// The file cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ImportError),
    /// A value of another kind stands where the servers should.
    #[error("{at}: `{place}` should hold servers, but is {found}: change it by hand")]
    Occupied {
        /// The position of that value.
        at: Position,
        /// The key of that value.
        place: String,
        /// The kind of that value.
        found: &'static str,
    },
    /// A name stands more than once, and the client uses the last.
    #[error("{at}: the name `{name}` is repeated here: keep one of them")]
    Repeated {
        /// The position of the repetition.
        at: Position,
        /// The name that is repeated.
        name: String,
    },
    /// The file is YAML, in which nothing can be changed without rewriting the file.
    #[error("mgp does not change YAML: write this into the file by hand{}\n{snippet}", in_place_of(without))]
    Yaml {
        /// The text to write into the file.
        snippet: String,
        /// The servers to take out of the file.
        without: Vec<String>,
    },
    /// The client that was asked for can only start programs.
    #[error("{} takes no url in its file: have it start `mgp serve` instead", .0.title())]
    NoUrl(ClientKind),
}

mgp_types::convert!(SyntaxError => ExportError, wrong => Self::Unreadable(wrong.into()));

fn in_place_of(without: &[String]) -> String {
    if without.is_empty() { String::new() } else { format!(", in place of {}", without.join(", ")) }
}

/// Returns the plan of a change to a client's file. Nothing is written; `before` is the text of the file, if it exists.
/// Everything apart from the change stays as it is, byte for byte.
pub fn plan(
    kind: ClientKind,
    path: impl Into<PathBuf>,
    before: Option<&str>,
    change: &ClientFileChange,
) -> Result<ExportPlan, ExportError> {
    let path = path.into();
    let entry = entry(kind, change)?;
    let text = before.unwrap_or_default();
    let plain = document::without_bom(text);
    let mark = &text[..text.len() - plain.len()];
    let root = import::parse(kind, plain)?;
    let home = home(kind, &path, &root);
    refuse_other_forms(plain, &root, &home)?;
    let changed = match kind.format() {
        Format::Json => edit::json(plain, &home, change, &entry)?,
        Format::Toml => edit::toml(plain, &home, change, &entry)?,
        Format::Yaml => {
            let (snippet, without) = (yaml(kind, change, &entry), change.without.clone());
            return Err(ExportError::Yaml { snippet, without });
        }
    };
    let after = format!("{mark}{changed}");
    let [old, new] = [text, &after].map(|text| mask(kind, text).replace('\r', ""));
    let name = path.display().to_string();
    let difference = TextDiff::from_lines(&old, &new);
    let diff = difference.unified_diff().missing_newline_hint(false).header(&name, &name).to_string();
    Ok(ExportPlan { path, before: before.map(str::to_owned), after, diff })
}

/// Refuses a file in which something else stands where the servers should, or a name on the way there is repeated.
fn refuse_other_forms(text: &str, root: &DocumentNode, home: &[&str]) -> Result<(), ExportError> {
    let (mut node, mut depth) = (root, 0);
    loop {
        if !matches!(node.value, DocumentValue::Map(_) | DocumentValue::Null) {
            let place = if depth == 0 { "the file".to_owned() } else { home[..depth].join(".") };
            let (at, found) = (Position::of(text, node.span.start), node.kind());
            return Err(ExportError::Occupied { at, place, found });
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(member) = node.members().iter().find(|member| !seen.insert(&member.key)) {
            let at = Position::of(text, member.key_span.start);
            return Err(ExportError::Repeated { at, name: member.key.clone() });
        }
        let Some(next) = home.get(depth).and_then(|key| node.get(key)) else { return Ok(()) };
        (node, depth) = (next, depth + 1);
    }
}

/// Returns the path of keys under which the client looks for servers.
fn home(kind: ClientKind, path: &Path, root: &DocumentNode) -> Vec<&'static str> {
    let mut homes = kind.homes();
    let settings = path.file_name().is_some_and(|name| name == "settings.json");
    let first = if kind == ClientKind::VsCode && settings { homes.len() - 1 } else { 0 };
    // A file of an unusual name may have them under another key already.
    let at = homes.iter().position(|home| root.at(home).is_some()).unwrap_or(first);
    homes.swap_remove(at)
}

/// Returns the entry in the form of the client.
fn entry(kind: ClientKind, change: &ClientFileChange) -> Result<Value, ExportError> {
    let [.., program, remote] = kind.facts();
    let (form, command, args, url) = match &change.entry {
        ClientEntry::Command { command, args } => (program, command.as_str(), args.as_slice(), ""),
        ClientEntry::Url(url) => (remote, "", &[][..], url.as_str()),
    };
    let mut entry: Map<String, Value> = serde_json::from_str(form).map_err(|_| ExportError::NoUrl(kind))?;
    for value in entry.values_mut() {
        *value = match value.as_str() {
            Some("NAME") => json!(change.name),
            Some("COMMAND") => json!(command),
            Some("ARGS") => json!(args),
            Some("LINE") => std::iter::once(command).chain(args.iter().map(String::as_str)).collect(),
            Some("URL") => json!(url),
            _ => continue,
        };
    }
    Ok(Value::Object(entry))
}

/// Returns the entry as YAML, with the key under which the client looks for servers. JSON on one line is YAML as well.
fn yaml(kind: ClientKind, change: &ClientFileChange, entry: &Value) -> String {
    let home = kind.homes()[0].join(".");
    let item = if kind == ClientKind::Continue { "-".to_owned() } else { format!("{}:", json!(change.name)) };
    format!("{home}:\n  {item} {entry}")
}

/// Returns the text with every secret as `***`, on as many lines as before.
fn mask(kind: ClientKind, text: &str) -> String {
    let plain = document::without_bom(text);
    let offset = text.len() - plain.len();
    let mut found = Vec::new();
    if let Ok(root) = document::parse(kind.format(), plain) {
        walk(plain, "", &root, &mut found);
    }
    found.sort_by_key(|part: &Range<usize>| (part.start, part.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for part in found {
        let part = part.start + offset..part.end + offset;
        if part.start < done {
            // Overlapping parts are hidden as one.
            done = done.max(part.end);
            continue;
        }
        out.push_str(&text[done..part.start]);
        let stars = |line: &str| if line.trim().is_empty() { "" } else { "***" };
        out.push_str(&text[part.clone()].split('\n').map(stars).collect::<Vec<_>>().join("\n"));
        done = part.end;
    }
    out.push_str(&text[done..]);
    // A comment holds no value, but can hold a secret.
    out.split_inclusive('\n').map(secret::line_without_secrets).collect()
}

fn walk(text: &str, name: &str, node: &DocumentNode, found: &mut Vec<Range<usize>>) {
    match &node.value {
        DocumentValue::Map(members) => {
            for member in members {
                walk(text, &member.key, &member.node, found);
            }
        }
        DocumentValue::List(items) => {
            let mut option = name;
            for item in items {
                walk(text, option, item, found);
                option =
                    item.text().filter(|text| text.starts_with('-') && !text.contains('=')).unwrap_or(name);
            }
        }
        _ => {
            let Some(value) = node.scalar() else { return };
            for part in secret::find(name, &value) {
                let raw = &text[node.span.clone()];
                // A value that is written with escapes is hidden as a whole.
                match raw.find(&value[part.clone()]) {
                    Some(at) => found.push(node.span.start + at..node.span.start + at + part.len()),
                    None => found.push(node.span.clone()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
