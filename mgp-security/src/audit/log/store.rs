//! The store of an audit log.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use mgp_types::canonical::Digest;
use mgp_types::mgp::{AgentId, AuditEvent, EventType, Outcome, ServerId, Timestamp};
use mgp_types::{LOCAL_AGENT, RawJson};
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row, Statement, ToSql, named_params, params};

use super::chain::LogHead;
use super::entry::{EventFacets, LogEntry, own_event};
use super::reader::{Filter, Order, Query};
use crate::StoreError;
use mgp_store::Database;

/// A store for the entries of a log. Only one log writes to it; any number of readers may read, while the log is written
/// or afterwards. All its methods block for as long as the disk takes: within a runtime, call them on a thread that may
/// block.
///
/// Triggers forbid changing an event, and removing one that no checkpoint covers. They guard against mistakes of
/// well-meaning programs; deliberate changes are found by the chain.
#[derive(Debug, Clone)]
pub struct LogStore {
    writer: Database,
    /// A connection of its own for reading, so that a long search does not hold up the writer.
    pub(super) reader: Database,
    /// The file, if the store opened it itself.
    file: Option<Arc<LogFile>>,
}

/// A rule for which events of a log are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Retention {
    /// Events younger than this duration are kept, and all events behind the first of them.
    TimeBased(Duration),
    /// The last events are kept, up to this number of bytes. The file is about twice as large, and grows no further.
    SizeBased(u64),
}

impl Retention {
    /// Returns the word for the rule, as the events say it by which removals are reported.
    pub(super) const fn reason(self) -> &'static str {
        match self {
            Self::TimeBased(_) => "time_based",
            Self::SizeBased(_) => "size_based",
        }
    }
}

/// The record of removed entries, from which the rest of the chain is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checkpoint {
    /// The place of the last entry that was removed.
    pub(super) end: LogHead,
    /// The number of entries that were removed with it.
    pub(super) removed: u64,
    /// The reason for the removal.
    pub(super) reason: String,
    /// The number of the event that reports the removal, which is in the chain like any other.
    pub(super) announced_by: u64,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Tail {
    /// The head that was noted with the last entries; `None` in a new store.
    pub(super) head: Option<LogHead>,
    /// The last entry of the log.
    pub(super) last: Option<LogEntry>,
    /// The point up to which entries were removed.
    pub(super) checkpoint: Option<Checkpoint>,
}

/// The file of a store as it was when it was opened. A file that was removed, or replaced, is still written to where
/// nobody will look.
#[derive(Debug)]
struct LogFile {
    path: PathBuf,
    id: Option<FileId>,
}

/// The number of a file in its file system, where the system has such numbers.
type FileId = (u64, u64);

