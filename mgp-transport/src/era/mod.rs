//! The two eras of MCP: sessions until 2025-11-25, requests that describe themselves from 2026-07-28.
//!
//! Only this module knows the era of a request. All layers above read
//! [`Context::session`](mgp_types::Context::session).

mod client;
mod server;

use mgp_types::json::ObjectWriter;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{Negotiated, Offer};
use mgp_types::{Error, Id, Object, Params, Response};

pub(crate) use self::client::RoundHandler;
#[cfg(test)]
pub(crate) use self::client::tests::script;
pub use self::client::{
    Agreement, ClientEra, ClientIdentity, ClientInbound, Era, EraFuture, EraMemory, EraMode, EraOptions,
    InboundGate, NextStep, ProbeEndedConnection, ResendRule, UnsupportedVersion, WireKind,
};
pub(crate) use self::server::explain;
pub use self::server::{ServerEra, ServerEraGate, ServerIdentity, VersionMismatch};

/// The cause of an error that is about a request's envelope and not about its content: `_meta` lacks a member that
/// every request of its era carries, or names a revision that is not served.
///
/// HTTP answers such a request with 400.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("the request's envelope was refused")]
pub(crate) struct EnvelopeRefused;

/// Returns the error with this cause.
pub(super) fn refused(error: Error) -> Error {
    error.with_source(EnvelopeRefused)
}

/// Writes the subscription that a message belongs to into its `_meta`.
pub(crate) fn tag_subscription(params: &mut Params, id: &Id) {
    params.object_mut_or_new("_meta").set(key::SUBSCRIPTION_ID, id.to_raw());
}

/// Writes the subscription that a result belongs to into its `_meta`.
pub(crate) fn tag_result(response: &mut Response, id: &Id) {
    response.change_meta(|meta| meta.set(key::SUBSCRIPTION_ID, id.to_raw()));
}

/// Returns the error of a peer without these capabilities.
pub(super) fn lacking(message: &str, missing: &[&str]) -> Error {
    let mut data = ObjectWriter::new();
    data.value("missing_capabilities", missing);
    Error::invalid_params(format!("{message}: {}", missing.join(", "))).with_data(data.finish().to_raw())
}

/// Returns the extensions of MGP that both sides have. A malformed offer counts as none.
pub(super) fn negotiated(capabilities: &Object, ours: Option<&Offer>) -> Option<Negotiated> {
    Negotiated::agree(ours?, &offer_of(capabilities)?)
}

/// Returns the offer of MGP of a peer. A malformed offer counts as none, and is no reason to refuse the peer.
pub(super) fn offer_of(capabilities: &Object) -> Option<Offer> {
    Offer::read(capabilities).unwrap_or_else(|error| {
        tracing::warn!(%error, "ignoring a malformed MGP offer");
        None
    })
}
