//! The identity of a client, which it sends in a handshake or with each request.

use mgp_types::mcp::{ClientCapabilities, ForRevision, Implementation};
use mgp_types::mgp::{CapabilityMessage, Offer};
use mgp_types::{Error, Object, RawJson, Revision};

/// The identity of a client: its name, its capabilities and its offer, as it sends them in a handshake or with each
/// request.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    info: Implementation,
    capabilities: Object,
    offer: Option<Offer>,
    revisions: Vec<Revision>,
    required: Vec<Box<str>>,
}

impl ClientIdentity {
    /// Creates the identity of a client without capabilities that speaks every revision.
    pub fn new(info: Implementation) -> Self {
        let revisions = Revision::ALL.to_vec();
        Self { info, capabilities: Object::new(), offer: None, revisions, required: Vec::new() }
    }

    /// Sets the capabilities of the client, in the form of the newest revision; members that older revisions lack are
    /// left out for them. The offer of MGP is set apart.
    #[must_use]
    pub fn with_capabilities(mut self, capabilities: Object) -> Self {
        self.capabilities = capabilities;
        self
    }

    /// Sets the client's offer of MGP.
    #[must_use]
    pub fn with_offer(mut self, offer: Offer) -> Self {
        self.offer = Some(offer);
        self
    }

    /// Sets the revisions that the client speaks, preferred ones first.
    #[must_use]
    pub fn with_revisions(mut self, revisions: impl Into<Vec<Revision>>) -> Self {
        self.revisions = revisions.into();
        self
    }

    /// Sets the capabilities that a server must have; the client refuses to talk to any other.
    #[must_use]
    pub fn with_required(mut self, capabilities: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        self.required = capabilities.into_iter().map(Into::into).collect();
        self
    }

    /// Returns the client's offer of MGP.
    pub fn offer(&self) -> Option<&Offer> {
        self.offer.as_ref()
    }

    /// Returns the revisions that the client speaks, preferred ones first.
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
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
        // Capabilities that cannot be read as such go out as they were given.
        let typed = self.capabilities.to::<ClientCapabilities>().ok();
        let fitted = typed.and_then(|typed| Object::from_value(&typed.for_revision(revision)).ok());
        let mut capabilities = fitted.unwrap_or_else(|| self.capabilities.clone());
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
        let mut data = Object::new();
        if let Ok(names) = RawJson::from_value(&missing) {
            data.set("missing_capabilities", names);
        }
        let message = format!("the server lacks capabilities this client needs: {}", missing.join(", "));
        Err(Error::invalid_params(message).with_data(data.to_raw()))
    }
}
