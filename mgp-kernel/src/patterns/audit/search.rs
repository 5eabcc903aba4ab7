//! Searches: the pages of events that match a filter.

use std::ops::Range;

use mgp_security::StoreError;
use mgp_types::RawJson;
use mgp_types::mgp::{Outcome, Timestamp, TraceId};
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
        let filter = FilterValues::of(filter);
        let ids = bounds.ids();
        if filter.trace.is_some() {
            page.read(&connection, &filter, "events_by_trace", &ids)?;
            return Ok(page.page);
        }
        let order = bounds.order.sql();
        let mut blocks = connection.prepare_cached(&format!(
            "SELECT DISTINCT block FROM counts
             WHERE block >= :first AND block <= :last AND hour >= :since AND hour <= :until AND {KIND} ORDER BY block {order}"
        ))?;
        let (first, last) = (ids.start / BLOCK, ids.end / BLOCK);
        let (since, until) = (filter.since.div_euclid(HOUR_MILLIS), filter.until.div_euclid(HOUR_MILLIS));
        let mut values = filter.kind();
        values.extend([
            (":first", &first as &dyn ToSql),
            (":last", &last),
            (":since", &since),
            (":until", &until),
        ]);
        let mut blocks = blocks.query(&*values)?;
        while let Some(block) = blocks.next()? {
            let block: i64 = block.get(0)?;
            let of_block = ids.start.max(block * BLOCK)..ids.end.min((block + 1) * BLOCK);
            page.read(&connection, &filter, "events_facets", &of_block)?;
            if page.page.next.is_some() {
                break;
            }
        }
        Ok(page.page)
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
        filter: &FilterValues,
        index: &str,
        ids: &Range<i64>,
    ) -> Result<(), StoreError> {
        let order = self.bounds.order.sql();
        let mut found = connection.prepare_cached(&format!(
            "SELECT id, event FROM events WHERE id IN (
                SELECT id FROM events INDEXED BY {index}
                WHERE id >= :start AND id < :end AND millis >= :since AND millis < :until
                    AND (:trace IS NULL OR trace = :trace) AND {KIND}
                ORDER BY id {order} LIMIT :limit
             ) ORDER BY id {order}"
        ))?;
        let limit = i64::try_from(self.bounds.most_events - self.page.events.len()).unwrap_or(i64::MAX);
        let mut values = filter.kind();
        values.extend(named_params! {
            ":start": ids.start, ":end": ids.end, ":since": filter.since, ":until": filter.until,
            ":trace": filter.trace, ":limit": limit,
        });
        let mut rows = found.query(&*values)?;
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

/// The values of a filter, as statements take them.
struct FilterValues {
    types: Option<String>,
    agent: Option<String>,
    server: Option<String>,
    result: Option<&'static str>,
    since: i64,
    until: i64,
    trace: Option<[u8; 16]>,
}

impl FilterValues {
    fn of(filter: &EventFilter) -> Self {
        let types = (!filter.types.is_empty()).then(|| serde_json::json!(filter.types).to_string());
        Self {
            types,
            agent: filter.agent.clone(),
            server: filter.server.clone(),
            result: filter.result.map(Outcome::as_str),
            since: filter.since.map_or(i64::MIN, Timestamp::as_millis),
            until: filter.until.map_or(i64::MAX, Timestamp::as_millis),
            trace: filter.trace.map(|trace| trace_bytes(trace.as_u128())),
        }
    }

    /// Returns the values of [`KIND`].
    fn kind(&self) -> Vec<(&'static str, &dyn ToSql)> {
        vec![
            (":types", &self.types),
            (":agent", &self.agent),
            (":server", &self.server),
            (":result", &self.result),
        ]
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

/// The condition on the kind of an event, for both tables.
const KIND: &str = "(:types IS NULL OR event_type IN (SELECT value FROM json_each(:types)))
    AND (:agent IS NULL OR agent = :agent)
    AND (:server IS NULL OR server = :server)
    AND (:result IS NULL OR result = :result)";

/// The number of events in a block, as in `schema.sql`.
pub(super) const BLOCK: i64 = 1_024;
