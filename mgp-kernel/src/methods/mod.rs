//! The MGP methods that the kernel answers itself: a file for each family that is the kernel's own, and all of them.

mod as_tools;
pub(crate) mod of_servers;
mod permissions;
pub(crate) mod scopes;
pub(crate) mod tool_documents;
mod validate;

use std::sync::Arc;

use mgp_discovery::registry::DiscoveryGate;
use mgp_security::access::AccessMethodsGate;
use mgp_stream::event::EventsGate;
use mgp_toolindex::discovery::ToolDiscoveryGate;

pub(crate) use self::as_tools::MethodsAsToolsGate;
use self::permissions::PermissionMethods;
pub(crate) use self::validate::{ArgumentFaultsGate, validate_arguments};
use crate::sections::Sections;
use crate::servers::events::ChannelAudience;

/// The families of methods that the kernel answers itself.
pub(crate) struct OwnMethods {
    pub(crate) access: AccessMethodsGate,
    pub(crate) events: EventsGate,
    pub(crate) permissions: PermissionMethods,
    pub(crate) registry: DiscoveryGate,
    pub(crate) sections: Arc<Sections>,
    /// The search for tools, which follows their calls as well.
    pub(crate) tools: ToolDiscoveryGate,
}

impl OwnMethods {
    pub(crate) fn new(sections: &Sections, tools: ToolDiscoveryGate) -> Self {
        let Sections { policies, audit, fleet, events, .. } = sections;
        let kernel = Arc::new(sections.clone());
        let audience = ChannelAudience { access: policies.access.clone(), fleet: Arc::downgrade(fleet) };
        Self {
            access: AccessMethodsGate::new(policies.access.clone()).known_targets(Arc::clone(&kernel) as _),
            events: EventsGate::new(events.clone())
                .for_audience(move |who, channel| audience.sees(who, channel)),
            permissions: PermissionMethods::new(policies.grants.clone(), audit.clock.clone()),
            registry: DiscoveryGate::new(sections.registry.clone()),
            sections: kernel,
            tools,
        }
    }
}
