//! The agreement with a server, the members of `_meta` that follow from it, and the session on the server's requests.

use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use mgp_types::json::ObjectWriter;
use mgp_types::mcp::meta::key;
use mgp_types::{
    Flow, Gate, Gated, Method, Object, RawJson, Request, RequestKind, Response, Revision, Session, Severity,
};

use super::relay::{ClientRelay, undescribe};

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
        let Some(agreed) = &*guard else { return RoundHandler::None };
        let by_caller = agreed.caller(request).is_some_and(|caller| caller.revision.is_stateless());
        match (agreed.stamp.is_some(), by_caller) {
            (true, true) => RoundHandler::Callers,
            (true, false) => RoundHandler::Ours,
            (false, true) => RoundHandler::Unknown,
            (false, false) => RoundHandler::None,
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

/// The party that goes through the rounds of a request that the server answers with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundHandler {
    /// No party: questions are requests.
    None,
    /// No party, though the caller wants to: the request continues rounds that this server does not know.
    Unknown,
    /// The side of this process.
    Ours,
    /// The caller behind the request.
    Callers,
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

#[cfg(test)]
mod tests {
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
}
