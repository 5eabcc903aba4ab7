//! What the provider can do wrong, and what it counts.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

/// Something that the provider does wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The metadata name this issuer.
    WrongIssuer(String),
    /// The metadata name this URL for an endpoint: of another issuer, for a mix-up, or of a private address.
    Moved(Endpoint, String),
    /// The metadata do not say that codes are bound to those who ask for them.
    NoPkce,
    /// The answers to logins name this issuer.
    WrongIss(String),
    /// The answers to logins name no issuer.
    NoIss,
    /// An endpoint never answers.
    Slow(Endpoint),
    /// An endpoint answers with many megabytes.
    Oversized(Endpoint),
    /// An endpoint answers with this status.
    Failing(Endpoint, u16),
}

/// An endpoint of the provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Endpoint {
    Metadata,
    Jwks,
    Authorize,
    Token,
    Register,
    Introspect,
    Device,
    /// The page at which a person types the code of a device.
    DevicePage,
    /// A document that describes a client whose answers come to a port of the loopback address.
    ClientDocument,
}

impl Endpoint {
    const ALL: [Self; 9] = [
        Self::Metadata,
        Self::Jwks,
        Self::Authorize,
        Self::Token,
        Self::Register,
        Self::Introspect,
        Self::Device,
        Self::DevicePage,
        Self::ClientDocument,
    ];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Metadata => "/.well-known/openid-configuration",
            Self::Jwks => "/jwks",
            Self::Authorize => "/authorize",
            Self::Token => "/token",
            Self::Register => "/register",
            Self::Introspect => "/introspect",
            Self::Device => "/device_authorization",
            Self::DevicePage => "/device",
            Self::ClientDocument => "/client.json",
        }
    }

    pub(super) fn at(path: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|endpoint| endpoint.path() == path)
    }
}

/// The numbers of requests.
#[derive(Default)]
pub(super) struct Hits {
    endpoints: [AtomicUsize; Endpoint::ALL.len()],
    grants: Mutex<HashMap<String, usize>>,
}

impl Hits {
    pub(super) fn add(&self, endpoint: Endpoint) {
        self.endpoints[endpoint as usize].fetch_add(1, Ordering::SeqCst);
    }

    pub(super) fn add_grant(&self, grant: &str) {
        *self.grants.lock().entry(grant.into()).or_default() += 1;
    }

    pub(super) fn of(&self, endpoint: Endpoint) -> usize {
        self.endpoints[endpoint as usize].load(Ordering::SeqCst)
    }

    pub(super) fn of_grant(&self, grant: &str) -> usize {
        self.grants.lock().get(grant).copied().unwrap_or_default()
    }
}