#[cfg(unix)]
fn file_id(path: &Path) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt as _;

    path.metadata().ok().map(|found| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn file_id(path: &Path) -> Option<FileId> {
    path.exists().then_some((0, 0))
}

impl LogStore {
    /// Opens the store in the file at `path`. The file should hold nothing else: other writers to it would wait for
    /// each batch.
    ///
    /// # Errors
    /// Fails if another process has the file open, a newer version wrote it, or it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let writer = Database::open(path)?;
        writer.migrate(SECTION, MIGRATIONS)?;
        // The triggers guard against other programs. A write made here continues the noted end or is undone, and
        // checking the triggers for each event would be a third of its cost.
        writer.connection().set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        let reader = Database::open_read_only(path)?;
        let file = LogFile { path: path.to_owned(), id: file_id(path) };
        Ok(Self { writer, reader, file: Some(Arc::new(file)) })
    }

    /// Opens the store in the file at `path` for reading only, while another process may write it.
    ///
    /// # Errors
    /// Fails if there is no store, or if it cannot be opened.
    pub fn open_read_only(path: &Path) -> Result<Self, StoreError> {
        let reader = Database::open_read_only(path)?;
        Ok(Self { writer: reader.clone(), reader, file: None })
    }

    /// Returns a store in memory, which ends with its handles.
    ///
    /// # Errors
    /// Fails if SQLite cannot allocate memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::new(Database::in_memory()?)
    }

    /// Returns the store in a database that is already open.
    ///
    /// # Errors
    /// Fails if a newer version wrote the store, or if SQLite refuses.
    pub fn new(database: Database) -> Result<Self, StoreError> {
        database.migrate(SECTION, MIGRATIONS)?;
        Ok(Self { writer: database.clone(), reader: database, file: None })
    }

    /// Checks that the file is the one that was opened.
    fn check_file(&self) -> Result<(), StoreError> {
        match &self.file {
            Some(file) if file_id(&file.path) != file.id => Err(StoreError::Damaged(format!(
                "{} was removed or replaced while it was written: stop the kernel, and put the file back",
                file.path.display()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the end of the log, as far as it is known.
    pub(super) fn tail(&self) -> Result<Tail, StoreError> {
        self.check_file()?;
        let mut connection = self.reader.connection();
        // One transaction covers both reads; otherwise the head could be newer than the last entry.
        let transaction = connection.transaction()?;
        let head = transaction.query_row("SELECT seq, hash FROM audit_head", [], read_head).optional()?;
        let newest = format!("SELECT {COLUMNS} FROM audit_events ORDER BY seq DESC LIMIT 1");
        let last = transaction.query_row(&newest, [], read_entry).optional()?;
        let checkpoint = transaction.query_row(LAST_CHECKPOINT, [], read_checkpoint).optional()?;
        Ok(Tail { head, last, checkpoint })
    }

    /// Appends `entries`, which continue the log: either all of them or none. They are durable when this returns.
    pub(super) fn append(&self, entries: &[LogEntry]) -> Result<(), StoreError> {
        self.check_file()?;
        self.writer.transaction(|transaction| insert(transaction, entries))
    }

    /// Returns the events that a query asks for.
    ///
    /// # Errors
    /// Fails if the store cannot be read.
    pub fn query(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError> {
        let (compare, order, start) = match query.order {
            Order::NewestFirst => ("<", "DESC", u64::MAX),
            Order::OldestFirst => (">", "ASC", 0),
        };
        let sql = format!(
            "SELECT {COLUMNS} FROM audit_events WHERE seq IN (
                SELECT seq FROM audit_events INDEXED BY audit_facets
                WHERE seq {compare} :behind AND {CONDITIONS} ORDER BY seq {order} LIMIT :limit
             ) ORDER BY seq {order}"
        );
        let behind = integer(query.behind.unwrap_or(start));
        let limit = integer(query.limit.min(Query::MAX_LIMIT) as u64);
        let Filter { event_types, agent_id, server_id, result, since, until, trace_id } = &query.filter;
        let types: Vec<_> = event_types.iter().map(EventType::as_str).collect();
        let types = (!types.is_empty()).then(|| serde_json::json!(types).to_string());
        let agent = agent_id.as_ref().map(AgentId::as_str);
        let values = named_params! {
            ":behind": behind,
            ":limit": limit,
            ":types": types,
            ":agent": agent,
            // The agent `local` stands for all clients of the user.
            ":clients": agent.filter(|agent| *agent == LOCAL_AGENT).map(|agent| format!("{agent}/*")),
            ":server": server_id.as_ref().map(ServerId::as_str),
            ":result": result.map(Outcome::as_str),
            ":since": since.map(Timestamp::as_millis),
            ":until": until.map(Timestamp::as_millis),
            ":trace": trace_id.map(|trace| trace.as_u128().to_be_bytes()),
        };
        self.reader.read_all(&sql, values, |row| Ok(read_entry(row)?))
    }

    /// Returns the end and the number of the oldest entries up to `through` that `rule` does not keep at the time `now`, at
    /// most `at_most` of them.
    pub(super) fn beyond(
        &self,
        rule: Retention,
        now: Timestamp,
        through: u64,
        at_most: u64,
    ) -> Result<Option<(LogHead, u64)>, StoreError> {
        let connection = self.reader.connection();
        let ends: (Option<i64>, Option<i64>) =
            connection.query_row("SELECT min(seq), max(seq) FROM audit_events", [], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let (Some(first), Some(last)) = ends else { return Ok(None) };
        let end = match rule {
            Retention::TimeBased(age) => connection
                .query_row(
                    "SELECT seq FROM audit_events INDEXED BY audit_facets
                     WHERE seq >= 0 AND millis >= ?1 ORDER BY seq LIMIT 1",
                    [now.as_millis().saturating_sub(i64::try_from(age.as_millis()).unwrap_or(i64::MAX))],
                    |row| row.get::<_, i64>(0),
                )
                .optional()?
                .map_or(last, |stays| stays - 1),
            Retention::SizeBased(most) => last_beyond_bytes(&connection, most)?.unwrap_or(first - 1),
        };
        let end = end.min(integer(through)).min(first.saturating_add(integer(at_most)).saturating_sub(1));
        if end < first {
            return Ok(None);
        }
        let head =
            connection.query_row("SELECT seq, hash FROM audit_events WHERE seq = ?1", [end], read_head)?;
        Ok(Some((head, natural(end - first + 1))))
    }

    /// Appends `note`, which reports `checkpoint`, stores the checkpoint, and removes the entries up to it: either
    /// all of this or nothing.
    pub(super) fn forget(&self, checkpoint: &Checkpoint, note: &LogEntry) -> Result<(), StoreError> {
        let Checkpoint { end, removed, reason, announced_by } = checkpoint;
        self.writer.transaction(|transaction| {
            transaction.execute(
                "INSERT INTO audit_checkpoints (seq, hash, removed, reason, told_by) VALUES (?1, ?2, ?3, ?4, ?5)",
                params![integer(end.seq), end.hash.as_bytes(), integer(*removed), reason, integer(*announced_by)],
            )?;
            transaction.execute("DELETE FROM audit_events WHERE seq <= ?1", [integer(end.seq)])?;
            insert(transaction, std::slice::from_ref(note))
        })
    }
}

/// Returns the event that reports the removal of entries.
pub(super) fn pruned(now: Timestamp, end: &LogHead, removed: u64, reason: &str) -> AuditEvent {
    own_event(now, PRUNED, Outcome::Success)
        .with_detail("through_seq", &end.seq)
        .with_detail("through_hash", &end.hash)
        .with_detail("removed", &removed)
        .with_detail("reason", reason)
}

/// Adds entries and moves the noted head on, from the one that they continue.
fn insert(connection: &Connection, entries: &[LogEntry]) -> Result<(), StoreError> {
    let (Some(first), Some(last)) = (entries.first(), entries.last()) else { return Ok(()) };
    add(connection, entries)?;
    let moved = connection.prepare_cached(MOVE_ON)?.execute(params![
        integer(last.seq),
        last.hash.as_bytes(),
        integer(first.seq - 1),
        first.prev.as_bytes()
    ])?;
    if moved == 1 { Ok(()) } else { Err(damaged("somebody else has moved the end of the log")) }
}

/// Adds entries, whatever they continue.
pub(super) fn add(connection: &Connection, entries: &[LogEntry]) -> Result<(), StoreError> {
    let (groups, rest) = entries.as_chunks::<GROUP>();
    if !groups.is_empty() {
        let mut statement = connection.prepare_cached(&INSERT_GROUP)?;
        for group in groups {
            for (entry, at) in group.iter().zip((1..).step_by(VALUES)) {
                bind(&mut statement, at, entry)?;
            }
            statement.raw_execute()?;
        }
    }
    let mut statement = connection.prepare_cached(&INSERT)?;
    for entry in rest {
        bind(&mut statement, 1, entry)?;
        statement.raw_execute()?;
    }
    Ok(())
}

/// Binds the values of an entry to the parameters from number `at` on, in the order in which [`inserting`] names
/// them.
fn bind(statement: &mut Statement<'_>, at: usize, entry: &LogEntry) -> rusqlite::Result<()> {
    let LogEntry { seq, event, prev, hash, facets } = entry;
    let values: [&dyn ToSql; VALUES] = [
        &integer(*seq),
        &facets.millis,
        &integer(event.as_bytes().len() as u64),
        &facets.event_type.as_str(),
        &facets.agent,
        &facets.server.as_ref().map(ServerId::as_str),
        &facets.result.as_str(),
        &facets.trace.to_be_bytes(),
        // The event is written as the bytes that it is, without the check of its JSON that each write would otherwise repeat.
        &ToSqlOutput::Borrowed(ValueRef::Text(event.as_bytes())),
        prev.as_bytes(),
        hash.as_bytes(),
    ];
    values.into_iter().zip(at..).try_for_each(|(value, at)| statement.raw_bind_parameter(at, value))
}

/// Returns a statement that adds `entries` entries.
fn inserting(entries: usize) -> String {
    let values = format!("({})", ["?"; VALUES].join(", "));
    let columns = "seq, millis, bytes, event_type, agent, server, result, trace, event, prev, hash";
    format!("INSERT INTO audit_events ({columns}) VALUES {}", vec![&*values; entries].join(", "))
}

/// Returns the number of the last entry that, together with those behind it, has more than `most` bytes of events.
fn last_beyond_bytes(connection: &Connection, most: u64) -> Result<Option<i64>, StoreError> {
    let mut statement = connection.prepare(
        "SELECT seq, bytes FROM audit_events INDEXED BY audit_facets WHERE seq >= 0 ORDER BY seq DESC",
    )?;
    let mut rows = statement.query([])?;
    let mut total = 0u64;
    while let Some(row) = rows.next()? {
        total = total.saturating_add(natural(row.get(1)?));
        if total > most {
            return Ok(Some(row.get(0)?));
        }
    }
    Ok(None)
}

fn read_entry(row: &Row<'_>) -> rusqlite::Result<LogEntry> {
    let bytes: String = row.get("event")?;
    let length = bytes.len();
    let event = RawJson::parse(bytes).map_err(|error| unreadable("event", error))?;
    if event.as_bytes().len() != length {
        // White space around the JSON is not part of the value, so the chain would not notice it.
        return Err(unreadable("event", damaged("not the bytes that were written")));
    }
    let result: String = row.get("result")?;
    let result = Outcome::read(&result).ok_or_else(|| unreadable("result", damaged("no result")))?;
    let facets = EventFacets {
        millis: row.get("millis")?,
        event_type: EventType::read(row.get_ref("event_type")?.as_str()?),
        agent: row.get("agent")?,
        server: row.get_ref("server")?.as_str_or_null()?.map(Into::into),
        result,
        trace: u128::from_be_bytes(row.get("trace")?),
    };
    let digest = |name| row.get::<_, [u8; 32]>(name).map(Digest::from);
    Ok(LogEntry {
        seq: natural(row.get("seq")?),
        event,
        prev: digest("prev")?,
        hash: digest("hash")?,
        facets,
    })
}

/// Reads a number and a link from the first two columns.
fn read_head(row: &Row<'_>) -> rusqlite::Result<LogHead> {
    Ok(LogHead::new(natural(row.get(0)?), Digest::from(row.get::<_, [u8; 32]>(1)?)))
}

fn read_checkpoint(row: &Row<'_>) -> rusqlite::Result<Checkpoint> {
    let (removed, announced_by) = (natural(row.get(2)?), natural(row.get(4)?));
    Ok(Checkpoint { end: read_head(row)?, removed, reason: row.get(3)?, announced_by })
}

/// Converts a number for SQLite, whose integers are signed.
pub(super) fn integer(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

pub(super) fn natural(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

pub(super) fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(what.into())
}

fn unreadable(column: &str, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    let kind = rusqlite::types::Type::Text;
    // The index is used only in messages, and the column's name in the text says more.
    rusqlite::Error::FromSqlConversionFailure(0, kind, format!("{column}: {error}").into())
}

/// The type of the event that reports the removal of entries by retention.
pub const PRUNED: &str = "dev.cloto.mgp.audit_pruned";

/// The name under which the version of these tables is stored.
const SECTION: &str = "audit";

const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

/// The number of values of an entry.
const VALUES: usize = 11;

/// The number of entries that one statement adds where there are enough of them; it costs less than one statement
/// each.
const GROUP: usize = 16;

/// The statement that adds one entry.
static INSERT: LazyLock<String> = LazyLock::new(|| inserting(1));

/// The statement that adds a group of entries.
static INSERT_GROUP: LazyLock<String> = LazyLock::new(|| inserting(GROUP));

/// The statement that moves the noted head.
const MOVE_ON: &str = "INSERT INTO audit_head (only, seq, hash) VALUES (1, ?1, ?2)
    ON CONFLICT (only) DO UPDATE SET seq = excluded.seq, hash = excluded.hash
    WHERE audit_head.seq = ?3 AND audit_head.hash = ?4";

/// The statement that finds the checkpoint from which the log is verified.
const LAST_CHECKPOINT: &str =
    "SELECT seq, hash, removed, reason, told_by FROM audit_checkpoints ORDER BY seq DESC LIMIT 1";

/// The columns from which an entry is read.
const COLUMNS: &str = "seq, millis, event_type, agent, server, result, trace, event, prev, hash";

/// The SQL condition of a filter, with a parameter for each of its members; one without a value is met by every event.
const CONDITIONS: &str = "(:types IS NULL OR event_type IN (SELECT value FROM json_each(:types)))
    AND (:agent IS NULL OR agent = :agent OR agent GLOB :clients) AND (:server IS NULL OR server = :server)
    AND (:result IS NULL OR result = :result)
    AND (:since IS NULL OR millis >= :since) AND (:until IS NULL OR millis < :until)
    AND (:trace IS NULL OR trace = :trace)";
