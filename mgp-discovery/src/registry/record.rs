use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{Permission, ServerId, Timestamp, TrustLevel};
use mgp_types::{Principal, Role};
use serde::{Deserialize, Serialize};

use super::inline::Inline;
use super::{CodeFile, visible};

/// A server that was registered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Registered {
    /// What it is called.
    pub id: ServerId,
    /// How it is reached.
    pub launch: Launch,
    /// The extensions that it is said to have.
    pub extensions: Vec<String>,
    /// What it needs to be permitted.
    pub permissions: Vec<Permission>,
    /// How far it is trusted.
    pub trust: TrustLevel,
    /// Who registered it.
    pub registrant: Registrant,
    /// Who made it, in the words of whoever registered it.
    pub label: Option<String>,
    /// What it is for, in the same words.
    pub justification: Option<String>,
    /// When it was registered.
    pub registered_at: Timestamp,
    /// Whether it may be started.
    pub approval: Approval,
    /// One digest of its script, and of all files that it loads, when they were inspected; `None` if there was nothing
    /// to inspect.
    pub digest: Option<String>,
    /// The script and the files that it loads, as they were inspected.
    #[serde(default)]
    pub files: Vec<CodeFile>,
    /// Why this system cannot confine it, if it cannot: an operator who approves it approves that it runs all the same.
    #[serde(default)]
    pub unconfined: Option<String>,
    /// For how long it is kept. What is stored is kept.
    #[serde(skip)]
    pub lifetime: Lifetime,
}

/// How a registered server is reached.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Launch {
    /// A program, over its standard input and output.
    Program {
        /// The program.
        command: String,
        /// What it is given.
        args: Vec<String>,
        /// Which variables of the kernel's environment it finds in its own.
        env: Vec<String>,
    },
    /// An address.
    Web {
        /// Where.
        url: String,
        /// How to talk to it.
        transport: WebTransport,
    },
}

/// How to talk to a server at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum WebTransport {
    /// Streamable HTTP.
    Http,
    /// HTTP+SSE.
    Sse,
}

/// Who registered a server: a principal, by what it has proved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "role", content = "name")]
#[non_exhaustive]
pub enum Registrant {
    /// An agent of this name.
    Agent(String),
    /// An operator of this name.
    Operator(String),
}

/// Whether a registered server may be started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Approval {
    /// An operator has to look at it first.
    Pending,
    /// It may.
    Approved {
        /// Who said so.
        by: String,
        /// When.
        at: Timestamp,
    },
}

/// For how long a registered server is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Lifetime {
    /// Until somebody deregisters it, restarts included.
    #[default]
    Kept,
    /// Until this session ends, or the kernel does.
    Session(Arc<str>),
}

/// On what terms a server is registered, beside what the policy says. The wire has no say in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terms {
    /// For how long it is kept.
    pub lifetime: Lifetime,
    /// Who approved it beforehand, such as the grant that allows an agent to have tools made.
    pub approved_by: Option<String>,
}

impl Registered {
    /// Whether it may be started.
    pub const fn is_approved(&self) -> bool {
        matches!(self.approval, Approval::Approved { .. })
    }

    /// Whether it is a program that runs confined by the system.
    pub fn is_confined(&self) -> bool {
        matches!(self.launch, Launch::Program { .. })
            && self.trust == TrustLevel::Sandboxed
            && self.unconfined.is_none()
    }

    /// Returns in words what the program does with code, or with another program, that stands on its command line, and
    /// that code; `None` if there is none.
    pub fn inline_code(&self) -> Option<String> {
        let Launch::Program { command, args, .. } = &self.launch else { return None };
        let inline = Inline::of(command, args)?;
        Some(format!("{}: {}", inline.what, visible(&inline.text)))
    }
}

impl Registrant {
    pub(super) fn of(principal: &Principal) -> Self {
        let name = principal.id().into_owned();
        match principal.role() {
            Role::Operator => Self::Operator(name),
            _ => Self::Agent(name),
        }
    }
}

impl Terms {
    /// Keeps the server until the session ends.
    pub fn for_session(session: impl Into<Arc<str>>) -> Self {
        Self { lifetime: Lifetime::Session(session.into()), approved_by: None }
    }

    /// Starts it at once: `by` has approved it. A sandboxed one waits nevertheless if its code cannot be inspected.
    #[must_use]
    pub fn approved_by(mut self, by: impl Into<String>) -> Self {
        self.approved_by = Some(by.into());
        self
    }
}

impl fmt::Debug for Launch {
    /// Shows neither arguments nor what stands behind the host: they may hold secrets and reach logs.
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
