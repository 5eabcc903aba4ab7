use std::sync::Arc;

use mgp_types::mgp::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::chain::{Chain, ChainKey};
use super::entry::LogEntry;
use super::filter::{Filter, GroupBy, Query};
use super::store::{Counts, LogStore};
use crate::StoreError;

/// What can be asked of a log, while it is written or afterwards.
///
/// Everything here blocks for as long as the store takes: within a runtime, call it from a thread that may block.
#[derive(Debug, Clone)]
pub struct LogReader {
    pub(super) store: Arc<dyn LogStore>,
    pub(super) chain: Chain,
}

/// How many events there are, and of what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The time that was asked for.
    pub period: Period,
    /// How many events there are in all.
    pub total_events: u64,
    /// How many there are in each group; the largest first, hours in their order.
    #[serde(serialize_with = "as_map")]
    pub breakdown: Vec<(String, u64)>,
}

/// A time from and to; `None` is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Period {
    /// The beginning.
    pub since: Option<Timestamp>,
    /// The end, which does not belong to it.
    pub until: Option<Timestamp>,
}

impl LogReader {
    /// What can be asked of the log in `store`, for a program that does not write it.
    pub fn of_store(store: impl LogStore, key: Option<ChainKey>) -> Self {
        Self::new(Arc::new(store), Chain::new(key))
    }

    pub(super) const fn new(store: Arc<dyn LogStore>, chain: Chain) -> Self {
        Self { store, chain }
    }

    /// The events that `query` asks for.
    pub fn query(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError> {
        self.store.read(query)
    }

    /// How many events `filter` asks for, by groups.
    pub fn stats(&self, filter: &Filter, by: GroupBy) -> Result<Stats, StoreError> {
        let Counts { total, groups } = self.store.count(filter, by)?;
        let period = Period { since: filter.since, until: filter.until };
        Ok(Stats { period, total_events: total, breakdown: groups })
    }
}

fn as_map<S: Serializer>(groups: &[(String, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    let mut map = serializer.serialize_map(Some(groups.len()))?;
    for (group, count) in groups {
        map.serialize_entry(group, count)?;
    }
    map.end()
}
