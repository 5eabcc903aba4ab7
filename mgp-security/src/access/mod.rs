//! Access control (MGP §5): which agent may use which server and tool.
//!
//! An [`AccessPolicy`] decides: an entry for the tool comes before an entry for the server, which comes before the
//! server's default. Among entries of one kind, one for exactly the agent comes before those for its groups, of which one
//! that denies decides. Entries may be for patterns: an exact entry comes before a pattern, a pattern with more literal
//! characters comes before one with fewer, and of two equally narrow patterns the one that denies decides.
//! [`AccessGate`] holds requests to the policy, and [`AccessMethodsGate`] lets operators change it while it runs.
//!
//! ```
//! use mgp_security::access::{AccessPolicy, AccessPolicySettings};
//! use mgp_types::Principal;
//! use mgp_types::mgp::{AccessGrant, AccessPermission, AgentId, ServerId};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policy = AccessPolicy::open(AccessPolicySettings::default())?;
//! let (agent, server) = (AgentId::from("agent.one"), ServerId::from("mind.cerebras"));
//! assert_eq!(policy.decide("agent.one", "mind.cerebras", Some("think")).permission, AccessPermission::Deny);
//!
//! let grant = AccessGrant::new(agent, server, AccessPermission::Allow);
//! policy.grant(&Principal::operator("admin"), None, grant).await?;
//! assert_eq!(policy.decide("agent.one", "mind.cerebras", Some("think")).permission, AccessPermission::Allow);
//! # Ok(())
//! # }
//! ```
//!
//! | | |
//! |---|---|
//! | [`AccessPolicy`], [`AccessVerdict`] | the decision who may use what, and its reason |
//! | [`AccessGate`] | holds requests to the policy |
//! | [`RunningAccessLayer`], [`RunningAccess`] | ends requests whose caller loses access while they run |
//! | [`AccessMethodsGate`] | lets operators query and change the policy |
//! | [`KnownTargets`], [`UnmatchedTarget`] | keep operators from entries that match nothing |
//! | [`ExpiringEntries`] | reports entries that expire |
//! | [`AccessEntry`], [`StoredEntry`] | the grants of operators |

mod entry;
mod gate;
mod methods;
mod policy;
mod running;
mod server_use;
mod table;

pub use self::entry::{AccessEntry, AccessError, ExpiringEntries, StoredEntry};
pub use self::gate::AccessGate;
pub use self::methods::{AccessMethodsGate, KnownTargets, UnmatchedTarget};
pub use self::policy::{AccessPolicy, AccessPolicySettings, AccessVerdict};
pub use self::running::{RunningAccess, RunningAccessLayer};
use self::server_use::ServerUse;

#[cfg(test)]
mod tests;
