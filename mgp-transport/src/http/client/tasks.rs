//! The tasks of a client, which end with it.

use std::future::Future;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// The tasks of one client. They end when the client ends.
#[derive(Debug)]
pub(super) struct Tasks {
    /// The running tasks; `None` once the client has ended.
    running: Mutex<Option<Vec<AbortHandle>>>,
    runtime: Handle,
}

impl Tasks {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { running: Mutex::new(Some(Vec::new())), runtime }
    }

    /// Starts a task, unless the client has ended.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        if self.running.lock().is_none() {
            return None;
        }
        // The task is spawned outside of the lock: a runtime that shuts down drops the task at once, and its values may
        // try to start another one when they are dropped.
        let handle = self.runtime.spawn(task).abort_handle();
        let mut running = self.running.lock();
        let Some(running) = running.as_mut() else {
            handle.abort();
            return None;
        };
        if running.len() == running.capacity() {
            running.retain(|task| !task.is_finished());
        }
        running.push(handle.clone());
        Some(handle)
    }

    /// Ends every task, and refuses further ones.
    pub(super) fn abort_all(&self) {
        let running = self.running.lock().take();
        for task in running.into_iter().flatten() {
            task.abort();
        }
    }
}
