//! The file that holds what of calls and transactions outlives the process.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mgp_types::BoxFuture;
use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::StoreError;

/// A file of SQLite that holds the keys of calls, their outcomes, and the log of transactions. This process alone has it
/// open, and nobody else on the machine may read it.
///
/// Writes that come while another one is written are written together, with one wait for the disk. A write is on the disk
/// when its future is done.
#[derive(Debug, Clone)]
pub struct EffectStore(Arc<StoreShared>);

struct StoreShared {
    connection: Mutex<Connection>,
    queue: Mutex<WriteQueue>,
    _lock: File,
}

mgp_types::partial_debug!(StoreShared, self => queued: self.queue.lock().waiting.len());

#[derive(Default)]
struct WriteQueue {
    /// The writes that nobody has begun with. Each has somebody who waits for it, which is what bounds them.
    waiting: Vec<QueuedWrite>,
    /// True while a thread takes writes from the queue.
    is_served: bool,
}

type Change = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;

struct QueuedWrite {
    change: Change,
    done: oneshot::Sender<Result<(), StoreError>>,
}

impl EffectStore {
    /// Opens the store at `path`, and creates it if there is none.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has the store open; other errors if it cannot be opened, or a newer version
    /// of the program wrote it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        for suffix in ["", "-wal", "-shm", ".lock"] {
            refuse_link(&with_suffix(path, suffix))?;
        }
        let lock = lock_beside(path)?;
        // SQLite would make the file readable for everybody; the files that it creates beside it get the same mode.
        private().create(true).append(true).open(path).map_err(unavailable)?;
        let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let connection = Connection::open_with_flags(path, flags)?;
        // Tests have no use for a disk that outlives the machine.
        connection.pragma_update(None, "synchronous", if cfg!(test) { "OFF" } else { "FULL" })?;
        connection.pragma_update(None, "journal_mode", "WAL")?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        connection.busy_timeout(BUSY)?;
        migrate(&connection)?;
        let shared = StoreShared { connection: Mutex::new(connection), queue: Mutex::default(), _lock: lock };
        Ok(Self(Arc::new(shared)))
    }

    /// Makes a change, behind all that were asked for before.
    ///
    /// # Cancel safety
    /// The change is made even if the future is dropped, or never polled.
    pub(crate) fn write(
        &self,
        change: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static,
    ) -> BoxFuture<'static, Result<(), StoreError>> {
        let (done, outcome) = oneshot::channel();
        let is_served = {
            let mut queue = self.0.queue.lock();
            queue.waiting.push(QueuedWrite { change: Box::new(change), done });
            std::mem::replace(&mut queue.is_served, true)
        };
        if !is_served {
            match Handle::try_current() {
                Ok(runtime) => {
                    let store = self.clone();
                    drop(runtime.spawn_blocking(move || store.serve()));
                }
                // A value that is dropped outside of a runtime writes its last word on this thread.
                Err(_) => self.serve(),
            }
        }
        Box::pin(async move { outcome.await.unwrap_or_else(|gone| Err(unavailable(gone))) })
    }

    /// Reads from the store, on a thread that may wait for the disk.
    pub(crate) fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, StoreError>> {
        let store = self.clone();
        let reading = tokio::task::spawn_blocking(move || store.read_now(read));
        Box::pin(async move { reading.await.unwrap_or_else(|gone| Err(unavailable(gone))) })
    }

    /// Reads from the store on this thread, as is fit while a program starts.
    pub(crate) fn read_now<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        read(&self.0.connection.lock())
    }

    /// Makes the changes in the queue, until there are none.
    fn serve(&self) {
        loop {
            let batch = {
                let mut queue = self.0.queue.lock();
                if queue.waiting.is_empty() {
                    queue.is_served = false;
                    return;
                }
                std::mem::take(&mut queue.waiting)
            };
            let mut connection = self.0.connection.lock();
            if batch.len() > 1 && commit(&mut connection, &batch).is_ok() {
                for write in batch {
                    drop(write.done.send(Ok(())));
                }
                continue;
            }
            // One that fails must not take others with it.
            for write in batch {
                let outcome = commit(&mut connection, std::slice::from_ref(&write));
                drop(write.done.send(outcome));
            }
        }
    }
}

fn commit(connection: &mut Connection, batch: &[QueuedWrite]) -> Result<(), StoreError> {
    let transaction = connection.transaction()?;
    batch.iter().try_for_each(|write| (write.change)(&transaction))?;
    Ok(transaction.commit()?)
}

fn migrate(connection: &Connection) -> Result<(), StoreError> {
    let found: u32 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    match found {
        KNOWN => Ok(()),
        0 => Ok(connection.execute_batch(SCHEMA)?),
        _ => Err(StoreError::Newer { found, known: KNOWN }),
    }
}

fn lock_beside(path: &Path) -> Result<File, StoreError> {
    let file = private().create(true).append(true).open(with_suffix(path, ".lock")).map_err(unavailable)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::InUse),
        Err(TryLockError::Error(error)) => Err(unavailable(error)),
    }
}

/// Refuses a link in place of a file: a person who can place one there decides what is read and written.
fn refuse_link(path: &Path) -> Result<(), StoreError> {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => {
            let message = format!("{} is a symbolic link; look who made it, and remove it", path.display());
            Err(unavailable(std::io::Error::other(message)))
        }
        _ => Ok(()),
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns options that create a file which nobody else on the machine may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable(Arc::new(error))
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        use rusqlite::Error::{
            FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error,
        };
        let is_unreadable = matches!(
            error,
            FromSqlConversionFailure(..)
                | IntegralValueOutOfRange(..)
                | InvalidColumnType(..)
                | Utf8Error(..)
        );
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::InUse,
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(error.to_string().into())
            }
            None if is_unreadable => Self::Damaged(error.to_string().into()),
            _ => unavailable(error),
        }
    }
}

/// The time to wait for a lock of SQLite.
const BUSY: Duration = Duration::from_secs(5);

/// The version of [`SCHEMA`].
const KNOWN: u32 = 1;

const SCHEMA: &str = include_str!("schema.sql");

#[cfg(test)]
mod tests;
