use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// Somebody who watches the questions that wait, until this is dropped. A call waits longer for an answer while somebody does.
#[derive(Debug)]
pub struct ApprovalWatch(Arc<ApprovalWatchers>);

/// How many watch, and until when somebody did.
#[derive(Debug, Default)]
pub(super) struct ApprovalWatchers(Mutex<(usize, Option<Instant>)>);

impl ApprovalWatchers {
    pub(super) fn begin(self: &Arc<Self>) -> ApprovalWatch {
        self.0.lock().0 += 1;
        ApprovalWatch(Arc::clone(self))
    }

    /// Returns whether somebody watches, or did until a moment ago: whoever watches over a connection looks again and again.
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

const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
