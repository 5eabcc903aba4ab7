use std::hash::BuildHasher;
use std::sync::Arc;

use mgp_types::mgp::{AccessPermission, AccessSource, Timestamp, ToolName};

use super::entry::EntryKey;
use super::{AccessEntry, StoredEntry};

/// All entries, never changed: a change makes another table that shares all but one shard with this one.
///
/// One table is one moment. A decision that looks twice, for the tool and for the server, must look at the same
/// moment, or it could see a combination of entries that never was.
#[derive(Debug, Clone)]
pub(super) struct Table {
    shards: Box<[Arc<Shard>]>,
    hasher: foldhash::quality::RandomState,
}

/// Entries sorted by hashes, so that a lookup compares numbers and needs no key made of borrowed names. What it finds
/// is compared by name.
///
/// What is searched, what decides and what is told of an entry lie apart: a decision among entries that are in no
/// cache waits for memory a few times, and for little else.
#[derive(Debug, Default)]
struct Shard {
    places: Vec<Place>,
    /// One for each place.
    rules: Vec<Rule>,
}

/// Entries of the same agent and server stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    pair: u64,
    tool: u64,
}

#[derive(Debug, Clone)]
struct Rule {
    names: Names,
    permission: AccessPermission,
    end: Option<Timestamp>,
    stored: Arc<StoredEntry>,
}

/// The names of an agent, a server and a tool in one piece.
#[derive(Debug, Clone)]
struct Names {
    text: Arc<str>,
    agent_len: usize,
    server_len: usize,
    of_tool: bool,
}

/// What time it is, for entries that end.
///
/// A clock that is set back must not bring an ended permission to life, so permissions end by the latest time that
/// was ever told; prohibitions end only when the clock says so now. Either way less is allowed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) now: Timestamp,
    pub(super) latest: Timestamp,
}

impl Table {
    pub(super) fn new(entries: impl IntoIterator<Item = StoredEntry>) -> Self {
        let hasher = foldhash::quality::RandomState::default();
        let mut shards: Vec<Vec<(Place, Rule)>> = vec![Vec::new(); SHARDS];
        for entry in entries {
            let rule = Rule::new(Arc::new(entry));
            let place = rule.place(&hasher);
            shards[place.shard()].push((place, rule));
        }
        let sorted = shards.into_iter().map(|mut shard| {
            shard.sort_unstable_by_key(|(place, _)| *place);
            let (places, rules) = shard.into_iter().unzip();
            Arc::new(Shard { places, rules })
        });
        Self { shards: sorted.collect(), hasher }
    }

    /// The table with `entry` in place of the one for the same agent, server and tool.
    pub(super) fn with(&self, entry: &Arc<StoredEntry>) -> Self {
        let rule = Rule::new(Arc::clone(entry));
        let place = rule.place(&self.hasher);
        let mut shard = self.shards[place.shard()].without(&entry.entry.key());
        let index = shard.places.partition_point(|other| *other < place);
        shard.places.insert(index, place);
        shard.rules.insert(index, rule);
        self.replaced(place.shard(), shard)
    }

