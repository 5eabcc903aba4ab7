use std::hash::BuildHasher;
use std::sync::Arc;

use mgp_types::mgp::{AccessPermission, Timestamp, ToolName};

use super::StoredEntry;
use super::entry::EntryKey;

/// All entries, never changed: a change makes another table that shares all but one shard with this one.
///
/// One table is one moment. A decision that looks twice, for the tool and for the server, must look at the same
/// moment, or it could see a combination of entries that never was. Within a shard the entries are sorted by hashes,
/// so a lookup compares numbers and needs no key made of borrowed names; what it finds is compared by name.
#[derive(Debug, Clone)]
pub(super) struct Table {
    shards: Box<[Arc<[Slot]>]>,
    hasher: foldhash::quality::RandomState,
}

#[derive(Debug, Clone)]
struct Slot {
    place: Place,
    entry: Arc<StoredEntry>,
}

/// Entries of the same agent and server stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    pair: u64,
    tool: u64,
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
        let mut shards: Vec<Vec<Slot>> = vec![Vec::new(); SHARDS];
        for entry in entries {
            let slot = Slot::new(Arc::new(entry), &hasher);
            shards[shard_of(slot.place)].push(slot);
        }
        let sorted = shards.into_iter().map(|mut shard| {
            shard.sort_unstable_by_key(|slot| slot.place);
            Arc::from(shard)
        });
        Self { shards: sorted.collect(), hasher }
    }

    /// The table with `entry` in place of the one for the same agent, server and tool.
    pub(super) fn with(&self, entry: Arc<StoredEntry>) -> Self {
        let slot = Slot::new(entry, &self.hasher);
        let shard = shard_of(slot.place);
        let mut slots = self.kept(shard, &slot.entry.entry.key());
        let index = slots.partition_point(|other| other.place < slot.place);
        slots.insert(index, slot);
        self.replaced(shard, slots)
    }

    /// The table without the entry of `key`.
    pub(super) fn without(&self, key: &EntryKey) -> Self {
        let place = self.place(key.agent_id.as_str(), key.server_id.as_str(), tool_of(key));
        let shard = shard_of(place);
        self.replaced(shard, self.kept(shard, key))
    }

    /// The entries of `key`, ended ones included; one, unless a store returned several.
    pub(super) fn entries_of(&self, key: &EntryKey) -> Vec<Arc<StoredEntry>> {
        let (agent, server) = (key.agent_id.as_str(), key.server_id.as_str());
        self.run(agent, server, tool_of(key)).map(Arc::clone).collect()
    }

    /// The entry that decides about a tool or, without one, about the server.
    pub(super) fn deciding(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: Moment,
    ) -> Option<&Arc<StoredEntry>> {
        let of_tool = tool.and_then(|tool| self.strictest(agent, server, Some(tool), moment));
        of_tool.or_else(|| self.strictest(agent, server, None, moment))
    }

    /// Whether an entry allows anything on the server.
    pub(super) fn allows_some(&self, agent: &str, server: &str, moment: Moment) -> bool {
        let pair = self.hasher.hash_one((agent, server));
        let slots = &self.shards[shard_of(Place { pair, tool: 0 })];
        let start = slots.partition_point(|slot| slot.place.pair < pair);
        slots[start..].iter().take_while(|slot| slot.place.pair == pair).any(|slot| {
            let entry = &slot.entry.entry;
            let named = entry.agent_id.as_str() == agent && entry.server_id.as_str() == server;
            named && entry.permission == AccessPermission::Allow && moment.is_live(&slot.entry)
        })
    }

    fn strictest(
        &self,
        agent: &str,
        server: &str,
        tool: Option<&str>,
        moment: Moment,
    ) -> Option<&Arc<StoredEntry>> {
        // Where a store returned two entries for the same, the one that denies decides.
        self.run(agent, server, tool)
            .filter(|entry| moment.is_live(entry))
            .max_by_key(|entry| (entry.entry.permission == AccessPermission::Deny, entry.id))
    }

    fn run(&self, agent: &str, server: &str, tool: Option<&str>) -> impl Iterator<Item = &Arc<StoredEntry>> {
        let place = self.place(agent, server, tool);
        let slots = &self.shards[shard_of(place)];
        let start = slots.partition_point(|slot| slot.place < place);
        let same_place = slots[start..].iter().take_while(move |slot| slot.place == place);
        same_place.map(|slot| &slot.entry).filter(move |stored| {
            let entry = &stored.entry;
            entry.agent_id.as_str() == agent
                && entry.server_id.as_str() == server
                && entry.tool_name.as_ref().map(ToolName::as_str) == tool
        })
    }

    fn place(&self, agent: &str, server: &str, tool: Option<&str>) -> Place {
        place(&self.hasher, agent, server, tool)
    }

    /// The shard without the entries of `key`, and with room for one more.
    fn kept(&self, shard: usize, key: &EntryKey) -> Vec<Slot> {
        let mut slots = Vec::with_capacity(self.shards[shard].len() + 1);
        slots.extend(self.shards[shard].iter().filter(|slot| !slot.entry.entry.is_of(key)).cloned());
        slots
    }

    fn replaced(&self, shard: usize, slots: Vec<Slot>) -> Self {
        let mut shards = self.shards.clone();
        shards[shard] = slots.into();
        Self { shards, hasher: self.hasher.clone() }
    }
}

impl Slot {
    fn new(entry: Arc<StoredEntry>, hasher: &foldhash::quality::RandomState) -> Self {
        let told = &entry.entry;
        let tool = told.tool_name.as_ref().map(ToolName::as_str);
        let place = place(hasher, told.agent_id.as_str(), told.server_id.as_str(), tool);
        Self { place, entry }
    }
}

impl Moment {
    fn is_live(self, stored: &StoredEntry) -> bool {
        let entry = &stored.entry;
        let time = match entry.permission {
            AccessPermission::Allow => self.latest,
            AccessPermission::Deny => self.now,
        };
        entry.expires_at.is_none_or(|end| time < end)
    }
}

fn place(hasher: &foldhash::quality::RandomState, agent: &str, server: &str, tool: Option<&str>) -> Place {
    Place { pair: hasher.hash_one((agent, server)), tool: hasher.hash_one(tool) }
}

fn shard_of(place: Place) -> usize {
    let [low, high, ..] = place.pair.to_le_bytes();
    usize::from(u16::from_le_bytes([low, high])) % SHARDS
}

fn tool_of(key: &EntryKey) -> Option<&str> {
    key.tool_name.as_ref().map(ToolName::as_str)
}

/// With a hundred thousand entries a change copies about a thousand pointers, and a lookup compares about seven.
const SHARDS: usize = 512;
