//! Permissions of servers on the host (§3): types, policies, requests and grants.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{RiskLevel, Timestamp};
use crate::macros::text_traits;

macro_rules! permissions {
    ($($(#[$doc:meta])* $variant:ident = $name:literal, $risk:ident;)+) => {
        /// A right of a server on the host (§3.2): one of the standard types, or a custom one in reverse-domain
        /// notation.
        ///
        /// ```
        /// use mgp_types::mgp::{Permission, RiskLevel};
        ///
        /// assert_eq!(Permission::read("shell"), Permission::ShellExecute);
        /// assert_eq!(Permission::read("com.example.print").risk(), RiskLevel::Dangerous);
        /// ```
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Permission {
            $($(#[$doc])* $variant,)+
            /// A type that the specification does not name.
            Custom(Box<str>),
        }

        impl Permission {
            /// The standard types, in the order of the specification.
            pub const STANDARD: &'static [Self] = &[$(Self::$variant,)+];

            /// Reads a name; `shell` and `network` of older examples are `shell.execute` and `network.outbound`.
            pub fn read(name: &str) -> Self {
                match name {
                    $($name => Self::$variant,)+
                    "shell" => Self::ShellExecute,
                    "network" => Self::NetworkOutbound,
                    other => Self::Custom(other.into()),
                }
            }

            /// Returns the name on the wire.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$variant => $name,)+
                    Self::Custom(name) => name,
                }
            }

            /// Returns the danger of granting the permission; a custom type is dangerous unless configured otherwise.
            pub const fn risk(&self) -> RiskLevel {
                match self {
                    $(Self::$variant => RiskLevel::$risk,)+
                    Self::Custom(_) => RiskLevel::Dangerous,
                }
            }
        }
    };
}

permissions! {
    /// The right to read files of the host.
    FilesystemRead = "filesystem.read", Moderate;
    /// The right to write, create or delete files of the host.
    FilesystemWrite = "filesystem.write", Dangerous;
    /// The right to make requests over the network.
    NetworkOutbound = "network.outbound", Moderate;
    /// The right to listen on a network port.
    NetworkListen = "network.listen", Dangerous;
    /// The right to run shell commands.
    ShellExecute = "shell.execute", Dangerous;
    /// The right to run any code.
    CodeExecution = "code_execution", Dangerous;
    /// The right to read stores of knowledge.
    MemoryRead = "memory.read", Safe;
    /// The right to write stores of knowledge.
    MemoryWrite = "memory.write", Moderate;
    /// The right to read facts about the system.
    SystemInfo = "system.info", Safe;
    /// The right to use cameras.
    Camera = "camera", Dangerous;
    /// The right to notify the user.
    Notification = "notification", Safe;
}

text_traits!(Permission: Display, Serialize, Deserialize(Self::read));

/// The policy that decides about requested permissions (§3.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum ApprovalPolicy {
    /// A human decides about each permission.
    #[default]
    Interactive,
    /// Each permission is approved.
    AutoApprove,
    /// Each permission is denied that was not granted beforehand.
    DenyAll,
    /// Only the permissions that the configuration lists are approved.
    ConfigOnly,
}

impl ApprovalPolicy {
    /// Reads a policy; an unknown word is [`DenyAll`](Self::DenyAll).
    pub fn read(word: &str) -> Self {
        match word {
            "interactive" => Self::Interactive,
            "auto_approve" => Self::AutoApprove,
            "config_only" => Self::ConfigOnly,
            _ => Self::DenyAll,
        }
    }

    /// Returns the word that stands for the value on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Interactive => "interactive",
            Self::AutoApprove => "auto_approve",
            Self::DenyAll => "deny_all",
            Self::ConfigOnly => "config_only",
        }
    }
}

text_traits!(ApprovalPolicy: Display, Serialize, Deserialize(Self::read));

/// The decision about a permission (§3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "closed by the specification")]
pub enum Decision {
    /// The permission is granted.
    Approved,
    /// The permission is not granted; the server does what it can without.
    Denied,
    /// Nobody has decided yet; the server waits or asks again.
    Deferred,
}

impl Decision {
    /// Reads a decision; an unknown word grants nothing.
    pub fn read(word: &str) -> Self {
        match word {
            "approved" => Self::Approved,
            "deferred" => Self::Deferred,
            _ => Self::Denied,
        }
    }
}

text_traits!(Decision: Deserialize(Self::read));

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

/// The parameters of `mgp/permission/request` (§3.5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PermissionRequest {
    /// The id of the request.
    pub request_id: String,
    /// The permissions that are asked for, in the server's own spelling.
    pub permissions: Vec<String>,
    /// The policy that decides.
    pub policy: ApprovalPolicy,
    /// A text for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl PermissionRequest {
    /// Creates the request for `permissions` under `request_id`.
    pub fn new(request_id: impl Into<String>, permissions: Vec<String>, policy: ApprovalPolicy) -> Self {
        Self { request_id: request_id.into(), permissions, policy, message: None }
    }

    /// Sets the text for people.
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.message = Some(message.into());
        self
    }
}

/// The decisions about a request (§3.6): the result of `mgp/permission/request`, the parameters of
/// `mgp/permission/response`, and the grants that a stateless client attaches to its calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PermissionResponse {
    /// The id of the answered request.
    pub request_id: String,
    /// The decision about each permission, under the name that the request used.
    pub grants: BTreeMap<String, Grant>,
    /// The name of the decider.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// The end of the grants.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl PermissionResponse {
    /// Creates the decisions about the request `request_id`.
    pub fn new(request_id: impl Into<String>, grants: BTreeMap<String, Grant>) -> Self {
        Self { request_id: request_id.into(), grants, approved_by: None, expires_at: None }
    }

    /// Sets the name of the decider.
    pub fn with_approved_by(mut self, approver: impl Into<String>) -> Self {
        self.approved_by = Some(approver.into());
        self
    }

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
