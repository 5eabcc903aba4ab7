//! The agreement with a server, and what follows from it: the members of `_meta`, and what a gateway's clients see.

use std::sync::{Arc, Weak};

use arc_swap::{ArcSwapOption, Guard};
use mgp_types::json::ObjectWriter;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{CapabilityMessage, EXTENSION_ID, LEGACY_MEMBER, Offer};
use mgp_types::{
    Flow, Gate, Gated, Method, Object, RawJson, Request, RequestKind, Response, Revision, Session, Severity,
};

use super::options::fitted;
use crate::small_cache::SmallCache;

/// The current agreement with the server; empty until the handshake is done. Clones share it.
#[derive(Clone, Default)]
pub struct Agreement(Arc<ArcSwapOption<AgreedSession>>);

/// The outcome of one handshake.
#[derive(Clone)]
pub(super) struct AgreedSession {
    pub(super) session: Arc<Session>,
    pub(super) instructions: Option<Arc<str>>,
    /// The members that each request carries about the client, in the era without sessions.
    pub(super) stamp: Option<RequestStamp>,
    /// The translation of the clients behind the requests, for a gateway.
    pub(super) relay: Option<Arc<ClientRelay>>,
    /// The number of handshakes so far, so that only one of the callers that notice a lost session opens it again.
    pub(super) generation: u64,
}

/// The members of `_meta` that every stateless request carries.
#[derive(Clone)]
pub(super) struct RequestStamp {
    revision: Revision,
    /// The name and version of the client.
    info: RawJson,
    capabilities: RawJson,
    /// The members about this client, without a log level.
    unleveled: Object,
    /// The members about this client with the log level that it asked for, if any.
    members: Object,
}

impl Agreement {
    /// Returns the session.
    pub fn session(&self) -> Option<Arc<Session>> {
        self.load().as_ref().map(|agreed| agreed.session.clone())
    }

    /// Returns the revision that is spoken.
    pub fn revision(&self) -> Option<Revision> {
        self.load().as_ref().map(|agreed| agreed.session.revision)
    }

    /// Returns the server's name and version, for display only; `None` if the server did not send them.
    pub fn server_info(&self) -> Option<RawJson> {
        self.load().as_ref().and_then(|agreed| agreed.session.peer.clone())
    }

    /// Returns the capabilities of the server.
    pub fn capabilities(&self) -> Object {
        self.load().as_ref().map(|agreed| agreed.session.capabilities.clone()).unwrap_or_default()
    }

    /// Returns the instructions for use of the server, for a model.
    pub fn instructions(&self) -> Option<Arc<str>> {
        self.load().as_ref().and_then(|agreed| agreed.instructions.clone())
    }

    /// Asks for log messages with each request from now on, in the era without sessions. In the era with sessions
    /// `logging/setLevel` does that, and this function has no effect.
    pub fn set_log_level(&self, level: Option<Severity>) {
        self.0.rcu(|agreed| {
            let mut agreed = agreed.as_deref().cloned()?;
            if let Some(stamp) = &mut agreed.stamp {
                stamp.set_log_level(level);
            }
            Some(Arc::new(agreed))
        });
    }

    /// Returns the party that answers the questions of the server to this request.
    pub(crate) fn rounds_of(&self, request: &Request) -> RoundHandler {
        let guard = self.load();
        let Some(agreed) = &*guard else { return RoundHandler::Nobody };
        let by_caller = agreed.caller(request).is_some_and(|caller| caller.revision.is_stateless());
        match (agreed.stamp.is_some(), by_caller) {
            (true, false) => RoundHandler::Ours,
            (true, true) => RoundHandler::Caller,
            (false, true) => RoundHandler::Unknown,
            (false, false) => RoundHandler::Nobody,
        }
    }

    pub(super) fn load(&self) -> Guard<Option<Arc<AgreedSession>>> {
        self.0.load()
    }

    pub(super) fn store(&self, agreed: AgreedSession) {
        self.0.store(Some(Arc::new(agreed)));
    }
}

mgp_types::partial_debug!(Agreement, self => revision: self.revision());

/// The party in this process that goes through the rounds of a request that the server answers with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundHandler {
    /// No party: questions are requests.
    Nobody,
    /// No party: the caller behind the request answers them.
    Caller,
    /// No party, though the caller wants to: the request continues rounds that this server does not know.
    Unknown,
    /// The client.
    Ours,
}

impl AgreedSession {
    /// Rewrites `request` into the form that the server gets.
    pub(super) fn prepare(&self, request: &mut Request) {
        match (&self.stamp, &self.relay, self.caller(request)) {
            (Some(stamp), Some(relay), Some(caller)) => {
                stamp.apply_for(&relay.capabilities(caller), caller.log_level(), &mut request.params);
            }
            (Some(stamp), ..) => stamp.apply(&mut request.params),
            (None, _, Some(caller)) if caller.revision.is_stateless() => undescribe(&mut request.params),
            (None, ..) => {}
        }
        request.context.session = Some(self.session.clone());
    }

