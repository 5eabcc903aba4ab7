//! The audience of events: those of a server are for agents that may use it, by the policy that calls are held to.

use std::sync::Weak;

use mgp_security::access::AccessPolicy;
use mgp_types::Principal;

use super::{is_operator, is_own, recorded};
use crate::servers::fleet::Fleet;

/// The rule for who may subscribe to which channels.
///
/// Publishers hold their audience, and servers of the fleet hold the publisher, so the audience does not keep the fleet
/// alive.
#[derive(Clone)]
pub(crate) struct ChannelAudience {
    pub(crate) access: AccessPolicy,
    pub(crate) fleet: Weak<Fleet>,
}

impl ChannelAudience {
    /// Returns whether `principal` may know of the channel, and see the events published on it.
    pub(crate) fn sees(&self, principal: Option<&Principal>, channel: &str) -> bool {
        let (Some(fleet), Some(principal)) = (self.fleet.upgrade(), principal) else { return false };
        if recorded::is_for_operators(channel) {
            return is_operator(principal);
        }
        // Ids of servers may contain dots; the longest id that fits is meant.
        let owner = || channel.rmatch_indices('.').find_map(|(at, _)| fleet.get(&channel[..at]));
        // Events on the kernel's own channels are addressed to those whom they concern.
        is_own(channel)
            || owner().is_some_and(|server| {
                server.admits(principal) && self.access.reaches(&principal.access_id(), server.id().as_str())
            })
    }
}
