use std::collections::HashMap;
use std::sync::Arc;
use std::task::Context;

use mgp_types::{Error, Response, StreamId};
use parking_lot::Mutex;

use super::active::{Active, End};
use super::complete::complete;

/// The calls that had to wait, by their streams.
#[derive(Default)]
pub(super) struct Registry(Mutex<HashMap<StreamId, Arc<Active>, foldhash::fast::RandomState>>);

impl Registry {
    pub(super) fn find(&self, stream: StreamId) -> Option<Arc<Active>> {
        self.0.lock().get(&stream).cloned()
    }

    #[cfg(test)]
    pub(super) fn calls(&self) -> usize {
        self.0.lock().len()
    }
}

/// The work on one call. With this value the call is over: nothing is streamed any more, and nobody finds it.
pub(super) struct Work {
    registry: Arc<Registry>,
    active: Arc<Active>,
    entered: bool,
}

impl Work {
    pub(super) const fn new(registry: Arc<Registry>, active: Arc<Active>) -> Self {
        Self { registry, active, entered: false }
    }

    /// How the call ended without its handler, if it did. The task is woken when it does.
    pub(super) fn ended(&self, cx: &Context<'_>) -> Option<Result<Response, Error>> {
        self.active.watch(cx.waker()).map(End::into_answer)
    }

    /// Makes the call one that others find.
    pub(super) fn enter(&mut self) {
        if !self.entered {
            self.entered = true;
            self.active.goes_on();
            self.registry.0.lock().insert(self.active.stream(), Arc::clone(&self.active));
        }
    }

    /// The answer of a call whose handler is done; that of whoever ended it, if somebody was faster.
    pub(super) fn finish(&self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        match self.active.finish() {
            Ok(None) => outcome,
            Ok(Some(streamed)) => outcome.map(|response| complete(response, &streamed)),
            Err(end) => end.into_answer(),
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.active.abandon();
        if self.entered {
            let mut calls = self.registry.0.lock();
            let stream = self.active.stream();
            // A request that is tried twice at once has one stream and two works.
            if calls.get(&stream).is_some_and(|active| Arc::ptr_eq(active, &self.active)) {
                calls.remove(&stream);
            }
        }
    }
}
