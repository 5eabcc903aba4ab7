//! Who sees which events: those of a server are for whoever may use it, by the policy that calls are held to.

use std::sync::{Arc, Weak};

use mgp_stream::event::{Audience, PublishError};
use mgp_types::mgp::{EventSeverity, LifecycleChange};
use mgp_types::{Object, Principal, Role};

use crate::parts::Parts;
use crate::upstream::{Line, Upstream};

/// The channels that the kernel itself publishes to (§13.5); those of servers come as they are declared, with the server
/// in front.
pub(crate) const CHANNELS: [&str; 5] = ["audit", LIFECYCLE, "permissions", "security", "tools"];

const LIFECYCLE: &str = "lifecycle";

/// Who may know of which channels.
pub(crate) fn audience(parts: &Arc<Parts>) -> impl Audience + use<> {
    Channels(Arc::downgrade(parts))
}

/// Publishers know their audience, and are parts of the kernel.
struct Channels(Weak<Parts>);

impl Audience for Channels {
    fn sees(&self, principal: Option<&Principal>, channel: &str) -> bool {
        let (Some(parts), Some(principal)) = (self.0.upgrade(), principal) else { return false };
        match channel {
            // What is published there is for those whom it concerns.
            LIFECYCLE | "tools" => true,
            // What all others did and were refused.
            "audit" | "permissions" | "security" => is_operator(principal),
            _ => owner(&parts, channel).is_some_and(|server| {
                server.admits(principal) && parts.access.reaches(&principal.access_id(), server.id().as_str())
            }),
        }
    }
}

/// Tells of a server's life: operators, and the agents that may use it.
pub(crate) fn tell_lifecycle(parts: &Parts, from: &Line, severity: EventSeverity, change: &LifecycleChange) {
    let told = Object::from_value(change).map(|data| {
        let concerns = |who: &Principal| is_operator(who) || uses(parts, from, who);
        parts.events.publish_to(LIFECYCLE, severity, &data, |who| who.is_some_and(concerns))
    });
    if !matches!(told, Ok(Ok(()))) {
        tracing::debug!(server = %from.server, "a change is not told");
    }
}

/// Tells what a server tells on `channel`, which has its name in front.
pub(crate) fn tell_of_server(
    parts: &Parts,
    from: &Line,
    channel: &str,
    severity: EventSeverity,
    data: &Object,
) -> Result<(), PublishError> {
    parts.events.publish_to(channel, severity, data, |who| who.is_some_and(|who| uses(parts, from, who)))
}

/// The channel of a server, under its name; `None` if it would be another server's.
pub(crate) fn channel_of(parts: &Parts, from: &Line, channel: &str) -> Option<String> {
    let channel = format!("{}.{channel}", from.server);
    owner(parts, &channel).is_some_and(|owner| *owner.id() == from.server).then_some(channel)
}

/// The server that a channel is of. Their ids may have dots in them; the longest is meant.
fn owner(parts: &Parts, channel: &str) -> Option<Arc<Upstream>> {
    channel.rmatch_indices('.').find_map(|(at, _)| parts.fleet.get(&channel[..at]))
}

fn uses(parts: &Parts, from: &Line, agent: &Principal) -> bool {
    from.is_for(agent) && parts.access.reaches(&agent.access_id(), from.server.as_str())
}

fn is_operator(principal: &Principal) -> bool {
    principal.role() == Role::Operator
}

#[cfg(test)]
mod tests;
