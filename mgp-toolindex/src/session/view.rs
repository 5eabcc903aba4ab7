//! The tools that an agent may see.

use std::sync::Arc;

use mgp_types::mgp::{NameStyle, ServerId, ToolName};

use crate::{Snapshot, Tool};

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

    pub(super) const fn generation(&self) -> u64 {
        self.snapshot.generation()
    }

    pub(super) fn sees(&self, tool: &Tool) -> bool {
        (self.sees)(tool)
    }

    pub(super) fn tool(&self, server: &ServerId, name: &ToolName) -> Option<&'a Arc<Tool>> {
        self.snapshot.tool(server.as_str(), name.as_str()).filter(|tool| self.sees(tool))
    }

    pub(super) fn called(&self, name: &str) -> Option<&'a Arc<Tool>> {
        self.snapshot.called(name)
    }

    pub(super) fn shown_name(&self, tool: &Tool) -> String {
        self.snapshot.shown_name(tool, (self.names)())
    }
}

mgp_types::partial_debug!(ToolView<'_>, self => generation: self.generation());
