//! The table of access entries in memory, in which the policy looks up each decision.

use std::collections::HashMap;
use std::hash::BuildHasher;
use std::sync::Arc;

use mgp_types::agent_family;
use mgp_types::mgp::{AccessPermission, AccessSource, DefaultPolicy, ServerId, Timestamp, ToolName};

use super::StoredEntry;
use super::entry::EntryKey;
use super::patterns::{Patterns, is_pattern};

/// The default policy of each server that has its own, and the one for all other servers.
#[derive(Debug, Clone, Default)]
pub(super) struct Defaults {
    pub(super) of_servers: HashMap<ServerId, DefaultPolicy, foldhash::quality::RandomState>,
    pub(super) otherwise: DefaultPolicy,
}

impl Defaults {
    pub(super) fn of(&self, server: &str) -> DefaultPolicy {
        self.of_servers.get(server).copied().unwrap_or(self.otherwise)
    }
}

/// An immutable table of all entries and defaults. A change makes a new table that shares all but one shard with the
/// old one.
///
/// One table is one moment. A decision that looks up both the tool and the server must use the same table, or it
/// could combine entries that never held together.
#[derive(Debug, Clone)]
pub(super) struct EntryTable {
    /// The entries without patterns, each for one server or one tool.
    shards: Box<[Arc<Shard>]>,
    patterns: Patterns,
    hasher: foldhash::quality::RandomState,
    defaults: Arc<Defaults>,
}

/// Entries sorted by hashes, so that a lookup compares numbers and needs no key made of borrowed names. The entries
/// found are then compared by name.
///
/// A lookup among entries that are in no CPU cache spends its time waiting for memory, so it has to read few places:
/// the hash tells near which index an entry stands, and everything needed for the decision is stored there, the names
/// in one piece.
#[derive(Debug, Default)]
struct Shard {
    /// The index in `rules` at which each bucket starts, and after them the end of the last bucket. Each bucket is an
    /// equal share of all hashes.
    starts: Vec<u32>,
    rules: Vec<EntryRow>,
}

/// The hashes by which entries are sorted. Entries of the same agent and server stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryHashes {
    pair: u64,
    tool: u64,
}

/// The part of an entry that a decision needs. It fills one cache line, so that one wait for memory brings all of it.
#[derive(Debug, Clone)]
struct EntryRow {
    place: EntryHashes,
    /// The names of the agent, the server and the tool, one after the other.
    names: Arc<str>,
    agent_len: u32,
    server_len: u32,
    of_tool: bool,
    permission: AccessPermission,
    /// The end of the entry in milliseconds since 1970; [`NEVER`] if it has none.
    end: i64,
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
    pub(super) fn new(entries: impl IntoIterator<Item = StoredEntry>, defaults: Defaults) -> Self {
        let hasher = foldhash::quality::RandomState::default();
        let mut shards: Vec<Vec<EntryRow>> = vec![Vec::new(); SHARDS];
        let (patterns, exact): (Vec<_>, Vec<_>) =
            entries.into_iter().map(Arc::new).partition(|stored| is_pattern(&stored.entry.key()));
        for stored in exact {
            let rule = EntryRow::new(stored, &hasher);
            shards[rule.place.shard()].push(rule);
        }
        let sorted = shards.into_iter().map(|mut rules| {
            rules.sort_unstable_by_key(|rule| rule.place);
            Arc::new(Shard::of_sorted(rules))
        });
        let patterns = Patterns::new(patterns);
        Self { shards: sorted.collect(), patterns, hasher, defaults: Arc::new(defaults) }
    }

    /// Returns the table with `entry` in place of the one for the same agent, server and tool.
    pub(super) fn with(&self, entry: &Arc<StoredEntry>) -> Self {
        let key = entry.entry.key();
        if is_pattern(&key) {
            return Self { patterns: self.patterns.with(entry), ..self.clone() };
        }
        let rule = EntryRow::new(Arc::clone(entry), &self.hasher);
        let index = rule.place.shard();
        let mut rules = self.shards[index].without(&key);
        rules.insert(rules.partition_point(|other| other.place < rule.place), rule);
        self.replaced(index, rules)
    }

