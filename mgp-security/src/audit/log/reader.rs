//! The reader of an audit log, by which events are searched, counted, exported and verified.

use std::sync::Arc;

use mgp_types::mgp::Timestamp;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use super::chain::{Chain, ChainKey};
use super::entry::LogEntry;
use super::filter::{Filter, GroupBy, Query};
use super::store::{Counts, LogStore};
use crate::StoreError;

/// A reader of a log, for use while the log is written or afterwards.
///
/// All its methods block for as long as the store takes: within a runtime, call them on a thread that may block.
#[derive(Debug, Clone)]
pub struct LogReader {
    pub(super) store: Arc<dyn LogStore>,
    pub(super) chain: Chain,
}

/// The number of events in a period, in total and by groups.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Stats {
    /// The period that the filter asked for.
    pub period: Period,
    /// The total number of events.
    pub total_events: u64,
    /// The number of events in each group: the largest group first, hours in their order.
    #[serde(serialize_with = "as_map")]
    pub breakdown: Vec<(String, u64)>,
}

/// A period of time; `None` leaves an end open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Period {
    /// The beginning of the period, included.
    pub since: Option<Timestamp>,
    /// The end of the period, not included.
    pub until: Option<Timestamp>,
}

impl LogReader {
    /// Returns a reader of the log in `store`, for a program that does not write the log.
    pub fn of_store(store: impl LogStore, key: Option<ChainKey>) -> Self {
        Self::new(Arc::new(store), Chain::new(key))
    }

    pub(super) const fn new(store: Arc<dyn LogStore>, chain: Chain) -> Self {
        Self { store, chain }
    }

    /// Returns the events that `query` asks for.
    pub fn query(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError> {
        self.store.read(query)
    }

    /// Returns the number of events that match `filter`, in total and by groups.
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
