//! The kernel's own events, and those of servers on channels under the servers' names.

mod audience;

use std::sync::Arc;

use mgp_security::access::AccessPolicy;
use mgp_stream::event::{PublishError, Publisher};
use mgp_types::mgp::{EventSeverity, LifecycleChange};
use mgp_types::{Object, Principal, PrincipalRole};

pub(crate) use self::audience::ChannelAudience;
use crate::servers::fleet::FleetBooks;
use crate::servers::upstream::ConnectionKey;

/// The channels that the kernel itself publishes to (§13.5). Channels of servers exist as they are declared, with the
/// server in front.
pub(crate) const CHANNELS: [&str; 5] = ["audit", LIFECYCLE, "permissions", "security", "tools"];

const LIFECYCLE: &str = "lifecycle";

/// A publisher of the events of servers, each for those whom it concerns.
pub(crate) struct ServerEvents {
    publisher: Publisher,
    access: AccessPolicy,
    books: Arc<FleetBooks>,
}

impl ServerEvents {
    pub(crate) fn new(publisher: Publisher, access: AccessPolicy, books: Arc<FleetBooks>) -> Self {
        Self { publisher, access, books }
    }

    pub(crate) fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// Publishes a lifecycle event of a server to operators, and to the agents that may use it.
    pub(crate) fn tell_lifecycle(
        &self,
        from: &ConnectionKey,
        severity: EventSeverity,
        change: &LifecycleChange,
    ) {
        let told = Object::from_value(change).map(|data| {
            let concerns = |who: &Principal| is_operator(who) || self.uses(from, who);
            self.publisher.publish_to(LIFECYCLE, severity, &data, |who| who.is_some_and(concerns))
        });
        if !matches!(told, Ok(Ok(()))) {
            tracing::debug!(server = %from.server, "a change is not told");
        }
    }

    /// Publishes an event of a server on `channel`, which has the server's name in front.
    pub(crate) fn tell_of_server(
        &self,
        from: &ConnectionKey,
        channel: &str,
        severity: EventSeverity,
        data: &Object,
    ) -> Result<(), PublishError> {
        let concerns = |who: Option<&Principal>| who.is_some_and(|who| self.uses(from, who));
        self.publisher.publish_to(channel, severity, data, concerns)
    }

    /// Returns the name of a server's channel, with the server in front; `None` if it would be another server's
    /// channel.
    pub(crate) fn channel_of(&self, from: &ConnectionKey, channel: &str) -> Option<String> {
        let channel = format!("{}.{channel}", from.server);
        self.books.owner_of_channel(&channel).is_some_and(|owner| owner == from.server).then_some(channel)
    }

    fn uses(&self, from: &ConnectionKey, agent: &Principal) -> bool {
        from.is_for(agent) && self.access.reaches(&agent.access_id(), from.server.as_str())
    }
}

fn is_operator(principal: &Principal) -> bool {
    principal.role() == PrincipalRole::Operator
}

#[cfg(test)]
mod tests;
