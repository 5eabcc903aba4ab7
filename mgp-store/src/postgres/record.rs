//! The events that kernels record, as rows that all kernels read.

use std::pin::pin;

use tokio_postgres::Row;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::{ToSql, Type};

use super::order::given_back;
use super::{Postgres, in_time};
use crate::StoreError;

/// An event of one of several kernels.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "closed: the columns of a table")]
pub struct SharedEvent {
    /// The kernel that recorded the event.
    pub writer: String,
    /// The number of the event in the record of its kernel.
    pub seq: i64,
    /// The number by which the events of all kernels are ordered: it is at least [`SharedEvent::first_place`] of its time.
    pub place: i64,
    /// The texts by which the event is found.
    pub tags: Vec<String>,
    /// The event as its kernel recorded it.
    pub body: String,
    /// The link of the event before.
    pub prev: Vec<u8>,
    /// The link of this event.
    pub hash: Vec<u8>,
}

/// A query for events of all kernels.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_structs, reason = "closed: the values of one statement")]
pub struct SharedEventQuery {
    /// The places that are searched: the first, and the one behind the last.
    pub places: (i64, i64),
    /// The tags that each event has, all of them.
    pub all_of: Vec<String>,
    /// The tags of which each event has one; events with any tags are found if it is empty.
    pub any_of: Vec<String>,
    /// True if the event with the highest place comes first.
    pub newest_first: bool,
    /// The largest number of events to return.
    pub limit: i64,
}

impl SharedEvent {
    /// Returns the lowest place of an event at this time, in milliseconds since 1970. As many places as
    /// [`PLACES_PER_MILLI`](Self::PLACES_PER_MILLI) are of the same time.
    pub const fn first_place(millis: i64) -> i64 {
        millis.saturating_mul(Self::PLACES_PER_MILLI)
    }

    /// The number of places of one time. Until 2039, places are whole numbers that each reader of JSON reads exactly.
    pub const PLACES_PER_MILLI: i64 = 4_096;

    fn read(row: &Row) -> Self {
        Self {
            writer: row.get(0),
            seq: row.get(1),
            place: row.get(2),
            tags: row.get(3),
            body: row.get(4),
            prev: row.get(5),
            hash: row.get(6),
        }
    }
}

impl Postgres {
    /// Adds events: all of them or, if one of their numbers is taken, none.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or has such an event already.
    pub async fn add_events(&self, events: &[SharedEvent]) -> Result<(), StoreError> {
        let client = self.client().await?;
        let types =
            [Type::TEXT, Type::INT8, Type::INT8, Type::TEXT_ARRAY, Type::TEXT, Type::BYTEA, Type::BYTEA];
        let copy = format!("COPY mgp_event ({COLUMNS}) FROM STDIN BINARY");
        let copied = in_time(async {
            let mut rows = pin!(BinaryCopyInWriter::new(client.copy_in(&*copy).await?, &types));
            for SharedEvent { writer, seq, place, tags, body, prev, hash } in events {
                rows.as_mut().write(&[writer, seq, place, tags, body, prev, hash]).await?;
            }
            rows.finish().await
        });
        let copied = copied.await;
        given_back(client, copied.map(drop))
    }

    /// Returns the last event of a kernel.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn last_event(&self, writer: &str) -> Result<Option<SharedEvent>, StoreError> {
        let mut found = self.select("writer = $1 ORDER BY seq DESC LIMIT 1", &[&writer]).await?;
        Ok(found.pop())
    }

    /// Returns the next events of a kernel behind the number `seq`, in their order; none if there are no more.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn events_behind(&self, writer: &str, seq: i64) -> Result<Vec<SharedEvent>, StoreError> {
        self.select("writer = $1 AND seq > $2 ORDER BY seq LIMIT 500", &[&writer, &seq]).await
    }

    /// Returns the events of all kernels that a query asks for.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn events(&self, query: &SharedEventQuery) -> Result<Vec<SharedEvent>, StoreError> {
        let SharedEventQuery { places: (from, to), all_of, any_of, newest_first, limit } = query;
        let order = if *newest_first { "DESC" } else { "ASC" };
        let wanted = format!(
            "place >= $1 AND place < $2 AND tags @> $3::text[] AND (cardinality($4::text[]) = 0 OR tags && $4)
             ORDER BY place {order} LIMIT $5"
        );
        self.select(&wanted, &[from, to, all_of, any_of, limit]).await
    }

    /// Returns the last of the next 10,000 events of a kernel behind the number `seq` that is older than so many days, as are all
    /// before it.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn last_old_event(
        &self,
        writer: &str,
        seq: i64,
        days: i32,
    ) -> Result<Option<SharedEvent>, StoreError> {
        let old = "writer = $1 AND seq = (SELECT max(seq) FROM (
                SELECT seq, bool_and(
                    place < (extract(epoch FROM now() - make_interval(days => $3)) * 1000)::bigint * $4
                ) OVER (ORDER BY seq) AS are_old
                FROM (SELECT seq, place FROM mgp_event WHERE writer = $1 AND seq > $2 ORDER BY seq LIMIT 10000) AS next
            ) AS judged WHERE are_old)";
        let values: [&(dyn ToSql + Sync); 4] = [&writer, &seq, &days, &SharedEvent::PLACES_PER_MILLI];
        Ok(self.select(old, &values).await?.pop())
    }

    /// Removes the events of a kernel up to the number `seq`.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn remove_events(&self, writer: &str, seq: i64) -> Result<(), StoreError> {
        let client = self.client().await?;
        let remove = "DELETE FROM mgp_event WHERE writer = $1 AND seq <= $2";
        let removed = in_time(client.execute(remove, &[&writer, &seq])).await;
        given_back(client, removed.map(drop))
    }

    /// Returns the kernels of which there are events.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub async fn writers(&self) -> Result<Vec<String>, StoreError> {
        let client = self.client().await?;
        // One look into the index for each, where `DISTINCT` would read all of it.
        let each = "WITH RECURSIVE found AS (
                SELECT min(writer) AS writer FROM mgp_event
                UNION ALL
                SELECT (SELECT min(writer) FROM mgp_event WHERE writer > found.writer) FROM found WHERE writer IS NOT NULL
            ) SELECT writer FROM found WHERE writer IS NOT NULL";
        let found = in_time(client.query(each, &[])).await;
        given_back(client, found.map(|rows| rows.iter().map(|row| row.get(0)).collect()))
    }

    async fn select(
        &self,
        wanted: &str,
        values: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<SharedEvent>, StoreError> {
        let client = self.client().await?;
        let query = format!("SELECT {COLUMNS} FROM mgp_event WHERE {wanted}");
        let found = in_time(client.query(&*query, values)).await;
        given_back(client, found.map(|rows| rows.iter().map(SharedEvent::read).collect()))
    }
}

const COLUMNS: &str = "writer, seq, place, tags, body, prev, hash";
