//! The plan of a change to a client's file, such as adding a server.

mod apply;
mod diff;
mod edit;
mod edit_json;
mod edit_toml;
mod edit_yaml;
mod mask;
mod render;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

pub use self::apply::{ApplyError, roll_back};
use super::{
    ClientKind, ImportError,
    document::{self, DocumentMember, DocumentNode, DocumentValue, Position},
    import,
};

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
        /// The variables of the program's environment.
        env: BTreeMap<String, String>,
    },
    /// The client speaks Streamable HTTP.
    Url {
        /// The URL of the server.
        url: String,
        /// The headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// A change to a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct ClientFileChange {
    pub(super) name: String,
    pub(super) entry: ClientEntry,
    pub(super) without: Vec<String>,
}

impl ClientFileChange {
    /// Creates a change that puts in the server as `mgp`. A server that has this name is replaced.
    pub fn put(entry: ClientEntry) -> Self {
        Self { name: "mgp".to_owned(), entry, without: Vec::new() }
    }

    /// Sets the name of the server, in place of `mgp`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds servers to take out, by the names that the client has for them.
    pub fn without(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.without.extend(names);
        self
    }
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
    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the text of the file after the change.
    pub fn after(&self) -> &str {
        &self.after
    }

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
    /// The form of the file does not allow a change without rewriting the file.
    #[error("{at}: this part cannot be changed without losing the form of the file: change it by hand")]
    ByHand {
        /// The position in the file.
        at: Position,
    },
    /// The client can only start programs.
    #[error("{} takes no url in its file: have it start `mgp serve` instead", kind.title())]
    NoUrl {
        /// The client that was asked for.
        kind: ClientKind,
    },
}

/// Returns the plan of a change to a client's file. Nothing is written; `before` is the text of the file, if it exists.
///
/// The result has been read again: apart from the change it has the same contents as before.
pub fn plan(
    kind: ClientKind,
    path: impl Into<PathBuf>,
    before: Option<&str>,
    change: &ClientFileChange,
) -> Result<ExportPlan, ExportError> {
    let path = path.into();
    let entry = render::entry(kind, change)?;
    let text = before.unwrap_or_default();
    let plain = document::without_bom(text);
    let mark = &text[..text.len() - plain.len()];
    let root = import::parse(kind, plain)?;
    let home = home(kind, &path, &root);
    let changed = edit::edit(kind, plain, &root, home, change, &entry)?;
    let after = format!("{mark}{changed}");
    let diff = diff::unified(&path, &mask::mask(kind, text), &mask::mask(kind, &after));
    Ok(ExportPlan { path, before: before.map(str::to_owned), after, diff })
}

/// Returns the path of keys under which the client looks for servers.
fn home(kind: ClientKind, path: &Path, root: &DocumentNode) -> &'static [&'static str] {
    let homes = kind.homes();
    let settings = path.file_name().is_some_and(|name| name == "settings.json");
    let first = if kind == ClientKind::VsCode && settings { homes.len() - 1 } else { 0 };
    // A file of an unusual name may have them under another key already.
    homes.iter().find(|home| root.at(home).is_some()).unwrap_or(&homes[first])
}

#[cfg(test)]
mod tests;
