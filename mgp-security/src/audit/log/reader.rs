//! The queries on an audit log, the counts of its events, and the subscription that follows it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{AgentId, EventType, Outcome, ServerId, Timestamp, TraceId};
use rusqlite::params;
use tokio::sync::watch;

use super::chain::LogHead;
use super::entry::LogEntry;
use super::recent::RecentEntries;
use super::store::{LogStore, integer, natural};
use crate::StoreError;
use mgp_store::off_the_runtime;

/// A selection of events. An event matches if it meets every condition that is set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// The types to select; all if empty.
    pub event_types: Vec<EventType>,
    /// The agent that acted; `local` stands for all clients of the user.
    pub agent_id: Option<AgentId>,
    /// The server that the event is about.
    pub server_id: Option<ServerId>,
    /// The outcome of the event.
    pub result: Option<Outcome>,
    /// The earliest time, included.
    pub since: Option<Timestamp>,
    /// The latest time, not included.
    pub until: Option<Timestamp>,
    /// The trace id of the event's chain of requests.
    pub trace_id: Option<TraceId>,
}

/// A query for a page of events of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// The events to return.
    pub filter: Filter,
    /// The order of the events, by their numbers; a clock that is set back does not change it.
    pub order: Order,
    /// The number behind which, in that order, the page begins: that of the last event of the page before.
    pub behind: Option<u64>,
    /// The largest number of events to return; never more than [`Query::MAX_LIMIT`].
    pub limit: usize,
}

impl Query {
    /// The largest number of events that one query returns.
    pub const MAX_LIMIT: usize = 1_000;

    /// Returns a query for the last fifty events that match `filter`.
    pub const fn new(filter: Filter) -> Self {
        Self { filter, order: Order::NewestFirst, behind: None, limit: 50 }
    }

    /// Returns a query for the first events that match `filter` and have a number above `seq`, oldest first.
    pub const fn after(filter: Filter, seq: u64, limit: usize) -> Self {
        Self { filter, order: Order::OldestFirst, behind: Some(seq), limit }
    }
}

/// An order of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two directions")]
pub enum Order {
    /// The event with the highest number comes first.
    NewestFirst,
    /// The event with the lowest number comes first.
    OldestFirst,
}

impl LogStore {
    /// Returns how many calls of tools each agent made from `since` on, for the 100 busiest ones, the busiest first. Each attempt
    /// of a call counts. Looks at the newest `at_most` events only.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn callers(&self, since: Timestamp, at_most: u64) -> Result<Vec<(String, u64)>, StoreError> {
        self.reader.read_all(
            "SELECT agent, count(*) FROM audit_events INDEXED BY audit_facets
             WHERE seq > (SELECT max(seq) FROM audit_events) - ?2 AND millis >= ?1 AND agent IS NOT NULL
                AND event_type IN ('TOOL_EXECUTED', 'TOOL_BLOCKED') GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 100",
            params![since.as_millis(), integer(at_most)],
            |row| Ok((row.get(0)?, natural(row.get(1)?))),
        )
    }

    /// Returns how many events each span of `width` from `since` on has, and how many of them are no success: for the spans that
    /// have any, by their numbers. Looks at the newest `at_most` events only, and counts those about `server`, if one is given.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn counts(
        &self,
        server: Option<&ServerId>,
        since: Timestamp,
        width: Duration,
        at_most: u64,
    ) -> Result<BTreeMap<u64, (u64, u64)>, StoreError> {
        let counted = self.reader.read_all(
            "SELECT (millis - ?1) / ?2, count(*), sum(result <> 'SUCCESS') FROM audit_events INDEXED BY audit_facets
             WHERE seq > (SELECT max(seq) FROM audit_events) - ?3 AND millis >= ?1 AND (?4 IS NULL OR server = ?4)
             GROUP BY 1",
            params![since.as_millis(), whole_millis(width), integer(at_most), server.map(ServerId::as_str)],
            |row| Ok((natural(row.get(0)?), (natural(row.get(1)?), natural(row.get(2)?)))),
        )?;
        Ok(counted.into_iter().collect())
    }

    /// Returns the times in milliseconds that calls of tools of `server` took, in rising order, for each span of `width` from
    /// `since` on that has any. Looks at the newest `at_most` events only, and at [`MAX_TIMED`](Self::MAX_TIMED) calls among them.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn call_times(
        &self,
        server: &ServerId,
        since: Timestamp,
        width: Duration,
        at_most: u64,
    ) -> Result<BTreeMap<u64, Vec<u64>>, StoreError> {
        let mut times = BTreeMap::<u64, Vec<u64>>::new();
        let (at_most, server) = (integer(at_most), server.as_str());
        // The times stand in the events, and reading those costs far more than searching the index.
        self.reader.read_all(
            "SELECT (millis - ?1) / ?2, CAST(json_extract(event, '$.details.duration_ms') AS INTEGER) AS took
             FROM audit_events WHERE seq IN (
                SELECT seq FROM audit_events INDEXED BY audit_facets
                WHERE seq > (SELECT max(seq) FROM audit_events) - ?3 AND millis >= ?1 AND server = ?4
                    AND event_type = 'TOOL_EXECUTED' ORDER BY seq DESC LIMIT ?5
             ) AND took IS NOT NULL ORDER BY took",
            params![since.as_millis(), whole_millis(width), at_most, server, Self::MAX_TIMED],
            |row| {
                times.entry(natural(row.get(0)?)).or_default().push(natural(row.get(1)?));
                Ok(())
            },
        )?;
        Ok(times)
    }

    /// The number of calls of which [`call_times`](Self::call_times) reads the time at most.
    pub const MAX_TIMED: u32 = 5_000;
}

/// Returns the width of a span in milliseconds, by which times can be divided.
fn whole_millis(width: Duration) -> i64 {
    i64::try_from(width.as_millis()).unwrap_or(i64::MAX).max(1)
}

/// A subscription to the events of a log from a given number on, each delivered when it is durable. All forwarding of
/// the log to others starts here.
///
/// The subscription is a position in the log and not a queue: a slow subscriber falls behind, but loses nothing and
/// holds up nobody. The newest events come from memory, and older ones from the store. Only events that retention removes
/// before the subscriber has read them are missing, and the numbers show it.
#[derive(Debug)]
pub struct LogSubscription {
    pub(super) store: LogStore,
    pub(super) head: watch::Receiver<LogHead>,
    pub(super) recent: Arc<RecentEntries>,
    pub(super) after: u64,
}

impl LogSubscription {
    /// Waits for the next events, and returns some of them in order; returns `None` when the log is closed and all
    /// events were returned.
    ///
    /// # Errors
    /// Fails if the store cannot be read now; the next call tries the same events again.
    ///
    /// # Cancel safety
    /// Dropping the future loses no event.
    pub async fn next(&mut self) -> Result<Option<Vec<LogEntry>>, StoreError> {
        loop {
            let after = self.after;
            if self.head.wait_for(|head| head.seq > after).await.is_err() && self.head.borrow().seq <= after {
                return Ok(None);
            }
            let mut entries = self.recent.behind(after, PAGE).unwrap_or_default();
            if entries.is_empty() {
                let (store, query) = (self.store.clone(), Query::after(Filter::default(), after, PAGE));
                entries = off_the_runtime(move || store.query(&query)).await?;
            }
            if let Some(last) = entries.last() {
                self.after = last.seq;
                return Ok(Some(entries));
            }
        }
    }

    /// Returns the number of the last event that was returned.
    pub const fn position(&self) -> u64 {
        self.after
    }
}

/// The largest number of events that are returned at a time.
const PAGE: usize = 256;
