//! The client's side of both eras: finding the era of a server, and writing requests for it.

mod agreement;
mod handshake;
mod identity;
mod inbound;
mod memory;
mod options;
mod relay;
mod service;
mod verdict;

#[cfg(test)]
mod tests;

pub use self::agreement::Agreement;
pub(crate) use self::agreement::Rounds;
pub use self::identity::ClientIdentity;
pub use self::inbound::{ClientInbound, InboundFuture};
pub use self::memory::{Era, EraMemory};
pub use self::options::{EraMode, EraOptions, WireKind};
pub use self::service::{ClientEra, EraFuture};
pub use self::verdict::{ProbeEndedConnection, UnsupportedVersion};
