use std::sync::Arc;

use mgp_types::Context;

use super::ToolDiscoverySettings;
use super::callers::Callers;
use super::eyes::Sights;
use super::tell::Tellings;
use crate::session::{SessionKey, ToolSessions, View};
use crate::{Index, Snapshot, Tool};

/// What all services of a layer have in common.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) index: Index,
    pub(super) sessions: Arc<ToolSessions>,
    pub(super) settings: ToolDiscoverySettings,
    pub(super) sights: Sights,
    pub(super) tellings: Tellings,
    callers: Callers,
}

impl Shared {
    pub(super) fn new(index: Index, sessions: Arc<ToolSessions>, settings: ToolDiscoverySettings) -> Self {
        let sights = Sights::new(settings.eyes.clone());
        Self { index, sessions, settings, sights, tellings: Tellings::default(), callers: Callers::default() }
    }

    /// Whose tools a request is about.
    pub(super) fn key(&self, context: &Context) -> SessionKey {
        self.callers.key(context, &self.sessions)
    }

    /// Does something with the tools as they are now, as far as the caller sees them.
    pub(super) fn with_view<T>(&self, context: &Context, act: impl FnOnce(&View<'_>) -> T) -> T {
        self.with_view_of(&self.index.snapshot(), context, act)
    }

    /// Does something with these tools, as far as the caller sees them.
    pub(super) fn with_view_of<T>(
        &self,
        snapshot: &Snapshot,
        context: &Context,
        act: impl FnOnce(&View<'_>) -> T,
    ) -> T {
        let sees = |tool: &Tool| self.sights.sees(context, tool);
        act(&View::new(snapshot, &sees))
    }

    /// The caller called a tool, with success.
    pub(super) fn used(self: &Arc<Self>, context: &Context, tool: &Tool) {
        let key = self.key(context);
        let evicted = self.with_view(context, |view| self.sessions.used(&key, view, tool));
        for tool in evicted {
            tracing::debug!(tool = tool.id(), "a tool made room for one that was used");
        }
        self.tellings.changed(self, &key);
    }
}
