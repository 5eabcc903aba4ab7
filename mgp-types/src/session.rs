//! The facts about a peer, which the era layer gives to all others.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::ext::ExtensionIds;
use crate::json::{Object, RawJson};
use crate::mgp::{Extension, Negotiated};
use crate::{Outbox, Revision};

/// The facts about a peer: agreed in a handshake, or sent with each request.
///
/// All layers above the era layer read the session and never ask for the era.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    /// The revision of MCP that is spoken.
    pub revision: Revision,
    /// The peer's name and version, for display only; `None` if the peer did not send them.
    pub peer: Option<RawJson>,
    /// The capabilities of the peer.
    pub capabilities: Object,
    /// The MGP extensions that both sides have, if any were negotiated (MGP §2).
    pub mgp: Option<Negotiated>,
    /// The way to the peer for messages that belong to no request; closed where there is none.
    pub outbox: Outbox,
    log_level: AtomicU8,
    extensions: OnceLock<ExtensionIds>,
}

/// The severity of a log message, as RFC 5424 orders it: 0 is `emergency`, 7 is `debug`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Severity(u8);

impl Severity {
    const NAMES: [&'static str; 8] =
        ["emergency", "alert", "critical", "error", "warning", "notice", "info", "debug"];

    /// Returns the severity with this name.
    pub fn named(name: &str) -> Option<Self> {
        let place = Self::NAMES.iter().position(|known| *known == name)?;
        u8::try_from(place).ok().map(Self)
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        Self::NAMES[usize::from(self.0)]
    }
}

const NO_LOGS: u8 = u8::MAX;

impl Session {
    /// Creates a session in which only the revision is known.
    pub fn new(revision: Revision) -> Self {
        Self {
            revision,
            peer: None,
            capabilities: Object::new(),
            mgp: None,
            outbox: Outbox::CLOSED,
            log_level: AtomicU8::new(NO_LOGS),
            extensions: OnceLock::new(),
        }
    }

    /// Returns whether each request of the peer describes itself, so that nothing is remembered between two of them.
    pub const fn describes_each_request(&self) -> bool {
        self.revision.is_stateless()
    }

    /// Returns whether the session lasts from one request to the next, so that something can belong to it.
    pub const fn lasts(&self) -> bool {
        !self.describes_each_request()
    }

    /// Returns whether messages that belong to no request reach the peer: the session lasts, and there is a way to it.
    pub fn is_reachable(&self) -> bool {
        self.lasts() && self.outbox.is_open()
    }

    /// Returns whether both sides have the MGP extension (MGP §2).
    pub fn has(&self, extension: &Extension) -> bool {
        self.mgp.as_ref().is_some_and(|mgp| mgp.has(extension))
    }

    /// Returns whether the peer declared the capability at `path`, like `["sampling", "tools"]`.
    pub fn peer_can(&self, path: &[&str]) -> bool {
        let Some(value) = self.capabilities.at(path.iter().copied()) else { return path.is_empty() };
        !value.is_null() && value.as_bytes() != b"false"
    }

    /// Returns the optional extensions that the peer declared. The capabilities are read once, when they are first asked
    /// about.
    pub fn extensions(&self) -> ExtensionIds {
        *self.extensions.get_or_init(|| ExtensionIds::read(&self.capabilities))
    }

    /// Returns the least severity of log messages that the peer wants; `None` if it wants none.
    pub fn log_level(&self) -> Option<Severity> {
        let level = self.log_level.load(Ordering::Relaxed);
        (level != NO_LOGS).then_some(Severity(level))
    }

    /// Sets the least severity of log messages that the peer wants.
    pub fn set_log_level(&self, level: Option<Severity>) {
        self.log_level.store(level.map_or(NO_LOGS, |level| level.0), Ordering::Relaxed);
    }

    /// Returns whether the peer wants log messages of this severity.
    pub fn wants_log(&self, severity: Severity) -> bool {
        self.log_level().is_some_and(|least| severity <= least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn capabilities_are_found_by_path() {
        let mut session = Session::new(Revision::LATEST);
        session.capabilities =
            Object::parse(r#"{"sampling":{"tools":{}},"roots":{"listChanged":false},"x":null}"#).unwrap();
        assert!(session.peer_can(&["sampling"]));
        assert!(session.peer_can(&["sampling", "tools"]));
        assert!(!session.peer_can(&["sampling", "context"]));
        assert!(!session.peer_can(&["roots", "listChanged"]));
        assert!(!session.peer_can(&["x"]));
    }

    #[test]
    fn logs_are_wanted_from_the_level_that_was_set() {
        let session = Session::new(Revision::LATEST);
        let named = |name| Severity::named(name).unwrap();
        assert!(!session.wants_log(named("emergency")));
        session.set_log_level(Some(named("warning")));
        assert!(session.wants_log(named("error")) && session.wants_log(named("warning")));
        assert!(!session.wants_log(named("notice")));
    }
}
