//! The SQLite database that the stores of all sections share: opened once, migrated by each section.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mgp_types::mgp::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use rusqlite::config::DbConfig;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Params, Row, ToSql, Transaction,
    TransactionBehavior, params,
};

use crate::copied_rows::CopiedRows;
use crate::reserve::{Reserve, private};
use crate::shared::{self, Shared};
use crate::{Change, Entry, Order, OrderKey, Result, StoreError};

/// One SQLite database, open for writing by this process alone.
///
/// The lock is held by the operating system, on a file beside the database, so it ends with the process however that
/// ends.
#[derive(Debug, Clone)]
pub struct Database {
    inner: Arc<DatabaseInner>,
    /// The section to which this handle belongs, and the version of its tables.
    section: Section,
}

#[derive(Debug, Clone, Copy, Default)]
struct Section {
    name: &'static str,
    schema: u32,
}

#[derive(Debug)]
struct DatabaseInner {
    connection: Mutex<Connection>,
    /// The space that changes which take a right away may use on a full disk.
    reserve: OnceLock<Reserve>,
    /// The order that other kernels share with this one.
    shared: OnceLock<Shared>,
    /// The copy from which the sections take their rows when they make their tables.
    copied: OnceLock<CopiedRows>,
    _lock: Option<File>,
}

impl Database {
    /// Opens the database at `path` for writing, and creates it if there is none.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has the database open for writing; other errors if it cannot be opened.
    pub fn open(path: &Path) -> Result<Self> {
        let path = &in_real_folder(path);
        for suffix in ["", "-wal", "-shm", "-journal", ".lock"] {
            check_own(&with_suffix(path, suffix))?;
        }
        let lock = lock_beside(path)?;
        // SQLite would make the file readable for everybody; the files that it creates beside it get the same mode.
        private().create(true).open(path)?;
        let connection =
            Connection::open_with_flags(path, OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW)?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        Self::prepare(connection, Some(lock))
    }

    /// Creates the database at `path` with the rows of the one at `copy`: each section makes its own tables, takes their rows,
    /// and brings them up to date. Triggers and views of the copy are left behind.
    ///
    /// # Errors
    /// The errors of [`Database::open`], and those of reading the copy.
    pub fn with_rows_of(copy: &Path, path: &Path) -> Result<Self> {
        let database = Self::open(path)?;
        database.connection().set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
        let _ = database.inner.copied.set(CopiedRows::open(copy)?);
        Ok(database)
    }

