//! The table of access entries in memory, in which the policy looks up each decision.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use mgp_types::mgp::{AccessPermission, AccessSource, DefaultPolicy, Timestamp, ToolName};
use mgp_types::{AgentGroups, GroupMembership, agent_family};

use super::StoredEntry;
use super::entry::EntryKey;
use super::patterns::{WildcardEntries, is_pattern};

/// An immutable table of all entries and the default policy. A change makes a new table that shares the entries of all
/// other agents and servers with the old one.
///
/// One table is one moment. A decision that looks up both the tool and the server must use the same table, or it
/// could combine entries that never held together.
#[derive(Debug, Clone)]
pub(super) struct EntryTable {
    /// The entries without patterns, by the hash of their agent and server: a lookup needs no key made of borrowed
    /// names. The entries found are then compared by name.
    pairs: HashMap<u64, Arc<[EntryRow]>, foldhash::fast::RandomState>,
    patterns: WildcardEntries,
    /// True if there is, or was, an entry for a group.
    names_groups: bool,
    hasher: foldhash::quality::RandomState,
    pub(super) default: DefaultPolicy,
}

/// An entry with the hash of its tool, which is compared first: few entries of a pair are read in memory.
#[derive(Debug, Clone)]
struct EntryRow {
    tool: u64,
    stored: Arc<StoredEntry>,
}

/// The time of a decision, by which entries end.
///
/// A clock that is set back must not revive a permission that has ended, so permissions end by the latest time that
/// the clock ever showed; prohibitions end by the time that it shows now. In both cases the stricter choice is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecisionTime {
    pub(super) now: Timestamp,
    pub(super) latest: Timestamp,
}

impl EntryTable {
    pub(super) fn new(entries: impl IntoIterator<Item = StoredEntry>, default: DefaultPolicy) -> Self {
        let mut names_groups = false;
        let entries = entries.into_iter().inspect(|stored| names_groups |= stored.entry.is_for_group());
        let (patterns, exact): (Vec<_>, Vec<_>) =
            entries.map(Arc::new).partition(|stored| is_pattern(&stored.entry.key()));
        let hasher = foldhash::quality::RandomState::default();
        let mut pairs: HashMap<u64, Vec<EntryRow>> = HashMap::new();
        for stored in exact {
            let pair = hasher.hash_one((stored.entry.agent_id.as_str(), stored.entry.server_id.as_str()));
            pairs.entry(pair).or_default().push(EntryRow::new(stored, &hasher));
        }
        let pairs = pairs.into_iter().map(|(pair, rows)| (pair, rows.into())).collect();
        Self { pairs, patterns: WildcardEntries::new(patterns), names_groups, hasher, default }
    }

    /// Returns the table with another default policy.
    pub(super) fn with_default(&self, default: DefaultPolicy) -> Self {
        Self { default, ..self.clone() }
    }

