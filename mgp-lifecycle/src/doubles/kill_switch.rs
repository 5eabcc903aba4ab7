//! The sudden death of a process, for tests.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Notify;

/// A switch that ends a process at one of the points that it passes. Behind that point nothing happens any more.
#[derive(Debug, Clone)]
pub(crate) struct KillSwitch(Arc<SwitchState>);

#[derive(Debug)]
struct SwitchState {
    left: AtomicU64,
    died: Notify,
}

impl KillSwitch {
    /// Returns a switch that lets `points` points pass.
    pub(crate) fn after(points: u64) -> Self {
        Self(Arc::new(SwitchState { left: AtomicU64::new(points), died: Notify::new() }))
    }

    /// Passes a point, or dies.
    pub(crate) async fn point(&self) {
        if !self.passes() {
            pending::<()>().await;
        }
    }

    /// Passes a point and returns true, or dies. What comes behind the point is not done then.
    pub(crate) fn passes(&self) -> bool {
        let less = |left: u64| left.checked_sub(1);
        let is_alive = self.0.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok();
        if !is_alive {
            self.0.died.notify_one();
        }
        is_alive
    }
}

/// Runs `course` in a process of its own, whose clock is its own, too; `None` if the process dies before the end.
pub(crate) fn life<T>(switch: &KillSwitch, course: impl Future<Output = T>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.unwrap().block_on(async {
        tokio::select! {
            biased;
            () = switch.0.died.notified() => None,
            end = course => Some(end),
        }
    })
}
