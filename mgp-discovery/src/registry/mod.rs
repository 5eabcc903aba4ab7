//! Servers that register themselves while others are at work (§15.2, §15.4, §15.5).
//!
//! [`DiscoveryGate`] answers `mgp/discovery/list`, `mgp/discovery/register` and `mgp/discovery/deregister` with the
//! help of a [`Registry`], which can be used without it as well. Registration is refused unless a
//! [`RegistrationPolicy`] allows it:
//!
//! * Operators and the listed agents may register servers; the connection proves the identity, never the parameters.
//! * A program is started only if it is listed, by the very text of the list. An address is reached only if it begins
//!   with a listed one. Of the environment only listed variables are passed on, with the values that the kernel has.
//! * A server that an agent registers is sandboxed. Its script is inspected ([`CodeInspector`]), no dangerous permission
//!   may be asked for, and the server is not started before an operator has approved it.
//! * Only inspected code runs: the script and every file of its own that it loads are pinned by one digest, and
//!   inspected again before each start. A server whose code has changed waits until it is approved again.
//! * A server that an agent registered runs confined by the system. Where the system cannot confine it, an operator is
//!   told and decides.
//!
//! | | |
//! |---|---|
//! | [`Registry`] | the registered servers, their registrants and their state |
//! | [`RegistrationPolicy`] | the rules of who may register which servers |
//! | [`RegistrationTerms`], [`Lifetime`] | the lifetime of a server, and its approval in advance |
//! | [`ServerRegistration`], [`RegistrationId`], [`LaunchMethod`] | a server that was registered |
//! | [`RunningServers`], [`ServerView`] | the servers that run: implemented by the kernel |
//! | [`CodeInspector`], [`ProgramScript`], [`InspectedCode`] | the inspection of code: implemented by the kernel |
//! | [`SqliteRegistryStore`] | the store of registered servers |
//! | [`DiscoveryGate`] | the methods, also as tools |

mod admission;
mod error;
mod event;
mod gate;
mod inspection;
mod ports;
mod program;
mod registration_table;
mod service;
mod store;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use mgp_types::canonical::Digest;
use mgp_types::mgp::{Permission, ServerId, Timestamp, TrustLevel};
use mgp_types::{Principal, PrincipalRole, random_letters, shell_word};
use serde::{Deserialize, Serialize};

pub use self::admission::RegistrationPolicy;
pub use self::error::RegistryError;
use self::error::Result;
pub use self::gate::DiscoveryGate;
pub use self::ports::{CodeInspector, Inspection, ProgramScript, RunningServers, ServerView};
use self::program::InlineCode;
pub(crate) use self::program::{loads_code, table};
pub use self::service::Registry;
pub use self::store::SqliteRegistryStore;
use crate::config::model::TransportKind;

/// A server that was registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ServerRegistration {
    /// The id of the server.
    pub id: ServerId,
    /// The way in which the server is reached.
    pub launch: LaunchMethod,
    /// The extensions that are declared for the server.
    pub extensions: Vec<String>,
    /// The permissions that the server needs.
    pub permissions: Vec<Permission>,
    /// The trust in the server.
    pub trust: TrustLevel,
    /// The principal that registered the server.
    pub registrant: Registrant,
    /// The author of the server, in the words of the registrant.
    pub label: Option<String>,
    /// The purpose of the server, in the words of the registrant.
    pub justification: Option<String>,
    /// The time of the registration.
    pub registered_at: Timestamp,
    /// The approval of the server.
    pub approval: Approval,
    /// The id by which an operator decides about this registration while it waits.
    #[serde(default)]
    pub approval_id: RegistrationId,
    /// The digest of its script and all files that it loads, at their inspection; `None` if there was nothing to
    /// inspect.
    pub digest: Option<String>,
    /// The script and the files that it loads, at their inspection.
    #[serde(default)]
    pub files: Vec<CodeFile>,
    /// The reason why this system cannot confine the server, if it cannot: an operator who approves the server approves
    /// that it runs unconfined.
    pub unconfined: Option<String>,
    /// The lifetime of the server. Stored servers are kept.
    #[serde(skip)]
    pub lifetime: Lifetime,
}

/// The way in which a registered server is reached.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LaunchMethod {
    /// A program, over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// The arguments of the program.
        args: Vec<String>,
        /// The variables of the kernel's environment that the program receives.
        env: Vec<String>,
    },
    /// A server at an address.
    Web {
        /// The URL of the server.
        url: String,
        /// The transport to the server: `Http` or `Sse`.
        transport: TransportKind,
    },
}

/// The principal that registered a server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "role", content = "name")]
#[non_exhaustive]
pub enum Registrant {
    /// An agent of this name.
    Agent(String),
    /// An operator of this name.
    Operator(String),
}

/// The id by which an operator decides about a registration that waits. It is random, and each change of what waits brings
/// another one: nobody approves anything but what was shown under the id. It is longer than the id of a question, so no id
/// names both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RegistrationId(Box<str>);

impl RegistrationId {
    pub(super) fn random() -> Self {
        Self(random_letters::<ID_CHARS>().into())
    }

