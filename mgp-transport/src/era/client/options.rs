//! The identity of a client, the options by which it finds the era of a server, and the memory of eras found before.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mcp::{ClientCapabilities, ForRevision, Implementation};
use mgp_types::mgp::{CapabilityMessage, Offer};
use mgp_types::{Error, Object, RawJson, Revision};
use parking_lot::Mutex;

use super::Agreement;
use crate::era::lacking;

/// The era that the client looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EraMode {
    /// The client asks the server, and falls back to a session.
    #[default]
    Auto,
    /// The client opens a session also with a server of both eras, unless that declares extensions of MGP: it may keep
    /// between calls what its tools remember, which it can do in a session only.
    PreferSession,
    /// The client opens a session without asking.
    Session,
    /// The client sends requests that stand alone, or none.
    Stateless,
}

/// The kind of wire, which decides how the answer to a probe is read.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum WireKind {
    /// A byte stream, like that of a child process.
    #[default]
    Stream,
    /// HTTP, whose status tells more than the JSON-RPC error.
    Http {
        /// The function that returns the HTTP status behind an error.
        status: fn(&Error) -> Option<u16>,
        /// The function that tells whether an error means that the server has lost the session.
        session_lost: fn(&Error) -> bool,
    },
}

impl WireKind {
    pub(super) fn status(self, error: &Error) -> Option<u16> {
        if let Self::Http { status, .. } = self { status(error) } else { None }
    }

    pub(super) fn session_lost(self, error: &Error) -> bool {
        if let Self::Http { session_lost, .. } = self { session_lost(error) } else { false }
    }
}

mgp_types::with_defaults! {
    /// The options by which the era is chosen.
    #[derive(Debug, Clone)]
    #[non_exhaustive]
    pub struct EraOptions {
        /// The era that the client looks for. Default: the server is asked.
        pub mode: EraMode = EraMode::Auto,
        /// The kind of wire. Default: a byte stream.
        pub kind: WireKind = WireKind::Stream,
        /// The time that the server has to answer each request of the handshake. Default: 10 s.
        pub handshake_timeout: Duration = Duration::from_secs(10),
        /// The memory of the eras of servers.
        pub memory: EraMemory = EraMemory::new(),
        /// The name under which the era of the server is remembered, so that it is asked once. Default: it is not remembered.
        pub memory_key: Option<Box<str>> = None,
        /// The place of the agreement, so that other parts can read it: see [`ClientInbound`](super::ClientInbound).
        pub agreement: Agreement = Agreement::default(),
        /// True if the client is a gateway's: a request that comes with the session of another client, in `context.session`,
        /// is relayed. Default: false.
        ///
        /// A server without sessions gets the capabilities and the wanted log messages of that client. The offer of MGP and
        /// the name stay the gateway's. For a server with sessions, the members in which a request without a session
        /// describes its client are removed. All other metadata stays. A client that handles rounds itself gets the
        /// server's questions as results, as the server wrote them.
        pub relays: bool = false,
    }
}

/// Remembers the era of each server, so that each is asked only once. Clones share the memory.
///
/// The memory is bounded: with too many servers, the one that was learned first is forgotten.
#[derive(Debug, Clone, Default)]
pub struct EraMemory(Arc<Mutex<Servers>>);

/// The servers by name, the one learned first in front.
type Servers = VecDeque<(Box<str>, Era)>;

/// The eras of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Era {
    /// Sessions, until 2025-11-25.
    Session,
    /// Requests that stand alone, from 2026-07-28.
    Stateless,
}

const MAX_SERVERS: usize = 256;

impl EraMemory {
    /// Creates a memory without entries.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the era of the server called `key`.
    pub fn recall(&self, key: &str) -> Option<Era> {
        self.0.lock().iter().find(|(known, _)| &**known == key).map(|(_, era)| *era)
    }

    /// Remembers the era of the server called `key`.
    pub fn remember(&self, key: &str, era: Era) {
        let mut known = self.0.lock();
        if let Some(entry) = known.iter_mut().find(|(name, _)| &**name == key) {
            entry.1 = era;
            return;
        }
        if known.len() == MAX_SERVERS {
            known.pop_front();
        }
        known.push_back((key.into(), era));
    }

    /// Forgets the server called `key`.
    pub fn forget(&self, key: &str) {
        self.0.lock().retain(|(known, _)| &**known != key);
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_is_bounded() {
        let memory = EraMemory::new();
        for server in 0..=MAX_SERVERS {
            memory.remember(&server.to_string(), Era::Session);
        }
        assert_eq!(memory.recall("0"), None);
        assert_eq!(memory.recall("1"), Some(Era::Session));
        memory.remember("1", Era::Stateless);
        assert_eq!(memory.recall("1"), Some(Era::Stateless));
        memory.forget("1");
        assert_eq!(memory.recall("1"), None);
    }
}
