//! The tools of a session: pinned, used, found; and the budget that they share (§16.7, §16.8).
//!
//! The tools of the first list stay for the whole session, because hosts refuse calls of tools that left their list. Found
//! tools join the list in the room that these and used tools leave, and leave first, because agents of frameworks call only
//! listed tools. The price is one lost prompt cache for a search with news.
//!
//! The model gets the kernel's own tools, then the pinned ones in their configured order, then those that fill room, were
//! found or were used, in the order in which they came. So the text that the model was sent before stays the beginning of the next
//! one, for as long as no tool has to leave, and its prompt cache stays warm.

mod fit;
mod held;
mod settings;
mod tools;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use mgp_types::mgp::{NameStyle, ServerId, ToolName};
use parking_lot::{Mutex, RwLock};

pub use self::settings::{BudgetError, PinnedTools, SessionKey, SessionSettings};
pub(crate) use self::tools::{LoadedTools, SessionTools};
use crate::budget::{ListedDefinition, TokenCounter};
use crate::tool::ToolEffect;
use crate::{Snapshot, Tool};

/// The tools of all sessions.
///
/// A session begins when it is first asked for. The number of sessions is limited: the least recently active ones make
/// room, and begin anew if they are asked for again. Each session has a lock of its own, held for one operation.
#[derive(Debug)]
pub struct ToolSessions {
    settings: SessionSettings,
    sessions: SessionTable<SessionTools>,
}

/// The number of sessions at most. A session of a few dozen tools takes some tens of kilobytes.
const MAX_SESSIONS: usize = 4096;

impl ToolSessions {
    /// Creates an empty set of sessions.
    ///
    /// # Errors
    /// The kernel's own tools alone take more than the budget.
    pub fn new(settings: SessionSettings) -> Result<Self, BudgetError> {
        let (needed, max_tokens) = (settings.meta_tokens, settings.budget.max_tokens);
        if needed > max_tokens {
            return Err(BudgetError { needed, max_tokens });
        }
        Ok(Self { settings, sessions: SessionTable::new(MAX_SESSIONS) })
    }

    /// Returns the settings of the sessions.
    pub const fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// Returns the number of sessions.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Notes that a tool was called with success: it is in the session's cache from now on, and the last answer takes no
    /// part of the budget any more.
    pub(crate) fn used(&self, key: &SessionKey, view: &ToolView<'_>, tool: &Tool) {
        self.sessions.with(key, |tools| {
            // Visibility is checked when the tools are asked for.
            if !tools.used_again(view.snapshot.generation, tool) {
                tools.refresh(view, &self.settings, self.settings.pins.of(key.agent()));
                tools.used(view, &self.settings, tool);
            }
        });
    }

    /// Returns the tools for the model behind the kernel's own.
    pub fn listed(&self, key: &SessionKey, view: &ToolView<'_>) -> ToolList {
        self.with(key, view, |session, settings| {
            if settings.fills_room {
                session.fill(view, settings);
            }
            session.listed(settings)
        })
    }

    /// Returns whether a session has begun.
    pub(crate) fn has(&self, key: &SessionKey) -> bool {
        self.sessions.entries.read().contains_key(key)
    }

    /// Ends a session and forgets its tools.
    pub(crate) fn end(&self, key: &SessionKey) {
        self.sessions.entries.write().remove(key);
    }

    /// Runs `act` on a session whose tools are those of the view, with the settings.
    pub(crate) fn with<T>(
        &self,
        key: &SessionKey,
        view: &ToolView<'_>,
        act: impl FnOnce(&mut SessionTools, &SessionSettings) -> T,
    ) -> T {
        self.sessions.with(key, |tools| {
            tools.refresh(view, &self.settings, self.settings.pins.of(key.agent()));
            act(tools, &self.settings)
        })
    }
}

/// The tools for the model behind the kernel's own.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ToolList {
    /// The pinned tools in their configured order, then the others, in the order in which they came.
    pub tools: Vec<ListedTool>,
    /// The tokens of the tools, the kernel's own included.
    pub tokens: u32,
    /// The ids of pinned tools for which `pinned_reserve` has no room: the configuration does not fit.
    pub pins_left_out: Vec<String>,
}

/// A tool in the list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ListedTool {
    /// The tool.
    pub tool: Arc<Tool>,
    /// The name that the model calls the tool by.
    pub name: String,
    /// The definition for the model.
    pub definition: ListedDefinition,
    /// Set if the tool is pinned.
    pub pinned: bool,
}

/// The existing tools, as far as an agent may see them.
///
/// A session shows and holds nothing else. The function that decides must not ask for the tools of the same session.
#[derive(Clone, Copy)]
pub struct ToolView<'a> {
    snapshot: &'a Snapshot,
    sees: &'a dyn Fn(&Tool) -> bool,
    names: &'a dyn Fn() -> NameStyle,
}

