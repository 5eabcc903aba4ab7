//! Searches: the pages of events that match a filter.

use std::ops::Range;

use mgp_security::StoreError;
use mgp_types::RawJson;
use mgp_types::mgp::{Outcome, Timestamp, TraceId};
use rusqlite::types::Value;
use rusqlite::{Connection, ToSql, named_params};

use super::store::{EventStore, HOUR_MILLIS, as_json, trace_bytes};

/// The events that are searched; each value that is set narrows them.
#[derive(Debug, Clone, Default)]
pub(super) struct EventFilter {
    /// The types; all if empty.
    pub(super) types: Vec<String>,
    pub(super) agent: Option<String>,
    pub(super) server: Option<String>,
    pub(super) result: Option<Outcome>,
    /// The earliest time, included.
    pub(super) since: Option<Timestamp>,
    /// The latest time, not included.
    pub(super) until: Option<Timestamp>,
    pub(super) trace: Option<TraceId>,
}

/// The order of events, which is the one in which they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Order {
    NewestFirst,
    OldestFirst,
}

/// The part of the found events that is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct PageBounds {
    pub(super) order: Order,
    /// The cursor of the page before.
    pub(super) behind: Option<i64>,
    pub(super) most_events: usize,
    pub(super) most_bytes: usize,
}

/// Some of the events that were found, in their order.
#[derive(Debug, Default)]
pub(super) struct EventPage {
    pub(super) events: Vec<RawJson>,
    /// The cursor for the next page, if there may be one.
    pub(super) next: Option<i64>,
}

impl EventStore {
    /// Returns a page of the events that match `filter`.
    ///
    /// A search by trace reads the index of traces. Any other looks up which blocks have such events, and reads only as
    /// many of those as the page needs.
    pub(super) fn search(&self, filter: &EventFilter, bounds: PageBounds) -> Result<EventPage, StoreError> {
        let connection = self.reader.connection();
        let mut page = OpenPage { page: EventPage::default(), bounds, bytes: 0 };
        let period = filter.period();
        let kind = Conditions::of_kind(filter);
        let ids = bounds.ids();
        if let Some(trace) = filter.trace {
            let trace = trace_bytes(trace.as_u128());
            let of_trace = kind.and("trace = :trace", ":trace", Value::Blob(trace.to_vec()));
            page.read(&connection, &of_trace, &period, "events_by_trace", &ids)?;
            return Ok(page.page);
        }
        let order = bounds.order.sql();
        let mut blocks = connection.prepare_cached(&format!(
            "SELECT DISTINCT block FROM counts
             WHERE block >= :first AND block <= :last AND hour >= :since AND hour <= :until{} ORDER BY block {order}",
            kind.sql
        ))?;
        let (first, last) = (ids.start / BLOCK, ids.end / BLOCK);
        let (since, until) = (period.start.div_euclid(HOUR_MILLIS), period.end.div_euclid(HOUR_MILLIS));
        let bounds_of_blocks =
            named_params! { ":first": first, ":last": last, ":since": since, ":until": until };
        let mut blocks = blocks.query(&*kind.with(bounds_of_blocks))?;
        while let Some(block) = blocks.next()? {
            let block: i64 = block.get(0)?;
            let of_block = ids.start.max(block * BLOCK)..ids.end.min((block + 1) * BLOCK);
            page.read(&connection, &kind, &period, "events_facets", &of_block)?;
            if page.page.next.is_some() {
                break;
            }
        }
        Ok(page.page)
    }
}

impl EventFilter {
    /// Returns the time of what is searched, in milliseconds.
    fn period(&self) -> Range<i64> {
        self.since.map_or(i64::MIN, Timestamp::as_millis)..self.until.map_or(i64::MAX, Timestamp::as_millis)
    }
}

