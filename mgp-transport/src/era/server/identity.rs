//! The identity of a server, the same on every connection.

use bytes::Bytes;
use mgp_types::mcp::{ForRevision, Implementation, meta::key};
use mgp_types::mgp::Offer;
use mgp_types::{CacheHint, Error, Object, RawJson, Revision, Session, json};

use crate::era::lacking;

/// The identity of a server on every connection: its name, its revisions, and its offer of MGP.
#[derive(Debug)]
pub struct ServerIdentity {
    info: Implementation,
    revisions: Vec<Revision>,
    /// The offer of MGP to clients that speak it. Default: none.
    pub mgp: Option<Offer>,
    /// The answer to a request for a revision that the server does not have. Default: a counter-offer.
    pub mismatch: VersionMismatch,
    /// The capabilities that a client must declare, like `sampling`; any client may ask for the server's description.
    /// Default: none.
    pub required: Vec<Box<str>>,
    /// The members that every stateless result begins with.
    pub(super) stamp: Bytes,
    uncached_stamp: Bytes,
}

/// The answer to a client that opens a session with a revision the server does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_enums, reason = "the specification knows these two answers")]
pub enum VersionMismatch {
    /// The server offers its newest revision.
    #[default]
    CounterOffer,
    /// The server answers with an error that names its revisions.
    Refuse,
}

impl ServerIdentity {
    /// Creates the identity of a server with this name that serves every revision and offers no MGP.
    pub fn new(info: Implementation) -> Self {
        let server_info = RawJson::from_value(&info).unwrap_or_else(|_| RawJson::empty_object());
        let mut stamp = br#""resultType":"complete","_meta":{""#.to_vec();
        stamp.extend_from_slice(key::SERVER_INFO.as_bytes());
        stamp.extend_from_slice(br#"":"#);
        stamp.extend_from_slice(server_info.as_bytes());
        stamp.push(b'}');
        let uncached_stamp = [&stamp[..], br#","ttlMs":0,"cacheScope":"private""#].concat();
        Self {
            info,
            revisions: Revision::ALL.to_vec(),
            mgp: None,
            mismatch: VersionMismatch::default(),
            required: Vec::new(),
            stamp: stamp.into(),
            uncached_stamp: uncached_stamp.into(),
        }
    }

    /// Serves only these revisions.
    #[must_use]
    pub fn with_revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.revisions = revisions.into_iter().collect();
        self.revisions.sort_unstable_by(|a, b| b.cmp(a));
        self.revisions.dedup();
        self
    }

    /// Returns the revisions served, newest first.
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// Checks that the client has all required capabilities.
    ///
    /// # Errors
    /// -32602, or -32021 where there are no sessions, with the capabilities that the client did not declare.
    pub(super) fn check(&self, client: &Session) -> Result<(), Error> {
        let required = self.required.iter().map(|name| &**name);
        let missing: Vec<&str> = required.filter(|name| !client.peer_can(&[name])).collect();
        if missing.is_empty() {
            return Ok(());
        }
        if client.revision.is_stateless() {
            let mut data = Object::new();
            for name in missing {
                data.set(name.to_owned(), RawJson::empty_object());
            }
            return Err(Error::missing_client_capability(&data.to_raw()));
        }
        Err(lacking("the client lacks capabilities this server needs", &missing))
    }

    /// Returns the name and version as `revision` writes them.
    pub(super) fn info(&self, revision: Revision) -> RawJson {
        RawJson::from_value(&self.info.clone().for_revision(revision))
            .unwrap_or_else(|_| RawJson::empty_object())
    }

    /// Returns the revisions that `initialize` may agree on, newest first.
    pub(super) fn session_revisions(&self) -> impl Iterator<Item = Revision> {
        self.revisions.iter().copied().filter(|revision| !revision.is_stateless())
    }

    /// Returns the members that every stateless result begins with that may be kept.
    pub(super) fn cacheable_stamp(&self, hint: Option<&CacheHint>) -> Bytes {
        let Some(hint) = hint else { return self.uncached_stamp.clone() };
        let mut stamp = self.stamp.to_vec();
        stamp.extend_from_slice(br#","ttlMs":"#);
        stamp.extend_from_slice(hint.ttl_ms.to_string().as_bytes());
        stamp.extend_from_slice(br#","cacheScope":"#);
        json::write_string(&mut stamp, hint.scope.as_str());
        stamp.into()
    }
}
