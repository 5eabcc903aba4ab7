//! Statistics: how many events there are, by groups.

use std::collections::BTreeMap;
use std::ops::Range;

use mgp_security::StoreError;
use mgp_types::mgp::Timestamp;
use rusqlite::{Connection, params};
use schemars::JsonSchema;
use serde::Deserialize;

use super::search::BLOCK;
use super::store::{EventStore, HOUR_MILLIS};

/// The property that events are grouped by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum GroupBy {
    /// The type of the event.
    #[default]
    EventType,
    /// The agent that acted; events of others count in the total only.
    AgentId,
    /// The server that the event is about; events about none count in the total only.
    ServerId,
    /// The outcome.
    Result,
    /// The hour, by the beginning of it.
    Hour,
}

/// Numbers of events.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct EventCounts {
    pub(super) total: u64,
    /// The groups with their numbers: the largest first, hours in their order.
    pub(super) groups: Vec<(String, u64)>,
}

impl EventStore {
    /// Returns how many events there are from `since` on and before `until`.
    ///
    /// Whole hours are added up from the counts; only in an hour that begins or ends within the period are events read.
    pub(super) fn count(
        &self,
        since: Option<Timestamp>,
        until: Option<Timestamp>,
        by: GroupBy,
    ) -> Result<EventCounts, StoreError> {
        let period =
            since.map_or(i64::MIN, Timestamp::as_millis)..until.map_or(i64::MAX, Timestamp::as_millis);
        let mut found = Groups::default();
        let mut connection = self.reader.connection();
        // One transaction, so that an event that comes meanwhile is counted once or not at all.
        let transaction = connection.transaction()?;
        let HourSplit { whole, edges } = HourSplit::of(period);
        found.add_whole(&transaction, &whole, by)?;
        for edge in edges {
            found.add_edge(&transaction, &edge, by)?;
        }
        Ok(found.finish(by))
    }
}

/// A period, split at the hours.
#[derive(Debug, PartialEq, Eq)]
struct HourSplit {
    /// The hours that lie within the period as a whole.
    whole: Range<i64>,
    /// The rest of the period, in milliseconds: parts of one hour each.
    edges: Vec<Range<i64>>,
}

impl HourSplit {
    fn of(period: Range<i64>) -> Self {
        let first =
            period.start.div_euclid(HOUR_MILLIS) + i64::from(period.start.rem_euclid(HOUR_MILLIS) > 0);
        let end = period.end.div_euclid(HOUR_MILLIS);
        if first > end {
            return Self { whole: 0..0, edges: vec![period] };
        }
        let edges =
            [period.start..first.saturating_mul(HOUR_MILLIS), end.saturating_mul(HOUR_MILLIS)..period.end];
        // An open end has no edge.
        let is_edge = |edge: &Range<i64>| !edge.is_empty() && edge.start != i64::MIN && edge.end != i64::MAX;
        Self { whole: first..end, edges: edges.into_iter().filter(is_edge).collect() }
    }
}

/// Groups that are being counted.
#[derive(Debug, Default)]
struct Groups {
    total: u64,
    counts: BTreeMap<String, u64>,
}

impl Groups {
    fn add_whole(
        &mut self,
        connection: &Connection,
        hours: &Range<i64>,
        by: GroupBy,
    ) -> Result<(), StoreError> {
        let column = by.column();
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {column}, sum(events) FROM counts WHERE hour >= ?1 AND hour < ?2 GROUP BY 1"
        ))?;
        let mut rows = statement.query([hours.start, hours.end])?;
        while let Some(row) = rows.next()? {
            let group = if by == GroupBy::Hour { hour_text(row.get(0)?) } else { row.get(0)? };
            self.add(group, row.get(1)?);
        }
        Ok(())
    }

    fn add_edge(
        &mut self,
        connection: &Connection,
        edge: &Range<i64>,
        by: GroupBy,
    ) -> Result<(), StoreError> {
        let hour = edge.start.div_euclid(HOUR_MILLIS);
        let column = if by == GroupBy::Hour { "?5" } else { by.column() };
        // Where the events of the hour lie.
        let blocks = "SELECT min(block), max(block) FROM counts WHERE hour = ?1";
        let (first, last): (Option<i64>, Option<i64>) =
            connection.query_row(blocks, [hour], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(first), Some(last)) = (first, last) else { return Ok(()) };
        let mut statement = connection.prepare_cached(&format!(
            "SELECT {column}, count(*) FROM events INDEXED BY events_facets
             WHERE id >= ?1 AND id < ?2 AND millis >= ?3 AND millis < ?4 AND ?5 IS NOT NULL GROUP BY 1"
        ))?;
        let mut rows = statement.query(params![
            first * BLOCK,
            (last + 1) * BLOCK,
            edge.start,
            edge.end,
            hour_text(hour)
        ])?;
        while let Some(row) = rows.next()? {
            self.add(row.get(0)?, row.get(1)?);
        }
        Ok(())
    }

    fn add(&mut self, group: String, events: i64) {
        let events = u64::try_from(events).unwrap_or(0);
        self.total += events;
        // Events without an agent or a server belong to no group.
        if !group.is_empty() {
            *self.counts.entry(group).or_default() += events;
        }
    }

    fn finish(self, by: GroupBy) -> EventCounts {
        let mut groups: Vec<_> = self.counts.into_iter().collect();
        if by == GroupBy::Hour {
            groups.drain(..groups.len().saturating_sub(MAX_GROUPS));
        } else {
            groups.sort_by(|(_, one), (_, other)| other.cmp(one));
            groups.truncate(MAX_GROUPS);
        }
        EventCounts { total: self.total, groups }
    }
}

impl GroupBy {
    const fn column(self) -> &'static str {
        match self {
            Self::EventType => "event_type",
            Self::AgentId => "agent",
            Self::ServerId => "server",
            Self::Result => "result",
            Self::Hour => "hour",
        }
    }
}

/// Returns the beginning of an hour as text.
fn hour_text(hour: i64) -> String {
    let start = Timestamp::from_millis(hour.saturating_mul(HOUR_MILLIS));
    start.unwrap_or(Timestamp::EPOCH).to_string()
}

/// How many groups are told at most: the largest, or the last hours.
pub(super) const MAX_GROUPS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_is_split_into_whole_hours_and_the_rest() {
        let split = |start, end| HourSplit::of(start..end);
        let of = |whole, edges: &[(i64, i64)]| {
            let edges = edges.iter().map(|(start, end)| *start..*end).collect();
            HourSplit { whole, edges }
        };
        assert_eq!(split(0, 2 * HOUR_MILLIS), of(0..2, &[]));
        assert_eq!(split(1, 2 * HOUR_MILLIS + 1), {
            of(1..2, &[(1, HOUR_MILLIS), (2 * HOUR_MILLIS, 2 * HOUR_MILLIS + 1)])
        });
        assert_eq!(split(5, 9), of(0..0, &[(5, 9)]));
        assert_eq!(split(-1, 0), of(0..0, &[(-1, 0)]));
        let (ends, whole) = (split(i64::MIN, i64::MAX), i64::MIN / HOUR_MILLIS..i64::MAX / HOUR_MILLIS);
        assert_eq!(ends, of(whole, &[]));
    }
}