    /// Returns the id of a registration that an earlier version stored as `record`.
    fn of_record(record: &str) -> Self {
        let digest = Digest::of_parts([record.as_bytes()]).to_string();
        Self(digest[digest.len() - ID_CHARS..].into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

mgp_types::convert!(&str => RegistrationId, text => Self(text.into()));

const ID_CHARS: usize = 8;

/// The approval of a registered server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// The server waits for an operator.
    Pending,
    /// The server may be started.
    Approved {
        /// The name of the principal that approved the server.
        by: String,
        /// The time of the approval.
        at: Timestamp,
    },
}

/// The lifetime of a registered server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifetime {
    /// The server is kept until it is deregistered, restarts included.
    #[default]
    Kept,
    /// The server is kept until this session ends, or the kernel does.
    Session(Arc<str>),
}

/// The terms of a registration, beside the policy. Requests cannot set them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by whoever registers")]
pub struct RegistrationTerms {
    /// The lifetime of the server.
    pub lifetime: Lifetime,
    /// The origin of an approval in advance, such as the grant that allows an agent to have tools made: the server starts at
    /// once. A sandboxed server waits nevertheless if its code cannot be inspected.
    pub approved_by: Option<String>,
}

impl ServerRegistration {
    /// Returns whether the server may be started.
    pub const fn is_approved(&self) -> bool {
        matches!(self.approval, Approval::Approved { .. })
    }

    /// Returns whether the server waits for a decision about this id.
    pub fn is_waiting_as(&self, id: &RegistrationId) -> bool {
        !self.is_approved() && self.approval_id == *id
    }

    /// Returns whether the server is a program that runs confined by the system.
    pub fn is_confined(&self) -> bool {
        matches!(self.launch, LaunchMethod::Program { .. })
            && self.trust == TrustLevel::Sandboxed
            && self.unconfined.is_none()
    }

    /// Returns in words the use that the program makes of code, or of another program, on its command line, with that
    /// code; `None` if there is none.
    pub fn inline_code(&self) -> Option<String> {
        let LaunchMethod::Program { command, args, .. } = &self.launch else { return None };
        let inline = InlineCode::of(command, args)?;
        Some(format!("{}: {}", inline.what, visible(&inline.text)))
    }

    /// Returns the paths of files that are new, gone or changed in the code that was found now.
    fn changes(&self, found: Option<&InspectedCode>) -> Vec<String> {
        if self.digest.as_deref() == found.map(|code| code.digest.as_str()) {
            return Vec::new();
        }
        let before: BTreeMap<_, _> = self.files.iter().map(|file| (&*file.path, &*file.digest)).collect();
        let files = found.map(|code| code.files.as_slice()).unwrap_or_default();
        let now: BTreeMap<_, _> = files.iter().map(|(file, _)| (&*file.path, &*file.digest)).collect();
        let paths = before.keys().chain(now.keys()).filter(|path| before.get(**path) != now.get(**path));
        let changed: BTreeSet<String> = paths.map(|path| (*path).to_owned()).collect();
        if changed.is_empty() { vec!["the script".to_owned()] } else { changed.into_iter().collect() }
    }

    /// Returns the server with this code pinned.
    fn with_code(self, code: Option<&InspectedCode>) -> Self {
        let digest = code.map(|code| code.digest.clone());
        let files = code.into_iter().flat_map(|code| &code.files).map(|(file, _)| file.clone()).collect();
        Self { digest, files, ..self }
    }
}

impl Registrant {
    fn of(principal: &Principal) -> Self {
        let name = principal.id().into_owned();
        match principal.role() {
            PrincipalRole::Operator => Self::Operator(name),
            _ => Self::Agent(name),
        }
    }
}

impl fmt::Debug for LaunchMethod {
    /// Hides the arguments and the path behind the host: they may hold secrets and reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Program { command, args, env } => {
                let mut shown = f.debug_struct("Program");
                shown.field("command", command).field("args", &args.len()).field("env", env).finish()
            }
            Self::Web { transport, .. } => {
                f.debug_struct("Web").field("transport", transport).finish_non_exhaustive()
            }
        }
    }
}

impl LaunchMethod {
    /// Returns the whole command line, written as for a shell, or the address. Characters that are invisible, or change
    /// how others are shown, are spelled out.
    pub fn line(&self) -> String {
        match self {
            Self::Program { command, args, .. } => {
                let words = std::iter::once(command).chain(args).map(|word| shell_word(&visible(word)));
                words.collect::<Vec<_>>().join(" ")
            }
            Self::Web { url, .. } => visible(url),
        }
    }
}

/// Returns the text with every character spelled out that is neither ASCII nor a letter or digit of another script:
/// signs that look like others, unusual blanks, and characters that reorder or hide text.
pub fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if c == ' ' || c.is_ascii_graphic() || (!c.is_ascii() && c.is_alphanumeric()) {
            shown.push(c);
        } else {
            shown.extend(c.escape_unicode());
        }
    }
    shown
}

/// A file of the code of a server: the script itself, or one that it loads.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[expect(clippy::exhaustive_structs, reason = "made by the inspector")]
pub struct CodeFile {
    /// The path from the folder that holds all of the code, with `/` between its parts.
    pub path: String,
    /// The digest of the contents.
    pub digest: String,
}

/// The code of a server at its inspection: the bytes that were read are the bytes that are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "made by the inspector")]
pub struct InspectedCode {
    /// The digest of all files, of their paths and their contents.
    pub digest: String,
    /// The script, by its path among the files.
    pub script: String,
    /// The files, each with its contents, in the order of their paths.
    pub files: Vec<(CodeFile, Arc<[u8]>)>,
}

/// The code that a server may be started with, and the argument that names the script.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ApprovedCode {
    /// The code.
    pub code: InspectedCode,
    /// The index of the argument, from 0.
    pub argument: usize,
}

#[cfg(test)]
mod tests;
