//! The table of access entries in memory, in which the policy looks up each decision.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use mgp_types::mgp::{
    AccessPermission, AccessSource, AgentId, DefaultPolicy, Glob, Specificity, Timestamp, ToolName,
};
use mgp_types::{AgentGroups, GroupMembership, agent_family};

use super::StoredEntry;
use super::entry::EntryKey;

/// An immutable table of all entries and the default policy. A change makes a new table that shares the entries of all
/// other agents with the old one.
///
/// One table is one moment. A decision that looks up both the tool and the server must use the same table, or it
/// could combine entries that never held together.
#[derive(Debug, Clone)]
pub(super) struct EntryTable {
    /// The entries for each agent and group, in the order in which they decide.
    agents: HashMap<AgentId, Arc<[EntryRow]>, foldhash::fast::RandomState>,
    /// True if there is, or was, an entry for a group.
    names_groups: bool,
    hasher: foldhash::quality::RandomState,
    pub(super) default: DefaultPolicy,
}

/// An entry with what is compared before its names are: few entries of an agent are read in memory.
#[derive(Debug, Clone)]
struct EntryRow {
    /// The hash of the server and the tool.
    target: u64,
    /// The patterns of servers and tools, if a `*` in one of them stands for other characters; that of tools is `*` for an
    /// entry for whole servers.
    pattern: Option<Box<[Glob; 2]>>,
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
        let hasher = foldhash::quality::RandomState::default();
        let mut agents: HashMap<AgentId, Vec<Arc<StoredEntry>>> = HashMap::new();
        for stored in entries {
            agents.entry(stored.entry.agent_id.clone()).or_default().push(Arc::new(stored));
        }
        let names_groups = agents.values().flatten().any(|stored| stored.entry.is_for_group());
        let agents = agents.into_iter().map(|(agent, entries)| (agent, in_order(entries, &hasher))).collect();
        Self { agents, names_groups, hasher, default }
    }

    /// Returns the table with another default policy.
    pub(super) fn with_default(&self, default: DefaultPolicy) -> Self {
        Self { default, ..self.clone() }
    }

    /// Returns all entries, in no particular order.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<StoredEntry>> {
        self.agents.values().flat_map(|rows| rows.iter().map(|row| &row.stored))
    }

    /// Returns the entries that only one of the two tables has.
    pub(super) fn difference(&self, other: &Self) -> Vec<Arc<StoredEntry>> {
        let before: HashMap<u64, _> = self.entries().map(|stored| (stored.id, stored)).collect();
        let after: HashMap<u64, _> = other.entries().map(|stored| (stored.id, stored)).collect();
        let gone = before.values().filter(|stored| after.get(&stored.id) != Some(*stored));
        let new = after.values().filter(|stored| before.get(&stored.id) != Some(*stored));
        new.chain(gone).copied().cloned().collect()
    }

    /// Returns the entry that decides about a tool or, without a tool, about the server, with its kind. An entry for
    /// tools comes before one for servers, one for the agent before one for a group of it, that before one for its
    /// [family](agent_family), and an exact entry before a pattern. Of the entries for several groups, one that denies
    /// decides.
    pub(super) fn deciding(
        &self,
        agent: &str,
        groups: &AgentGroups,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<(AccessSource, &StoredEntry)> {
        if self.agents.is_empty() {
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
        let target = self.hasher.hash_one((server, tool));
        let of = |agent: &str| {
            let decides =
                |row: &&EntryRow| row.stands_for(server, tool, target) && moment.is_live(&row.stored);
            self.rows(agent).iter().find(decides).map(|row| &*row.stored)
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
            self.rows(agent).iter().any(|row| {
                row.stored.entry.permission == AccessPermission::Allow
                    && row.is_on(server)
                    && moment.is_live(&row.stored)
            })
        };
        has_allowed(agent)
            || agent_family(agent).is_some_and(has_allowed)
            || self
                .groups_of(agent, groups)
                .is_some_and(|groups| groups.iter().any(|member| has_allowed(member.group.as_str())))
    }

    fn rows(&self, agent: &str) -> &[EntryRow] {
        self.agents.get(agent).map_or(&[], |rows| rows)
    }

    /// Returns the table with `new`, or nothing, in place of the entry that has this key.
    pub(super) fn replaced(&self, key: &EntryKey, new: Option<&Arc<StoredEntry>>) -> Self {
        let mut table = self.clone();
        table.names_groups |= new.is_some_and(|new| new.entry.is_for_group());
        let others = self.rows(key.0.as_str()).iter().map(|row| &row.stored);
        let others = others.filter(|other| other.entry.key() != *key);
        let rows = in_order(others.chain(new).map(Arc::clone), &self.hasher);
        if rows.is_empty() {
            table.agents.remove(&key.0)
        } else {
            table.agents.insert(key.0.clone(), rows)
        };
        table
    }
}

/// Returns the entries for one agent in the order in which they decide.
fn in_order(
    entries: impl IntoIterator<Item = Arc<StoredEntry>>,
    hasher: &foldhash::quality::RandomState,
) -> Arc<[EntryRow]> {
    let mut rows: Vec<_> = entries.into_iter().map(|stored| EntryRow::new(stored, hasher)).collect();
    rows.sort_by_cached_key(|row| Reverse(row.precedence()));
    rows.into()
}

impl EntryRow {
    fn new(stored: Arc<StoredEntry>, hasher: &foldhash::quality::RandomState) -> Self {
        let (server, tool) = (stored.entry.server_id.as_str(), tool_of(&stored));
        let globs = [server, tool.unwrap_or("*")].map(Glob::new);
        let is_exact = globs[0].is_exact() && (tool.is_none() || globs[1].is_exact());
        let (target, pattern) = (hasher.hash_one((server, tool)), (!is_exact).then(|| Box::new(globs)));
        Self { target, pattern, stored }
    }

    /// Returns the rank of the entry; the greatest decides. An exact entry comes before a pattern, a narrower pattern
    /// before a wider one, and of two equally narrow entries the one that denies does.
    fn precedence(&self) -> (bool, Option<Specificity>, bool) {
        let specificity = self.pattern.as_deref().map(|[server, tool]| Specificity::new(server, tool));
        (specificity.is_none(), specificity, self.stored.entry.permission == AccessPermission::Deny)
    }

    /// Returns whether the entry stands for a tool of the server or, without a tool, for the server; `target` is the hash of
    /// both.
    fn stands_for(&self, server: &str, tool: Option<&str>, target: u64) -> bool {
        match self.pattern.as_deref() {
            None => self.target == target && self.is_on(server) && tool_of(&self.stored) == tool,
            Some([_, tools]) => {
                tool_of(&self.stored).is_some() == tool.is_some()
                    && self.is_on(server)
                    && tool.is_none_or(|tool| tools.matches(tool))
            }
        }
    }

    fn is_on(&self, server: &str) -> bool {
        match self.pattern.as_deref() {
            None => self.stored.entry.server_id.as_str() == server,
            Some([servers, _]) => servers.matches(server),
        }
    }
}

fn tool_of(stored: &StoredEntry) -> Option<&str> {
    stored.entry.tool_name.as_ref().map(ToolName::as_str)
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
