//! The agreement with a server, and the members of `_meta` that follow from it.

use std::fmt;
use std::sync::Arc;

use arc_swap::{ArcSwapOption, Guard};
use mgp_types::mcp::meta::key;
use mgp_types::{Object, RawJson, Request, Revision, Session, Severity};

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
    /// The revision and the name of the client, as members in JSON.
    fixed: Vec<u8>,
    capabilities: RawJson,
    level: Option<Severity>,
    /// All members as one object, for requests without metadata of their own.
    whole: RawJson,
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

impl fmt::Debug for Agreement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agreement").field("revision", &self.revision()).finish_non_exhaustive()
    }
}

/// The party that goes through the rounds of a request that the server answers with questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundHandler {
    /// No party: questions are requests.
    None,
    /// No party, though the caller wants to: the request continues rounds that this server does not know.
    Unknown,
    /// This side.
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
        let mut fixed = Vec::new();
        // A revision is written as it is, because it has no character that JSON escapes.
        write_member(&mut fixed, key::PROTOCOL_VERSION, format!("\"{}\"", revision.as_str()).as_bytes());
        write_member(&mut fixed, key::CLIENT_INFO, info.as_bytes());
        let mut stamp =
            Self { fixed, capabilities: capabilities.to_raw(), level: None, whole: RawJson::null() };
        stamp.set_log_level(None);
        stamp
    }

    fn set_log_level(&mut self, level: Option<Severity>) {
        self.level = level;
        self.whole = Object::new().with_first(&self.members(&self.capabilities, level), &[]);
    }

    /// Returns the members as JSON text, for a client with these capabilities and this log level.
    fn members(&self, capabilities: &RawJson, level: Option<Severity>) -> Vec<u8> {
        let mut members = Vec::with_capacity(self.fixed.len() + capabilities.as_bytes().len() + NAMES_BYTES);
        members.extend_from_slice(&self.fixed);
        write_member(&mut members, key::CLIENT_CAPABILITIES, capabilities.as_bytes());
        if let Some(level) = level {
            write_member(&mut members, key::LOG_LEVEL, format!("\"{}\"", level.as_str()).as_bytes());
        }
        members
    }

    /// Puts the members into the `_meta` of `params`.
    pub(super) fn apply(&self, params: &mut Object) {
        let meta = match params.get("_meta").and_then(|meta| Object::from_raw(&meta).ok()) {
            None => self.whole.clone(),
            // A single request may ask for other log messages than the rest.
            Some(meta) if meta.contains(key::LOG_LEVEL) => {
                meta.with_first(&self.members(&self.capabilities, None), DESCRIPTION)
            }
            Some(meta) => meta.with_first(&self.members(&self.capabilities, self.level), DESCRIPTION),
        };
        params.set("_meta", meta);
    }

    /// Puts the members into the `_meta` of `params`, with the capabilities and the log level of the client behind the
    /// request.
    fn apply_for(&self, capabilities: &RawJson, level: Option<Severity>, params: &mut Object) {
        let own = params.get("_meta").and_then(|meta| Object::from_raw(&meta).ok()).unwrap_or_default();
        let [version, info, described] = *DESCRIPTION;
        let replaced = [version, info, described, key::LOG_LEVEL];
        params.set("_meta", own.with_first(&self.members(capabilities, level), &replaced));
    }
}

/// Appends a member whose name has no character that JSON escapes.
fn write_member(out: &mut Vec<u8>, name: &str, value: &[u8]) {
    let separator: &[u8] = if out.is_empty() { b"\"" } else { b",\"" };
    for part in [separator, name.as_bytes(), b"\":", value] {
        out.extend_from_slice(part);
    }
}

/// The members by which a request describes its client.
const DESCRIPTION: &[&str; 3] = &[key::PROTOCOL_VERSION, key::CLIENT_INFO, key::CLIENT_CAPABILITIES];

/// About how many bytes the names of the capabilities and the log level take, with the level.
const NAMES_BYTES: usize = 128;

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
        assert_eq!(params.get("_meta"), Some(stamp.whole.clone()));
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
