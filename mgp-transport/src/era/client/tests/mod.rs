//! Tests of the client's era layer, against scripted servers.

mod handshake;
mod http;
mod inbound;
mod mgp;
mod prefer_session;
mod relay;
mod resend;
pub(crate) mod script;
mod versions;