    /// Returns all entries, in no particular order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<StoredEntry>> {
        let exact = self.pairs.values().flat_map(|rows| rows.iter().map(|row| &row.stored));
        exact.chain(self.patterns.entries())
    }

    /// Returns the entry that decides about a tool or, without a tool, about the server, with its kind. An entry for
    /// tools comes before one for servers, one for the agent before one for a group of it, that before one for its
    /// [family](agent_family), and an exact entry before a [pattern](Patterns::deciding). Of the entries for several
    /// groups, one that denies decides.
    pub(super) fn deciding(
        &self,
        agent: &str,
        groups: &AgentGroups,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<(AccessSource, &StoredEntry)> {
        if self.pairs.is_empty() && self.patterns.entries().next().is_none() {
            return None;
        }
        let groups = self.groups_of(agent, groups);
        let groups = groups.as_deref().unwrap_or_default();
        if tool.is_some()
            && let Some(stored) = self.narrowest(agent, groups, server, tool, moment)
        {
            return Some((AccessSource::ToolGrant, stored));
        }
        Some((AccessSource::ServerGrant, self.narrowest(agent, groups, server, None, moment)?))
    }

    /// Returns the groups of an agent, which matter only where there are entries for groups.
    fn groups_of(&self, agent: &str, groups: &AgentGroups) -> Option<Arc<[GroupMembership]>> {
        self.names_groups.then(|| groups.of(agent)).flatten()
    }

    fn narrowest(
        &self,
        agent: &str,
        groups: &[GroupMembership],
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<&StoredEntry> {
        let hash = self.hasher.hash_one(tool);
        let of = |agent: &str| {
            let is_of = |row: &&EntryRow| {
                row.tool == hash
                    && row.is_of_pair(agent, server)
                    && row.stored.entry.tool_name.as_ref().map(ToolName::as_str) == tool
                    && moment.is_live(&row.stored)
            };
            // Of two entries for the same, the one that denies decides.
            let live = self.rows(agent, server).iter().filter(is_of);
            let exact = live.max_by_key(|row| row.stored.entry.permission == AccessPermission::Deny);
            exact.map(|row| &*row.stored).or_else(|| self.patterns.deciding(agent, server, tool, moment))
        };
        let of_groups = || {
            let found = groups.iter().filter_map(|member| of(member.group.as_str()));
            found.min_by_key(|stored| stored.entry.permission == AccessPermission::Allow)
        };
        of(agent).or_else(of_groups).or_else(|| of(agent_family(agent)?))
    }

    /// Returns whether an entry allows `agent`, a group of it or its family the server, or any tool of it.
    pub(super) fn allows_some(
        &self,
        agent: &str,
        groups: &AgentGroups,
        server: &str,
        moment: DecisionTime,
    ) -> bool {
        let has_allowed = |agent: &str| {
            let allows = |row: &EntryRow| {
                row.stored.entry.permission == AccessPermission::Allow
                    && row.is_of_pair(agent, server)
                    && moment.is_live(&row.stored)
            };
            self.rows(agent, server).iter().any(allows) || self.patterns.allow_some(agent, server, moment)
        };
        has_allowed(agent)
            || agent_family(agent).is_some_and(has_allowed)
            || self
                .groups_of(agent, groups)
                .is_some_and(|groups| groups.iter().any(|member| has_allowed(member.group.as_str())))
    }

    fn rows(&self, agent: &str, server: &str) -> &[EntryRow] {
        self.pairs.get(&self.hasher.hash_one((agent, server))).map_or(&[], |rows| rows)
    }

    /// Returns the table with `new`, or nothing, in place of the entry that has this key.
    pub(super) fn replaced(&self, key: &EntryKey, new: Option<&Arc<StoredEntry>>) -> Self {
        let mut table = self.clone();
        table.names_groups |= new.is_some_and(|new| new.entry.is_for_group());
        if is_pattern(key) {
            let others = self.patterns.entries().filter(|other| other.entry.key() != *key);
            table.patterns = WildcardEntries::new(others.chain(new).map(Arc::clone));
            return table;
        }
        let (agent, server) = (key.agent_id.as_str(), key.server_id.as_str());
        let others = self.rows(agent, server).iter().filter(|row| row.stored.entry.key() != *key).cloned();
        let new = new.map(|new| EntryRow::new(Arc::clone(new), &self.hasher));
        let (rows, pair): (Arc<[EntryRow]>, _) =
            (others.chain(new).collect(), self.hasher.hash_one((agent, server)));
        if rows.is_empty() {
            table.pairs.remove(&pair)
        } else {
            table.pairs.insert(pair, rows)
        };
        table
    }
}

impl EntryRow {
    fn new(stored: Arc<StoredEntry>, hasher: &foldhash::quality::RandomState) -> Self {
        let tool = hasher.hash_one(stored.entry.tool_name.as_ref().map(ToolName::as_str));
        Self { tool, stored }
    }

    fn is_of_pair(&self, agent: &str, server: &str) -> bool {
        let entry = &self.stored.entry;
        entry.agent_id.as_str() == agent && entry.server_id.as_str() == server
    }
}

impl DecisionTime {
    /// Returns whether the entry holds at this moment.
    pub(super) fn is_live(self, stored: &StoredEntry) -> bool {
        let time = match stored.entry.permission {
            AccessPermission::Allow => self.latest,
            AccessPermission::Deny => self.now,
        };
        stored.entry.expires_at.is_none_or(|end| time < end)
    }
}
