//! The kernel's own events, and those of servers on channels under the servers' names.
//!
//! The events of what is recorded, `audit`, `permissions`, `security.*` and `tool.*`, are told by one task, which reads the
//! record while somebody listens. So a call never waits for events, and every event that subscribers get is durable.

mod audience;
mod channel_requests;
mod recorded;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use mgp_discovery::catalog::CatalogTool;
use mgp_security::access::AccessPolicy;
use mgp_stream::event::{PublishError, Publisher};
use mgp_types::mgp::{ChannelError, ChannelPattern, Event, EventSeverity, LifecycleChange, ServerId};
use mgp_types::{Object, Principal, PrincipalRole};
use serde::Serialize;

pub(crate) use self::audience::ChannelAudience;
pub(crate) use self::channel_requests::ChannelRequest;
use self::channel_requests::{ChannelChanges, ChannelRequests};
pub(crate) use self::recorded::publish_record;
use crate::servers::fleet::FleetTables;
use crate::servers::upstream::ConnectionKey;

/// The channels on which the kernel says what happens to servers and their tools. Channels of servers exist as they are
/// declared, with the server in front; those of the record are in [`recorded`].
const CHANNELS: [&str; 2] = [LIFECYCLE, TOOLS];

const LIFECYCLE: &str = "lifecycle";
const TOOLS: &str = "tools";

/// Creates the publisher of the kernel's own channels (§13.5).
pub(crate) fn publisher() -> Publisher {
    let publisher = Publisher::new(CHANNELS.into_iter().chain(recorded::CHANNELS));
    publisher.expect("the names of the kernel's channels are channel names")
}

fn is_own(channel: &str) -> bool {
    CHANNELS.contains(&channel) || recorded::CHANNELS.contains(&channel)
}

/// Returns whether a name is the kernel's alone. Channels of the standard families are servers', too.
fn is_kernels_alone(channel: &str) -> bool {
    is_own(channel) && !channel.contains('.')
}

/// A publisher of the events of servers, each for those whom it concerns.
#[cfg_attr(test, derive(Clone))]
pub(crate) struct ServerEvents {
    pub(crate) publisher: Publisher,
    access: AccessPolicy,
    tables: Arc<FleetTables>,
    requests: Arc<ChannelRequests>,
}

impl ServerEvents {
    pub(crate) fn new(publisher: Publisher, access: AccessPolicy, tables: Arc<FleetTables>) -> Self {
        Self { publisher, access, tables, requests: Arc::default() }
    }

    /// Publishes a change of a server's lifecycle to operators, and to the agents that may use it.
    pub(crate) fn tell_lifecycle(&self, from: &ConnectionKey, level: EventSeverity, what: &LifecycleChange) {
        self.tell(LIFECYCLE, from, level, what);
    }

    /// Publishes that the tools of a server changed, to operators, and to the agents that may use it.
    pub(crate) fn tell_tools(&self, from: &ConnectionKey, change: &ToolsChange) {
        self.tell(TOOLS, from, EventSeverity::Info, change);
    }

    fn tell(&self, channel: &str, from: &ConnectionKey, severity: EventSeverity, change: &impl Serialize) {
        let outcome = Object::from_value(change).map(|data| {
            let concerns = |who: &Principal| is_operator(who) || self.uses(from, who);
            self.publisher.publish_to(channel, severity, &data, |who| who.is_some_and(concerns))
        });
        if !matches!(outcome, Ok(Ok(()))) {
            tracing::debug!(server = %from.server, channel, "a change is not told");
        }
    }

    /// Publishes an event of a server on `channel`, which has the server's name in front.
    pub(crate) fn tell_of_server(
        &self,
        from: &ConnectionKey,
        channel: &str,
        event: &Event,
    ) -> Result<(), PublishError> {
        let concerns = |who: Option<&Principal>| who.is_some_and(|who| self.uses(from, who));
        self.publisher.relay(channel, event, concerns)
    }

    /// Declares a channel that its server calls `own`, or a pattern that the server accepts, under its full name. Clients
    /// find it by the server's name for it, too, unless that is a channel of the kernel or of another server.
    pub(crate) fn declare(&self, full: &str, own: &str) -> Result<(), ChannelError> {
        let is_free = !is_kernels_alone(own) && self.tables.owner_of_channel(own).is_none();
        match (own.ends_with('*'), is_free) {
            (true, true) => self.publisher.declare_family(full.parse()?, own.parse()?),
            (true, false) => {}
            (false, true) => self.publisher.declare_as(full, own)?,
            (false, false) => self.publisher.declare(full)?,
        }
        Ok(())
    }

