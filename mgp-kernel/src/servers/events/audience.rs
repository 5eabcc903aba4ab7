//! The audience of events: those of a server are for agents that may use it, by the policy that calls are held to.

use std::sync::{Arc, Weak};

use mgp_security::access::AccessPolicy;
use mgp_stream::event::EventAudience;
use mgp_types::Principal;

use super::{CHANNELS, is_operator, recorded};
use crate::servers::fleet::Fleet;
use crate::servers::upstream::Upstream;

/// The rule for who may subscribe to which channels.
///
/// Publishers hold their audience, and servers of the fleet hold the publisher, so the audience does not keep the fleet
/// alive.
#[derive(Clone)]
pub(crate) struct ChannelAudience {
    access: AccessPolicy,
    fleet: Weak<Fleet>,
}

impl ChannelAudience {
    pub(crate) fn new(access: AccessPolicy, fleet: &Arc<Fleet>) -> Self {
        Self { access, fleet: Arc::downgrade(fleet) }
    }
}

impl EventAudience for ChannelAudience {
    fn sees(&self, principal: Option<&Principal>, channel: &str) -> bool {
        let (Some(fleet), Some(principal)) = (self.fleet.upgrade(), principal) else { return false };
        match channel {
            // Events on these channels are addressed to those whom they concern.
            _ if CHANNELS.contains(&channel) => true,
            _ if recorded::is_for_operators(channel) => is_operator(principal),
            _ if recorded::CHANNELS.contains(&channel) => true,
            _ => owner(&fleet, channel).is_some_and(|server| {
                server.admits(principal) && self.access.reaches(&principal.access_id(), server.id().as_str())
            }),
        }
    }
}

/// Returns the server of a channel. Ids of servers may contain dots; the longest id that fits is meant.
fn owner(fleet: &Fleet, channel: &str) -> Option<Arc<Upstream>> {
    channel.rmatch_indices('.').find_map(|(at, _)| fleet.get(&channel[..at]))
}