    /// Opens the database at `path` for reading, while another process may write it.
    ///
    /// # Errors
    /// Fails if there is no database at `path`, or it cannot be opened.
    pub fn open_read_only(path: &Path) -> Result<Self> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        Self::prepare(Connection::open_with_flags(path, flags)?, None)
    }

    /// Writes a copy of the database, as it is now, to a file that does not exist. The tables `without` are empty there.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn copy_to(&self, path: &Path, without: &[&str]) -> Result<()> {
        // A copy that was interrupted is not taken for a whole one.
        let part = with_suffix(&in_real_folder(path), ".part");
        match std::fs::remove_file(&part) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        // SQLite fills an empty file, and would make one that everybody can read.
        private().create_new(true).open(&part)?;
        self.connection().execute("VACUUM INTO ?1", [part.to_string_lossy()])?;
        let copy = Connection::open(&part)?;
        for table in without {
            if copy.table_exists(None, *table)? {
                copy.execute_batch(&format!("DELETE FROM {table}"))?;
            }
        }
        copy.close().map_err(|(_, error)| error)?;
        Ok(std::fs::rename(&part, path)?)
    }

    /// Returns a database in memory that lives as long as this handle and its clones.
    ///
    /// # Errors
    /// Fails if SQLite cannot allocate memory.
    pub fn in_memory() -> Result<Self> {
        Self::prepare(Connection::open_in_memory()?, None)
    }

    /// Sets the space that changes which take a right away may use on a full disk. Only the first call counts.
    pub fn set_reserve(&self, reserve: Reserve) {
        let _ = self.inner.reserve.set(reserve);
    }

    /// Returns the versions of the tables, by section.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn versions(&self) -> Result<BTreeMap<String, u32>> {
        let query = "SELECT section, version FROM mgp_schema";
        let versions = self.read_all(query, [], |row| Ok((row.get::<_, String>(0)?, row.get(1)?)))?;
        Ok(versions.into_iter().collect())
    }

    /// Locks and returns the connection. The lock lasts as long as the guard, so do not hold the guard across an
    /// `.await`.
    pub fn connection(&self) -> MutexGuard<'_, Connection> {
        self.inner.connection.lock()
    }

    /// Brings the tables of `section` up to date, as [`Database::migrate`] does, and returns the handle with which the section
    /// changes them.
    ///
    /// # Errors
    /// The errors of [`Database::migrate`].
    pub fn section(self, name: &'static str, migrations: &[&str]) -> Result<Self> {
        self.migrate(name, migrations)?;
        let schema = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
        Ok(Self { section: Section { name, schema }, ..self })
    }

    /// Brings the tables of `section` up to date: `migrations[n]` leads from version `n` to `n + 1`. Before tables that
    /// are there already are changed, the database is copied beside, once for each version.
    ///
    /// # Errors
    /// [`StoreError::Newer`] if the tables have a version that is not known here; other errors if SQLite refuses.
    pub fn migrate(&self, section: &'static str, migrations: &[&str]) -> Result<()> {
        let found: u32 = self.transaction(|transaction| {
            transaction.execute_batch(VERSIONS)?;
            let query = "SELECT version FROM mgp_schema WHERE section = ?1";
            Ok(transaction.query_row(query, [section], |row| row.get(0)).optional()?.unwrap_or(0))
        })?;
        let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
        let copied = self.inner.copied.get().filter(|_| found == 0);
        let begun = copied.map_or(Ok(0), |copied| copied.version(section))?;
        if found.max(begun) > known {
            return Err(StoreError::Newer {
                section: section.to_owned(),
                found: found.max(begun),
                known,
                way_back: self.way_back(section, known),
            });
        }
        if found == known {
            return Ok(());
        }
        if let Some(copy) = self.copy_of(section, found).filter(|copy| found > 0 && !copy.exists()) {
            self.copy_to(&copy, &[])?;
        }
        self.transaction(|transaction| {
            copied.map_or(Ok(()), |copied| copied.take(transaction, &migrations[..begun as usize]))?;
            for migration in migrations.iter().skip(found.max(begun) as usize) {
                transaction.execute_batch(migration)?;
            }
            transaction.execute(
                "INSERT INTO mgp_schema (section, version) VALUES (?1, ?2)
             ON CONFLICT (section) DO UPDATE SET version = excluded.version",
                params![section, known],
            )?;
            Ok(())
        })
    }

    /// Returns the path of the copy in which the tables of `section` have this version; `None` for a database in memory.
    fn copy_of(&self, section: &str, version: u32) -> Option<PathBuf> {
        let connection = self.connection();
        let path = connection.path().filter(|path| !path.is_empty())?;
        Some(with_suffix(Path::new(path), &format!(".{section}-{version}")))
    }

    /// Returns the advice on how to go back to the version `known` of the tables of `section`, if there is a copy of it.
    fn way_back(&self, section: &str, known: u32) -> String {
        let copy = self.copy_of(section, known).filter(|copy| copy.exists());
        let Some(copy) = copy else { return String::new() };
        format!(
            "; to go back, stop mgp and copy {} over the database: what was decided since is lost, revocations too",
            copy.display()
        )
    }

    /// Makes a change that takes a right away; on a full disk, with the space that is reserved for that.
    pub fn take_away<T>(&self, change: impl Fn() -> Result<T>) -> Result<T> {
        match (change(), self.inner.reserve.get()) {
            (Err(StoreError::Full), Some(reserve)) => reserve.spend(change),
            (outcome, _) => outcome,
        }
    }

    /// Makes a change that gives a right, except while the space is used that is reserved for taking rights away.
    pub fn give<T>(&self, change: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.inner.reserve.get().is_some_and(Reserve::is_spent) { Err(StoreError::Full) } else { change() }
    }

    /// Returns what `read` makes of each row that `query` selects with `values`.
    pub fn read_all<T>(
        &self,
        query: &str,
        values: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let connection = self.connection();
        let mut query = connection.prepare_cached(query)?;
        query.query_and_then(values, read)?.collect()
    }

    /// Carries out one statement, for other kernels as well that share the order.
    ///
    /// # Errors
    /// The errors of [`Database::change`].
    pub fn execute(&self, statement: &str, values: &[&dyn ToSql]) -> Result<()> {
        self.change(|change| change.execute(statement, values)).map(drop)
    }

    /// Makes a change of this section's tables: all of its statements or, if it fails, none. Where other kernels share the
    /// order, `change` finds the newest rows, and no other kernel changes anything meanwhile.
    ///
    /// # Errors
    /// The errors of `change`, and those of the disk and of the shared order. If the order fails while the change is
    /// appended, the change may have been made, which the next one or [`Database::catch_up`] finds out.
    pub fn change<T>(&self, change: impl FnOnce(&mut Change<'_>) -> Result<T>) -> Result<T> {
        let Some(shared) = self.inner.shared.get() else {
            return self.transaction(|transaction| change(&mut Change::new(transaction, None)));
        };
        self.append(shared, |transaction| {
            let mut changing = Change::new(transaction, Some(Vec::new()));
            let outcome = change(&mut changing)?;
            let statements = changing.into_statements();
            if statements.is_empty() {
                return Ok((outcome, None));
            }
            let Section { name, schema } = self.section;
            Ok((outcome, Some(shared.entry(transaction, name, schema, statements)?)))
        })
    }

    /// Has `change` change the newest rows while this kernel has the turn, and appends the entry that it returns, if any.
    fn append<T>(
        &self,
        shared: &Shared,
        change: impl FnOnce(&Transaction<'_>) -> Result<(T, Option<Entry>)>,
    ) -> Result<T> {
        let mut connection = self.connection();
        let (news, turn) = shared.order.take_turn(shared::position(&connection)?.version)?;
        shared.take_in(&mut connection, news)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let (outcome, entry) = change(&transaction)?;
        let is_copy_due = entry.as_ref().is_some_and(|entry| entry.version % COPY_EVERY == 0);
        if let Some(entry) = entry {
            turn.append(&entry)?;
        }
        transaction.commit()?;
        if is_copy_due
            && let Err(error) =
                shared.copy(&mut connection).and_then(|copy| shared.order.store_snapshot(copy))
        {
            tracing::warn!(%error, "the shared order grows until the next copy of all tables is stored");
        }
        Ok(outcome)
    }

    /// Makes a change that is of this machine alone, in one transaction: all of it or, if it fails, nothing.
    ///
    /// # Errors
    /// The errors of `change`, and those of the disk.
    pub fn transaction<T>(&self, change: impl FnOnce(&Transaction<'_>) -> Result<T>) -> Result<T> {
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let outcome = change(&transaction)?;
        transaction.commit()?;
        Ok(outcome)
    }

    /// Makes all further changes in an order that other kernels share. Only the first call counts. What the others changed
    /// so far is found with [`Database::catch_up`], once all sections have their tables.
    ///
    /// # Errors
    /// Fails if the place in the order cannot be stored.
    pub fn share(&self, order: Arc<dyn Order>, key: OrderKey) -> Result<()> {
        let shared = Shared::new(&self.connection(), order, key)?;
        let _ = self.inner.shared.set(shared);
        Ok(())
    }

    /// Returns whether changes are made in an order that other kernels share.
    pub fn is_shared(&self) -> bool {
        self.inner.shared.get().is_some()
    }

    /// Carries out what other kernels changed, and returns the sections whose rows are others than at the last time.
    ///
    /// # Errors
    /// Fails if the order cannot be reached, or holds what no kernel appended.
    pub fn catch_up(&self) -> Result<BTreeSet<String>> {
        let Some(shared) = self.inner.shared.get() else { return Ok(BTreeSet::new()) };
        let mut connection = self.connection();
        let news = shared.order.since(shared::position(&connection)?.version)?;
        shared.take_in(&mut connection, news)?;
        Ok(shared.take_changed())
    }

    /// Returns the number of the last entry of the shared order that this database contains; 0 without one.
    ///
    /// # Errors
    /// Fails if the database cannot be read.
    pub fn version(&self) -> Result<u64> {
        if self.is_shared() { Ok(shared::position(&self.connection())?.version) } else { Ok(0) }
    }

    /// Stores a copy of all tables in the shared order, so that entries up to here can be forgotten. [`Database::change`] does
    /// so after every 4,096 entries.
    ///
    /// # Errors
    /// Fails if the order cannot be reached.
    pub fn store_snapshot(&self) -> Result<()> {
        let Some(shared) = self.inner.shared.get() else { return Ok(()) };
        let copy = shared.copy(&mut self.connection())?;
        shared.order.store_snapshot(copy)
    }

    /// Has all kernels write statements for the tables that this version of the program knows, from here on. Kernels of an
    /// older version refuse such statements, so all have to be of this one.
    ///
    /// # Errors
    /// The errors of [`Database::change`].
    pub fn agree(&self) -> Result<()> {
        let Some(shared) = self.inner.shared.get() else { return Ok(()) };
        self.versions()?.iter().try_for_each(|(section, schema)| {
            self.append(shared, |transaction| Ok(((), shared.agreement(transaction, section, *schema)?)))
        })
    }

    /// Returns the part of the database that follows an order, if it follows one.
    pub(crate) fn shared(&self) -> Option<&Shared> {
        self.inner.shared.get()
    }

    fn prepare(connection: Connection, lock: Option<File>) -> Result<Self> {
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "foreign_keys", "ON")?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        // No section has one: a view stands in place of a table.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        let connection = Mutex::new(connection);
        let (reserve, shared, copied) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        let inner = Arc::new(DatabaseInner { connection, reserve, shared, copied, _lock: lock });
        Ok(Self { inner, section: Section::default() })
    }
}

/// Runs `work` on a thread that may wait for a disk. The caller has to be within a tokio runtime.
///
/// # Errors
/// The errors of `work`; a panic in it is reported as [`StoreError::Unavailable`].
///
/// # Cancel safety
/// Once it has begun, `work` runs to its end, even if the returned future is dropped.
pub async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(StoreError::Unavailable(Box::new(panic))))
}