    /// Returns the channels of a server that clients name and may use, as the server calls them, and the number of the last
    /// request that is among them.
    pub(crate) fn wanted_at(&self, at: &ConnectionKey) -> (BTreeSet<ChannelPattern>, u64) {
        let last = self.requests.last();
        let mut named = BTreeSet::new();
        let mut add = |who: Option<&Principal>, pattern: &ChannelPattern| {
            if let (Some(who), Some(own)) = (who, self.name_at(at, pattern))
                && self.uses(at, who)
            {
                named.insert(own);
            }
        };
        self.publisher.for_each_subscribed(&mut add);
        self.requests.for_each(&mut add);
        (named, last)
    }

    /// Returns the name that a server has for a channel that a client names; `None` if the client means none of the server.
    fn name_at(&self, at: &ConnectionKey, pattern: &ChannelPattern) -> Option<ChannelPattern> {
        let own = match self.tables.owner_of_channel(pattern.as_str()) {
            Some(owner) if owner == at.server => pattern.as_str().get(owner.as_str().len() + 1..)?,
            Some(_) => return None,
            None => pattern.as_str(),
        };
        if own == "*" || is_kernels_alone(pattern.as_str()) { None } else { own.parse().ok() }
    }

    /// Has the servers asked for the channels that a client names, until the returned value is dropped. Returns nothing if
    /// they are the kernel's alone.
    pub(crate) fn ask_for(
        &self,
        who: &Principal,
        mut channels: Vec<ChannelPattern>,
    ) -> Option<ChannelRequest<'_>> {
        channels.retain(|pattern| pattern.as_str() != "*" && !is_kernels_alone(pattern.as_str()));
        (!channels.is_empty()).then(|| self.requests.begin(who.clone(), channels))
    }

    /// Waits until the clients of all requests up to this number have their subscriptions, or do not get any.
    pub(crate) async fn answered(&self, number: u64) {
        self.requests.answered(number).await;
    }

    /// Returns a receiver that is told whenever clients may name other channels.
    pub(crate) fn changes(&self) -> ChannelChanges {
        ChannelChanges { subscribed: self.publisher.changes(), requested: self.requests.changes() }
    }

    /// Returns the name of a server's channel, with the server in front; `None` if it would be a channel of another server,
    /// or of the kernel.
    pub(crate) fn channel_of(&self, from: &ConnectionKey, channel: &str) -> Option<String> {
        let channel = format!("{}.{channel}", from.server);
        let is_its_own = self.tables.owner_of_channel(&channel).is_some_and(|owner| owner == from.server);
        (is_its_own && !is_own(&channel)).then_some(channel)
    }

    fn uses(&self, from: &ConnectionKey, agent: &Principal) -> bool {
        from.is_for(agent) && self.access.reaches(&agent.access_id(), from.server.as_str())
    }
}

/// The changes of a server's tools, in numbers: an agent need not see each tool of a server that it may use.
#[derive(Debug, Serialize)]
pub(crate) struct ToolsChange {
    pub(crate) server_id: ServerId,
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) changed: usize,
}

impl ToolsChange {
    /// Compares the tools that a server had with those that it has.
    pub(crate) fn between(of: &ServerId, before: &[Arc<CatalogTool>], after: &[Arc<CatalogTool>]) -> Self {
        let before: HashMap<_, _> = before.iter().map(|tool| (&tool.resolved.name, tool)).collect();
        let known = after.iter().filter_map(|tool| Some((before.get(&tool.resolved.name)?, tool)));
        let (mut kept, mut changed) = (0, 0);
        for (then, now) in known {
            kept += 1;
            changed += usize::from(then.resolved.definition != now.resolved.definition);
        }
        Self { server_id: of.clone(), added: after.len() - kept, removed: before.len() - kept, changed }
    }
}

fn is_operator(principal: &Principal) -> bool {
    principal.role() == PrincipalRole::Operator
}

#[cfg(test)]
mod tests;
