//! Putting a server into a client's file.

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
    fmt,
    path::{Path, PathBuf},
};

pub use self::apply::{ApplyError, roll_back};
use super::{
    ClientKind, ImportError,
    document::{self, Member, Node, Position, Value},
    import,
};

/// How a client reaches the server that is put into its file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Entry {
    /// It starts a program.
    Command {
        /// The program.
        command: String,
        /// What it is given.
        args: Vec<String>,
        /// Variables that it finds in its environment.
        env: BTreeMap<String, String>,
    },
    /// It speaks Streamable HTTP.
    Url {
        /// Where.
        url: String,
        /// Headers of every request.
        headers: BTreeMap<String, String>,
    },
}

/// What is to become of a client's file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Change {
    pub(super) name: String,
    pub(super) entry: Entry,
    pub(super) without: Vec<String>,
}

impl Change {
    /// The server is put in, as `mgp`. One that is there by that name is replaced.
    pub fn put(entry: Entry) -> Self {
        Self { name: "mgp".to_owned(), entry, without: Vec::new() }
    }

    /// What the server is called, if not `mgp`.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Servers that are taken out, by the names that the client has for them.
    pub fn without(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.without.extend(names);
        self
    }
}

/// What a file is now, and what it would be.
///
/// Files of clients hold secrets: the two texts have them, the difference between them and `Debug` do not.
#[derive(Clone, PartialEq, Eq)]
pub struct Plan {
    path: PathBuf,
    before: Option<String>,
    after: String,
    diff: String,
}

impl Plan {
    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What it would say.
    pub fn after(&self) -> &str {
        &self.after
    }

    /// The difference, in the form of `diff -u`, with secrets as `***`.
    pub fn diff(&self) -> &str {
        &self.diff
    }

    /// Whether there is anything to do.
    pub fn changes(&self) -> bool {
        self.before.as_deref() != Some(&self.after)
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("path", &self.path).field("diff", &self.diff).finish_non_exhaustive()
    }
}

/// A file cannot be changed as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ExportError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ImportError),
    /// Something else stands where the servers should.
    #[error("{at}: `{place}` should hold servers, but is {found}: change it by hand")]
    Occupied {
        /// Where.
        at: Position,
        /// What it is called.
        place: String,
        /// What it is.
        found: &'static str,
    },
    /// A name stands more than once, and the client uses the last.
    #[error("{at}: `{name}` stands here again: keep one of them")]
    Repeated {
        /// Where.
        at: Position,
        /// The name.
        name: String,
    },
    /// The file is written in a way that cannot be changed without writing it anew.
    #[error("{at}: the file cannot be changed here without losing how it is written: change it by hand")]
    ByHand {
        /// Where.
        at: Position,
    },
    /// The client can only start programs.
    #[error("{} takes no url in its file: have it start `mgp serve` instead", kind.title())]
    NoUrl {
        /// The client.
        kind: ClientKind,
    },
}

/// What a change would make of a client's file. Nothing is written; `before` is what the file says, if it exists.
///
/// The result has been read again: it says what it said before, but for the change.
pub fn plan(
    kind: ClientKind,
    path: impl Into<PathBuf>,
    before: Option<&str>,
    change: &Change,
) -> Result<Plan, ExportError> {
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
    Ok(Plan { path, before: before.map(str::to_owned), after, diff })
}

/// Where in the file the client looks for servers.
fn home(kind: ClientKind, path: &Path, root: &Node) -> &'static [&'static str] {
    let homes = kind.homes();
    let settings = path.file_name().is_some_and(|name| name == "settings.json");
    let first = if kind == ClientKind::VsCode && settings { homes.len() - 1 } else { 0 };
    // A file of an unusual name may have them elsewhere already.
    homes.iter().find(|home| root.at(home).is_some()).unwrap_or(&homes[first])
}

#[cfg(test)]
mod tests;
