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
    /// The findings, one for each rule that the definition breaks.
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

    /// Returns the findings of a definition that is used, and marked if there is one.
    pub(super) fn usable(flag: Option<Finding>, definition: Definition) -> Self {
        Self { findings: flag.into_iter().collect(), is_held: false, definition: Some(definition) }
    }

    /// Returns the definition if it is not held for what was found in it.
    pub(super) fn admissible(&self) -> Option<&Definition> {
        self.definition.as_ref().filter(|_| !self.is_held)
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
    pub fn describe(&self) -> String {
        let findings: Vec<_> = self.findings.iter().map(ToString::to_string).collect();
        findings.join("; ")
    }
}

/// The part of a server's configuration that its definitions are judged by.
///
/// ```
/// use mgp_security::definition::ConfiguredServer;
///
/// let allowed = vec![("read".into(), "secret-request".into())];
/// let configured = ConfiguredServer { allowed, ..ConfiguredServer::default() };
/// assert!(configured.allows(&"read".into(), "secret-request"));
/// assert!(!configured.allows(&"write".into(), "secret-request"));
/// ```
#[derive(Debug, Clone, Default)]
pub struct ConfiguredServer {
    /// The digest of how the server is started or reached: definitions that change together with it were changed by the
    /// author of the configuration.
    pub entry: Option<Digest>,
    /// The definitions, each with a rule whose findings in it are accepted.
    pub allowed: Vec<(DefinitionName, Box<str>)>,
    /// True if the server is trusted to add definitions to those of its first list.
    pub grows: bool,
}

impl ConfiguredServer {
    /// Returns whether what `rule` finds in the definition called `name` is accepted.
    pub fn allows(&self, name: &DefinitionName, rule: &str) -> bool {
        self.allowed.iter().any(|(of, allowed)| of == name && **allowed == *rule)
    }
}