    /// Returns the session of the client behind `request`, where requests are relayed.
    fn caller<'a>(&self, request: &'a Request) -> Option<&'a Arc<Session>> {
        self.relay.as_ref()?;
        request.context.session.as_ref().filter(|session| !Arc::ptr_eq(session, &self.session))
    }
}

impl RequestStamp {
    pub(super) fn new(revision: Revision, info: &RawJson, capabilities: &Object) -> Self {
        let capabilities = capabilities.to_raw();
        let unleveled = describe(revision, info, &capabilities, None);
        Self { revision, info: info.clone(), capabilities, members: unleveled.clone(), unleveled }
    }

    fn set_log_level(&mut self, level: Option<Severity>) {
        self.members = describe(self.revision, &self.info, &self.capabilities, level);
    }

    /// Puts the members into the `_meta` of `params`.
    pub(super) fn apply(&self, params: &mut Object) {
        let own = params.object("_meta").unwrap_or_default();
        // A single request may ask for other log messages than the rest.
        let members = if own.contains(key::LOG_LEVEL) { &self.unleveled } else { &self.members };
        params.set("_meta", members.followed_by(&own));
    }

    /// Puts the members into the `_meta` of `params`, with the capabilities and the log level of the client behind the
    /// request.
    fn apply_for(&self, capabilities: &RawJson, level: Option<Severity>, params: &mut Object) {
        let mut own = params.object("_meta").unwrap_or_default();
        if level.is_none() {
            own.remove(key::LOG_LEVEL);
        }
        let members = describe(self.revision, &self.info, capabilities, level);
        params.set("_meta", members.followed_by(&own));
    }
}

/// Writes the members by which a request describes its client.
fn describe(revision: Revision, info: &RawJson, capabilities: &RawJson, level: Option<Severity>) -> Object {
    let mut members = ObjectWriter::new();
    members.text(key::PROTOCOL_VERSION, revision.as_str());
    members.json(key::CLIENT_INFO, info);
    members.json(key::CLIENT_CAPABILITIES, capabilities);
    if let Some(level) = level {
        members.text(key::LOG_LEVEL, level.as_str());
    }
    members.finish()
}

/// A service behind an [`InboundGate`].
pub type ClientInbound<S> = Gated<InboundGate, S>;

/// Puts the session on the server's requests to the client, and answers `ping`.
///
/// The gate sits right behind the connection, in front of all others that answer the server. The gate writes
/// `context.session`; during the handshake the slot stays empty, so that no request has to be queued: a layer that
/// needs the session refuses, others go on. The gate never refuses and allocates nothing.
#[derive(Debug, Clone)]
pub struct InboundGate(Agreement);

impl InboundGate {
    /// Creates the gate that puts the session of `agreement` on requests.
    pub fn new(agreement: Agreement) -> Self {
        Self(agreement)
    }
}

impl Gate for InboundGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.kind == RequestKind::Call && request.method == Method::PING {
            return Flow::answer(Response::empty());
        }
        request.context.session = self.0.session();
        Flow::Pass(())
    }
}

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
    let names = [key::PROTOCOL_VERSION, key::CLIENT_INFO, key::CLIENT_CAPABILITIES, key::LOG_LEVEL];
    let described = names.map(|name| meta.remove(name));
    if described.iter().any(Option::is_some) && meta.is_empty() {
        params.remove("_meta");
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::ExtensionSet;

    use super::*;

    fn stamp() -> RequestStamp {
        RequestStamp::new(Revision::LATEST, &RawJson::empty_object(), &Object::new())
    }

    #[test]
    fn a_request_without_metadata_gets_the_prepared_one() {
        let stamp = stamp();
        let mut params = Object::parse(r#"{"a":1}"#).unwrap();
        stamp.apply(&mut params);
        assert_eq!(params.get("_meta"), Some(stamp.members.to_raw()));
    }

    #[test]
    fn metadata_of_the_caller_stays() {
        let mut stamp = stamp();
        stamp.set_log_level(Severity::named("info"));
        let mut params = Object::parse(
            r#"{"_meta":{"progressToken":1,"io.modelcontextprotocol/logLevel":"error",
                "io.modelcontextprotocol/protocolVersion":"x"}}"#,
        )
        .unwrap();
        stamp.apply(&mut params);
        let meta = Object::from_raw(&params.get("_meta").unwrap()).unwrap();
        assert_eq!(meta.bytes("progressToken").unwrap(), b"1");
        assert_eq!(meta.text(key::LOG_LEVEL).unwrap(), "error");
        assert_eq!(meta.text(key::PROTOCOL_VERSION).unwrap(), "2026-07-28");
        assert_eq!(meta.bytes(key::CLIENT_INFO).unwrap(), b"{}");
    }

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
