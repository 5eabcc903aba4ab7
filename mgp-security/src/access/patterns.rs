//! Access entries whose server or tool is a pattern. They are few, and are searched one by one after the exact
//! entries.

use std::cmp::Reverse;
use std::sync::Arc;

use mgp_types::mgp::{AccessPermission, Glob, Specificity, ToolName};

use super::StoredEntry;
use super::entry::EntryKey;
use super::table::DecisionTime;

/// Entries in whose server or tool a `*` stands for other characters, in the order in which they decide.
#[derive(Debug, Clone, Default)]
pub(super) struct WildcardEntries(Arc<[PatternEntry]>);

#[derive(Debug, Clone)]
struct PatternEntry {
    server: Glob,
    /// The pattern of tools; `*` for an entry for whole servers.
    tool: Glob,
    stored: Arc<StoredEntry>,
}

impl WildcardEntries {
    /// Orders the entries by precedence.
    pub(super) fn new(entries: impl IntoIterator<Item = Arc<StoredEntry>>) -> Self {
        let mut entries: Vec<_> = entries.into_iter().map(PatternEntry::new).collect();
        entries.sort_by_key(|one| Reverse(one.precedence()));
        Self(entries.into())
    }

    /// Returns all entries, including those that have ended.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<StoredEntry>> {
        self.0.iter().map(|one| &one.stored)
    }

    /// Returns the entry that decides about a tool or, without a tool, about the server. Takes no lock and allocates
    /// nothing.
    pub(super) fn deciding(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<&StoredEntry> {
        let decides = |one: &&PatternEntry| {
            one.stored.entry.tool_name.is_some() == tool.is_some()
                && one.is_about(agent, server)
                && tool.is_none_or(|tool| one.tool.matches(tool))
                && moment.is_live(&one.stored)
        };
        self.0.iter().find(decides).map(|one| &*one.stored)
    }

    /// Returns whether an entry allows anything on the server.
    pub(super) fn allow_some(&self, agent: &str, server: &str, moment: DecisionTime) -> bool {
        self.0.iter().any(|one| {
            one.stored.entry.permission == AccessPermission::Allow
                && one.is_about(agent, server)
                && moment.is_live(&one.stored)
        })
    }
}

impl PatternEntry {
    fn new(stored: Arc<StoredEntry>) -> Self {
        let entry = &stored.entry;
        let tool = entry.tool_name.as_ref().map_or("*", ToolName::as_str);
        Self { server: Glob::new(entry.server_id.as_str()), tool: Glob::new(tool), stored }
    }

    /// Returns the rank of the entry; the greatest decides. A narrower pattern ranks higher, and of two equally
    /// narrow patterns the one that denies does.
    fn precedence(&self) -> (Specificity, bool) {
        (Specificity::new(&self.server, &self.tool), self.stored.entry.permission == AccessPermission::Deny)
    }

    fn is_about(&self, agent: &str, server: &str) -> bool {
        self.stored.entry.agent_id.as_str() == agent && self.server.matches(server)
    }
}

/// Returns whether the entry of `key` stands for more than one server or tool.
pub(super) fn is_pattern(key: &EntryKey) -> bool {
    key.server_id.as_str().contains('*')
        || key.tool_name.as_ref().is_some_and(|tool| tool.as_str().contains('*'))
}