impl<'a> ToolView<'a> {
    /// Creates a view of the tools of a snapshot for which `sees` holds.
    pub fn new(snapshot: &'a Snapshot, sees: &'a dyn Fn(&Tool) -> bool) -> Self {
        Self { snapshot, sees, names: &|| NameStyle::DOTS }
    }

    /// Creates a view of all tools of a snapshot.
    pub fn all(snapshot: &'a Snapshot) -> Self {
        Self::new(snapshot, &|_| true)
    }

    /// Sets the style of names, in place of dots.
    #[must_use]
    pub const fn named(self, names: &'a dyn Fn() -> NameStyle) -> Self {
        Self { names, ..self }
    }

    /// Returns the visible tools.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &'a Arc<Tool>> {
        let view = *self;
        view.snapshot.tools().filter(move |tool| view.sees(tool))
    }

    /// Returns whether the definitions of the visible tools take no more than `most` tokens.
    pub fn fits(&self, most: u32, tokens: &dyn TokenCounter) -> bool {
        let left = self.tools().try_fold(most, |left, tool| {
            left.checked_sub(ListedDefinition::of(tool, &self.shown_name(tool), tokens).tokens())
        });
        left.is_some()
    }

    /// Returns the visible tools: the first one of each server, in the order of their ids, then the second ones and so
    /// on. Tools that are deprecated or destroy something come last at their server.
    fn foremost(&self) -> Vec<&'a Arc<Tool>> {
        let mut tools: Vec<_> = self.tools().collect();
        tools.sort_by_key(|tool| {
            (tool.standing.is_deprecated, tool.standing.manner == Some(ToolEffect::Destroys))
        });
        let mut places: HashMap<&ServerId, usize, RandomState> = HashMap::default();
        let numbered = tools.into_iter().map(|tool| {
            let place = places.entry(&tool.server).or_default();
            *place += 1;
            (*place, tool)
        });
        let mut ordered: Vec<_> = numbered.collect();
        ordered.sort_by(|(place, tool), (after, other)| (place, &tool.server).cmp(&(after, &other.server)));
        ordered.into_iter().map(|(_, tool)| tool).collect()
    }

    fn sees(&self, tool: &Tool) -> bool {
        (self.sees)(tool)
    }

    fn tool(&self, server: &ServerId, name: &ToolName) -> Option<&'a Arc<Tool>> {
        self.snapshot.tool(server.as_str(), name.as_str()).filter(|tool| self.sees(tool))
    }

    fn shown_name(&self, tool: &Tool) -> String {
        self.snapshot.shown_name(tool, (self.names)())
    }
}

mgp_types::partial_debug!(ToolView<'_>, self => generation: self.snapshot.generation);

/// A value for each session. The number of sessions is limited: the least recently active ones make room, and begin
/// anew if they are asked for again. Each value has a lock of its own, held for one operation.
#[derive(Debug)]
pub(crate) struct SessionTable<T> {
    most: usize,
    entries: RwLock<HashMap<SessionKey, Arc<Entry<T>>, RandomState>>,
    /// The count of operations, to find the least recently active sessions.
    clock: AtomicU64,
}

#[derive(Debug)]
struct Entry<T> {
    asked_at: AtomicU64,
    value: Mutex<T>,
}

/// The part of the sessions that are dropped at once, so that one search for idle ones pays for many new ones.
const DROPPED_PART: usize = 16;

impl<T: Default> SessionTable<T> {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, entries: RwLock::default(), clock: AtomicU64::new(0) }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.entries.read().len()
    }

    /// Runs `act` on the value of a session, which begins with this.
    pub(crate) fn with<R>(&self, key: &SessionKey, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.entry(key).value.lock())
    }

    fn entry(&self, key: &SessionKey) -> Arc<Entry<T>> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        if let Some(entry) = self.entries.read().get(key) {
            entry.asked_at.store(now, Ordering::Relaxed);
            return Arc::clone(entry);
        }
        let mut entries = self.entries.write();
        if entries.len() >= self.most && !entries.contains_key(key) {
            let mut times: Vec<u64> =
                entries.values().map(|entry| entry.asked_at.load(Ordering::Relaxed)).collect();
            let last_dropped = times.len() / DROPPED_PART;
            let limit = *times.select_nth_unstable(last_dropped).1;
            entries.retain(|_, entry| entry.asked_at.load(Ordering::Relaxed) > limit);
            tracing::debug!(left = entries.len(), "idle sessions were forgotten");
        }
        let fresh = || Arc::new(Entry { asked_at: AtomicU64::new(now), value: Mutex::default() });
        Arc::clone(entries.entry(key.clone()).or_insert_with(fresh))
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests;
