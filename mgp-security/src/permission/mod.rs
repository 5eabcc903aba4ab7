//! Permissions (MGP §3): what a server may do on the host, and how that is requested, decided, enforced and revoked.
//!
//! On the client's side a [`PermissionGate`] stands in front of each server. It settles what the server needs to
//! operate when it is connected, holds every call to the granted permissions, and asks an operator through an
//! [`Approver`] where the policy says so. Decisions of operators are kept in a [`GrantBook`]. On the server's side
//! [`HeldPermissionsGate`] takes the grants of clients.
//!
//! ```
//! use mgp_security::permission::{PermissionSettings, GrantTerms};
//! use mgp_types::mgp::{ApprovalPolicy, Permission};
//!
//! let settings = PermissionSettings::new(ApprovalPolicy::ConfigOnly)
//!     .with_grant(Permission::FilesystemRead, GrantTerms::default())?;
//! assert_eq!(settings.policy, ApprovalPolicy::ConfigOnly);
//! # Ok::<(), mgp_security::permission::ScopeError>(())
//! ```
//!
//! | | |
//! |---|---|
//! | [`PermissionGate`] | the gate on the way to one server |
//! | [`PermissionSettings`] | policy and configuration |
//! | [`GrantBook`] | the decisions of operators |
//! | [`Approver`], [`ApproverChain`], [`PendingApprovals`] | the ways to ask operators |
//! | [`HeldPermissionsGate`] | the server's side |

mod approval;
mod book;
mod gate;
mod held;
mod record;
mod scope;
mod settings;
mod store;
#[cfg(test)]
pub(crate) mod testing;

pub use self::approval::{
    ApprovalAnswer, ApprovalId, ApprovalQuestion, ApprovalReply, ApprovalSubject, ApprovalWatch, Approver,
    ApproverChain, OperatorInFront, PendingApproval, PendingApprovals, PersonInFront, ShownArguments,
    WaitingQuestion,
};
pub(crate) use self::approval::{WaitingSubject, waits_for_approval};
pub use self::book::GrantBook;
pub(crate) use self::book::check_operator;
pub(crate) use self::gate::GrantedOnce;
pub use self::gate::PermissionGate;
pub use self::held::HeldPermissionsGate;
pub use self::record::{GrantLifetime, GrantRecord, GrantTerms, GrantVerdict, GrantedTo};
pub(crate) use self::scope::ScopeCheck;
pub use self::scope::ScopeError;
pub use self::settings::PermissionSettings;

/// The time in milliseconds after which a client may try again; people decide slowly.
const RETRY_AFTER_MS: u64 = 30_000;
