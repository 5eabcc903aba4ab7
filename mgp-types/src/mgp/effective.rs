//! The security of a tool after all declarations were combined, and the tool or operation that a request is for.

use std::sync::Arc;

use super::{CallEffect, Permission, RiskLevel, ServerId, SideEffect, ToolName, ValidatorName};
use crate::{Object, RawJson};

/// The security of a tool, combined from all declarations about it: the strictest value of each.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct EffectiveSecurity {
    /// The risk of a call.
    pub risk: RiskLevel,
    /// The risk of a call whose statements for a database only read.
    pub risk_of_reading: RiskLevel,
    /// The effect of a call as far as the definition tells; `None` if the declaration of a trusted server is believed.
    pub effect: Option<CallEffect>,
    /// The permissions that the server needs for a call.
    pub permissions: Vec<Permission>,
    /// The permissions among them that were only guessed, for a server that nobody distrusts.
    pub guessed_permissions: Vec<Permission>,
    /// The effects of a call beyond its answer.
    pub side_effects: Vec<SideEffect>,
    /// The validators of the arguments; each of them has to agree.
    pub validators: Vec<ValidatorName>,
    /// True if a human confirms each call.
    pub confirmation: bool,
    /// True if the effects can be undone; `None` if no declaration says so.
    pub reversible: Option<bool>,
    /// The declared restrictions on code arguments (§7.3): of the server, of the configuration.
    pub code_safety: Vec<RawJson>,
    /// The arguments that name what a call acts on beyond the tool; the server declares them.
    pub target_arguments: Vec<Box<str>>,
    /// True if the values were derived from a definition without a security declaration (§8.2).
    pub derived: bool,
}

impl EffectiveSecurity {
    /// Creates the security of a tool of this risk, without further facts.
    pub fn new(risk: RiskLevel) -> Self {
        Self { risk, risk_of_reading: risk, ..Self::default() }
    }
}

/// The tool that a request is for. The layer that knows the catalog writes it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ResolvedTool {
    /// The server that has the tool.
    pub server: ServerId,
    /// The name of the tool at its server.
    pub name: ToolName,
    /// The definition of the tool, as the server gave it.
    pub definition: Object,
    /// The combined security of the tool.
    pub security: EffectiveSecurity,
}

impl ResolvedTool {
    /// Creates the tool `name` of `server`.
    pub fn new(
        server: ServerId,
        name: ToolName,
        definition: Object,
        security: EffectiveSecurity,
    ) -> Arc<Self> {
        Arc::new(Self { server, name, definition, security })
    }

    /// Returns the name as a JSON string, without a copy where the definition has it as it is.
    pub fn written_name(&self) -> RawJson {
        let is_it = |written: &RawJson| {
            written.as_bytes().strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\""))
                == Some(self.name.as_str().as_bytes())
        };
        let written = self.definition.get("name").filter(is_it);
        written.unwrap_or_else(|| RawJson::from_text(self.name.as_str()))
    }
}

/// A request that calls no tool, in the form that gates judge: the call of a tool that is named after the method.
///
/// Reading `file:///notes` is judged as `resources/read` with the argument `path`, so that one set of rules holds for
/// tools, resources, prompts, completions and methods of vendors. The layer that resolves requests writes the
/// operation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Operation {
    /// The method in the form of a tool, with the combined security of the request.
    pub tool: Arc<ResolvedTool>,
    /// The arguments that gates judge: decoded, and under descriptive names.
    pub arguments: RawJson,
}

impl Operation {
    /// Creates an operation that is judged as the call of `tool` with `arguments`.
    pub fn new(tool: Arc<ResolvedTool>, arguments: RawJson) -> Arc<Self> {
        Arc::new(Self { tool, arguments })
    }
}
