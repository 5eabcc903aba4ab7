//! The identity of a client, which it sends in a handshake or with each request.

use mgp_types::mcp::{ClientCapabilities, ForRevision, Implementation};
use mgp_types::mgp::{CapabilityMessage, Offer};
use mgp_types::{Error, Object, RawJson, Revision};

use crate::era::lacking;

/// The identity of a client: its name, its capabilities and its offer, as it sends them in a handshake or with each
/// request.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ClientIdentity {
    /// The name and version of the client.
    pub info: Implementation,
    /// The capabilities of the client, in the form of the newest revision; members that older revisions lack are left out
    /// for them. The offer of MGP is set apart. Default: none.
    pub capabilities: Object,
    /// The client's offer of MGP. Default: none.
    pub offer: Option<Offer>,
    /// The revisions that the client speaks, preferred ones first. Default: all.
    pub revisions: Vec<Revision>,
    /// The capabilities that a server must have; the client refuses to talk to any other. Default: none.
    pub required: Vec<Box<str>>,
}

impl ClientIdentity {
    /// Creates the identity of a client without capabilities that speaks every revision.
    pub fn new(info: Implementation) -> Self {
        let revisions = Revision::ALL.to_vec();
        Self { info, capabilities: Object::new(), offer: None, revisions, required: Vec::new() }
    }

    /// Returns the preferred revision with sessions.
    pub(super) fn session_revision(&self) -> Option<Revision> {
        self.revisions.iter().copied().find(|revision| !revision.is_stateless())
    }

    /// Returns the preferred revision without sessions.
    pub(super) fn stateless_revision(&self) -> Option<Revision> {
        self.revisions.iter().copied().find(|revision| revision.is_stateless())
    }

    pub(super) fn speaks(&self, version: &str) -> Option<Revision> {
        self.revisions.iter().copied().find(|revision| revision.as_str() == version)
    }

    /// Returns the client's name and version as `revision` writes them.
    pub(super) fn info(&self, revision: Revision) -> Result<RawJson, Error> {
        RawJson::from_value(&self.info.clone().for_revision(revision))
            .map_err(|error| Error::internal("the client's name cannot be written").with_source(error))
    }

    /// Returns the capabilities as `revision` writes them, with the offer of MGP among them.
    pub(super) fn capabilities(&self, revision: Revision) -> Object {
        let mut capabilities = fitted(&self.capabilities, revision);
        if let Some(offer) = &self.offer {
            let form = if revision.is_stateless() {
                CapabilityMessage::Stateless
            } else {
                CapabilityMessage::SessionRequest
            };
            offer.write(&mut capabilities, form);
        }
        capabilities
    }

    /// Checks that the server has all required capabilities.
    pub(super) fn check(&self, capabilities: &Object) -> Result<(), Error> {
        let missing: Vec<&str> =
            self.required.iter().map(|name| &**name).filter(|name| !capabilities.contains(name)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(lacking("the server lacks capabilities this client needs", &missing))
    }
}

/// Returns capabilities as `revision` writes them. Those that cannot be read as such go out as they were given.
pub(super) fn fitted(capabilities: &Object, revision: Revision) -> Object {
    let typed = capabilities.to::<ClientCapabilities>().ok();
    let fitted = typed.and_then(|typed| Object::from_value(&typed.for_revision(revision)).ok());
    fitted.unwrap_or_else(|| capabilities.clone())
}
