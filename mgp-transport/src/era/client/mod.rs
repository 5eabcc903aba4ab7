//! The client's side of both eras: finding the era of a server, and writing requests for it.

mod agreement;
mod handshake;
mod options;
mod probe_verdict;
mod resend;
mod service;

#[cfg(test)]
pub(super) mod tests;

pub(crate) use self::agreement::RoundHandler;
pub use self::agreement::{Agreement, ClientInbound, InboundGate};
pub use self::options::{ClientIdentity, Era, EraMemory, EraMode, EraOptions, WireKind};
pub use self::probe_verdict::{ProbeEndedConnection, UnsupportedVersion};
pub use self::resend::{EraFuture, NextStep, ResendRule};
pub use self::service::ClientEra;
