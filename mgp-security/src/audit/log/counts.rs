//! Counts of events and times of calls, by spans of time.

use std::collections::BTreeMap;
use std::time::Duration;

use mgp_types::mgp::{ServerId, Timestamp};
use rusqlite::params;

use super::store::{LogStore, integer, natural};
use crate::StoreError;

impl LogStore {
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
