//! The store of registered servers, in SQLite.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::Duration;

use mgp_types::mgp::ServerId;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, TransactionBehavior, params};

use super::{ServerRegistration, StoreError};

/// Registered servers in an SQLite file that this process has for itself.
#[derive(Debug)]
pub struct SqliteRegistryStore(Mutex<Connection>);

const MIGRATIONS: &[&str] = &["CREATE TABLE registered_servers (
    id TEXT PRIMARY KEY CHECK (id <> ''),
    record TEXT NOT NULL
) STRICT"];

const BUSY: Duration = Duration::from_millis(500);

impl SqliteRegistryStore {
    /// Opens the file at `path`, and creates it, for its owner only, if there is none.
    ///
    /// # Errors
    /// Another process has it, a newer version wrote it, or SQLite refuses.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let mut options = OpenOptions::new();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // SQLite would make the file readable for all users; the files beside it get the same mode.
        let opened = options.create(true).append(true).open(path);
        opened.map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        Self::prepare(Connection::open(path)?)
    }

    /// Creates a store in memory, which is gone with its handle.
    ///
    /// # Errors
    /// SQLite has no memory.
    #[cfg(test)]
    pub(super) fn in_memory() -> Result<Self, StoreError> {
        Self::prepare(Connection::open_in_memory()?)
    }

    fn prepare(mut connection: Connection) -> Result<Self, StoreError> {
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        // The lock that the first transaction takes is kept until the process ends, in whatever way.
        connection.pragma_update(None, "locking_mode", "EXCLUSIVE")?;
        connection.pragma_update(None, "synchronous", "FULL")?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
        let found: u32 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        let known = u32::try_from(MIGRATIONS.len()).unwrap_or(u32::MAX);
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        for migration in MIGRATIONS.iter().skip(found as usize) {
            transaction.execute_batch(migration)?;
        }
        transaction.pragma_update(None, "user_version", known)?;
        transaction.commit()?;
        Ok(Self(Mutex::new(connection)))
    }
}

// These methods may block; they are called where that is allowed.
impl SqliteRegistryStore {
    /// Returns all servers, in the order of their ids.
    pub(super) fn load(&self) -> Result<Vec<ServerRegistration>, StoreError> {
        let connection = self.0.lock();
        let mut query = connection.prepare("SELECT record FROM registered_servers ORDER BY id")?;
        let servers = query.query_and_then([], |row| {
            let record = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
            serde_json::from_str(record).map_err(|error| StoreError::Damaged(error.to_string()))
        })?;
        servers.collect()
    }

    /// Writes a copy of the store to a file that does not exist. No other connection could: this one locks others out.
    pub(super) fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        self.0.lock().execute("VACUUM INTO ?1", [path.to_string_lossy()])?;
        Ok(())
    }

    /// Stores a server, in place of one of the same id.
    pub(super) fn put(&self, server: &ServerRegistration) -> Result<(), StoreError> {
        let record =
            serde_json::to_string(server).map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        self.0.lock().execute(
            "INSERT INTO registered_servers (id, record) VALUES (?1, ?2)
             ON CONFLICT (id) DO UPDATE SET record = excluded.record",
            params![server.id.as_str(), record],
        )?;
        Ok(())
    }

    /// Removes a server, if it is stored.
    pub(super) fn remove(&self, id: &ServerId) -> Result<(), StoreError> {
        self.0.lock().execute("DELETE FROM registered_servers WHERE id = ?1", [id.as_str()])?;
        Ok(())
    }
}

mgp_types::convert!(rusqlite::Error => StoreError, error => match error.sqlite_error_code() {
    Some(ErrorCode::DiskFull) => Self::Full,
    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse,
    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged(error.to_string()),
    _ => Self::Unavailable(Box::new(error)),
});

/// Does `work` on a thread that may wait for a disk. The function needs a tokio runtime.
///
/// # Cancel safety
/// Once it has begun, `work` is done to its end, whether or not the future is dropped.
pub(super) async fn off_the_runtime<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|panic| Err(StoreError::Unavailable(Box::new(panic))))
}
