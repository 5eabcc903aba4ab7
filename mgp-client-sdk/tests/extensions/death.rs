//! The sudden death of a process, at one of the points that it passes.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// The death of a process. Behind its point nothing happens any more.
#[derive(Clone)]
pub(crate) struct Death(Arc<DeathPoint>);

struct DeathPoint {
    left: AtomicU64,
    came: Notify,
}

impl Death {
    pub(crate) fn never() -> Self {
        Self::after(u64::MAX)
    }

    /// Returns the death of a process that passes so many points.
    pub(crate) fn after(points: u64) -> Self {
        Self(Arc::new(DeathPoint { left: AtomicU64::new(points), came: Notify::new() }))
    }

    /// Passes a point, or dies.
    pub(crate) async fn point(&self) {
        let less = |left: u64| left.checked_sub(1);
        if self.0.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_err() {
            self.0.came.notify_one();
            pending::<()>().await;
        }
    }

    /// Runs `course` in a process of its own; `None` if the process dies before the end. Nothing of the process is left.
    pub(crate) fn end<T>(&self, course: impl Future<Output = T>) -> Option<T> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            tokio::select! {
                biased;
                () = self.0.came.notified() => None,
                end = course => Some(end),
            }
        })
    }
}
