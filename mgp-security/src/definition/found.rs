//! Findings in the definitions that servers list, and the configuration by which findings are accepted.

use super::{Definition, DefinitionName, ServerId, is_rule};
use crate::Finding;
use mgp_types::canonical::Digest;

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

/// The part of a server's configuration that its definitions are judged by.
///
/// ```
/// use mgp_security::definition::ConfiguredServer;
///
/// let configured = ConfiguredServer::new().allow("read".into(), "secret-request");
/// assert!(configured.allows(&"read".into(), "secret-request"));
/// assert!(!configured.allows(&"write".into(), "secret-request"));
/// ```
#[derive(Debug, Clone, Default)]
#[must_use]
pub struct ConfiguredServer {
    entry: Option<Digest>,
    allowed: Vec<(DefinitionName, Box<str>)>,
    grows: bool,
}

impl ConfiguredServer {
    /// Returns the configuration of a server for which nothing is set.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the digest of how the server is started or reached: definitions that change together with it were changed
    /// by the author of the configuration.
    pub fn with_entry(mut self, entry: Digest) -> Self {
        self.entry = Some(entry);
        self
    }

    /// Trusts the server to add definitions to those of its first list.
    pub fn trusted_to_grow(mut self) -> Self {
        self.grows = true;
        self
    }

    pub(super) const fn is_trusted_to_grow(&self) -> bool {
        self.grows
    }

    /// Accepts what `rule` finds in the definition called `name`.
    pub fn allow(mut self, name: DefinitionName, rule: impl Into<Box<str>>) -> Self {
        self.allowed.push((name, rule.into()));
        self
    }

    /// Returns whether what `rule` finds in the definition called `name` is accepted.
    pub fn allows(&self, name: &DefinitionName, rule: &str) -> bool {
        self.allowed.iter().any(|(of, allowed)| of == name && **allowed == *rule)
    }

    pub(super) const fn entry(&self) -> Option<Digest> {
        self.entry
    }
}
