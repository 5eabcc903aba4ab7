//! The state that all services of a gate share.

use std::cell::OnceCell;
use std::sync::Arc;

use mgp_types::Context;
use mgp_types::mgp::NameStyle;

use super::ToolDiscoverySettings;
use super::callers::CallerNames;
use super::notifier::ListChangeNotifier;
use super::visibility::VisibilityCache;
use crate::level::Level;
use crate::session::{SessionKey, SessionSettings, SessionTools, ToolSessions, ToolView};
use crate::{Index, Snapshot, Tool};

/// The state that all services of a gate share.
#[derive(Debug)]
pub(super) struct DiscoveryShared {
    pub(super) index: Index,
    pub(super) sessions: Arc<ToolSessions>,
    pub(super) settings: ToolDiscoverySettings,
    pub(super) visible_tools: VisibilityCache,
    pub(super) tellings: ListChangeNotifier,
    callers: CallerNames,
}

impl DiscoveryShared {
    pub(super) fn new(index: Index, sessions: Arc<ToolSessions>, settings: ToolDiscoverySettings) -> Self {
        let visible_tools = VisibilityCache::new(settings.eyes.clone());
        Self {
            index,
            sessions,
            settings,
            visible_tools,
            tellings: ListChangeNotifier::default(),
            callers: CallerNames::default(),
        }
    }

    /// Returns the key of the session that a request belongs to.
    pub(super) fn key(&self, context: &Context) -> SessionKey {
        self.callers.key(context, &self.sessions)
    }

    /// Runs `act` on these tools, as far as the caller sees them.
    pub(super) fn with_view<T>(
        &self,
        snapshot: &Snapshot,
        context: &Context,
        act: impl FnOnce(&ToolView<'_>) -> T,
    ) -> T {
        let sees = |tool: &Tool| self.visible_tools.sees(context, tool);
        // Most uses of a view write no name, and every successful call makes one.
        let style = OnceCell::new();
        let names = || *style.get_or_init(|| self.names(context));
        act(&ToolView::new(snapshot, &sees).named(&names))
    }

    /// Runs `act` on the session of a key, with these tools as far as the caller sees them.
    pub(super) fn with_session<T>(
        &self,
        snapshot: &Snapshot,
        (key, context): (&SessionKey, &Context),
        act: impl FnOnce(&mut SessionTools, &ToolView<'_>, &SessionSettings) -> T,
    ) -> T {
        self.with_view(snapshot, context, |view| {
            self.sessions.with(key, view, |session, settings| act(session, view, settings))
        })
    }

    /// Returns the style of names for the caller.
    pub(super) fn names(&self, context: &Context) -> NameStyle {
        (self.settings.names)(context)
    }

    /// Returns the level of the caller's session.
    pub(super) fn level(&self, key: &SessionKey, context: &Context) -> Level {
        self.settings.level.unwrap_or_else(|| {
            let snapshot = self.index.snapshot();
            let visible = self.visible_tools.of(key, context, &snapshot);
            let seen = visible.map_or(snapshot.len(), |visible| visible.count());
            self.with_session(&snapshot, (key, context), |session, view, settings| {
                session.level_by_budget(view, settings, seen)
            })
        })
    }

    /// Returns whether the caller sees no tool yet because servers are still starting, so that its list would be empty.
    pub(super) fn awaits_tools(&self, context: &Context) -> bool {
        !matches!(self.settings.level, Some(Level::L1 | Level::L2 | Level::L3))
            && self.settings.awaits_tools.as_ref().is_some_and(|awaits| awaits(context))
    }

    /// Notes that the caller called a tool with success.
    pub(super) fn used(self: &Arc<Self>, context: &Context, tool: &Tool) {
        let key = self.key(context);
        let snapshot = self.index.snapshot();
        self.with_view(&snapshot, context, |view| self.sessions.used(&key, view, tool));
        self.tellings.changed(self, &key);
    }
}
