//! Snapshots of the index, which searches read.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use mgp_types::mgp::{NameStyle, ServerId, ToolName};

use super::table::ChunkedVec;
use crate::embed::Embedder;
use crate::keyword::KeywordReader;
use crate::server_tools::Server;
use crate::slot::{Slot, Slots};
use crate::tool::Tool;
use crate::vector::Vectors;

/// The tools at one time. A snapshot does not change.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) generation: u64,
    pub(crate) tools: ChunkedVec<Arc<Tool>>,
    pub(crate) servers: HashMap<ServerId, ServerSlots, RandomState>,
    pub(crate) count: usize,
    /// The tools of the servers that are connected.
    pub(super) connected: Slots,
    /// The words of the tools.
    pub(crate) words: Arc<KeywordReader>,
    pub(crate) embedder: Arc<dyn Embedder>,
    /// The vectors of the tools, made by `embedder`.
    pub(crate) vectors: Vectors,
}

/// A server, and the slots of its tools.
#[derive(Debug, Clone)]
pub(crate) struct ServerSlots {
    pub(crate) server: Server,
    pub(crate) slots: Arc<HashMap<ToolName, Slot, RandomState>>,
}

impl Snapshot {
    pub(super) fn empty(words: Arc<KeywordReader>, embedder: Arc<dyn Embedder>) -> Self {
        let vectors = Vectors::new(embedder.dimension());
        Self {
            generation: 0,
            tools: ChunkedVec::new(),
            servers: HashMap::default(),
            count: 0,
            connected: Slots::default(),
            words,
            embedder,
            vectors,
        }
    }

    /// Returns the number of tools.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns whether there are no tools.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns a number that is unique for each snapshot of an index.
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// Returns all tools.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<Tool>> {
        self.tools.iter().map(|(_, tool)| tool)
    }

    /// Returns the tool of this name of this server.
    pub fn tool(&self, server: &str, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(self.slot(server, name)?)
    }

    /// Returns a server.
    pub fn server(&self, server: &str) -> Option<&Server> {
        Some(&self.servers.get(server)?.server)
    }

    /// Returns the name that a model calls a tool by: its own, or with its server where another server has a tool of
    /// that name or the listing says so.
    pub fn shown_name(&self, tool: &Tool, style: NameStyle) -> String {
        let has_it_alone = || self.bearers(tool.name.as_str()).all(|other| other.server == tool.server);
        if !tool.is_qualified && has_it_alone() {
            return tool.name.to_string();
        }
        style.write(tool.server.as_str(), tool.name.as_str())
    }

    /// Returns the tool that a model calls by this name: its id, its own name if no other has it, or with its server in
    /// any style.
    pub fn called(&self, name: &str) -> Option<&Arc<Tool>> {
        let mut bearers = self.bearers(name);
        if let (Some(tool), None) = (bearers.next(), bearers.next()) {
            return Some(tool);
        }
        let mut dots = name.char_indices().filter(|(_, c)| *c == '.').map(|(at, _)| at);
        let by_id = dots.find_map(|at| self.tool(&name[..at], &name[at + 1..]));
        by_id.or_else(|| {
            self.tools().find(|tool| NameStyle::any_is(name, tool.server.as_str(), tool.name.as_str()))
        })
    }

    fn slot(&self, server: &str, name: &str) -> Option<Slot> {
        self.servers.get(server)?.slots.get(name).copied()
    }

    fn bearers(&self, name: &str) -> impl Iterator<Item = &Arc<Tool>> {
        self.servers.values().filter_map(move |listed| self.tools.get(*listed.slots.get(name)?))
    }
}
