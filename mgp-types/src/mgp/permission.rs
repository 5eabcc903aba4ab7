//! Permissions of servers on the host (§3): types, policies, requests and grants.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::words::{levels, open_words};
use super::{RiskLevel, Timestamp};
use crate::macros::record;

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
}

levels! {
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

/// The bounds of a grant. An empty list sets no bound, and a denial beats an allowance.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Scope {
    /// The patterns of paths that the server may touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// The patterns of paths that the server may not touch.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_paths: Vec<String>,
    /// The patterns of commands that the server may run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<String>,
    /// The patterns of commands that the server may not run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_commands: Vec<String>,
    /// True if commands may raise their privileges.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allow_sudo: Option<bool>,
    /// The patterns of hosts that the server may talk to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The patterns of hosts that the server may not talk to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_hosts: Vec<String>,
    /// The ports that the server may use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<u16>,
    /// The languages in which the server may run code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub languages: Vec<String>,
    /// The time in milliseconds for which code may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_execution_time_ms: Option<u64>,
}

/// A decision with its bounds; on the wire `"approved"`, or `{"decision":"approved","scope":{…}}`.
#[derive(Debug, Clone, PartialEq, Eq)]
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

    /// Sets the bounds of the grant.
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }
}

#[derive(Serialize, Deserialize)]
struct Scoped {
    decision: Decision,
    #[serde(skip_serializing_if = "Option::is_none")]
    scope: Option<Scope>,
}

impl Serialize for Grant {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.scope {
            None => self.decision.serialize(serializer),
            Some(_) => Scoped { decision: self.decision, scope: self.scope.clone() }.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Grant {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            Word(Decision),
            Scoped(Box<Scoped>),
        }
        Ok(match Either::deserialize(deserializer)? {
            Either::Word(decision) => Self::new(decision),
            Either::Scoped(scoped) => Self { decision: scoped.decision, scope: scoped.scope },
        })
    }
}

record! {
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
        optional expires_at: Timestamp;
    }
}

impl PermissionResponse {
    /// Sets the end of the grants.
    pub fn with_expires_at(mut self, end: Option<Timestamp>) -> Self {
        self.expires_at = end;
        self
    }

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