/// Returns the text in a column.
pub fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

/// Returns the time in a column.
pub fn time(row: &Row<'_>, column: usize) -> Result<Timestamp> {
    moment(row.get(column)?)
}

/// Returns the time in a column, where there is one.
pub fn optional_time(row: &Row<'_>, column: usize) -> Result<Option<Timestamp>> {
    row.get::<_, Option<i64>>(column)?.map(moment).transpose()
}

fn moment(millis: i64) -> Result<Timestamp> {
    Timestamp::from_millis(millis).ok_or_else(|| StoreError::Damaged("a time is out of range".to_owned()))
}

mgp_types::convert!(rusqlite::Error => StoreError, error => match error.sqlite_error_code() {
    Some(ErrorCode::DiskFull) => Self::Full,
    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse,
    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
    None if is_unreadable(&error) => Self::Damaged(error.to_string()),
    _ => Self::Unavailable(Box::new(error)),
});

/// Returns whether a stored value exists but is not of the type or range that this program writes.
const fn is_unreadable(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..) | Utf8Error(..)
    )
}

fn lock_beside(path: &Path) -> Result<File> {
    let name = with_suffix(path, ".lock");
    let file = private().create(true).open(name)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse),
        Err(TryLockError::Error(error)) => Err(error.into()),
    }
}

