use std::time::Duration;

use mgp_types::Error;

use super::{Agreement, EraMemory};

/// Which era the client looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum EraMode {
    /// Asks the server, and falls back to a session.
    #[default]
    Auto,
    /// A session, without asking.
    Session,
    /// Requests that stand alone, or nothing.
    Stateless,
}

/// What carries the messages: the answer to a probe reads differently.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub enum WireKind {
    /// A byte stream, like that of a child process.
    #[default]
    Stream,
    /// HTTP, whose status tells more than the JSON-RPC error.
    Http {
        /// The HTTP status behind an error.
        status: fn(&Error) -> Option<u16>,
        /// Whether an error says that the server has lost the session.
        session_lost: fn(&Error) -> bool,
    },
}

impl WireKind {
    pub(super) fn status(self, error: &Error) -> Option<u16> {
        match self {
            Self::Stream => None,
            Self::Http { status, .. } => status(error),
        }
    }

    /// Whether the server can lose a session while the wire stays.
    pub(super) fn has_sessions(self) -> bool {
        matches!(self, Self::Http { .. })
    }

    pub(super) fn session_lost(self, error: &Error) -> bool {
        match self {
            Self::Stream => false,
            Self::Http { session_lost, .. } => session_lost(error),
        }
    }
}

/// How the era is chosen.
#[derive(Debug, Clone)]
pub struct EraOptions {
    pub(super) mode: EraMode,
    pub(super) kind: WireKind,
    pub(super) handshake_timeout: Duration,
    pub(super) memory: Option<(EraMemory, Box<str>)>,
    pub(super) agreement: Agreement,
    pub(super) relay: bool,
}

impl EraOptions {
    /// The usual ones for a byte stream.
    pub fn new() -> Self {
        Self {
            mode: EraMode::Auto,
            kind: WireKind::Stream,
            handshake_timeout: HANDSHAKE_TIMEOUT,
            memory: None,
            agreement: Agreement::default(),
            relay: false,
        }
    }

    /// Sets which era is looked for.
    #[must_use]
    pub fn with_mode(mut self, mode: EraMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets what carries the messages.
    #[must_use]
    pub fn with_wire_kind(mut self, kind: WireKind) -> Self {
        self.kind = kind;
        self
    }

    /// Sets how long the server may take to answer each request of the handshake. Default: 10 s.
    #[must_use]
    pub fn with_handshake_timeout(mut self, timeout: Duration) -> Self {
        self.handshake_timeout = timeout;
        self
    }

    /// Remembers the era of the server called `key`, and does not ask again.
    #[must_use]
    pub fn with_memory(mut self, memory: EraMemory, key: impl Into<Box<str>>) -> Self {
        self.memory = Some((memory, key.into()));
        self
    }

    /// Sets where the outcome is kept, so that others can look at it: see
    /// [`ClientInbound`](super::ClientInbound).
    #[must_use]
    pub fn with_agreement(mut self, agreement: Agreement) -> Self {
        self.agreement = agreement;
        self
    }

    /// Makes the client a gateway's: a request that comes with the session of another client, in
    /// `context.session`, is relayed.
    ///
    /// A server without sessions is told what that client can do, and which log messages it wants. What is said of
    /// MGP, and the name, stay the gateway's. A server with sessions is not told what a request without one says about
    /// its client. All other metadata stays as it is. A client that asks in rounds itself gets the server's questions
    /// as results, as the server wrote them.
    #[must_use]
    pub fn with_relay(mut self) -> Self {
        self.relay = true;
        self
    }
}

impl Default for EraOptions {
    fn default() -> Self {
        Self::new()
    }
}

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
