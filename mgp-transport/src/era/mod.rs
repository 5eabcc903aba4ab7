//! The two eras of MCP: sessions until 2025-11-25, requests that describe themselves from 2026-07-28.
//!
//! Only this module knows the era of a request. All layers above read
//! [`Context::session`](mgp_types::Context::session).

mod client;
mod refused;
mod server;
mod subscription;

pub(crate) use self::client::Rounds;
pub use self::client::{
    Agreement, ClientEra, ClientIdentity, ClientInbound, Era, EraFuture, EraMemory, EraMode, EraOptions,
    InboundFuture, ProbeEndedConnection, UnsupportedVersion, WireKind,
};
pub use self::refused::EnvelopeRefused;
pub use self::server::{ServerEra, ServerEraFuture, ServerIdentity, VersionMismatch};
pub use self::subscription::tag_subscription;
