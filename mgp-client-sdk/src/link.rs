//! What a client owns of its connection.

use std::fmt;
use std::future::Future;

use mgp_lifecycle::Ended;
use mgp_types::{BoxFuture, Error};
use tokio::task::JoinHandle;

/// A connection that closes when this value is dropped, at once, or gracefully by [`close`](Self::close).
#[derive(Default)]
pub struct Link {
    tasks: Vec<JoinHandle<()>>,
    /// The steps of a graceful end, in order.
    closes: Vec<Close>,
    /// How the connection ended, once it has.
    ended: Option<BoxFuture<'static, Ended>>,
}

type Close = Box<dyn FnOnce() -> BoxFuture<'static, Result<(), Error>> + Send>;

impl Link {
    /// A connection that somebody else owns.
    pub fn none() -> Self {
        Self::default()
    }

    /// A connection that a task carries; the task is aborted at the end.
    #[must_use]
    pub fn with_task(mut self, task: JoinHandle<()>) -> Self {
        self.tasks.push(task);
        self
    }

    /// A connection that ends gracefully by `close`, after what was said before.
    #[must_use]
    pub fn with_close<F>(mut self, close: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.closes.push(Box::new(|| Box::pin(close())));
        self
    }

    /// A connection that tells when it has ended, and how, in place of what told it before.
    #[must_use]
    pub fn with_ended(mut self, ended: impl Future<Output = Ended> + Send + 'static) -> Self {
        self.ended = Some(Box::pin(ended));
        self
    }

    /// What tells when the connection has ended; nothing does, for one that somebody else owns.
    pub(crate) fn take_ended(&mut self) -> BoxFuture<'static, Ended> {
        self.ended.take().unwrap_or_else(|| Box::pin(std::future::pending()))
    }

    /// Closes the connection gracefully.
    ///
    /// # Errors
    /// Those of the graceful end; the connection is closed in any case.
    pub async fn close(mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        for close in std::mem::take(&mut self.closes) {
            outcome = outcome.and(close().await);
        }
        outcome
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link").field("tasks", &self.tasks.len()).finish_non_exhaustive()
    }
}