impl PageBounds {
    /// Returns the numbers of the events that may be in the page.
    fn ids(&self) -> Range<i64> {
        match (self.order, self.behind) {
            (_, None) => 0..i64::MAX - BLOCK,
            (Order::NewestFirst, Some(behind)) => 0..behind,
            (Order::OldestFirst, Some(behind)) => behind.saturating_add(1)..i64::MAX - BLOCK,
        }
    }
}

/// A page that is being filled.
struct OpenPage {
    page: EventPage,
    bounds: PageBounds,
    bytes: usize,
}

impl OpenPage {
    /// Adds the events with these numbers that match, as many as there is room for.
    fn read(
        &mut self,
        connection: &Connection,
        conditions: &Conditions,
        period: &Range<i64>,
        index: &str,
        ids: &Range<i64>,
    ) -> Result<(), StoreError> {
        let order = self.bounds.order.sql();
        let mut found = connection.prepare_cached(&format!(
            "SELECT id, event FROM events WHERE id IN (
                SELECT id FROM events INDEXED BY {index}
                WHERE id >= :start AND id < :end AND millis >= :since AND millis < :until{}
                ORDER BY id {order} LIMIT :limit
             ) ORDER BY id {order}",
            conditions.sql
        ))?;
        let limit = i64::try_from(self.bounds.most_events - self.page.events.len()).unwrap_or(i64::MAX);
        let mut rows = found.query(&*conditions.with(named_params! {
            ":start": ids.start, ":end": ids.end, ":since": period.start, ":until": period.end, ":limit": limit,
        }))?;
        while let Some(row) = rows.next()? {
            let event: String = row.get(1)?;
            self.bytes += event.len();
            self.page.events.push(as_json(event));
            if self.page.events.len() >= self.bounds.most_events || self.bytes >= self.bounds.most_bytes {
                self.page.next = Some(row.get(0)?);
                break;
            }
        }
        Ok(())
    }
}

/// What a filter asks of an event besides its time, as part of a statement.
///
/// What the filter leaves open is not in it: each further comparison would be made for every row, and one with
/// `OR` would keep an index from being used.
#[derive(Debug, Default)]
struct Conditions {
    /// Each begins with ` AND`.
    sql: String,
    values: Vec<(&'static str, Value)>,
}

impl Conditions {
    /// Returns what `filter` asks of the columns that both tables have.
    fn of_kind(filter: &EventFilter) -> Self {
        let mut conditions = Self::default();
        if !filter.types.is_empty() {
            let types = serde_json::json!(filter.types).to_string();
            conditions = conditions.and(
                "event_type IN (SELECT value FROM json_each(:types))",
                ":types",
                Value::Text(types),
            );
        }
        let columns = [
            // The clients of the user are found under the agent that they all are, too.
            (
                "(agent = :agent OR (:agent = 'local' AND agent GLOB 'local/*'))",
                ":agent",
                filter.agent.as_deref(),
            ),
            ("server = :server", ":server", filter.server.as_deref()),
            ("result = :result", ":result", filter.result.map(Outcome::as_str)),
        ];
        for (condition, name, value) in columns {
            if let Some(value) = value {
                conditions = conditions.and(condition, name, Value::Text(value.to_owned()));
            }
        }
        conditions
    }

    fn and(mut self, condition: &str, name: &'static str, value: Value) -> Self {
        self.sql.push_str(" AND ");
        self.sql.push_str(condition);
        self.values.push((name, value));
        self
    }

    /// Returns the values, and those of the rest of the statement.
    fn with<'a>(&'a self, others: &[(&'a str, &'a dyn ToSql)]) -> Vec<(&'a str, &'a dyn ToSql)> {
        let own = self.values.iter().map(|(name, value)| (*name, value as &dyn ToSql));
        own.chain(others.iter().copied()).collect()
    }
}

impl Order {
    const fn sql(self) -> &'static str {
        match self {
            Self::NewestFirst => "DESC",
            Self::OldestFirst => "ASC",
        }
    }
}

/// The number of events in a block, as in `schema.sql`.
pub(super) const BLOCK: i64 = 1_024;
