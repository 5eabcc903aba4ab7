//! The tools of one session.

use std::cmp::Reverse;
use std::sync::Arc;

use mgp_types::mgp::{EvictTools, EvictedTools, ToolContextBudget, ToolSession};

use super::held::{HeldTool, ListingReason, fingerprint, position, sum};
use super::{ListedTool, SessionSettings, ToolList, ToolView};
use crate::Tool;
use crate::budget::ListedDefinition;
use crate::level::Level;

/// The outcome of loading tools into a session.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LoadedTools {
    /// The tools that are in the session now, pinned ones included.
    pub(crate) loaded: Vec<Arc<Tool>>,
    /// The number of tools in the session now.
    pub(crate) session_tools_count: u64,
    /// The tokens of the tools that were not there before.
    pub(crate) context_tokens_added: u64,
}

/// The tools of one session.
#[derive(Debug, Default)]
pub(crate) struct SessionTools {
    /// The generation of the snapshot that the tools are of.
    generation: Option<u64>,
    /// The tools that are to be pinned, as far as tools of these names exist.
    pins: Vec<Arc<Tool>>,
    /// The pinned tools that are seen, whether there is room for them or not.
    wanted: Vec<Arc<Tool>>,
    pinned: Vec<HeldTool>,
    pins_left_out: Vec<String>,
    /// The other tools, in the order in which they came.
    cached: Vec<HeldTool>,
    /// The tokens of the last answer to a search.
    pub(super) discovered: u32,
    clock: u64,
    /// The list that was given out last.
    given: Option<GivenList>,
    /// The level of the list, once it was decided.
    level: Option<Level>,
    /// The generation and the number of tools that had room in the budget.
    all_fit: Option<(u64, usize)>,
    /// The generation for which room was last filled.
    filled: Option<u64>,
    /// Set once the agent took tools out: it wants the room.
    keeps_room: bool,
    /// The tools of the list that was given out last with all tools, until part of the tools is listed.
    whole: Vec<Arc<Tool>>,
    /// Set if a list with all tools was given out, and those tools stay, whatever the budget.
    keeps_whole: bool,
}

/// A list as it was given out.
#[derive(Debug)]
struct GivenList {
    fingerprint: u64,
    pinned: u64,
    cached: Vec<(Arc<Tool>, String)>,
}

