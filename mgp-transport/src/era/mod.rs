//! The two eras of MCP: sessions until 2025-11-25, requests that describe themselves from 2026-07-28.
//!
//! Only this module knows the era of a request. All layers above read
//! [`Context::session`](mgp_types::Context::session).

mod client;
mod server;

use mgp_types::mcp::meta::key;
use mgp_types::{Error, Id, Params};

pub(crate) use self::client::RoundHandler;
pub use self::client::{
    Agreement, ClientEra, ClientIdentity, ClientInbound, Era, EraFuture, EraMemory, EraMode, EraOptions,
    InboundGate, NextStep, ProbeEndedConnection, ResendRule, UnsupportedVersion, WireKind,
};
#[cfg(feature = "ext")]
pub(crate) use self::server::explain;
pub use self::server::{ServerEra, ServerEraGate, ServerIdentity, VersionMismatch};

/// The cause of an error that is about a request's envelope and not about its content: `_meta` lacks a member that
/// every request of its era carries, or names a revision that is not served.
///
/// HTTP answers such a request with 400.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the request's envelope was refused")]
#[non_exhaustive]
pub struct EnvelopeRefused;

/// Returns the error with this cause.
pub(super) fn refused(error: Error) -> Error {
    error.with_source(EnvelopeRefused)
}

/// Writes the subscription that a message belongs to into its `_meta`.
pub fn tag_subscription(params: &mut Params, id: &Id) {
    let mut meta = params.object("_meta").unwrap_or_default();
    meta.set(key::SUBSCRIPTION_ID, id.to_raw());
    params.set("_meta", meta.to_raw());
}
