use std::sync::Arc;

use arc_swap::ArcSwapOption;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{Negotiated, Offer};
use mgp_types::{Error, Object, Params, RawJson, Revision, Session, Severity, code};

use super::ServerIdentity;
use crate::era::refused::refused;

/// The session that a request describes in its `_meta`. The last one is kept: most clients describe
/// themselves in the same words each time.
#[derive(Debug, Default)]
pub(super) struct Described(ArcSwapOption<Last>);

#[derive(Debug)]
struct Last {
    meta: RawJson,
    facts: Facts,
    session: Arc<Session>,
}

/// The members of `_meta` that make a session.
#[derive(Debug, PartialEq)]
struct Facts {
    version: RawJson,
    capabilities: Option<RawJson>,
    info: Option<RawJson>,
    log_level: Option<RawJson>,
}

impl Described {
    /// Whether the request says which revision it speaks, and so belongs to the stateless era.
    pub(super) fn is_stateless(&self, params: &Params) -> bool {
        let Some(meta) = params.bytes("_meta") else { return false };
        if self.0.load().as_ref().is_some_and(|last| last.meta.as_bytes() == meta) {
            return true;
        }
        memchr::memmem::find(meta, key::PROTOCOL_VERSION.as_bytes()).is_some()
            && params
                .get("_meta")
                .and_then(|meta| Object::from_raw(&meta).ok())
                .is_some_and(|meta| meta.contains(key::PROTOCOL_VERSION))
    }

    /// The session that the request describes.
    ///
    /// # Errors
    /// -32602 if something is missing or malformed, -32022 if the revision is not served.
    pub(super) fn session(&self, params: &Params, identity: &ServerIdentity) -> Result<Arc<Session>, Error> {
        let last = self.0.load();
        let meta = params.bytes("_meta").unwrap_or_default();
        if let Some(last) = last.as_ref()
            && last.meta.as_bytes() == meta
        {
            return Ok(last.session.clone());
        }
        let meta = params.get("_meta").ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
        let members = Object::from_raw(&meta)
            .map_err(|_| refused(Error::invalid_params("`_meta` must be an object")))?;
        let facts = Facts::read(&members)?;
        if let Some(last) = last.as_ref()
            && last.facts == facts
        {
            // Only what belongs to the single request differs, like the progress token.
            return Ok(last.session.clone());
        }
        let session = Arc::new(facts.session(identity)?);
        let last = Last { meta: meta.detached(), facts: facts.detached(), session: session.clone() };
        self.0.store(Some(Arc::new(last)));
        Ok(session)
    }
}

impl Facts {
    fn read(meta: &Object) -> Result<Self, Error> {
        Ok(Self {
            version: meta.get(key::PROTOCOL_VERSION).ok_or_else(|| missing(key::PROTOCOL_VERSION))?,
            capabilities: meta.get(key::CLIENT_CAPABILITIES),
            info: meta.get(key::CLIENT_INFO),
            log_level: meta.get(key::LOG_LEVEL),
        })
    }

    fn session(&self, identity: &ServerIdentity) -> Result<Session, Error> {
        let revision = self.revision(identity)?;
        let capabilities = self.capabilities.as_ref().ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
        let capabilities = Object::from_raw(&capabilities.detached())
            .map_err(|_| refused(Error::invalid_params("the client's capabilities must be an object")))?;
        let mut session = Session::new(revision);
        session.mgp = negotiated(&capabilities, identity.mgp());
        session.capabilities = capabilities;
        session.peer = self.info.as_ref().map(RawJson::detached);
        if let Some(level) = &self.log_level {
            let level = level.to_text().as_deref().and_then(Severity::named);
            let level = level.ok_or_else(|| refused(Error::invalid_params("unknown log level")))?;
            session.set_log_level(Some(level));
        }
        Ok(session)
    }

    fn revision(&self, identity: &ServerIdentity) -> Result<Revision, Error> {
        let Some(name) = self.version.to_text() else {
            return Err(refused(Error::invalid_params("the protocol version must be a string")));
        };
        let revision = name.parse().ok().filter(|revision: &Revision| revision.is_stateless());
        revision.filter(|revision| identity.revisions().contains(revision)).ok_or_else(|| {
            let unsupported = code::UNSUPPORTED_PROTOCOL_VERSION;
            refused(Error::unsupported_version(unsupported, &name, identity.revisions()))
        })
    }

    fn detached(&self) -> Self {
        let detached = |member: &Option<RawJson>| member.as_ref().map(RawJson::detached);
        Self {
            version: self.version.detached(),
            capabilities: detached(&self.capabilities),
            info: detached(&self.info),
            log_level: detached(&self.log_level),
        }
    }
}

/// What of MGP both sides have. A malformed offer is none.
pub(super) fn negotiated(capabilities: &Object, ours: Option<&Offer>) -> Option<Negotiated> {
    Negotiated::agree(ours?, &client_offer(capabilities)?)
}

/// What of MGP the client offers. A malformed offer is none, and no reason to refuse the client.
pub(super) fn client_offer(capabilities: &Object) -> Option<Offer> {
    Offer::read(capabilities).unwrap_or_else(|error| {
        tracing::warn!(%error, "ignoring a malformed MGP offer");
        None
    })
}

fn missing(key: &'static str) -> Error {
    refused(Error::invalid_params(format!("`_meta` lacks `{key}`")))
}