/// Checks that the file at `path`, if there is one, belongs to this user: a person who can place a link or a file there
/// controls what is read and written.
///
/// # Errors
/// [`StoreError::NotOwn`] if the file is a symbolic link, or belongs to another user.
pub fn check_own(path: &Path) -> Result<()> {
    let Ok(found) = std::fs::symlink_metadata(path) else { return Ok(()) };
    let not_own = |what: String| Err(StoreError::NotOwn(what));
    if found.is_symlink() {
        let to = std::fs::read_link(path).unwrap_or_default();
        return not_own(format!(
            "{} is a symbolic link to {}; look who made it, and remove it",
            path.display(),
            to.display()
        ));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;

        let (owner, own) = (found.uid(), rustix::process::geteuid().as_raw());
        if owner != own {
            return not_own(format!(
                "{} belongs to the user {owner}, and this is the user {own}; move it away, or run as its owner",
                path.display()
            ));
        }
    }
    Ok(())
}

/// Returns `path` with all links in its folder resolved. A folder may be a link of its owner's; a file in it may not.
fn in_real_folder(path: &Path) -> PathBuf {
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    match (std::fs::canonicalize(folder), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The number of entries of a shared order after which the kernel that appended the last one stores a copy of all tables.
const COPY_EVERY: u64 = 4_096;

/// The time to wait for a lock that another connection holds.
const BUSY: Duration = Duration::from_secs(5);

const VERSIONS: &str = "CREATE TABLE IF NOT EXISTS mgp_schema (section TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID";

#[cfg(test)]
mod tests;
