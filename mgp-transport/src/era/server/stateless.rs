//! The sessions that stateless requests describe.

use std::sync::Arc;

use mgp_types::mcp::meta::key;
use mgp_types::{Error, Object, Params, RawJson, Revision, Session, Severity};

use super::ServerIdentity;
use crate::era::{negotiated, refused};
use crate::small_cache::{MAX_KEPT, SmallCache};

/// The sessions that requests describe in their `_meta`. Some are kept: most clients describe themselves in the same
/// words each time.
#[derive(Debug, Default)]
pub(super) struct DescribedSession {
    by_meta: SmallCache<(RawJson, Arc<Session>)>,
    by_facts: SmallCache<(SessionMembers, Arc<Session>)>,
}

/// The members of `_meta` that make a session.
#[derive(Debug, PartialEq, Hash)]
struct SessionMembers([Option<RawJson>; 4]);

const MEMBERS: [&str; 4] =
    [key::PROTOCOL_VERSION, key::CLIENT_CAPABILITIES, key::CLIENT_INFO, key::LOG_LEVEL];

impl DescribedSession {
    /// Returns whether the request names the revision it speaks, and so belongs to the stateless era.
    pub(super) fn is_stateless(&self, params: &Params) -> bool {
        let Some(meta) = params.bytes("_meta") else { return false };
        if self.known(meta).is_some() {
            return true;
        }
        memchr::memmem::find(meta, key::PROTOCOL_VERSION.as_bytes()).is_some()
            && params.object("_meta").is_some_and(|meta| meta.contains(key::PROTOCOL_VERSION))
    }

    /// Returns the session that the request describes.
    ///
    /// # Errors
    /// -32602 if a member is missing or malformed, -32022 if the revision is not served.
    pub(super) fn session(&self, params: &Params, identity: &ServerIdentity) -> Result<Arc<Session>, Error> {
        if let Some(session) = params.bytes("_meta").and_then(|meta| self.known(meta)) {
            return Ok(session);
        }
        let meta = params.get("_meta").ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
        let members = Object::from_raw(&meta)
            .map_err(|_| refused(Error::invalid_params("`_meta` must be an object")))?;
        let facts = SessionMembers(MEMBERS.map(|name| members.get(name)));
        if let Some((of, session)) = self.by_facts.get(&facts).as_deref()
            && *of == facts
        {
            // Only members of the single request differ, like the progress token.
            return Ok(Arc::clone(session));
        }
        let session = Arc::new(facts.session(identity)?);
        if meta.as_bytes().len() <= MAX_KEPT {
            self.by_meta.put(meta.as_bytes(), (meta.detached(), Arc::clone(&session)));
            self.by_facts.put(&facts, (facts.detached(), Arc::clone(&session)));
        }
        Ok(session)
    }

    /// Returns the session that was described in exactly these words.
    fn known(&self, meta: &[u8]) -> Option<Arc<Session>> {
        let kept = self.by_meta.get(meta);
        let (_, session) = kept.as_deref().filter(|(of, _)| of.as_bytes() == meta)?;
        Some(Arc::clone(session))
    }
}

impl SessionMembers {
    fn session(&self, identity: &ServerIdentity) -> Result<Session, Error> {
        let Self([version, capabilities, info, log_level]) = self;
        let version = version.as_ref().ok_or_else(|| missing(key::PROTOCOL_VERSION))?;
        let revision = revision(version, identity)?;
        let capabilities = capabilities.as_ref().ok_or_else(|| missing(key::CLIENT_CAPABILITIES))?;
        let capabilities = Object::from_raw(&capabilities.detached())
            .map_err(|_| refused(Error::invalid_params("the client's capabilities must be an object")))?;
        let mut session = Session::new(revision);
        session.mgp = negotiated(&capabilities, identity.mgp.as_ref());
        session.capabilities = capabilities;
        session.peer = info.as_ref().map(RawJson::detached);
        if let Some(level) = log_level {
            let level = level.to_text().as_deref().and_then(Severity::named);
            let level = level.ok_or_else(|| refused(Error::invalid_params("unknown log level")))?;
            session.set_log_level(Some(level));
        }
        Ok(session)
    }

    fn detached(&self) -> Self {
        Self(self.0.each_ref().map(|member| member.as_ref().map(RawJson::detached)))
    }
}

fn revision(version: &RawJson, identity: &ServerIdentity) -> Result<Revision, Error> {
    let Some(name) = version.to_text() else {
        return Err(refused(Error::invalid_params("the protocol version must be a string")));
    };
    let revision = name.parse().ok().filter(|revision: &Revision| revision.is_stateless());
    let served = revision.filter(|revision| identity.revisions().contains(revision));
    served.ok_or_else(|| identity.unsupported(&name))
}

fn missing(key: &'static str) -> Error {
    refused(Error::invalid_params(format!("`_meta` lacks `{key}`")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::era::offer_of;

    fn params(client: &str, token: u32) -> Params {
        let meta = format!(
            r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":{token},
                "io.modelcontextprotocol/clientCapabilities":{{}},
                "io.modelcontextprotocol/clientInfo":{{"name":"{client}","version":"1"}}}}}}"#
        );
        Params::parse(meta).unwrap()
    }

    #[test]
    fn two_clients_by_turns_have_one_session_each() {
        let (described, identity) =
            (DescribedSession::default(), ServerIdentity::new(mgp_types::mcp::Implementation::new("s", "1")));
        let session = |client, token| described.session(&params(client, token), &identity).unwrap();
        let (one, other) = (session("one", 0), session("other", 0));
        assert!(!Arc::ptr_eq(&one, &other));
        for token in 0..3 {
            assert!(Arc::ptr_eq(&one, &session("one", token)));
            assert!(Arc::ptr_eq(&other, &session("other", token)));
        }
        assert!(described.known(params("one", 0).bytes("_meta").unwrap()).is_some());
        assert!(described.known(params("other", 0).bytes("_meta").unwrap()).is_some());
    }

    fn with_meta(meta: &str) -> Params {
        let mut params = Params::new();
        params.set("_meta", RawJson::parse(meta.to_owned()).unwrap());
        params
    }

    #[test]
    fn a_request_that_names_its_revision_is_of_the_era_without_sessions() {
        let described = DescribedSession::default();
        let is_stateless = |meta: &str| described.is_stateless(&with_meta(meta));
        assert!(!described.is_stateless(&Params::new()));
        assert!(!is_stateless(r#"{"progressToken":7}"#));
        assert!(is_stateless(r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#));
        // The name of the member counts, and not a text in which it stands.
        assert!(!is_stateless(r#"{"note":"io.modelcontextprotocol/protocolVersion"}"#));
    }

    #[test]
    fn both_sides_have_what_both_offer() {
        let capabilities = |mgp: &str| {
            let text = format!(r#"{{"extensions":{{"dev.cloto/mgp":{mgp}}}}}"#);
            Object::from_raw(&RawJson::parse(text).unwrap()).unwrap()
        };
        let offered = capabilities(OFFER);
        let ours = offer_of(&offered).unwrap();
        assert!(negotiated(&offered, Some(&ours)).is_some());
        assert!(negotiated(&offered, None).is_none());
        assert!(offer_of(&capabilities("7")).is_none());
        assert!(negotiated(&capabilities("7"), Some(&ours)).is_none());
    }

    const OFFER: &str = r#"{"version":"0.6.0","extensions":["audit","discovery"]}"#;
}
