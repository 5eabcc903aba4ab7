//! The events in an SQLite file: how they are added, and how the oldest are removed.

use std::path::Path;

use mgp_security::StoreError;
use mgp_store::Database;
use mgp_types::RawJson;
use mgp_types::mgp::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::event::AuditRecord;

/// The store of events. One process at a time has its file open.
#[derive(Debug, Clone)]
pub(super) struct EventStore {
    writer: Database,
    /// A connection of its own for reading, so that a search does not hold up the writer.
    pub(super) reader: Database,
}

/// The oldest events, which are removed together.
#[derive(Debug)]
pub(super) struct OldestEvents {
    /// The number of the last of them.
    last_id: i64,
    pub(super) events: Vec<(Timestamp, RawJson)>,
}

impl EventStore {
    /// Opens the file at `path`, and makes it if there is none.
    ///
    /// # Errors
    /// Fails if another process has the file open, if a newer program wrote it, or if it cannot be opened.
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let writer = Database::open(path)?;
        writer.migrate("audit_service", &[include_str!("schema.sql")])?;
        Ok(Self { writer, reader: Database::open_read_only(path)? })
    }

    /// Adds events, all of them or none. Events that are there already are left out.
    pub(super) fn add(&self, records: &[AuditRecord]) -> Result<(), StoreError> {
        let mut connection = self.writer.connection();
        let transaction = connection.transaction()?;
        {
            let mut statement = transaction.prepare_cached(INSERT)?;
            for record in records {
                let millis = record.time.as_millis();
                statement.execute(params![
                    millis,
                    millis.div_euclid(HOUR_MILLIS),
                    record.event_type,
                    record.agent,
                    record.server,
                    record.result.as_str(),
                    trace_bytes(record.trace.as_u128()),
                    record.seq,
                    as_text(&record.json),
                ])?;
            }
        }
        Ok(transaction.commit()?)
    }

    /// Returns the oldest events that are older than `bound`, up to the first that is not, and at most `at_most`.
    pub(super) fn older_than(
        &self,
        bound: Timestamp,
        at_most: usize,
    ) -> Result<Option<OldestEvents>, StoreError> {
        // A clock that is ahead must not empty the store.
        self.oldest(at_most, |time| time < bound)
    }

    /// Returns the oldest events if the file holds more than `most` bytes, at most `at_most` events.
    pub(super) fn beyond_size(&self, most: u64, at_most: usize) -> Result<Option<OldestEvents>, StoreError> {
        if self.used_bytes()? <= most {
            return Ok(None);
        }
        self.oldest(at_most, |_| true)
    }

    /// Removes these events.
    pub(super) fn remove(&self, oldest: &OldestEvents) -> Result<(), StoreError> {
        self.writer.connection().execute("DELETE FROM events WHERE id <= ?1", [oldest.last_id])?;
        Ok(())
    }

    /// Returns the time of the newest event.
    pub(super) fn newest(&self) -> Result<Option<Timestamp>, StoreError> {
        let connection = self.writer.connection();
        let newest = "SELECT millis FROM events ORDER BY id DESC LIMIT 1";
        let millis: Option<i64> = connection.query_row(newest, [], |row| row.get(0)).optional()?;
        Ok(millis.and_then(Timestamp::from_millis))
    }

    fn oldest(
        &self,
        at_most: usize,
        goes: impl Fn(Timestamp) -> bool,
    ) -> Result<Option<OldestEvents>, StoreError> {
        let connection = self.writer.connection();
        let mut statement =
            connection.prepare_cached("SELECT id, millis, event FROM events ORDER BY id LIMIT ?1")?;
        let mut rows = statement.query([i64::try_from(at_most).unwrap_or(i64::MAX)])?;
        let mut found: Option<OldestEvents> = None;
        while let Some(row) = rows.next()? {
            let time = Timestamp::from_millis(row.get(1)?).unwrap_or(Timestamp::EPOCH);
            if !goes(time) {
                break;
            }
            let oldest = found.get_or_insert_with(|| OldestEvents { last_id: 0, events: Vec::new() });
            oldest.last_id = row.get(0)?;
            oldest.events.push((time, as_json(row.get(2)?)));
        }
        Ok(found)
    }

    /// Returns the bytes of the file that hold something; the rest is filled again before the file grows.
    fn used_bytes(&self) -> Result<u64, StoreError> {
        let connection = self.writer.connection();
        let pages = pragma(&connection, "page_count")? - pragma(&connection, "freelist_count")?;
        Ok(u64::try_from(pages * pragma(&connection, "page_size")?).unwrap_or(0))
    }
}

fn pragma(connection: &Connection, name: &str) -> Result<i64, StoreError> {
    Ok(connection.pragma_query_value(None, name, |row| row.get(0))?)
}

/// Returns a trace id as the store has it.
pub(super) fn trace_bytes(trace: u128) -> [u8; 16] {
    trace.to_be_bytes()
}

/// Returns the JSON of an event from its text in the store.
pub(super) fn as_json(text: String) -> RawJson {
    RawJson::from_written(text.into_bytes())
}

fn as_text(json: &RawJson) -> &str {
    std::str::from_utf8(json.as_bytes()).unwrap_or("{}")
}

/// An hour in milliseconds.
pub(super) const HOUR_MILLIS: i64 = 3_600_000;

const INSERT: &str = "
    INSERT INTO events (millis, hour, event_type, agent, server, result, trace, seq, event)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (seq, millis, trace) WHERE seq IS NOT NULL DO NOTHING";
