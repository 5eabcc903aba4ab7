//! The table of the calls in progress that can be cancelled, by their streams.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Context;

use foldhash::fast::RandomState;
use mgp_types::mgp::CallRecord;
use mgp_types::{Error, Response, StreamId};
use parking_lot::Mutex;

use super::active::{ActiveCall, ForcedEnd};
use super::complete::complete;
use super::summary::summary;

/// The calls that had to wait, by their streams.
#[derive(Default)]
pub(super) struct CallRegistry(Mutex<HashMap<StreamId, Arc<ActiveCall>, RandomState>>);

impl CallRegistry {
    /// Returns the call on `stream`.
    pub(super) fn find(&self, stream: StreamId) -> Option<Arc<ActiveCall>> {
        self.0.lock().get(&stream).cloned()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.lock().len()
    }
}

/// The work on one call. Dropping this value ends the call: no more chunks leave, and the call is no longer found.
///
/// The work on a call that streams nothing costs nothing until the call has to wait.
pub(super) struct CallWork {
    registry: Arc<CallRegistry>,
    stream: StreamId,
    trail: Option<Arc<CallRecord>>,
    /// The call: from the start if it streams, and else once it has to wait.
    active: Option<Arc<ActiveCall>>,
    entered: bool,
}

impl CallWork {
    pub(super) const fn new(
        registry: Arc<CallRegistry>,
        stream: StreamId,
        trail: Option<Arc<CallRecord>>,
        active: Option<Arc<ActiveCall>>,
    ) -> Self {
        Self { registry, stream, trail, active, entered: false }
    }

    /// Returns how the call ended, if not by its handler. The task is woken when the call ends in this way.
    pub(super) fn ended(&self, cx: &Context<'_>) -> Option<Result<Response, Error>> {
        self.active.as_ref()?.watch(cx.waker()).map(|end| self.end(end))
    }

    /// Enters the call in the table, because its handler has to wait.
    pub(super) fn enter(&mut self, cx: &Context<'_>) {
        if !self.entered {
            self.entered = true;
            let active = self.active.get_or_insert_with(|| {
                let quiet = ActiveCall::new(None, self.stream);
                // The call is new, so that it has not ended.
                let _running = quiet.watch(cx.waker());
                Arc::new(quiet)
            });
            self.registry.0.lock().insert(self.stream, Arc::clone(active));
        }
    }

    /// Returns the answer of a call whose handler is done, or the answer of an end that was faster.
    pub(super) fn finish(&self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        let Some(active) = &self.active else { return outcome };
        match active.finish() {
            Ok(None) => {
                let is_cancelled = |response| summary(response).is_some_and(|summary| summary.cancelled);
                if active.is_asked() && outcome.as_ref().is_ok_and(is_cancelled) {
                    self.note_cancelled();
                }
                outcome
            }
            Ok(Some(streamed)) => outcome.map(|response| complete(response, &streamed)),
            Err(end) => self.end(end),
        }
    }

    fn end(&self, end: ForcedEnd) -> Result<Response, Error> {
        if matches!(end, ForcedEnd::Cancelled(_)) {
            self.note_cancelled();
        }
        end.into_answer()
    }

    fn note_cancelled(&self) {
        if let Some(trail) = &self.trail {
            trail.note_cancelled();
        }
    }
}

impl Drop for CallWork {
    fn drop(&mut self) {
        let Some(active) = &self.active else { return };
        active.abandon();
        if self.entered {
            let mut calls = self.registry.0.lock();
            // A request that is tried twice at once has one stream and two works.
            if calls.get(&self.stream).is_some_and(|entry| Arc::ptr_eq(entry, active)) {
                calls.remove(&self.stream);
            }
        }
    }
}
