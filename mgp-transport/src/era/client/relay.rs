//! The translation of a gateway's clients for a server without sessions.

use std::sync::{Arc, Weak};

use mgp_types::mcp::meta::key;
use mgp_types::mgp::{CapabilityMessage, EXTENSION_ID, LEGACY_MEMBER, Offer};
use mgp_types::{Object, RawJson, Revision, Session};

use super::identity::fitted;
use crate::small_cache::SmallCache;

/// A gateway's descriptions of the clients behind its requests, for a server without sessions: the capabilities are
/// those of the client, the offer of MGP is the gateway's own.
#[derive(Debug)]
pub(super) struct ClientRelay {
    revision: Revision,
    offer: Option<Offer>,
    /// The translations made lately. Most clients describe themselves in the same words each time, and then their
    /// session is the same.
    translations: SmallCache<(Weak<Session>, RawJson)>,
}

impl ClientRelay {
    pub(super) fn new(revision: Revision, offer: Option<Offer>) -> Self {
        Self { revision, offer, translations: SmallCache::default() }
    }

    /// Returns the capabilities of `caller` in the form that the server gets.
    pub(super) fn capabilities(&self, caller: &Arc<Session>) -> RawJson {
        let session = Arc::as_ptr(caller);
        // A weak pointer keeps the address in use, so no other session can have it.
        if let Some((of, capabilities)) = self.translations.get(session).as_deref()
            && std::ptr::eq(of.as_ptr(), session)
        {
            return capabilities.clone();
        }
        let capabilities = self.translated(&caller.capabilities).to_raw();
        self.translations.put(session, (Arc::downgrade(caller), capabilities.clone()));
        capabilities
    }

    fn translated(&self, theirs: &Object) -> Object {
        let mut capabilities = fitted(theirs, self.revision);
        // The client has agreed on MGP with the gateway and not with the server.
        capabilities.remove(LEGACY_MEMBER);
        for (around, name) in [("extensions", EXTENSION_ID), ("experimental", LEGACY_MEMBER)] {
            if let Some(inside) = capabilities.object_mut(around) {
                inside.remove(name);
            }
        }
        if let Some(offer) = &self.offer {
            offer.write(&mut capabilities, CapabilityMessage::Stateless);
        }
        capabilities
    }
}

/// Removes from `params` the members in which a request without a session describes its client: the server has
/// sessions, and knows the gateway. All other metadata stays.
pub(super) fn undescribe(params: &mut Object) {
    let Some(meta) = params.object_mut("_meta") else { return };
    let mut described = false;
    for name in [key::PROTOCOL_VERSION, key::CLIENT_INFO, key::CLIENT_CAPABILITIES, key::LOG_LEVEL] {
        described |= meta.remove(name).is_some();
    }
    if described && meta.is_empty() {
        params.remove("_meta");
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::ExtensionSet;

    use super::*;

    fn session(capabilities: &'static str) -> Arc<Session> {
        let mut session = Session::new(Revision::V2025_11_25);
        session.capabilities = Object::parse(capabilities).unwrap();
        Arc::new(session)
    }

    fn object(raw: &RawJson) -> Object {
        Object::from_raw(raw).unwrap()
    }

    #[test]
    fn the_offer_of_mgp_is_the_gateways_wherever_the_clients_stood() {
        let caller = session(
            r#"{"roots":{"listChanged":true},"elicitation":{},"mgp":{"version":"9.0.0","extensions":["x"]},
                "experimental":{"mgp":{"version":"9.0.0","extensions":["x"]},"mine":{}},
                "extensions":{"dev.cloto/mgp":{"version":"9.0.0","extensions":["x"]},"com.example/e":{}}}"#,
        );
        let plain = object(&ClientRelay::new(Revision::LATEST, None).capabilities(&caller));
        assert!(plain.contains("elicitation") && plain.contains("roots"), "{plain:?}");
        let written = plain.to_raw();
        let text = std::str::from_utf8(written.as_bytes()).unwrap();
        assert!(!text.contains("mgp"), "{text}");
        assert!(text.contains("com.example/e") && text.contains("mine"), "{text}");

        let offer = Offer::new(ExtensionSet::from_names(["audit"]));
        let ours = object(&ClientRelay::new(Revision::LATEST, Some(offer.clone())).capabilities(&caller));
        assert_eq!(Offer::read(&ours).unwrap(), Some(offer));
        assert!(!ours.contains("mgp"));
    }

    #[test]
    fn clients_are_not_mixed_up() {
        let relay = ClientRelay::new(Revision::LATEST, None);
        let (asked, silent) = (session(r#"{"elicitation":{}}"#), session("{}"));
        for _ in 0..2 {
            assert!(object(&relay.capabilities(&asked)).contains("elicitation"));
            assert!(!object(&relay.capabilities(&silent)).contains("elicitation"));
        }
        drop(asked);
        assert_eq!(relay.capabilities(&session("{}")).as_bytes(), b"{}");
    }

    #[test]
    fn clients_by_turns_are_translated_once() {
        let relay = ClientRelay::new(Revision::LATEST, None);
        // Where a client has its place is chance; some of so many have one of their own.
        let callers: Vec<_> = (0..8).map(|_| session(r#"{"roots":{}}"#)).collect();
        let round = || callers.iter().map(|caller| relay.capabilities(caller)).collect::<Vec<_>>();
        let (first, second) = (round(), round());
        let is_kept = |(one, other): &(RawJson, RawJson)| std::ptr::eq(one.as_bytes(), other.as_bytes());
        assert!(first.into_iter().zip(second).filter(is_kept).count() > 1);
    }

    #[test]
    fn only_what_describes_the_client_is_taken_out() {
        let mut params = Object::parse(
            r#"{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":1,
                "io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{},
                "io.modelcontextprotocol/logLevel":"info","traceparent":"t","com.example/own":[1.0],
                "io.modelcontextprotocol/related-task":{"taskId":"a"}}}"#,
        )
        .unwrap();
        undescribe(&mut params);
        let meta = object(&params.get("_meta").unwrap());
        let names: Vec<_> = meta.iter().map(|(name, _)| name.into_owned()).collect();
        assert_eq!(
            names,
            ["progressToken", "traceparent", "com.example/own", "io.modelcontextprotocol/related-task"]
        );
        assert_eq!(meta.bytes("com.example/own").unwrap(), b"[1.0]");

        let mut params =
            Object::parse(r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"a":1}"#)
                .unwrap();
        undescribe(&mut params);
        assert_eq!(params.to_raw().as_bytes(), br#"{"a":1}"#);
    }
}