    /// The table without the entry of `key`.
    pub(super) fn without(&self, key: &EntryKey) -> Self {
        let place = self.place(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        self.replaced(place.shard(), self.shards[place.shard()].without(key))
    }

    /// The entries of `key`, ended ones included; one, unless a store returned several.
    pub(super) fn entries_of(&self, key: &EntryKey) -> Vec<Arc<StoredEntry>> {
        let rules = self.rules_of(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        rules.map(|rule| Arc::clone(&rule.stored)).collect()
    }

    /// The entry that decides about a tool or, without one, about the server: what it says, and all of it.
    pub(super) fn deciding(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: Moment,
    ) -> Option<(AccessPermission, AccessSource, &StoredEntry)> {
        let of_tool = tool.and_then(|tool| self.strictest(agent, server, Some(tool), moment));
        if let Some(rule) = of_tool {
            return Some((rule.permission, AccessSource::ToolGrant, &rule.stored));
        }
        let rule = self.strictest(agent, server, None, moment)?;
        Some((rule.permission, AccessSource::ServerGrant, &rule.stored))
    }

    /// Whether an entry allows anything on the server.
    pub(super) fn allows_some(&self, agent: &str, server: &str, moment: Moment) -> bool {
        let pair = self.hasher.hash_one((agent, server));
        let shard = &self.shards[Place { pair, tool: 0 }.shard()];
        let start = shard.places.partition_point(|place| place.pair < pair);
        let of_pair = shard.places[start..].iter().zip(&shard.rules[start..]);
        of_pair.take_while(|(place, _)| place.pair == pair).any(|(_, rule)| {
            rule.permission == AccessPermission::Allow
                && rule.names.begin_with(agent, server)
                && moment.is_live(rule)
        })
    }

    fn strictest(&self, agent: &str, server: &str, tool: Option<&str>, moment: Moment) -> Option<&Rule> {
        // Where a store returned two entries for the same, the one that denies decides.
        self.rules_of(agent, server, tool)
            .filter(|rule| moment.is_live(rule))
            .max_by_key(|rule| rule.permission == AccessPermission::Deny)
    }

    fn rules_of(&self, agent: &str, server: &str, tool: Option<&str>) -> impl Iterator<Item = &Rule> {
        let place = self.place(agent, server, tool);
        let shard = &self.shards[place.shard()];
        let start = shard.places.partition_point(|other| *other < place);
        let same_place = shard.places[start..].iter().zip(&shard.rules[start..]);
        same_place
            .take_while(move |(other, _)| **other == place)
            .map(|(_, rule)| rule)
            .filter(move |rule| rule.names.are(agent, server, tool))
    }

    fn place(&self, agent: &str, server: &str, tool: Option<&str>) -> Place {
        Place { pair: self.hasher.hash_one((agent, server)), tool: self.hasher.hash_one(tool) }
    }

    fn replaced(&self, index: usize, shard: Shard) -> Self {
        let mut shards = self.shards.clone();
        shards[index] = Arc::new(shard);
        Self { shards, hasher: self.hasher.clone() }
    }
}

impl Shard {
    /// The shard without the entries of `key`, and with room for one more.
    fn without(&self, key: &EntryKey) -> Self {
        let room = self.places.len() + 1;
        let mut kept = Self { places: Vec::with_capacity(room), rules: Vec::with_capacity(room) };
        for (place, rule) in self.places.iter().zip(&self.rules) {
            if !rule.names.are(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key)) {
                kept.places.push(*place);
                kept.rules.push(rule.clone());
            }
        }
        kept
    }
}

impl Place {
    fn shard(self) -> usize {
        let [low, high, ..] = self.pair.to_le_bytes();
        usize::from(u16::from_le_bytes([low, high])) % SHARDS
    }
}

impl Rule {
    fn new(stored: Arc<StoredEntry>) -> Self {
        let entry = &stored.entry;
        Self { names: Names::of(entry), permission: entry.permission, end: entry.expires_at, stored }
    }

    fn place(&self, hasher: &foldhash::quality::RandomState) -> Place {
        let entry = &self.stored.entry;
        let tool = entry.tool_name.as_ref().map(ToolName::as_str);
        let pair = hasher.hash_one((entry.agent_id.as_str(), entry.server_id.as_str()));
        Place { pair, tool: hasher.hash_one(tool) }
    }
}

impl Names {
    fn of(entry: &AccessEntry) -> Self {
        let (agent, server) = (entry.agent_id.as_str(), entry.server_id.as_str());
        let tool = entry.tool_name.as_ref().map(ToolName::as_str);
        Self {
            text: [agent, server, tool.unwrap_or_default()].concat().into(),
            agent_len: agent.len(),
            server_len: server.len(),
            of_tool: tool.is_some(),
        }
    }

    fn are(&self, agent: &str, server: &str, tool: Option<&str>) -> bool {
        self.of_tool == tool.is_some() && self.rest(agent, server) == Some(tool.unwrap_or_default())
    }

    fn begin_with(&self, agent: &str, server: &str) -> bool {
        self.rest(agent, server).is_some()
    }

    /// The name of the tool, if the others are these.
    fn rest(&self, agent: &str, server: &str) -> Option<&str> {
        let lengths = self.agent_len == agent.len() && self.server_len == server.len();
        if !lengths {
            return None;
        }
        self.text.strip_prefix(agent)?.strip_prefix(server)
    }
}

impl Moment {
    fn is_live(self, rule: &Rule) -> bool {
        let time = match rule.permission {
            AccessPermission::Allow => self.latest,
            AccessPermission::Deny => self.now,
        };
        rule.end.is_none_or(|end| time < end)
    }
}

fn tool_of(key: &EntryKey) -> Option<&str> {
    key.tool_name.as_ref().map(ToolName::as_str)
}

/// With a hundred thousand entries a change copies about eleven hundred pointers, and a lookup compares about seven
/// numbers.
const SHARDS: usize = 1024;
