//! The tools of a session: pinned, used, found; and the budget that they share (§16.7, §16.8).
//!
//! What goes to the model is the kernel's own tools, then the pinned ones as they are configured, then those that the
//! session used, in the order of their first use. So what the model was sent before stays the beginning of what it is
//! sent next, for as long as nothing has to go, and its prompt cache stays warm.

mod fit;
mod key;
mod list;
mod pins;
mod settings;
mod tools;
mod view;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use mgp_types::mgp::{EvictTools, EvictedTools, FoundTool, ToolSession};
use parking_lot::{Mutex, RwLock};

pub(crate) use self::fit::Fitted;
pub use self::key::SessionKey;
pub use self::list::{ListedTool, ToolList};
pub use self::pins::Pins;
pub use self::settings::{BudgetError, SessionSettings};
pub use self::tools::Loaded;
use self::tools::SessionTools;
pub use self::view::View;
use crate::Tool;
use crate::level::Level;

/// The tools of all sessions.
///
/// A session begins when it is first asked for. There is a most of them: the ones that were idle for the longest time
/// make room, and begin anew if they are asked for again. Each has a lock of its own, held for one operation.
#[derive(Debug)]
pub struct ToolSessions {
    settings: SessionSettings,
    sessions: RwLock<HashMap<SessionKey, Arc<Entry>, RandomState>>,
    /// Counts operations, to know which session was idle for longest.
    clock: AtomicU64,
}

#[derive(Debug)]
struct Entry {
    asked_at: AtomicU64,
    tools: Mutex<SessionTools>,
}

impl ToolSessions {
    /// No session yet.
    ///
    /// # Errors
    /// The kernel's own tools alone take more than the budget.
    pub fn new(settings: SessionSettings) -> Result<Self, BudgetError> {
        settings.check()?;
        Ok(Self { settings, sessions: RwLock::default(), clock: AtomicU64::new(0) })
    }

    /// What the sessions were set up with.
    pub const fn settings(&self) -> &SessionSettings {
        &self.settings
    }

    /// How many sessions there are.
    pub fn len(&self) -> usize {
        self.sessions.read().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A tool was called with success: it is in the session's cache from now on, and what was found with it is
    /// dropped. Returns the tools that made room.
    pub fn used(&self, key: &SessionKey, view: &View<'_>, tool: &Tool) -> Vec<Arc<Tool>> {
        let entry = self.entry(key);
        let mut tools = entry.tools.lock();
        // Who sees what it holds is looked at when its tools are asked for.
        if tools.used_again(view.generation(), tool) {
            return Vec::new();
        }
        tools.refresh(view, &self.settings, self.settings.pins.of(key.agent()));
        tools.used(view, &self.settings, tool)
    }

    /// Tools that were asked for are put into the session's cache, those in front first. Tools of one call do not
    /// push each other out: what has no room in the cache, or in the reserve for one answer, is left out.
    pub fn load<'a>(
        &self,
        key: &SessionKey,
        view: &View<'_>,
        tools: impl IntoIterator<Item = &'a Arc<Tool>>,
    ) -> Loaded {
        self.with(key, view, |session| session.load(view, &self.settings, tools))
    }

    /// Makes the answer to a search fit: what is too long is shortened, and what has no room even so is left out.
    ///
    /// The answer takes its part of the budget until the next one, or until a tool is used or loaded. What was found
    /// can be called in any case: who may call what is not decided here.
    pub(crate) fn fit(
        &self,
        key: &SessionKey,
        view: &View<'_>,
        found: impl IntoIterator<Item = FoundTool>,
    ) -> Fitted {
        self.with(key, view, |session| session.fit(&self.settings, found))
    }

    /// Takes tools out of the session's cache, by the names they are shown by, by their ids, or by their own names
    /// where only one tool of the session has it. Pinned tools stay.
    pub fn evict(&self, key: &SessionKey, view: &View<'_>, evict: &EvictTools) -> EvictedTools {
        self.with(key, view, |session| session.evict(&self.settings, evict))
    }

    /// Which tools the session has, and what they take.
    pub fn state(&self, key: &SessionKey, view: &View<'_>) -> ToolSession {
        self.with(key, view, |session| session.state(&self.settings))
    }

