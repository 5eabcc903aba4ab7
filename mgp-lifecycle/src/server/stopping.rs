use mgp_types::{Principal, Role};

/// Who may ask the server to stop (§11.4), among the peers that negotiated `lifecycle`.
///
/// Whoever may not is refused with 1000. The application itself can always stop its server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum ShutdownPolicy {
    /// Operators, and peers that nobody authenticates, like the process that started the server.
    ///
    /// A server that strangers can reach without authentication should have another policy.
    #[default]
    NotAgents,
    /// Operators only.
    Operators,
    /// Every peer.
    Anyone,
    /// No peer: whoever asks is told that the wish is not accepted.
    Nobody,
}

/// What a policy says to a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Permitted {
    Yes,
    /// Not to this one.
    NotToThem,
    /// To nobody: the answer is `accepted: false`.
    ToNobody,
}

/// How a server's life ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "calls are finished or not")]
pub enum Drained {
    /// All calls finished.
    Finished,
    /// The time was over before.
    CutOff {
        /// So many calls were answered with 2001 instead of a result, and are not to be made again.
        calls: u64,
    },
}

impl ShutdownPolicy {
    pub(super) fn permits(self, principal: Option<&Principal>) -> Permitted {
        let permitted = match (self, principal.map(Principal::role)) {
            (Self::Nobody, _) => return Permitted::ToNobody,
            (Self::Anyone, _) | (Self::NotAgents | Self::Operators, Some(Role::Operator)) => true,
            (Self::NotAgents, nobody) => nobody.is_none(),
            (Self::Operators, _) => false,
        };
        if permitted { Permitted::Yes } else { Permitted::NotToThem }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_decides_by_who_asks() {
        use Permitted::{NotToThem, ToNobody, Yes};

        let (agent, operator) = (Principal::new("a"), Principal::operator("o"));
        for (policy, unknown, to_agent, to_operator) in [
            (ShutdownPolicy::default(), Yes, NotToThem, Yes),
            (ShutdownPolicy::Operators, NotToThem, NotToThem, Yes),
            (ShutdownPolicy::Anyone, Yes, Yes, Yes),
            (ShutdownPolicy::Nobody, ToNobody, ToNobody, ToNobody),
        ] {
            assert_eq!(policy.permits(None), unknown, "{policy:?}");
            assert_eq!(policy.permits(Some(&agent)), to_agent, "{policy:?}");
            assert_eq!(policy.permits(Some(&operator)), to_operator, "{policy:?}");
        }
    }
}
