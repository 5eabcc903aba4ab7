//! The tools of a session: pinned, used, found; and the budget that they share (§16.7, §16.8).
//!
//! Found tools join the list in the room that used tools leave, and leave first, because agents of frameworks call only
//! listed tools. The price is one lost prompt cache for a search with news.
//!
//! The model gets the kernel's own tools, then the pinned ones in their configured order, then those that fill room, were
//! found or were used, in the order in which they came. So the text that the model was sent before stays the beginning of the next
//! one, for as long as no tool has to leave, and its prompt cache stays warm.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::FixedState;
use mgp_types::mgp::{EvictTools, EvictedTools, FoundTool, ToolSession};

pub(crate) use self::table::SessionTable;
use self::tools::SessionTools;
use crate::Tool;
use crate::budget::ListedDefinition;
use crate::level::Level;

mod fit;
mod settings;
mod table;
mod tools;
mod view;

pub(crate) use self::fit::FittedTools;
pub use self::settings::{BudgetError, PinnedTools, SessionKey, SessionSettings};
pub use self::tools::LoadedTools;
pub use self::view::ToolView;

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
        settings.check()?;
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
    pub fn used(&self, key: &SessionKey, view: &ToolView<'_>, tool: &Tool) {
        self.sessions.with(key, |tools| {
            // Visibility is checked when the tools are asked for.
            if !tools.used_again(view.generation(), tool) {
                tools.refresh(view, &self.settings, self.settings.pins.of(key.agent()));
                tools.used(view, &self.settings, tool);
            }
        });
    }

    /// Puts requested tools into the session's cache, the first ones first. Tools of one call do not push each other
    /// out: tools without room in the cache, or in the reserve for one answer, are left out.
    pub fn load<'a>(
        &self,
        key: &SessionKey,
        view: &ToolView<'_>,
        tools: impl IntoIterator<Item = &'a Arc<Tool>>,
    ) -> LoadedTools {
        self.with(key, view, |session| session.load(view, &self.settings, tools))
    }

    /// Makes the answer to a search fit the budget: long definitions are shortened, and tools that have no room even so
    /// are left out.
    ///
    /// The answer takes its part of the budget until the next one, or until a tool is used or loaded.
    pub(crate) fn fit(
        &self,
        key: &SessionKey,
        view: &ToolView<'_>,
        found: impl IntoIterator<Item = FoundTool>,
    ) -> FittedTools {
        self.with(key, view, |session| session.fit(&self.settings, found))
    }

    /// Puts the tools of the last answer into the session's cache, the best one first. Of these and of the tools that
    /// fill room, one that is used stays; the others make room first.
    pub(crate) fn found<'a>(
        &self,
        key: &SessionKey,
        view: &ToolView<'_>,
        tools: impl IntoIterator<Item = &'a Arc<Tool>>,
    ) {
        self.with(key, view, |session| session.found(view, &self.settings, tools));
    }

    /// Takes tools out of the session's cache, by the names they are shown by, by their ids, or by their own names
    /// where only one tool of the session has it. Pinned tools stay.
    pub fn evict(&self, key: &SessionKey, view: &ToolView<'_>, evict: &EvictTools) -> EvictedTools {
        self.with(key, view, |session| session.evict(&self.settings, evict))
    }

    /// Returns the tools of the session, and their tokens.
    pub fn state(&self, key: &SessionKey, view: &ToolView<'_>) -> ToolSession {
        self.with(key, view, |session| session.state(&self.settings))
    }

    /// Returns the tools for the model behind the kernel's own.
    pub fn listed(&self, key: &SessionKey, view: &ToolView<'_>) -> ToolList {
        self.with(key, view, |session| {
            if self.settings.fills_room {
                session.fill(view, &self.settings);
            }
            session.listed(&self.settings)
        })
    }

    /// Returns a tool as it stands in the session's list, if it does.
    pub(crate) fn held(&self, key: &SessionKey, view: &ToolView<'_>, tool: &Tool) -> Option<ListedTool> {
        self.with(key, view, |session| session.held(tool))
    }

    /// Returns whether the list differs from the one that [`listed`](Self::listed) returned last: then the peer should
    /// be told. The answer is no while the list was never asked for.
    pub(crate) fn changed(&self, key: &SessionKey, view: &ToolView<'_>) -> bool {
        self.sessions.has(key) && self.with(key, view, |session| session.changed())
    }

    /// Returns whether a tool of the list that [`listed`](Self::listed) returned last is gone, not seen any more or
    /// defined otherwise, or others are pinned. Tools that were used since and tools that made room for them do not
    /// count: they can be called whether they are listed or not.
    pub(crate) fn is_outdated(&self, key: &SessionKey, view: &ToolView<'_>) -> bool {
        self.sessions.has(key) && self.with(key, view, |session| session.is_outdated(view))
    }

    /// Returns the level of a session by the budget: [`Level::L0`] until the tools of the view, of which there are
    /// `seen`, have once been too many.
    ///
    /// Servers connect while clients are there already, so that few tools may become many. A session that lists all
    /// tools has a new list with each of them anyway; one that searches keeps to that, even when tools leave.
    pub(crate) fn level_by_budget(&self, key: &SessionKey, view: &ToolView<'_>, seen: usize) -> Level {
        self.with(key, view, |session| session.level_by_budget(view, &self.settings, seen))
    }

    /// Ends a session and forgets its tools.
    pub fn end(&self, key: &SessionKey) {
        self.sessions.remove(key);
    }

    /// Runs `act` on a session whose tools are those of the view.
    fn with<T>(&self, key: &SessionKey, view: &ToolView<'_>, act: impl FnOnce(&mut SessionTools) -> T) -> T {
        self.sessions.with(key, |tools| {
            tools.refresh(view, &self.settings, self.settings.pins.of(key.agent()));
            act(tools)
        })
    }
}

#[cfg(test)]
mod properties;

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

/// Returns a number for the definitions, which is the same for the same definitions, and differs otherwise as good as
/// certainly.
fn fingerprint<'a>(definitions: impl Iterator<Item = &'a ListedDefinition>) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    for definition in definitions {
        definition.json().as_bytes().hash(&mut hasher);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
