//! A background task that is aborted with its handle.

use std::future::Future;

use tokio::runtime::Handle;
use tokio::task::AbortHandle;

/// A task that is aborted when this handle is dropped.
#[derive(Debug)]
pub(crate) struct AbortOnDrop(AbortHandle);

impl AbortOnDrop {
    pub(crate) fn spawn(runtime: &Handle, work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(runtime.spawn(work).abort_handle())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_finished()
    }
}

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
