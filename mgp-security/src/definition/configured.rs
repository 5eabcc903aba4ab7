//! The part of a server's configuration that its definitions are judged by.

use super::DefinitionName;
use crate::canonical::Digest;

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
