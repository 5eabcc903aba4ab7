//! Servers that register themselves while others are at work (§15.2, §15.4, §15.5).
//!
//! [`DiscoveryGate`] answers `mgp/discovery/list`, `mgp/discovery/register` and `mgp/discovery/deregister` with the
//! help of a [`Registry`], which can be used without it as well. Registration is refused unless a
//! [`RegistrationPolicy`] allows it:
//!
//! * Operators and the listed agents may register servers; the connection proves the identity, never the parameters.
//! * A program is started only if it is listed, by the very text of the list. An address is reached only if it begins
//!   with a listed one. Of the environment only listed variables are passed on, with the values that the kernel has.
//! * A server that an agent registers is sandboxed. Its script is inspected ([`CodeInspector`]), no dangerous permission
//!   may be asked for, and the server is not started before an operator has approved it.
//! * Only inspected code runs: the script and every file of its own that it loads are pinned by one digest, and
//!   inspected again before each start. A server whose code has changed waits until it is approved again.
//! * A server that an agent registered runs confined by the system. Where the system cannot confine it, an operator is
//!   told and decides.
//!
//! | | |
//! |---|---|
//! | [`Registry`] | the registered servers, their registrants and their state |
//! | [`RegistrationPolicy`] | the rules of who may register which servers |
//! | [`RegistrationTerms`], [`Lifetime`] | the lifetime of a server, and its approval in advance |
//! | [`ServerRegistration`], [`LaunchMethod`] | a server that was registered |
//! | [`RunningServers`], [`ServerView`] | the servers that run: implemented by the kernel |
//! | [`CodeInspector`], [`ProgramScript`], [`InspectedCode`] | the inspection of code: implemented by the kernel |
//! | [`SqliteRegistryStore`] | the store of registered servers |
//! | [`DiscoveryGate`] | the methods, also as tools |

mod admission;
mod error;
mod event;
mod gate;
mod inspection;
mod ports;
mod program;
mod record;
mod registration_table;
mod service;
mod store;

pub use self::admission::RegistrationPolicy;
pub use self::error::{RegistryError, StoreError};
pub use self::gate::DiscoveryGate;
pub use self::ports::{CodeInspector, Inspection, ProgramScript, RunningServers, ServerView};
pub(crate) use self::program::table;
pub use self::record::{
    Approval, ApprovedCode, CodeFile, InspectedCode, LaunchMethod, Lifetime, Registrant, RegistrationTerms,
    ServerRegistration, visible,
};
pub use self::service::Registry;
pub use self::store::SqliteRegistryStore;

#[cfg(test)]
mod tests;
