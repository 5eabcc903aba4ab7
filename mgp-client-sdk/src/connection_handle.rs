//! The client's hold on its connection: the graceful end, and the report of the end.

use mgp_lifecycle::ServerEnd;
use mgp_types::{BoxFuture, Error};
use tokio::task::JoinHandle;

/// A connection that closes when this value is dropped, at once, or gracefully by [`close`](Self::close).
#[derive(Default)]
pub struct ConnectionHandle {
    tasks: Vec<JoinHandle<()>>,
    /// The steps of a graceful end, in order.
    closes: Vec<Close>,
    /// The future of the connection's end.
    ended: Option<BoxFuture<'static, ServerEnd>>,
}

type Close = Box<dyn FnOnce() -> BoxFuture<'static, Result<(), Error>> + Send>;

impl ConnectionHandle {
    /// Returns the link of a connection that another owner keeps.
    pub fn none() -> Self {
        Self::default()
    }

    mgp_types::setters! { #[must_use] self =>
        /// Sets the task that carries the connection; the task is aborted at the end.
        pub fn with_task(task: JoinHandle<()>) => self.tasks.push(task);

        /// Sets the future of the connection's end, in place of an earlier one.
        pub fn with_ended(ended: impl Future<Output = ServerEnd> + Send + 'static) =>
            self.ended = Some(Box::pin(ended));
    }

    /// Adds a step of the graceful end, after the steps so far.
    #[must_use]
    pub fn with_close<F>(mut self, close: impl FnOnce() -> F + Send + 'static) -> Self
    where
        F: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.closes.push(Box::new(|| Box::pin(close())));
        self
    }

    /// Removes the future of the connection's end and returns it; it never ends for a connection that another owner
    /// keeps.
    pub(crate) fn take_ended(&mut self) -> BoxFuture<'static, ServerEnd> {
        self.ended.take().unwrap_or_else(|| Box::pin(std::future::pending()))
    }

    /// Closes the connection gracefully.
    ///
    /// # Errors
    /// A step of the graceful end fails; the connection is closed in any case.
    pub async fn close(mut self) -> Result<(), Error> {
        let mut outcome = Ok(());
        for close in std::mem::take(&mut self.closes) {
            outcome = outcome.and(close().await);
        }
        outcome
    }
}

impl Drop for ConnectionHandle {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

mgp_types::partial_debug!(ConnectionHandle, self => tasks: self.tasks.len());