    /// Returns the table without the entry of `key`.
    pub(super) fn without(&self, key: &EntryKey) -> Self {
        if is_pattern(key) {
            return Self { patterns: self.patterns.without(key), ..self.clone() };
        }
        let place = self.place(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        self.replaced(place.shard(), self.shards[place.shard()].without(key))
    }

    /// Returns the table with `policy` as the default for servers that have no default of their own.
    pub(super) fn with_default(&self, policy: DefaultPolicy) -> Self {
        let defaults = Defaults { otherwise: policy, ..Defaults::clone(&self.defaults) };
        Self { defaults: Arc::new(defaults), ..self.clone() }
    }

    /// Returns the defaults, which hold where no entry decides.
    pub(super) fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// Returns the entries of `key`, including those that have ended; at most one, unless a store returned several.
    pub(super) fn entries_of(&self, key: &EntryKey) -> Vec<Arc<StoredEntry>> {
        if is_pattern(key) {
            return self.patterns.entries().filter(|stored| stored.entry.key() == *key).cloned().collect();
        }
        let rules = self.rules_of(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        rules.map(|rule| Arc::clone(&rule.stored)).collect()
    }

    /// Returns all entries in no particular order, including those that have ended.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<StoredEntry>> {
        let exact = self.shards.iter().flat_map(|shard| shard.rules.iter().map(|rule| &rule.stored));
        exact.chain(self.patterns.entries())
    }

    /// Returns the entry that decides about a tool or, without a tool, about the server, with its permission and
    /// kind. An entry for tools comes before one for servers, one for the agent before one for its
    /// [family](agent_family), and an exact entry before a [pattern](Patterns::deciding).
    pub(super) fn deciding(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<(AccessPermission, AccessSource, &StoredEntry)> {
        if tool.is_some()
            && let Some((permission, stored)) = self.narrowest(agent, server, tool, moment)
        {
            return Some((permission, AccessSource::ToolGrant, stored));
        }
        let (permission, stored) = self.narrowest(agent, server, None, moment)?;
        Some((permission, AccessSource::ServerGrant, stored))
    }

    fn narrowest(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<(AccessPermission, &StoredEntry)> {
        let own = self.narrowest_of(agent, server, tool, moment);
        own.or_else(|| self.narrowest_of(agent_family(agent)?, server, tool, moment))
    }

    fn narrowest_of(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<(AccessPermission, &StoredEntry)> {
        // The permission is read from the row: reading its entry would wait for memory once more.
        let exact = self.strictest(agent, server, tool, moment).map(|rule| (rule.permission, &*rule.stored));
        exact.or_else(|| self.patterns.deciding(agent, server, tool, moment))
    }

    /// Returns whether an entry allows anything on the server.
    pub(super) fn allows_some(&self, agent: &str, server: &str, moment: DecisionTime) -> bool {
        let pair = self.hasher.hash_one((agent, server));
        let least = EntryHashes { pair, tool: 0 };
        let rules = self.shards[least.shard()].since(least);
        let allows = |rule: &EntryRow| {
            rule.permission == AccessPermission::Allow
                && rule.is_of_pair(agent, server)
                && moment.is_live(rule)
        };
        rules.iter().take_while(|rule| rule.place.pair == pair).any(allows)
            || self.patterns.allow_some(agent, server, moment)
            || agent_family(agent).is_some_and(|family| self.allows_some(family, server, moment))
    }

    fn strictest(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<&EntryRow> {
        // Where a store returned two entries for the same key, the one that denies decides.
        self.rules_of(agent, server, tool)
            .filter(|rule| moment.is_live(rule))
            .max_by_key(|rule| rule.permission == AccessPermission::Deny)
    }

    fn rules_of(&self, agent: &str, server: &str, tool: Option<&str>) -> impl Iterator<Item = &EntryRow> {
        let place = self.place(agent, server, tool);
        let rules = self.shards[place.shard()].since(place).iter();
        let same_place = rules.take_while(move |rule| rule.place == place);
        same_place.filter(move |rule| rule.is_of(agent, server, tool))
    }

    fn place(&self, agent: &str, server: &str, tool: Option<&str>) -> EntryHashes {
        EntryHashes::of(agent, server, tool, &self.hasher)
    }

    fn replaced(&self, index: usize, sorted: Vec<EntryRow>) -> Self {
        let mut table = self.clone();
        table.shards[index] = Arc::new(Shard::of_sorted(sorted));
        table
    }
}

impl Shard {
    fn of_sorted(rules: Vec<EntryRow>) -> Self {
        let buckets = rules.len();
        let mut starts = Vec::with_capacity(buckets + 1);
        for (index, rule) in rules.iter().enumerate() {
            // All buckets up to the one of this rule that have not started yet start here.
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            starts.resize(starts.len().max(rule.place.bucket(buckets) + 1), index);
        }
        starts.resize(buckets + 1, u32::try_from(rules.len()).unwrap_or(u32::MAX));
        Self { starts, rules }
    }

    /// Returns the rules from `place` on.
    fn since(&self, place: EntryHashes) -> &[EntryRow] {
        if self.rules.is_empty() {
            return &[];
        }
        let bucket = place.bucket(self.rules.len());
        let (start, end) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        let before = self.rules[start..end].partition_point(|rule| rule.place < place);
        &self.rules[start + before..]
    }

    /// Returns the rules in order without those of `key`, with room for one more.
    fn without(&self, key: &EntryKey) -> Vec<EntryRow> {
        let (agent, server, tool) = (key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        let mut kept = Vec::with_capacity(self.rules.len() + 1);
        kept.extend(self.rules.iter().filter(|rule| !rule.is_of(agent, server, tool)).cloned());
        kept
    }
}

impl EntryHashes {
    fn of(agent: &str, server: &str, tool: Option<&str>, hasher: &foldhash::quality::RandomState) -> Self {
        Self { pair: hasher.hash_one((agent, server)), tool: hasher.hash_one(tool) }
    }

    /// Returns the index of the shard, taken from the lower half of the hash; the upper half orders the rules of a
    /// shard.
    fn shard(self) -> usize {
        let [low, high, ..] = self.pair.to_le_bytes();
        usize::from(u16::from_le_bytes([low, high])) % SHARDS
    }

    /// Returns the index of the hash among `buckets` equal shares of all hashes.
    fn bucket(self, buckets: usize) -> usize {
        let share = (u128::from(self.pair) * buckets as u128) >> 64;
        usize::try_from(share).unwrap_or(0).min(buckets.saturating_sub(1))
    }
}

impl EntryRow {
    fn new(stored: Arc<StoredEntry>, hasher: &foldhash::quality::RandomState) -> Self {
        let entry = &stored.entry;
        let (agent, server) = (entry.agent_id.as_str(), entry.server_id.as_str());
        let tool = entry.tool_name.as_ref().map(ToolName::as_str);
        Self {
            place: EntryHashes::of(agent, server, tool, hasher),
            names: [agent, server, tool.unwrap_or_default()].concat().into(),
            agent_len: len(agent),
            server_len: len(server),
            of_tool: tool.is_some(),
            permission: entry.permission,
            end: entry.expires_at.map_or(NEVER, Timestamp::as_millis),
            stored,
        }
    }

    fn is_of(&self, agent: &str, server: &str, tool: Option<&str>) -> bool {
        self.of_tool == tool.is_some() && self.tool(agent, server) == Some(tool.unwrap_or_default())
    }

    fn is_of_pair(&self, agent: &str, server: &str) -> bool {
        self.tool(agent, server).is_some()
    }

    /// Returns the name of the tool, empty for an entry for a server, if the agent and the server have the given
    /// names.
    fn tool(&self, agent: &str, server: &str) -> Option<&str> {
        // Without the lengths, a part of the agent's name could be taken for the beginning of the server's.
        if self.agent_len != len(agent) || self.server_len != len(server) {
            return None;
        }
        self.names.strip_prefix(agent)?.strip_prefix(server)
    }
}

impl DecisionTime {
    fn is_live(self, rule: &EntryRow) -> bool {
        self.is_before(rule.permission, rule.end)
    }

    /// Returns whether an entry of this permission that ends at `end`, in milliseconds since 1970, still holds.
    pub(super) fn is_before(self, permission: AccessPermission, end: i64) -> bool {
        let time = match permission {
            AccessPermission::Allow => self.latest,
            AccessPermission::Deny => self.now,
        };
        time.as_millis() < end
    }
}

/// Returns the length of a name in bytes. No name is longer than a request may be, so none comes near the bound.
fn len(name: &str) -> u32 {
    u32::try_from(name.len()).unwrap_or(u32::MAX)
}

fn tool_of(key: &EntryKey) -> Option<&str> {
    key.tool_name.as_ref().map(ToolName::as_str)
}

/// The number of shards. With a hundred thousand entries a change copies about eleven hundred pointers.
const SHARDS: usize = 1024;
/// The end of entries that never end, in milliseconds since 1970; later than any time that can be written.
const NEVER: i64 = i64::MAX;

#[cfg(test)]
mod tests {
    use mgp_types::Principal;
    use mgp_types::mgp::AccessGrant;

    use super::super::AccessEntry;
    use super::*;

    fn entry(id: u64) -> StoredEntry {
        let agent = format!("a{}", id / 3);
        let grant = AccessGrant::of_server(agent.as_str().into(), "s".into(), AccessPermission::Allow);
        let grant =
            if id.is_multiple_of(3) { grant } else { grant.for_tool(format!("t{id}").as_str().into()) };
        let by = Principal::operator("admin");
        StoredEntry::new(id, AccessEntry::new(&by, grant, Timestamp::EPOCH).unwrap())
    }

    fn finds(table: &EntryTable, id: u64) -> bool {
        let found = table.entries_of(&entry(id).entry.key());
        assert!(found.iter().all(|stored| stored.id == id));
        found.len() == 1
    }

    #[test]
    fn a_rule_fits_a_cache_line() {
        assert_eq!(size_of::<EntryRow>(), 64);
    }

    #[test]
    fn every_entry_is_found_among_many_and_no_other() {
        let table = EntryTable::new((0..30_000).map(entry), Defaults::default());
        assert!((0..30_000).all(|id| finds(&table, id)));
        assert!(!(30_000..40_000).any(|id| finds(&table, id)));
    }

    #[test]
    fn a_table_built_step_by_step_holds_the_same() {
        let mut table = EntryTable::new([], Defaults::default());
        for id in 0..3_000 {
            table = table.with(&Arc::new(entry(id)));
        }
        for id in (0..3_000).step_by(2) {
            table = table.without(&entry(id).entry.key());
        }
        assert!((0..3_000).all(|id| finds(&table, id) == (id % 2 == 1)));
    }

    #[test]
    fn a_pattern_is_found_by_its_own_key_and_no_other() {
        let pattern = |tool: &str, id| {
            let grant = AccessGrant::of_server("a".into(), "s".into(), AccessPermission::Allow);
            let grant = grant.for_tool(tool.into());
            let by = Principal::operator("admin");
            StoredEntry::new(id, AccessEntry::new(&by, grant, Timestamp::EPOCH).unwrap())
        };
        let (reads, writes) = (pattern("read_*", 1), pattern("write_*", 2));
        let table = EntryTable::new([reads.clone(), writes], Defaults::default());
        let found = table.entries_of(&reads.entry.key());
        assert_eq!(found.iter().map(|stored| stored.id).collect::<Vec<_>>(), [1]);
        assert!(table.entries_of(&pattern("delete_*", 3).entry.key()).is_empty());
    }

    #[test]
    fn names_that_are_one_text_together_are_told_apart() {
        let rule = |tool: Option<&str>| {
            let grant = AccessGrant::of_server("ab".into(), "c".into(), AccessPermission::Allow);
            let grant = match tool {
                Some(tool) => grant.for_tool(tool.into()),
                None => grant,
            };
            let entry = AccessEntry::new(&Principal::operator("admin"), grant, Timestamp::EPOCH).unwrap();
            EntryRow::new(Arc::new(StoredEntry::new(1, entry)), &foldhash::quality::RandomState::default())
        };
        let (tool, server) = (rule(Some("d")), rule(None));
        assert!(tool.is_of("ab", "c", Some("d")) && server.is_of("ab", "c", None));
        assert!(!tool.is_of("a", "bc", Some("d")));
        assert!(!tool.is_of("ab", "cd", None));
        assert!(!tool.is_of("ab", "", Some("cd")));
        assert!(!server.is_of("ab", "c", Some("")));
        assert!(tool.is_of_pair("ab", "c") && !tool.is_of_pair("a", "bc"));
    }
}
