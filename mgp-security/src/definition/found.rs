//! What was found in definitions that servers list.

use super::{Definition, DefinitionName, ServerId, is_rule};
use crate::Finding;
use crate::canonical::Digest;

/// A definition in which something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlaggedDefinition {
    /// The server that lists it; with an agent, that agent's own connection to it.
    pub server: ServerId,
    /// Which it is.
    pub name: DefinitionName,
    /// What was found.
    pub finding: DefinitionFindings,
}

/// What was found in one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionFindings {
    /// One finding for each rule; there is at least one.
    pub findings: Vec<Finding>,
    /// Whether it must not be used; else it is used, and marked.
    pub is_held: bool,
    /// The definition, if an operator can accept it as it is.
    pub definition: Option<Definition>,
}

impl DefinitionFindings {
    pub(super) fn held(findings: Vec<Finding>, definition: Option<Definition>) -> Self {
        let definition = definition.filter(|_| findings.iter().all(|finding| is_rule(finding.rule)));
        Self { findings, is_held: true, definition }
    }

    pub(super) fn flagged(finding: Finding, definition: Definition) -> Self {
        Self { findings: vec![finding], is_held: false, definition: Some(definition) }
    }

    /// Returns the digest to approve, if an operator can accept the definition as it is.
    pub fn digest(&self) -> Option<Digest> {
        self.definition.as_ref().map(Definition::digest)
    }

    /// Returns the rules that found something.
    pub fn rules(&self) -> impl Iterator<Item = &'static str> {
        self.findings.iter().map(|finding| finding.rule)
    }

    /// Returns the first rule that found something.
    pub fn rule(&self) -> &'static str {
        self.rules().next().unwrap_or_default()
    }

    /// Returns the findings as one text.
    pub fn told(&self) -> String {
        let findings: Vec<_> = self.findings.iter().map(ToString::to_string).collect();
        findings.join("; ")
    }
}
