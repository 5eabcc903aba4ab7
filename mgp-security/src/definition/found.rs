//! Findings in the definitions that servers list.

use super::{Definition, DefinitionName, ServerId, is_rule};
use crate::Finding;
use crate::canonical::Digest;

/// A definition with findings.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct FlaggedDefinition {
    /// The server that lists the definition; with an agent, that agent's own connection to the server.
    pub server: ServerId,
    /// The kind and name of the definition.
    pub name: DefinitionName,
    /// The findings.
    pub finding: DefinitionFindings,
}

/// The findings in one definition.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionFindings {
    /// One finding for each rule; there is at least one.
    pub findings: Vec<Finding>,
    /// True if the definition must not be used; otherwise it is used, and marked.
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
