//! The client's side of both eras: finding the era of a server, and writing requests for it.

mod agreement;
mod handshake;
mod identity;
mod options;
mod probe_verdict;
mod relay;
mod resend;
mod service;

#[cfg(test)]
pub(super) mod tests;

pub(crate) use self::agreement::RoundHandler;
pub use self::agreement::{Agreement, ClientInbound, InboundGate};
pub use self::identity::ClientIdentity;
pub use self::options::{Era, EraMemory, EraMode, EraOptions, WireKind};
pub use self::probe_verdict::{ProbeEndedConnection, UnsupportedVersion};
pub use self::resend::{EraFuture, NextStep, ResendRule};
pub use self::service::ClientEra;
