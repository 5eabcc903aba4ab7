use std::future::Future;

use parking_lot::Mutex;
use tokio::task::JoinSet;

/// The tasks of one server's life. They end with it.
#[derive(Debug, Default)]
pub(super) struct Tasks(Mutex<JoinSet<()>>);

impl Tasks {
    /// Starts a task. There are never many: callers start one of a kind at a time.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock();
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }
}
