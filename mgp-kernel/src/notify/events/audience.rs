//! Who sees which events: those of a server are for whoever may use it, by the policy that calls are held to.

use std::sync::{Arc, Weak};

use mgp_security::access::AccessPolicy;
use mgp_stream::event::EventAudience;
use mgp_types::Principal;

use super::{LIFECYCLE, is_operator};
use crate::servers::fleet::Fleet;
use crate::servers::upstream::Upstream;

/// Says who may know of which channels.
///
/// Publishers know their audience, and servers of the fleet know the publisher, so it does not keep the fleet.
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
            // What is published there is for those whom it concerns.
            LIFECYCLE | "tools" => true,
            // What all others did and were refused.
            "audit" | "permissions" | "security" => is_operator(principal),
            _ => owner(&fleet, channel).is_some_and(|server| {
                server.admits(principal) && self.access.reaches(&principal.access_id(), server.id().as_str())
            }),
        }
    }
}

/// The server that a channel is of. Their ids may have dots in them; the longest is meant.
fn owner(fleet: &Fleet, channel: &str) -> Option<Arc<Upstream>> {
    channel.rmatch_indices('.').find_map(|(at, _)| fleet.get(&channel[..at]))
}
