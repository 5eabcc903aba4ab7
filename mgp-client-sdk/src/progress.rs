//! The routes of progress notifications to the calls that want them.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::Context;

use futures_util::task::AtomicWaker;
use mgp_types::mcp::ProgressParams;
use mgp_types::{Id, Object};
use parking_lot::Mutex;

/// The routes of progress notifications to the calls they belong to, by token.
#[derive(Debug, Default)]
pub(crate) struct ProgressRoutes {
    slots: Mutex<HashMap<i64, Arc<Slot>>>,
    next_token: AtomicI64,
}

/// The reports about one call that its callback has not got yet.
#[derive(Debug, Default)]
struct Slot {
    /// The waiting reports. The queue is bounded: the oldest is dropped, because a newer one says more.
    reports: Mutex<VecDeque<ProgressParams>>,
    waker: AtomicWaker,
}

/// The route of one call. Dropping it removes the route.
#[derive(Debug)]
pub(crate) struct ProgressWatch {
    routes: Arc<ProgressRoutes>,
    /// The token that reports carry.
    pub(crate) token: i64,
    slot: Arc<Slot>,
}

impl ProgressRoutes {
    /// Creates a token, and the route of the reports under it.
    pub(crate) fn watch(self: &Arc<Self>) -> ProgressWatch {
        let token = self.next_token.fetch_add(1, Ordering::Relaxed);
        let slot = Arc::<Slot>::default();
        self.slots.lock().insert(token, slot.clone());
        ProgressWatch { routes: self.clone(), token, slot }
    }

    /// Hands the params of a notification to their call; returns whether there is one.
    pub(crate) fn route(&self, params: &Object) -> bool {
        let token = params.bytes("progressToken").and_then(Id::from_json);
        let Some(Id::Number(token)) = token else { return false };
        let Some(slot) = self.slots.lock().get(&token).cloned() else { return false };
        if let Ok(report) = params.to() {
            slot.push(report);
        }
        true
    }
}

const MAX_UNTOLD: usize = 64;

impl Slot {
    fn push(&self, report: ProgressParams) {
        let mut reports = self.reports.lock();
        if reports.len() == MAX_UNTOLD {
            reports.pop_front();
        }
        reports.push_back(report);
        drop(reports);
        self.waker.wake();
    }
}

impl ProgressWatch {
    /// Returns the next report in order. The task is woken when another one comes.
    pub(crate) fn next(&self, cx: &mut Context<'_>) -> Option<ProgressParams> {
        self.slot.waker.register(cx.waker());
        self.slot.reports.lock().pop_front()
    }
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        self.routes.slots.lock().remove(&self.token);
    }
}
