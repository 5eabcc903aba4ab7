use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_discovery::catalog::{Catalog, CatalogError, CatalogSnapshot};
use mgp_types::mgp::{ResolvedTool, ServerId};
use mgp_types::{Object, Principal};

use super::server_notifications::ListKind;

/// What the connections to one server list: agents that have one of their own may find other things than others. Clones
/// are the same.
///
/// It is changed by one at a time; whoever looks never waits.
#[derive(Clone, Default)]
pub(super) struct OfferedLists(Arc<ArcSwap<BTreeMap<Principal, Arc<Catalog>>>>);

/// All of a kind that a connection lists.
pub(super) enum ListedItems {
    Tools(Vec<Arc<ResolvedTool>>),
    Prompts(Vec<Object>),
    Resources(Vec<Object>),
    Templates(Vec<Object>),
}

/// What of a server's lists is an agent's.
pub(crate) enum AgentLists {
    /// All there is: the connection is everybody's.
    Everything,
    /// What its own connection lists.
    Own(Arc<CatalogSnapshot>),
    /// What its own connection will list.
    Coming,
    /// It does not reach the server.
    Nothing,
}

impl ListedItems {
    pub(super) const fn what(&self) -> ListKind {
        match self {
            Self::Tools(_) => ListKind::Tools,
            Self::Prompts(_) => ListKind::Prompts,
            Self::Resources(_) | Self::Templates(_) => ListKind::Resources,
        }
    }

    /// Puts it in place of what the server had; whether that is something else.
    pub(super) fn put(self, catalog: &Catalog, server: ServerId) -> Result<bool, CatalogError> {
        match self {
            Self::Tools(tools) => catalog.put_server(server, tools),
            Self::Prompts(prompts) => catalog.put_prompts(server, prompts),
            Self::Resources(resources) => catalog.put_resources(server, resources),
            Self::Templates(templates) => catalog.put_templates(server, templates),
        }
    }
}

impl OfferedLists {
    /// What the connection of `agent` lists, if it did.
    pub(super) fn of(&self, agent: &Principal) -> Option<Arc<CatalogSnapshot>> {
        self.0.load().get(agent).map(|lists| lists.snapshot())
    }

    /// What each connection lists, in an order that stays.
    pub(super) fn all(&self) -> Vec<Arc<CatalogSnapshot>> {
        self.0.load().values().map(|lists| lists.snapshot()).collect()
    }

    /// The connection of `agent` has listed `lists`.
    pub(super) fn put(&self, agent: &Principal, lists: &Arc<Catalog>) {
        let shares = self.0.load();
        if !shares.get(agent).is_some_and(|known| Arc::ptr_eq(known, lists)) {
            let mut shares = BTreeMap::clone(&shares);
            shares.insert(agent.clone(), Arc::clone(lists));
            self.0.store(Arc::new(shares));
        }
    }

    /// The connection of `agent` that listed `lists` has ended; whether it was the last one of that agent's.
    pub(super) fn end(&self, agent: &Principal, lists: &Arc<Catalog>) -> bool {
        let shares = self.0.load();
        let was_last = shares.get(agent).is_some_and(|known| Arc::ptr_eq(known, lists));
        if was_last {
            let mut shares = BTreeMap::clone(&shares);
            shares.remove(agent);
            self.0.store(Arc::new(shares));
        }
        was_last
    }
}
