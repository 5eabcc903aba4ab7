use std::sync::Arc;

use super::{Permission, RiskLevel, ServerId, SideEffect, ToolName, ValidatorName};
use crate::{Object, RawJson};

/// What a tool's security comes to, once everybody who has a say in it was heard: the strictest of all.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EffectiveSecurity {
    /// What can come of a call.
    pub risk: RiskLevel,
    /// What the server needs for a call.
    pub permissions: Vec<Permission>,
    /// What changes beyond the answer.
    pub side_effects: Vec<SideEffect>,
    /// What the arguments are checked with; each of them has to agree.
    pub validators: Vec<ValidatorName>,
    /// Whether a human is asked before each call.
    pub confirmation: bool,
    /// Whether the effects can be undone; `None` if nobody said.
    pub reversible: Option<bool>,
    /// What code arguments are held to, as declared (§7.3): by the server, by the configuration.
    pub code_safety: Vec<RawJson>,
    /// Whether it was derived from a definition that says nothing of security (§8.2).
    pub derived: bool,
}

impl EffectiveSecurity {
    /// A tool of this risk of which nothing more is known.
    pub const fn new(risk: RiskLevel) -> Self {
        Self {
            risk,
            permissions: Vec::new(),
            side_effects: Vec::new(),
            validators: Vec::new(),
            confirmation: false,
            reversible: None,
            code_safety: Vec::new(),
            derived: false,
        }
    }
}

/// The tool a request turned out to be for. Written by whoever knows the catalog.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResolvedTool {
    /// The server that has it.
    pub server: ServerId,
    /// What that server calls it.
    pub name: ToolName,
    /// Its definition, as the server gave it.
    pub definition: Object,
    /// What its security comes to.
    pub security: EffectiveSecurity,
}

impl ResolvedTool {
    /// The tool `name` of `server`.
    pub fn new(
        server: ServerId,
        name: ToolName,
        definition: Object,
        security: EffectiveSecurity,
    ) -> Arc<Self> {
        Arc::new(Self { server, name, definition, security })
    }
}

/// A request to a server that calls no tool, as gates judge it: like the call of a tool that is named after the method.
///
/// Reading `file:///notes` is judged as `resources/read` with the argument `path`, so that one set of rules holds for tools,
/// resources, prompts, completions and methods of vendors. Written by whoever resolves requests.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// The method as a tool, with what the security of the request comes to.
    pub tool: Arc<ResolvedTool>,
    /// The arguments as gates judge them: decoded, and under names that say what each is.
    pub arguments: RawJson,
}

impl Operation {
    /// An operation that is judged as the call of `tool` with `arguments`.
    pub fn new(tool: Arc<ResolvedTool>, arguments: RawJson) -> Arc<Self> {
        Arc::new(Self { tool, arguments })
    }
}
