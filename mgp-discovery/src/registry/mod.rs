//! Servers that register themselves while others are at work (§15.2, §15.4, §15.5).
//!
//! [`DiscoveryGate`] answers `mgp/discovery/list`, `mgp/discovery/register` and `mgp/discovery/deregister` with the
//! help of a [`Registry`], which can be used without it as well. Registration is refused unless a
//! [`RegistrationPolicy`] allows it:
//!
//! * An operator may, and the agents that are listed; who it is tells the connection, never the parameters.
//! * A program is started only if it is listed, by the very text of the list. An address is reached only if it begins
//!   with a listed one. Of the environment only listed variables are passed on, with the values that the kernel has.
//! * What an agent registers is sandboxed. The script of a sandboxed server is inspected ([`InspectCode`]), no dangerous
//!   permission may be asked for, and it is not started before an operator has approved it.
//! * What runs is what was inspected: the script and every file of its own that it loads are pinned by one digest, and
//!   looked at again before each start. A server whose code has changed waits until it is approved again.
//! * What an agent registered runs confined by the system. Where the system cannot, an operator is told and decides.
//!
//! | | |
//! |---|---|
//! | [`Registry`], [`RegistryBuilder`] | who registered what, and what has become of it |
//! | [`RegistrationPolicy`] | what may be registered, by whom |
//! | [`Terms`], [`Lifetime`] | for how long, and whether it has been approved already |
//! | [`Registered`], [`Launch`] | a server that was registered |
//! | [`Fleet`], [`ServerView`] | the servers that run: implemented by whoever runs them |
//! | [`InspectCode`], [`Script`], [`InspectedCode`] | what looks at code: implemented by whoever can |
//! | [`RegistryStore`], [`MemoryRegistryStore`], [`SqliteRegistryStore`] | what survives a restart |
//! | [`DiscoveryGate`] | the methods, and the same as tools |

mod admission;
mod builder;
mod claim;
mod code;
mod error;
mod event;
mod gate;
mod inline;
mod inspection;
mod policy;
mod ports;
mod program;
mod record;
mod service;
#[cfg(feature = "store")]
mod sqlite;
mod store;

pub use self::builder::RegistryBuilder;
pub use self::code::{ApprovedCode, CodeFile, InspectedCode};
pub use self::error::{RegistryError, StoreError};
pub use self::gate::DiscoveryGate;
pub use self::policy::RegistrationPolicy;
pub use self::ports::{Fleet, InspectCode, Inspection, Script, ServerView};
pub use self::record::visible;
pub use self::record::{Approval, Launch, Lifetime, Registered, Registrant, Terms, WebTransport};
pub use self::service::Registry;
#[cfg(feature = "store")]
pub use self::sqlite::SqliteRegistryStore;
pub use self::store::{MemoryRegistryStore, RegistryStore};

#[cfg(test)]
mod tests;
