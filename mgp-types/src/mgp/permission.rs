//! Permissions of servers on the host (§3): types, policies, requests and grants.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{RiskLevel, Timestamp};
use crate::macros::words::{levels, open_words};
use crate::macros::{record, setter};

open_words! {
    /// A right of a server on the host (§3.2): one of the standard types, or a custom one in reverse-domain
    /// notation.
    ///
    /// ```
    /// use mgp_types::mgp::{Permission, RiskLevel};
    ///
    /// assert_eq!(Permission::read("shell"), Permission::ShellExecute);
    /// assert_eq!(Permission::read("com.example.print").risk(), RiskLevel::Dangerous);
    /// ```
    #[derive(PartialOrd, Ord)]
    pub enum Permission or Custom {
        /// The right to read files of the host.
        FilesystemRead = "filesystem.read",
        /// The right to write, create or delete files of the host.
        FilesystemWrite = "filesystem.write",
        /// The right to make requests over the network.
        NetworkOutbound = "network.outbound" | "network",
        /// The right to listen on a network port.
        NetworkListen = "network.listen",
        /// The right to run shell commands.
        ShellExecute = "shell.execute" | "shell",
        /// The right to run any code.
        CodeExecution = "code_execution",
        /// The right to read stores of knowledge.
        MemoryRead = "memory.read",
        /// The right to write stores of knowledge.
        MemoryWrite = "memory.write",
        /// The right to read facts about the system.
        SystemInfo = "system.info",
        /// The right to use cameras.
        Camera = "camera",
        /// The right to notify the user.
        Notification = "notification",
    }
}

impl Permission {
    /// Returns the danger of granting the permission; a custom type is dangerous unless configured otherwise.
    pub const fn risk(&self) -> RiskLevel {
        match self {
            Self::MemoryRead | Self::SystemInfo | Self::Notification => RiskLevel::Safe,
            Self::FilesystemRead | Self::NetworkOutbound | Self::MemoryWrite => RiskLevel::Moderate,
            _ => RiskLevel::Dangerous,
        }
    }
}

levels! {
    /// The policy that decides about requested permissions (§3.3).
    #[derive(Default)]
    ApprovalPolicy else DenyAll {
        /// A human decides about each permission.
        #[default]
        Interactive = "interactive",
        /// Each permission is approved.
        AutoApprove = "auto_approve",
        /// Each permission is denied that was not granted beforehand.
        DenyAll = "deny_all",
        /// Only the permissions that the configuration lists are approved.
        ConfigOnly = "config_only",
    }

    /// The decision about a permission (§3.6). An unknown word grants nothing.
    Decision else Denied {
        /// The permission is granted.
        Approved = "approved",
        /// The permission is not granted; the server does what it can without.
        Denied = "denied",
        /// Nobody has decided yet; the server waits or asks again.
        Deferred = "deferred",
    }
}

record! {
    /// The bounds of a grant. An empty list sets no bound, and a denial beats an allowance.
    #[serde(deny_unknown_fields)]
    pub struct Scope: Default, Eq {
        /// The patterns of paths that the server may touch.
        list paths: String;
        /// The patterns of paths that the server may not touch.
        list deny_paths: String;
        /// The patterns of commands that the server may run.
        list commands: String;
        /// The patterns of commands that the server may not run.
        list deny_commands: String;
        /// True if commands may raise their privileges.
        optional allow_sudo: bool;
        /// The patterns of hosts that the server may talk to.
        list hosts: String;
        /// The patterns of hosts that the server may not talk to.
        list deny_hosts: String;
        /// The ports that the server may use.
        list ports: u16;
        /// The languages in which the server may run code.
        list languages: String;
        /// The time in milliseconds for which code may run.
        optional max_execution_time_ms: u64;
    }

    /// The parameters of `mgp/permission/request` (§3.5).
    pub struct PermissionRequest: Eq {
        /// The id of the request.
        required request_id: into String;
        /// The permissions that are asked for, in the server's own spelling.
        required permissions: Vec<String>;
        /// The policy that decides.
        required policy: ApprovalPolicy;
        /// A text for people.
        optional message: String => into with_message;
    }

    /// The decisions about a request (§3.6): the result of `mgp/permission/request`, the parameters of
    /// `mgp/permission/response`, and the grants that a stateless client attaches to its calls.
    pub struct PermissionResponse: Eq {
        /// The id of the answered request.
        required request_id: into String;
        /// The decision about each permission, under the name that the request used.
        required grants: BTreeMap<String, Grant>;
        /// The name of the decider.
        optional approved_by: String => into with_approved_by;
        /// The end of the grants.
        optional expires_at: Timestamp => optional with_expires_at;
    }
}

/// A decision with its bounds; on the wire `"approved"`, or `{"decision":"approved","scope":{…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "WrittenGrant", into = "WrittenGrant")]
#[non_exhaustive]
pub struct Grant {
    /// The decision.
    pub decision: Decision,
    /// The bounds of the grant; `None` for no bounds.
    pub scope: Option<Scope>,
}

impl Grant {
    /// Creates a decision without bounds.
    pub const fn new(decision: Decision) -> Self {
        Self { decision, scope: None }
    }

    setter!(scope: Scope => with_scope);
}

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenGrant {
    Word(Decision),
    Scoped { decision: Decision, scope: Option<Box<Scope>> },
}

crate::convert!(WrittenGrant => Grant, written => match written {
    WrittenGrant::Word(decision) => Self::new(decision),
    WrittenGrant::Scoped { decision, scope } => Self { decision, scope: scope.map(|scope| *scope) },
});

crate::convert!(Grant => WrittenGrant, grant => match grant.scope {
    None => Self::Word(grant.decision),
    Some(scope) => Self::Scoped { decision: grant.decision, scope: Some(Box::new(scope)) },
});

impl PermissionResponse {
    /// Returns the decision about `permission` that still holds at `now`, in whatever spelling the request used.
    ///
    /// Of several decisions about one permission the strictest counts.
    pub fn decision(&self, permission: &Permission, now: Timestamp) -> Option<&Grant> {
        if self.expires_at.is_some_and(|end| end <= now) {
            return None;
        }
        let strictness = |grant: &&Grant| match grant.decision {
            Decision::Denied => 2,
            Decision::Deferred => 1,
            Decision::Approved => 0,
        };
        let of_it = self.grants.iter().filter(|(name, _)| Permission::read(name) == *permission);
        of_it.map(|(_, grant)| grant).max_by_key(strictness)
    }
}

#[cfg(test)]
mod tests;