impl SessionTools {
    /// Follows the changes of the tools: tools that are gone or hidden leave, changed ones are counted anew.
    pub(super) fn refresh<'p>(
        &mut self,
        view: &ToolView<'_>,
        settings: &SessionSettings,
        pins: impl Iterator<Item = &'p str>,
    ) {
        let anew = self.generation != Some(view.snapshot.generation);
        self.generation = Some(view.snapshot.generation);
        if anew {
            self.pins.clear();
            for tool in pins.filter_map(|name| view.snapshot.called(name)) {
                if !self.pins.iter().any(|other| other.is_same(tool)) {
                    self.pins.push(Arc::clone(tool));
                }
            }
        }
        self.refresh_pinned(view, settings, anew);
        if anew {
            self.recount(view, settings);
        } else {
            self.cached.retain(|held| view.sees(&held.listed.tool));
        }
        self.cached.retain(|held| !self.pinned.iter().any(|pin| pin.listed.tool.is_same(&held.listed.tool)));
        let room = self.cache_room(settings);
        while self.cached_tokens() > room && self.evict_idle(u64::MAX, ListingReason::Used) {}
        self.discovered = self.discovered.min(self.left(settings));
    }

    /// Notes that a tool was used that the session of this generation holds. Returns whether it does.
    pub(super) fn used_again(&mut self, generation: u64, tool: &Tool) -> bool {
        let again =
            self.generation == Some(generation) && self.touch(tool, self.clock + 1, ListingReason::Used);
        if again {
            self.discovered = 0;
            self.clock += 1;
        }
        again
    }

    pub(super) fn used(&mut self, view: &ToolView<'_>, settings: &SessionSettings, tool: &Tool) {
        self.discovered = 0;
        self.clock += 1;
        if let Some(tool) = view.tool(&tool.server, &tool.name)
            && self.hold(view, settings, tool, u32::MAX).is_none()
        {
            tracing::warn!(tool = tool.id(), "a tool is too large to be kept in the list of a session");
        }
    }

    /// Puts requested tools into the session's cache, the first ones first. Tools of one call do not push each other
    /// out: tools without room in the cache, or in the reserve for one answer, are left out.
    pub(crate) fn load<'t>(
        &mut self,
        view: &ToolView<'_>,
        settings: &SessionSettings,
        tools: impl IntoIterator<Item = &'t Arc<Tool>>,
    ) -> LoadedTools {
        self.discovered = 0;
        self.clock += 1;
        let mut loaded = LoadedTools::default();
        let mut left = settings.budget.discovery_reserve;
        for tool in tools {
            let current = view.tool(&tool.server, &tool.name);
            if let Some(added) = current.and_then(|tool| self.hold(view, settings, tool, left)) {
                left -= added;
                loaded.context_tokens_added += u64::from(added);
                loaded.loaded.extend(current.cloned());
            }
        }
        loaded.session_tools_count = (self.pinned.len() + self.cached.len()) as u64;
        loaded
    }

    /// Puts the tools of the last answer into the list, the best one first, in place of others that were found and not used.
    /// Tools without room beside the answer are left out.
    pub(crate) fn found<'t>(
        &mut self,
        view: &ToolView<'_>,
        settings: &SessionSettings,
        tools: impl IntoIterator<Item = &'t Arc<Tool>>,
    ) {
        self.clock += 1;
        let beside_answer =
            settings.budget.max_tokens.saturating_sub(self.fixed(settings).saturating_add(self.discovered));
        let room = self.cache_room(settings).min(beside_answer);
        for tool in tools.into_iter().filter_map(|tool| view.tool(&tool.server, &tool.name)) {
            if self.touch(tool, self.clock, ListingReason::Found) {
                continue;
            }
            let name = view.shown_name(tool);
            let Some(definition) = cached_definition(tool, &name, room, room, settings) else { continue };
            let stays = |held: &&HeldTool| held.reason == ListingReason::Used || held.used_at >= self.clock;
            if sum(self.added().filter(stays)).saturating_add(definition.tokens()) > room {
                continue;
            }
            while self.cached_tokens().saturating_add(definition.tokens()) > room
                && self.evict_idle(self.clock, ListingReason::Found)
            {}
            self.hold_as(ListingReason::Found, tool, name, definition);
        }
    }

    /// Notes that the tools of the view are listed, all of them.
    pub(crate) fn listed_whole(&mut self, view: &ToolView<'_>) {
        self.whole = view.tools().cloned().collect();
    }

    /// Fills a part of the room with the foremost tools of each server, so that a model sees what there is. They stay, and
    /// what is found or used gets the rest. If all tools were listed before, those stay instead.
    pub(super) fn fill(&mut self, view: &ToolView<'_>, settings: &SessionSettings) {
        let now = view.snapshot.generation;
        if self.keeps_room || self.filled.replace(now) == Some(now) {
            return;
        }
        for tool in std::mem::take(&mut self.whole) {
            if let Some(tool) = view.tool(&tool.server, &tool.name)
                && !self.touch(tool, 0, ListingReason::Base)
            {
                let name = view.shown_name(tool);
                let definition = ListedDefinition::of(tool, &name, &*settings.tokens);
                self.hold_as(ListingReason::Base, tool, name, definition);
            }
            self.keeps_whole = true;
        }
        let pinned = settings.meta_tokens.saturating_add(sum(&self.pinned));
        let room = settings.budget.cache_limit.min(settings.budget.max_tokens.saturating_sub(pinned));
        for tool in view.foremost().into_iter().take(MAX_TRIED) {
            if self.pinned.iter().chain(&self.cached).any(|held| held.listed.tool.is_same(tool)) {
                continue;
            }
            let most = (room / FILLED_PART).saturating_sub(sum(&self.cached)).min(room / LARGEST_PART);
            let name = view.shown_name(tool);
            let definition = ListedDefinition::of(tool, &name, &*settings.tokens);
            if definition.tokens() <= most {
                self.hold_as(ListingReason::Base, tool, name, definition);
            }
        }
    }

    /// Returns the level of a session by the budget: [`Level::L0`] until the tools of the view, of which there are
    /// `seen`, have once been too many.
    ///
    /// Servers connect while clients are there already, so that few tools may become many. A session that lists all
    /// tools has a new list with each of them anyway; one that searches keeps to that, even when tools leave.
    pub(crate) fn level_by_budget(
        &mut self,
        view: &ToolView<'_>,
        settings: &SessionSettings,
        seen: usize,
    ) -> Level {
        let now = (view.snapshot.generation, seen);
        if self.level.is_none() && self.all_fit != Some(now) {
            if view.fits(settings.budget.max_tokens, &*settings.tokens) {
                self.all_fit = Some(now);
            } else {
                self.level = Some(Level::L3);
            }
        }
        self.level.unwrap_or(Level::L0)
    }

    /// Takes tools out of the session's cache, by the names they are shown by, by their ids, or by their own names
    /// where only one tool of the session has it. Pinned tools stay.
    pub(crate) fn evict(&mut self, settings: &SessionSettings, evict: &EvictTools) -> EvictedTools {
        self.keeps_room = true;
        let mut done = EvictedTools::new(settings.budget.max_tokens.into());
        for name in &evict.tools {
            if let Some(at) = position(&self.cached, name) {
                done.evicted.push(self.cached.remove(at).listed.name);
            } else if position(&self.pinned, name).is_some() {
                done.pinned.push(name.clone());
            } else {
                done.not_found.push(name.clone());
            }
        }
        done.total_tokens = self.total(settings).into();
        done
    }

    /// Returns the tools of the session, and their tokens.
    pub(crate) fn state(&self, settings: &SessionSettings) -> ToolSession {
        let mut state = ToolSession::new(settings.budget.max_tokens.into());
        state.pinned = self.pinned.iter().map(|held| held.listed.name.clone()).collect();
        let mut cached: Vec<&HeldTool> = self.cached.iter().collect();
        cached.sort_by_key(|held| Reverse(held.used_at));
        state.cached = cached.into_iter().map(|held| held.listed.name.clone()).collect();
        state.total_tokens = self.total(settings).into();
        state
    }

    pub(super) fn listed(&mut self, settings: &SessionSettings) -> ToolList {
        let cached = self.cached.iter().map(|held| (Arc::clone(&held.listed.tool), held.listed.name.clone()));
        self.given = Some(GivenList {
            fingerprint: self.fingerprint(),
            pinned: fingerprint(&self.pinned),
            cached: cached.collect(),
        });
        ToolList {
            tools: self.pinned.iter().chain(&self.cached).map(|held| held.listed.clone()).collect(),
            tokens: self.total(settings),
            pins_left_out: self.pins_left_out.clone(),
        }
    }

    /// Returns the definition of a tool as it stands in the session's list, if it does.
    pub(crate) fn held(&self, tool: &Tool) -> Option<&ListedDefinition> {
        let held = self.pinned.iter().chain(&self.cached).find(|held| held.listed.tool.is_same(tool))?;
        Some(&held.listed.definition)
    }

    /// Returns whether the list differs from the one that [`listed`](Self::listed) returned last: then the peer should
    /// be told. The answer is no while the list was never asked for.
    pub(crate) fn changed(&self) -> bool {
        self.given.as_ref().is_some_and(|given| given.fingerprint != self.fingerprint())
    }

    /// Returns whether a tool of the list that [`listed`](Self::listed) returned last is gone, not seen any more or
    /// defined otherwise, or others are pinned. Tools that were used since and tools that made room for them do not
    /// count: they can be called whether they are listed or not.
    pub(crate) fn is_outdated(&self, view: &ToolView<'_>) -> bool {
        let is_as_it_was = |tool: &Tool, name: &str| {
            view.tool(&tool.server, &tool.name)
                .is_some_and(|now| now.definition == tool.definition && view.shown_name(now) == name)
        };
        self.given.as_ref().is_some_and(|given| {
            given.pinned != fingerprint(&self.pinned)
                || !given.cached.iter().all(|(tool, name)| is_as_it_was(tool, name))
        })
    }

    /// Returns the tokens that the total leaves for found tools.
    pub(super) fn left(&self, settings: &SessionSettings) -> u32 {
        let ToolContextBudget { max_tokens, discovery_reserve, .. } = settings.budget;
        let needed =
            if self.keeps_whole { self.fixed(settings).saturating_add(discovery_reserve) } else { 0 };
        max_tokens.max(needed).saturating_sub(self.total(settings))
    }

    /// Removes the tool with the least reason to be there, at most `reason`, of these the least recently used and of
    /// these the last; none whose use was not before `now`. Returns whether there was one.
    pub(super) fn evict_idle(&mut self, now: u64, reason: ListingReason) -> bool {
        let idle = |(_, held): &(usize, &HeldTool)| held.used_at < now && held.reason <= reason;
        let idle = self.cached.iter().enumerate().filter(idle);
        let least = idle.min_by_key(|(at, held)| (held.reason, held.used_at, Reverse(*at)));
        let Some(at) = least.map(|(at, _)| at) else { return false };
        let evicted = self.cached.remove(at);
        tracing::debug!(tool = evicted.listed.tool.id(), "a tool left the list of its session to make room");
        true
    }

    fn hold_as(
        &mut self,
        reason: ListingReason,
        tool: &Arc<Tool>,
        name: String,
        definition: ListedDefinition,
    ) {
        // Nobody has called a tool that only fills room.
        let used_at = if reason == ListingReason::Base { 0 } else { self.clock };
        let listed = ListedTool { tool: Arc::clone(tool), name, definition, pinned: false };
        self.cached.push(HeldTool { listed, used_at, reason });
    }

    /// Puts a tool into the cache, or notes that it was used again. Returns the added tokens, which are no more than
    /// `most`; `None` if the tool has no room.
    fn hold(
        &mut self,
        view: &ToolView<'_>,
        settings: &SessionSettings,
        tool: &Arc<Tool>,
        most: u32,
    ) -> Option<u32> {
        if self.touch(tool, self.clock, ListingReason::Used) {
            return Some(0);
        }
        let room = self.cache_room(settings);
        let name = view.shown_name(tool);
        let definition = cached_definition(tool, &name, room, most, settings)?;
        let staying = self.added().filter(|held| held.used_at >= self.clock);
        if sum(staying).saturating_add(definition.tokens()) > room {
            return None;
        }
        while self.cached_tokens().saturating_add(definition.tokens()) > room {
            self.evict_idle(self.clock, ListingReason::Used).then_some(())?;
        }
        let added = definition.tokens();
        self.hold_as(ListingReason::Used, tool, name, definition);
        Some(added)
    }

    /// Notes the last use or find of a tool, if it is in the list. Returns whether it is.
    fn touch(&mut self, tool: &Tool, now: u64, reason: ListingReason) -> bool {
        if let Some(held) = self.cached.iter_mut().find(|held| held.listed.tool.is_same(tool)) {
            held.used_at = now;
            held.reason = held.reason.max(reason);
            return true;
        }
        self.pinned.iter().any(|held| held.listed.tool.is_same(tool))
    }

    fn refresh_pinned(&mut self, view: &ToolView<'_>, settings: &SessionSettings, anew: bool) {
        let wanted: Vec<Arc<Tool>> = self.pins.iter().filter(|tool| view.sees(tool)).cloned().collect();
        let same = wanted.len() == self.wanted.len()
            && wanted.iter().zip(&self.wanted).all(|(new, old)| Arc::ptr_eq(new, old));
        if same && !anew {
            return;
        }
        let reserve = settings.budget.pinned_reserve.min(settings.budget.max_tokens);
        let mut room = reserve.saturating_sub(settings.meta_tokens);
        let (mut pinned, mut left_out) = (Vec::new(), Vec::new());
        for tool in &wanted {
            let name = view.shown_name(tool);
            if let Some(definition) = ListedDefinition::within(tool, &name, room, &*settings.tokens) {
                room -= definition.tokens();
                let listed = ListedTool { tool: Arc::clone(tool), name, definition, pinned: true };
                pinned.push(HeldTool { listed, used_at: self.clock, reason: ListingReason::Used });
            } else {
                left_out.push(tool.id());
            }
        }
        if left_out != self.pins_left_out && !left_out.is_empty() {
            tracing::warn!(
                ?left_out,
                reserve,
                "pinned_reserve has no room for all pinned tools: raise `tools.budget.pinned_reserve`, or pin fewer"
            );
        }
        (self.wanted, self.pinned, self.pins_left_out) = (wanted, pinned, left_out);
    }

    fn recount(&mut self, view: &ToolView<'_>, settings: &SessionSettings) {
        let room = self.cache_room(settings);
        let cached = std::mem::take(&mut self.cached).into_iter().filter_map(|mut held| {
            let tool = view.tool(&held.listed.tool.server, &held.listed.tool.name)?;
            let name = view.shown_name(tool);
            if name != held.listed.name || tool.definition != held.listed.tool.definition {
                let room = if held.reason == ListingReason::Base { settings.budget.max_tokens } else { room };
                held.listed.definition = cached_definition(tool, &name, room, room, settings)?;
            }
            (held.listed.tool, held.listed.name) = (Arc::clone(tool), name);
            Some(held)
        });
        self.cached = cached.collect();
    }

    fn cache_room(&self, settings: &SessionSettings) -> u32 {
        let left = settings.budget.max_tokens.saturating_sub(self.fixed(settings));
        settings.budget.cache_limit.saturating_sub(self.base_tokens()).min(left)
    }

    /// Returns the tools that were found or used since the first list, and may leave again.
    fn added(&self) -> impl Iterator<Item = &HeldTool> {
        self.cached.iter().filter(|held| held.reason < ListingReason::Base)
    }

    pub(super) fn cached_tokens(&self) -> u32 {
        sum(self.added())
    }

    fn base_tokens(&self) -> u32 {
        sum(self.cached.iter().filter(|held| held.reason == ListingReason::Base))
    }

    /// Returns the tokens of the tools that are always listed.
    fn fixed(&self, settings: &SessionSettings) -> u32 {
        settings.meta_tokens.saturating_add(sum(&self.pinned)).saturating_add(self.base_tokens())
    }

    fn total(&self, settings: &SessionSettings) -> u32 {
        self.fixed(settings).saturating_add(self.cached_tokens())
    }

    fn fingerprint(&self) -> u64 {
        fingerprint(self.pinned.iter().chain(&self.cached))
    }
}

/// The tools that are looked at for room that is left.
const MAX_TRIED: usize = 128;

/// The part of the room that is filled; found and used tools have the rest.
const FILLED_PART: u32 = 2;

/// The part of the room that one tool may fill, so that several servers have some.
const LARGEST_PART: u32 = 4;

/// Returns the definition for the cache. A tool is shortened before it pushes out half of the others.
fn cached_definition(
    tool: &Tool,
    name: &str,
    room: u32,
    most: u32,
    settings: &SessionSettings,
) -> Option<ListedDefinition> {
    let most = most.min(room);
    ListedDefinition::near(tool, name, most.min(room / 2), most, &*settings.tokens)
}
