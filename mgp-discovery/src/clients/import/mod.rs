//! The servers of a client's file, as servers of `mgp.toml`.

mod conceal;
mod entry;
mod reference;

use std::{fmt, path::Path};

pub use self::conceal::Concealer;
use self::reference::ReferenceContext;
use super::ClientKind;
use crate::Position;
use crate::config::{Secret, model::ServerConfig};
use crate::document::{self, DocumentMember, DocumentNode, DocumentValue, SyntaxError};
use crate::names::{self, ReferenceKind, UniqueNames};

/// The contents of a client's file.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The servers, in the order of the file.
    pub servers: Vec<ImportedServer>,
    /// The entries that are not usable as servers.
    pub skipped: Vec<Skipped>,
}

/// A server from a client's file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ImportedServer {
    /// The name of the server at the client.
    pub name: String,
    /// The position of the entry.
    pub at: Position,
    /// The server, with the values of its secrets. Its id is valid in `mgp.toml`, and no other server of the file has it.
    pub config: ServerConfig,
    /// The parts of the entry that could not be carried over.
    pub notes: Vec<String>,
    /// The table of the entry, if not that of the client's servers proper.
    pub elsewhere: Option<OtherSection>,
}

/// A place in a client's file beside its servers proper. [`ClientFileChange`](super::ClientFileChange) does not reach it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum OtherSection {
    /// A table for this project only.
    Project(String),
    /// A table in which the client had its servers before.
    Table(String),
}

impl fmt::Display for OtherSection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Project(project) => write!(f, "the client has it for the project {project} only"),
            Self::Table(table) => write!(f, "it stands in another table, `{table}`"),
        }
    }
}

/// A secret of a client's file that became a reference in the configuration. The client's file is not changed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovedSecret {
    /// The kind of thing that the reference names.
    pub held_in: ReferenceKind,
    /// The name of the secret, or of the variable.
    pub name: String,
    /// The place of the secret in the entry, such as `env.API_TOKEN` or `args[2]`.
    pub place: String,
    /// The value of the secret.
    pub value: Secret,
}

/// An entry that is not usable as a server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The name of the entry at the client.
    pub name: String,
    /// The position of the entry.
    pub at: Position,
    /// The reason why the entry was skipped.
    pub why: String,
}

/// The number of servers in a client's file at most.
pub const MAX_SERVERS: usize = 1000;

/// The size of a client's file at most, in bytes. Claude Code keeps more than its servers in one.
pub const MAX_FILE_BYTES: usize = 16 << 20;

/// The reason why a file could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImportError {
    /// The file has this number of bytes, more than any file of a client should have.
    #[error("the file has {0} bytes, more than the {MAX_FILE_BYTES} that are read")]
    TooLong(usize),
    /// The file breaks the rules of its format.
    #[error("{at}: {what}")]
    Syntax {
        /// The position of the error.
        at: Position,
        /// The error, and the text to write instead.
        what: String,
    },
    /// A value of another kind stands where the servers should.
    #[error("{at}: `{place}` should be a table of servers, but is {found}")]
    NoServers {
        /// The position of that value.
        at: Position,
        /// The key of that value.
        place: String,
        /// The kind of that value.
        found: &'static str,
    },
    /// The file has more servers than a person can have written.
    #[error("the file has more than {MAX_SERVERS} servers")]
    TooManyServers,
}

mgp_types::convert!(SyntaxError => ImportError, wrong => Self::Syntax { at: wrong.at, what: wrong.what });

