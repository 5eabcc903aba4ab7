//! The calls of clients that are not answered yet, told apart by whether they began before a moment.

use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::{Flow, Gate, Method, Request, RequestKind, WorkRole};
use tokio::sync::Notify;

/// A gate that keeps track of the calls that clients wait for. Clones share the calls.
///
/// Sits in front of everything else, so that a call which was answered with a question or a task is over. Subscriptions do
/// not count, and neither do requests that begin no work, such as those of operators. Costs two atomic operations for a call.
#[derive(Clone, Default)]
pub(crate) struct UnansweredCalls(Arc<ArcSwap<CallGeneration>>);

/// The calls that began between two moments. When the last one is over, whoever waits for them is notified.
#[derive(Default)]
pub(crate) struct CallGeneration(Arc<Notify>);

impl UnansweredCalls {
    /// Waits until the calls that are in work now are answered, whatever begins meanwhile.
    pub(crate) async fn answered(&self) {
        let generation = self.0.swap(Arc::default());
        let over = Arc::clone(&generation.0);
        drop(generation);
        over.notified().await;
    }
}

impl Gate for UnansweredCalls {
    type Pass = Option<Arc<CallGeneration>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let counts = request.kind == RequestKind::Call
            && request.method != Method::LISTEN
            && request.role() != WorkRole::Apart;
        Flow::Pass(counts.then(|| self.0.load_full()))
    }
}

impl Drop for CallGeneration {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use mgp_types::Object;

    use super::*;

    fn begin(calls: &UnansweredCalls, method: Method) -> Option<Arc<CallGeneration>> {
        match calls.enter(&mut Request::call(method, Object::new())) {
            Flow::Pass(pass) => pass,
            _ => unreachable!("the gate lets everything pass"),
        }
    }

    #[test]
    fn only_the_calls_that_are_there_are_waited_for() {
        let calls = UnansweredCalls::default();
        assert!(calls.answered().now_or_never().is_some(), "nothing is in work");
        let (first, second) = (begin(&calls, Method::TOOLS_CALL), begin(&calls, Method::TOOLS_CALL));
        let mut answered = Box::pin(calls.answered());
        assert!((&mut answered).now_or_never().is_none());
        let later = begin(&calls, Method::TOOLS_CALL);
        drop(first);
        assert!((&mut answered).now_or_never().is_none());
        drop(second);
        assert!(answered.now_or_never().is_some());
        assert!(calls.answered().now_or_never().is_none(), "the later call is in work");
        drop(later);
    }

    #[test]
    fn what_waits_without_an_end_is_not_waited_for() {
        let calls = UnansweredCalls::default();
        assert!(begin(&calls, Method::LISTEN).is_none());
        assert!(begin(&calls, Method::from_static("kernel/permissions/watch")).is_none());
    }
}
