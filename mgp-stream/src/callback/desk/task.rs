use std::future::Future;

use tokio::task::AbortHandle;

/// A task that ends with this handle.
#[derive(Debug)]
pub(super) struct Task(AbortHandle);

impl Task {
    pub(super) fn spawn(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }

    pub(super) fn is_over(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
