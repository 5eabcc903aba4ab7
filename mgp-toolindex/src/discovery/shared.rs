use std::sync::Arc;

use mgp_types::Context;
use parking_lot::Mutex;

use super::ToolDiscoverySettings;
use super::callers::Callers;
use super::eyes::Sights;
use super::learning::Learning;
use super::settings::LevelSetting;
use super::tell::Tellings;
use crate::level::{Economy, HostProfile, Level, Sizes};
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
    pub(super) learning: Option<Learning>,
    callers: Callers,
    /// What all tools take, of the snapshot of this generation, where everybody sees all of them.
    sizes: Mutex<Option<(u64, Sizes)>>,
}

impl Shared {
    pub(super) fn new(index: Index, sessions: Arc<ToolSessions>, settings: ToolDiscoverySettings) -> Self {
        let sights = Sights::new(settings.eyes.clone());
        let learning =
            settings.learned.clone().map(|learned| Learning::new(learned, settings.tenant.clone()));
        Self {
            index,
            sessions,
            settings,
            sights,
            tellings: Tellings::default(),
            learning,
            callers: Callers::default(),
            sizes: Mutex::default(),
        }
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

    /// How much the caller's session lists.
    pub(super) fn level(&self, key: &SessionKey, context: &Context) -> Level {
        match self.settings.level {
            LevelSetting::Fixed(level) => level,
            LevelSetting::Automatic(host) => {
                let snapshot = self.index.snapshot();
                self.with_view_of(&snapshot, context, |view| {
                    let best = |pinned_tokens| self.best_level(&snapshot, view, pinned_tokens, host);
                    self.sessions.level(key, view, best)
                })
            }
        }
    }

    fn best_level(
        &self,
        snapshot: &Snapshot,
        view: &View<'_>,
        pinned_tokens: u32,
        host: HostProfile,
    ) -> Level {
        let settings = self.sessions.settings();
        let count = || Sizes::of(view, settings.counter());
        let sizes = if self.settings.eyes.is_some() {
            count()
        } else {
            let known = self.sizes.lock().clone();
            match known {
                Some((generation, sizes)) if generation == snapshot.generation() => sizes,
                _ => {
                    let sizes = count();
                    *self.sizes.lock() = Some((snapshot.generation(), sizes.clone()));
                    sizes
                }
            }
        };
        Level::choose(&Economy::of(sizes.fixed(settings.meta_tokens(), pinned_tokens), host), None)
    }

    /// The caller called a tool, with success.
    pub(super) fn used(self: &Arc<Self>, context: &Context, tool: &Tool) {
        let key = self.key(context);
        let snapshot = self.index.snapshot();
        let evicted = self.with_view_of(&snapshot, context, |view| self.sessions.used(&key, view, tool));
        if let Some(learning) = &self.learning {
            learning.used(&key, context, &snapshot, tool);
        }
        for tool in evicted {
            tracing::debug!(tool = tool.id(), "a tool made room for one that was used");
        }
        self.tellings.changed(self, &key);
    }
}