/// Reads the servers of a client's file, in which `${workspaceFolder}` stands for the directory `project`.
pub fn read(kind: ClientKind, text: &str, project: Option<&Path>) -> Result<Imported, ImportError> {
    let text = document::without_bom(text);
    let root = parse(kind, text)?;
    let context = ReferenceContext { kind, project, inputs: inputs(&root) };
    let mut imported = Imported::default();
    let mut ids = UniqueNames::default();
    for found in entries(kind, text, &root)? {
        let at = Position::of(text, found.start);
        let name = found.name.clone();
        match entry::read(&context, &found) {
            Ok((mut config, mut notes)) => {
                config.id = ids.name(&names::server_id(&name), "-");
                if let Some(elsewhere @ OtherSection::Project(project)) = &found.elsewhere {
                    notes.push(elsewhere.to_string());
                    // The client starts the server in the project.
                    config.cwd.get_or_insert_with(|| project.clone());
                }
                if found.repeated {
                    notes.push("the name is repeated; this is the last one, which clients use".to_owned());
                }
                imported.servers.push(ImportedServer { name, at, config, notes, elsewhere: found.elsewhere });
            }
            Err(why) => imported.skipped.push(Skipped { name, at, why }),
        }
    }
    Ok(imported)
}

/// Reads a client's file as a tree.
pub(crate) fn parse(kind: ClientKind, text: &str) -> Result<DocumentNode, ImportError> {
    if text.len() > MAX_FILE_BYTES {
        return Err(ImportError::TooLong(text.len()));
    }
    Ok(document::parse(kind.format(), text)?)
}

/// A server's entry in a file.
pub(crate) struct ImportEntry<'a> {
    pub(crate) name: String,
    pub(crate) node: &'a DocumentNode,
    /// The start of the entry in the text, its name included.
    pub(crate) start: usize,
    elsewhere: Option<OtherSection>,
    repeated: bool,
}

/// Returns the entries of all servers in a file.
pub(crate) fn entries<'a>(
    kind: ClientKind,
    text: &str,
    root: &'a DocumentNode,
) -> Result<Vec<ImportEntry<'a>>, ImportError> {
    let mut found = Vec::new();
    let homes = kind.homes();
    let homes = homes.iter().filter_map(|home| root.at(home).map(|node| (home.join("."), node)));
    for (index, (home, node)) in homes.enumerate() {
        // A change applies to the first table that exists.
        let elsewhere = (index > 0).then(|| OtherSection::Table(home.clone()));
        collect(text, node, &home, elsewhere.as_ref(), &mut found)?;
    }
    let projects = root.get("projects").filter(|_| kind == ClientKind::ClaudeCode);
    for project in projects.into_iter().flat_map(DocumentNode::members) {
        if let Some(node) = project.node.get("mcpServers") {
            let elsewhere = OtherSection::Project(project.key.clone());
            collect(text, node, "mcpServers", Some(&elsewhere), &mut found)?;
        }
    }
    Ok(found)
}

fn collect<'a>(
    text: &str,
    node: &'a DocumentNode,
    place: &str,
    elsewhere: Option<&OtherSection>,
    found: &mut Vec<ImportEntry<'a>>,
) -> Result<(), ImportError> {
    if found.len() + node.members().len() + node.items().len() > MAX_SERVERS {
        return Err(ImportError::TooManyServers);
    }
    match &node.value {
        DocumentValue::Null => {}
        DocumentValue::Map(members) => {
            for (index, DocumentMember { key, key_span, node }) in members.iter().enumerate() {
                let has_key = |member: &DocumentMember| member.key == *key;
                // Of repeated names the last one counts.
                if !members[index + 1..].iter().any(has_key) {
                    let repeated = members[..index].iter().any(has_key);
                    let (name, elsewhere) = (key.clone(), elsewhere.cloned());
                    found.push(ImportEntry { name, node, start: key_span.start, elsewhere, repeated });
                }
            }
        }
        DocumentValue::List(items) => found.extend(items.iter().map(|node| {
            let name = node.get("name").and_then(DocumentNode::text).unwrap_or_default().to_owned();
            ImportEntry { name, node, start: node.span.start, elsewhere: elsewhere.cloned(), repeated: false }
        })),
        _ => {
            let at = Position::of(text, node.span.start);
            return Err(ImportError::NoServers { at, place: place.to_owned(), found: node.kind() });
        }
    }
    Ok(())
}

fn inputs(root: &DocumentNode) -> Vec<&DocumentNode> {
    let homes = [root.get("inputs"), root.at(&["mcp", "inputs"])];
    homes.into_iter().flatten().flat_map(DocumentNode::items).take(MAX_SERVERS).collect()
}

#[cfg(test)]
mod tests;
