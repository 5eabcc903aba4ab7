//! The count of those who watch the queue of questions, which decides how long a call waits for an answer.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// A registration of somebody who watches the waiting questions; it ends when dropped. While there is one, calls wait
/// longer for an answer.
#[derive(Debug)]
pub struct ApprovalWatch(Arc<ApprovalWatchers>);

/// The number of watchers, and the time until which somebody last watched.
#[derive(Debug, Default)]
pub(super) struct ApprovalWatchers(Mutex<(usize, Option<Instant>)>);

impl ApprovalWatchers {
    pub(super) fn begin(self: &Arc<Self>) -> ApprovalWatch {
        self.0.lock().0 += 1;
        ApprovalWatch(Arc::clone(self))
    }

    /// Returns whether somebody watches, or did until a moment ago: a watcher over a network connection looks at
    /// intervals.
    pub(super) fn is_watched(&self) -> bool {
        let (now_watching, until) = *self.0.lock();
        now_watching > 0 || until.is_some_and(|until| until.elapsed() < BETWEEN_LOOKS)
    }
}

impl Drop for ApprovalWatch {
    fn drop(&mut self) {
        let mut watched = self.0.0.lock();
        watched.0 = watched.0.saturating_sub(1);
        watched.1 = Some(Instant::now());
    }
}

/// The longest time between two looks at the queue that count as watching.
const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
