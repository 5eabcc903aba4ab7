//! The database that holds what of calls and transactions outlives the process.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use mgp_store::{Change, Database, StoreError};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::Written;

/// A database that holds the keys of calls, their outcomes, and the log of transactions. This process alone has it open,
/// and nobody else on the machine may read it.
///
/// Writes that come while another one is written are written together, with one wait for the disk. A write is on the disk
/// when its future is done, and in the order of changes, if [kernels share](Self::share) one.
#[derive(Debug, Clone)]
pub struct EffectStore(Arc<StoreShared>);

struct StoreShared {
    database: Database,
    queue: Mutex<WriteQueue>,
    kernels: OnceLock<Kernels>,
}

mgp_types::partial_debug!(StoreShared, self => queued: self.queue.lock().waiting.len());

/// The kernels that share the order of changes.
struct Kernels {
    own: Box<str>,
    is_alive: Box<dyn Fn(&str) -> bool + Send + Sync>,
}

#[derive(Default)]
struct WriteQueue {
    /// The writes that nobody has begun with. Each has somebody who waits for it, which is what bounds them.
    waiting: Vec<QueuedWrite>,
    /// True while a thread takes writes from the queue.
    is_served: bool,
}

/// A write. It is given the store, because a queue whose writes hold the store would never be dropped.
type Write = Box<dyn Fn(&EffectStore, &mut Change<'_>) -> Result<usize, StoreError> + Send>;

struct QueuedWrite {
    write: Write,
    done: oneshot::Sender<Result<usize, StoreError>>,
}

impl EffectStore {
    /// Opens the store at `path`, and creates it if there is none.
    ///
    /// # Errors
    /// [`StoreError::InUse`] if another process has the store open; other errors if it cannot be opened, or a newer version
    /// of the program wrote it.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::of(Database::open(path)?)
    }

    /// Returns the store in a database, which may follow an order of changes already.
    ///
    /// # Errors
    /// Fails if the database cannot be used, or a newer version of the program wrote it.
    pub fn of(database: Database) -> Result<Self, StoreError> {
        if cfg!(test) {
            // Tests have no use for a disk that outlives the machine.
            database.connection().pragma_update(None, "synchronous", "OFF")?;
        }
        let database = database.section("effects", MIGRATIONS)?;
        Ok(Self(Arc::new(StoreShared { database, queue: Mutex::default(), kernels: OnceLock::new() })))
    }

    /// Has all kernels that follow the order of the database decide together which call with a key is the first one. Books are
    /// opened afterwards. Only the first call counts.
    ///
    /// No other kernel is called `kernel`. `is_alive` returns whether the kernel of a name runs, without a wait, and true where
    /// that is in doubt: nobody will know how the calls of a kernel ended that does not run.
    pub fn share(&self, kernel: &str, is_alive: impl Fn(&str) -> bool + Send + Sync + 'static) {
        let _ = self.0.kernels.set(Kernels { own: kernel.into(), is_alive: Box::new(is_alive) });
    }

    /// Returns the database.
    pub fn database(&self) -> &Database {
        &self.0.database
    }

    /// Returns the name of this kernel; `None` if no others share the store.
    pub(crate) fn kernel(&self) -> Option<&str> {
        self.0.kernels.get().map(|kernels| &*kernels.own)
    }

    /// Returns whether a row is that of another kernel which runs.
    pub(crate) fn is_of_another(&self, kernel: Option<&str>) -> bool {
        let (Some(kernels), Some(kernel)) = (self.0.kernels.get(), kernel) else { return false };
        *kernels.own != *kernel && (kernels.is_alive)(kernel)
    }

    /// Writes to the store, behind all writes that were asked for before.
    ///
    /// # Cancel safety
    /// The write is made even if the future is dropped, or never polled.
    pub(crate) fn write(
        &self,
        write: impl Fn(&Self, &mut Change<'_>) -> Result<usize, StoreError> + Send + 'static,
    ) -> Written {
        let (done, outcome) = oneshot::channel();
        let is_served = {
            let mut queue = self.0.queue.lock();
            queue.waiting.push(QueuedWrite { write: Box::new(write), done });
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
        Box::pin(
            async move { outcome.await.unwrap_or_else(|gone| Err(StoreError::Unavailable(Box::new(gone)))) },
        )
    }

    /// Makes the writes in the queue, until there are none.
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
            self.make(batch);
        }
    }

    /// Makes writes in one change.
    fn make(&self, batch: Vec<QueuedWrite>) {
        let mut is_refused = false;
        let made = self.0.database.change(|change| {
            let rows: Result<Vec<_>, _> = batch.iter().map(|queued| (queued.write)(self, change)).collect();
            is_refused = rows.is_err();
            rows
        });
        match made {
            Ok(rows) => {
                for (queued, rows) in batch.into_iter().zip(rows) {
                    drop(queued.done.send(Ok(rows)));
                }
            }
            // One that fails must not take others with it.
            Err(error) if batch.len() > 1 && (is_refused || matches!(error, StoreError::Full)) => {
                for queued in batch {
                    self.make(vec![queued]);
                }
            }
            // The first is told why the order cannot be reached; the others find their sender gone.
            Err(error) => {
                if let Some(first) = batch.into_iter().next() {
                    drop(first.done.send(Err(error)));
                }
            }
        }
    }
}

const MIGRATIONS: &[&str] = &[include_str!("schema.sql"), include_str!("kernels.sql")];

#[cfg(test)]
mod tests;
