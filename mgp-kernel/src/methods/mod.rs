//! The MGP methods that the kernel answers itself: a file for each family that is the kernel's own, and all of them.

mod as_tools;
mod of_servers;
mod permissions;
pub(crate) mod scopes;
mod tool_documents;
mod validate;

use std::sync::Arc;

use mgp_discovery::registry::DiscoveryGate;
use mgp_security::access::AccessMethodsGate;
use mgp_stream::event::EventsGate;
use mgp_toolindex::discovery::ToolDiscoveryGate;

pub(crate) use self::as_tools::MethodsAsToolsGate;
use self::of_servers::HealthMethods;
use self::permissions::PermissionMethods;
use self::tool_documents::ToolDocuments;
pub(crate) use self::validate::{ArgumentFaultsGate, JudgeCache};
use crate::sections::Sections;
use crate::servers::events::ChannelAudience;

/// The families of methods that the kernel answers itself.
pub(crate) struct OwnMethods {
    pub(crate) access: AccessMethodsGate,
    pub(crate) documents: ToolDocuments,
    pub(crate) events: EventsGate,
    pub(crate) health: HealthMethods,
    pub(crate) judges: JudgeCache,
    pub(crate) operators: Arc<Sections>,
    pub(crate) permissions: PermissionMethods,
    pub(crate) registry: DiscoveryGate,
    /// The search for tools, which follows their calls as well.
    pub(crate) tools: ToolDiscoveryGate,
}

impl OwnMethods {
    pub(crate) fn new(sections: &Sections, tools: ToolDiscoveryGate) -> Self {
        let Sections { config, policies, audit, fleet, events, visibility, targets, .. } = sections;
        let audience = ChannelAudience { access: policies.access.clone(), fleet: Arc::downgrade(fleet) };
        Self {
            access: AccessMethodsGate::new(policies.access.clone()).known_targets(Arc::new(targets.clone())),
            documents: ToolDocuments {
                visibility: Arc::clone(visibility),
                config: Arc::clone(config),
                index: sections.tools.index.clone(),
                limit: policies.limit.clone(),
            },
            events: EventsGate::new(events.clone()).for_audience(audience),
            health: HealthMethods {
                config: Arc::clone(config),
                fleet: Arc::clone(fleet),
                life: sections.lifecycle.life.clone(),
            },
            judges: JudgeCache::default(),
            operators: Arc::new(sections.clone()),
            permissions: PermissionMethods::new(policies.grants.clone(), audit.clock.clone()),
            registry: DiscoveryGate::new(sections.registry.clone()),
            tools,
        }
    }
}