    /// What goes to the model behind the kernel's own tools.
    pub fn listed(&self, key: &SessionKey, view: &View<'_>) -> ToolList {
        self.with(key, view, |session| session.listed(&self.settings))
    }

    /// A tool as the session's list has it, if it does.
    pub(crate) fn held(&self, key: &SessionKey, view: &View<'_>, tool: &Tool) -> Option<ListedTool> {
        self.with(key, view, |session| session.held(tool))
    }

    /// Whether the list is another one than [`listed`](Self::listed) returned last: then the peer should be told. It is
    /// not while nobody has asked for it.
    pub(crate) fn changed(&self, key: &SessionKey, view: &View<'_>) -> bool {
        let known = self.sessions.read().contains_key(key);
        known && self.with(key, view, |session| session.changed())
    }

    /// Whether something of the list that [`listed`](Self::listed) returned last is not as it was: a tool is gone, not
    /// seen any more or defined otherwise, or others are pinned. What was used since and what made room for it are not
    /// looked at: they can be called whether they are listed or not.
    pub(crate) fn is_outdated(&self, key: &SessionKey, view: &View<'_>) -> bool {
        let known = self.sessions.read().contains_key(key);
        known && self.with(key, view, |session| session.is_outdated(view))
    }

    /// The level of a session: the first above L0 that was chosen. `choose` is told what the pinned tools take; the session
    /// is not locked while it thinks.
    ///
    /// Servers connect while clients are there already, so that few tools may become many. A session that lists all of
    /// them has a new list with each of them anyway; one that searches keeps to that, whatever goes.
    pub(crate) fn level(
        &self,
        key: &SessionKey,
        view: &View<'_>,
        choose: impl FnOnce(u32) -> Level,
    ) -> Level {
        let (known, pinned_tokens) = self.with(key, view, |session| (session.level, session.pinned_tokens()));
        known.unwrap_or_else(|| {
            let chosen = choose(pinned_tokens);
            if chosen == Level::L0 {
                return chosen;
            }
            self.with(key, view, |session| *session.level.get_or_insert(chosen))
        })
    }

    /// A session is over, and what it used is forgotten.
    pub fn end(&self, key: &SessionKey) {
        self.sessions.write().remove(key);
    }

    /// Does something to a session whose tools are those of the view.
    fn with<T>(&self, key: &SessionKey, view: &View<'_>, act: impl FnOnce(&mut SessionTools) -> T) -> T {
        let entry = self.entry(key);
        let mut tools = entry.tools.lock();
        tools.refresh(view, &self.settings, self.settings.pins.of(key.agent()));
        act(&mut tools)
    }

    fn entry(&self, key: &SessionKey) -> Arc<Entry> {
        let now = self.clock.fetch_add(1, Ordering::Relaxed);
        if let Some(entry) = self.sessions.read().get(key) {
            entry.asked_at.store(now, Ordering::Relaxed);
            return Arc::clone(entry);
        }
        let mut sessions = self.sessions.write();
        if sessions.len() >= self.settings.most_sessions && !sessions.contains_key(key) {
            drop_idle(&mut sessions);
        }
        let fresh = || Arc::new(Entry { asked_at: AtomicU64::new(now), tools: Mutex::default() });
        Arc::clone(sessions.entry(key.clone()).or_insert_with(fresh))
    }
}

/// Drops a part of the sessions at once, so that the search for the idle ones is paid for by many new ones.
fn drop_idle(sessions: &mut HashMap<SessionKey, Arc<Entry>, RandomState>) {
    let mut times: Vec<u64> = sessions.values().map(|entry| entry.asked_at.load(Ordering::Relaxed)).collect();
    let last_dropped = times.len() / DROPPED_PART;
    let (_, limit, _) = times.select_nth_unstable(last_dropped);
    let limit = *limit;
    sessions.retain(|_, entry| entry.asked_at.load(Ordering::Relaxed) > limit);
    tracing::debug!(left = sessions.len(), "idle sessions of tools made room");
}

const DROPPED_PART: usize = 16;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
