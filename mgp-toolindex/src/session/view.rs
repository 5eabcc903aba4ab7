//! The tools that an agent may see.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::{NameStyle, ServerId, ToolName};

use crate::budget::{ListedDefinition, TokenCounter};
use crate::tool::ToolEffect;
use crate::{Snapshot, Tool};

/// The existing tools, as far as an agent may see them.
///
/// A session shows and holds nothing else. The function that decides must not ask for the tools of the same session.
#[derive(Clone, Copy)]
pub struct ToolView<'a> {
    pub(super) snapshot: &'a Snapshot,
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
    pub(super) fn foremost(&self) -> Vec<&'a Arc<Tool>> {
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
        ordered.sort_by(|(place, tool), (other_place, other)| {
            place.cmp(other_place).then_with(|| tool.server.cmp(&other.server))
        });
        ordered.into_iter().map(|(_, tool)| tool).collect()
    }

    pub(super) fn sees(&self, tool: &Tool) -> bool {
        (self.sees)(tool)
    }

    pub(super) fn tool(&self, server: &ServerId, name: &ToolName) -> Option<&'a Arc<Tool>> {
        self.snapshot.tool(server.as_str(), name.as_str()).filter(|tool| self.sees(tool))
    }

    pub(super) fn shown_name(&self, tool: &Tool) -> String {
        self.snapshot.shown_name(tool, (self.names)())
    }
}

mgp_types::partial_debug!(ToolView<'_>, self => generation: self.snapshot.generation());
