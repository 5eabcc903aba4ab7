use std::hash::BuildHasher;
use std::sync::Arc;

use mgp_types::mgp::{AccessPermission, AccessSource, DefaultPolicy, Timestamp, ToolName};

use super::StoredEntry;
use super::defaults::Defaults;
use super::entry::EntryKey;
use super::patterns::{Patterns, is_pattern};

/// All entries and what holds without one, never changed: a change makes another table that shares all but one shard with
/// this one.
///
/// One table is one moment. A decision that looks twice, for the tool and for the server, must look at the same
/// moment, or it could see a combination of entries that never was.
#[derive(Debug, Clone)]
pub(super) struct EntryTable {
    /// The entries for one server, or one tool of it.
    shards: Box<[Arc<Shard>]>,
    patterns: Patterns,
    hasher: foldhash::quality::RandomState,
    defaults: Arc<Defaults>,
}

/// Entries sorted by hashes, so that a lookup compares numbers and needs no key made of borrowed names. What it finds
/// is compared by name.
///
/// A decision among entries that are in no cache spends its time waiting for memory, so it has to look at few places:
/// the hash says near which index the entry stands, and all that decides stands there, the names in one piece.
#[derive(Debug, Default)]
struct Shard {
    /// For each bucket, an equal share of all hashes, where it starts in `rules`; and where the last one ends.
    starts: Vec<u32>,
    rules: Vec<EntryRow>,
}

/// Entries of the same agent and server stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct EntryHashes {
    pair: u64,
    tool: u64,
}

/// A line of the cache, so that one wait for memory brings all of it.
#[derive(Debug, Clone)]
struct EntryRow {
    place: EntryHashes,
    /// The names of the agent, the server and the tool in one piece.
    names: Arc<str>,
    agent_len: u32,
    server_len: u32,
    of_tool: bool,
    permission: AccessPermission,
    /// In milliseconds; [`NEVER`] if it has none.
    end: i64,
    stored: Arc<StoredEntry>,
}

/// What time it is, for entries that end.
///
/// A clock that is set back must not bring an ended permission to life, so permissions end by the latest time that
/// was ever told; prohibitions end only when the clock says so now. Either way less is allowed.
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

    /// The table with `entry` in place of the one for the same agent, server and tool.
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

    /// The table without the entry of `key`.
    pub(super) fn without(&self, key: &EntryKey) -> Self {
        if is_pattern(key) {
            return Self { patterns: self.patterns.without(key), ..self.clone() };
        }
        let place = self.place(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        self.replaced(place.shard(), self.shards[place.shard()].without(key))
    }

    /// The table with this for servers that have no default of their own.
    pub(super) fn with_default(&self, policy: DefaultPolicy) -> Self {
        let defaults = Defaults { otherwise: policy, ..Defaults::clone(&self.defaults) };
        Self { defaults: Arc::new(defaults), ..self.clone() }
    }

    /// What holds where no entry does.
    pub(super) fn defaults(&self) -> &Defaults {
        &self.defaults
    }

    /// The entries of `key`, ended ones included; one, unless a store returned several.
    pub(super) fn entries_of(&self, key: &EntryKey) -> Vec<Arc<StoredEntry>> {
        if is_pattern(key) {
            return self.patterns.entries().filter(|stored| stored.entry.key() == *key).cloned().collect();
        }
        let rules = self.rules_of(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        rules.map(|rule| Arc::clone(&rule.stored)).collect()
    }

    /// All entries, in no order, ended ones included.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<StoredEntry>> {
        let exact = self.shards.iter().flat_map(|shard| shard.rules.iter().map(|rule| &rule.stored));
        exact.chain(self.patterns.entries())
    }

    /// The entry that decides about a tool or, without one, about the server: what it says, and all of it. An entry for tools
    /// decides before one for servers, and an exact one before a [pattern](Patterns::deciding).
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
        // What a rule says is read from the rule: looking at its entry would wait for memory once more.
        let exact = self.strictest(agent, server, tool, moment).map(|rule| (rule.permission, &*rule.stored));
        exact.or_else(|| self.patterns.deciding(agent, server, tool, moment))
    }

    /// Whether an entry allows anything on the server.
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
    }

    fn strictest(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: DecisionTime,
    ) -> Option<&EntryRow> {
        // Where a store returned two entries for the same, the one that denies decides.
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
            // Buckets up to the one of this rule start here, unless they have started before.
            let index = u32::try_from(index).unwrap_or(u32::MAX);
            starts.resize(starts.len().max(rule.place.bucket(buckets) + 1), index);
        }
        starts.resize(buckets + 1, u32::try_from(rules.len()).unwrap_or(u32::MAX));
        Self { starts, rules }
    }

    /// The rules from `place` on.
    fn since(&self, place: EntryHashes) -> &[EntryRow] {
        if self.rules.is_empty() {
            return &[];
        }
        let bucket = place.bucket(self.rules.len());
        let (start, end) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        let before = self.rules[start..end].partition_point(|rule| rule.place < place);
        &self.rules[start + before..]
    }

    /// The rules without those of `key`, in order, and with room for one more.
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

    /// By the lower half of the hash; the upper half orders the rules of a shard.
    fn shard(self) -> usize {
        let [low, high, ..] = self.pair.to_le_bytes();
        usize::from(u16::from_le_bytes([low, high])) % SHARDS
    }

    /// Which of so many equal shares of all hashes it lies in.
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

    /// The name of the tool, empty for a server, if the other names are these.
    fn tool(&self, agent: &str, server: &str) -> Option<&str> {
        // Without the lengths, one agent's name could go on in the name of the server.
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

    /// Whether an entry of this permission that ends at `end`, in milliseconds, still holds.
    pub(super) fn is_before(self, permission: AccessPermission, end: i64) -> bool {
        let time = match permission {
            AccessPermission::Allow => self.latest,
            AccessPermission::Deny => self.now,
        };
        time.as_millis() < end
    }
}

/// No name is longer than a request may be, so none comes near the bound.
fn len(name: &str) -> u32 {
    u32::try_from(name.len()).unwrap_or(u32::MAX)
}

fn tool_of(key: &EntryKey) -> Option<&str> {
    key.tool_name.as_ref().map(ToolName::as_str)
}

/// With a hundred thousand entries a change copies about eleven hundred pointers.
const SHARDS: usize = 1024;
/// Later than any time that can be written.
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
