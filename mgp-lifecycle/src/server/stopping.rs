//! The policy and the outcome of a shutdown.

use mgp_types::{Principal, PrincipalRole};

/// The peers that may ask the server to stop (§11.4), among those that negotiated `lifecycle`.
///
/// Other peers are refused with 1000. The application itself can always stop its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ShutdownPolicy {
    /// Operators, and peers without authentication, like the process that started the server.
    ///
    /// A server that strangers can reach without authentication should have another policy.
    #[default]
    NotAgents,
    /// Operators only.
    Operators,
    /// Every peer.
    Anyone,
    /// No peer: all are told that the request is not accepted.
    Nobody,
}

/// The way in which a server's life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "calls are finished or not")]
pub enum DrainOutcome {
    /// All calls finished.
    Finished,
    /// The time was over before all calls finished.
    CutOff {
        /// The number of calls that were answered with 2001 instead of a result, and must not be repeated.
        calls: u64,
    },
}

impl ShutdownPolicy {
    /// Returns whether the peer may stop the server; `None` if no peer may, and the answer is `accepted: false`.
    pub(super) fn permits(self, principal: Option<&Principal>) -> Option<bool> {
        let role = principal.map(Principal::role);
        match self {
            Self::Nobody => None,
            Self::Anyone => Some(true),
            Self::NotAgents => Some(role.is_none_or(|role| role == PrincipalRole::Operator)),
            Self::Operators => Some(role == Some(PrincipalRole::Operator)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_decides_by_who_asks() {
        let (agent, operator) = (Principal::new("a"), Principal::operator("o"));
        for (policy, unknown, to_agent, to_operator) in [
            (ShutdownPolicy::default(), Some(true), Some(false), Some(true)),
            (ShutdownPolicy::Operators, Some(false), Some(false), Some(true)),
            (ShutdownPolicy::Anyone, Some(true), Some(true), Some(true)),
            (ShutdownPolicy::Nobody, None, None, None),
        ] {
            assert_eq!(policy.permits(None), unknown, "{policy:?}");
            assert_eq!(policy.permits(Some(&agent)), to_agent, "{policy:?}");
            assert_eq!(policy.permits(Some(&operator)), to_operator, "{policy:?}");
        }
    }
}
