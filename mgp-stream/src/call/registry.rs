//! The table of the calls in progress that can be cancelled, by their streams.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Context;

use mgp_types::mgp::CallRecord;
use mgp_types::{Error, Response, StreamId};
use parking_lot::{Mutex, MutexGuard};

use super::active::{ActiveCall, ForcedEnd};
use super::complete::complete;
use super::quiet_call::QuietCall;

/// The calls that had to wait, by their streams.
#[derive(Default)]
pub(super) struct CallRegistry(Mutex<CallRegistryState>);

#[derive(Default)]
pub(super) struct CallRegistryState {
    pub(super) by_stream: HashMap<StreamId, RegisteredCall, foldhash::fast::RandomState>,
    /// The count of the numbers given out.
    numbers: u64,
}

impl CallRegistryState {
    /// Returns a number that no other work has.
    pub(super) const fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}

/// An entry of the table: a call that goes on.
pub(super) enum RegisteredCall {
    /// A call that streams.
    Active(Arc<ActiveCall>),
    /// A call whose caller did not ask for chunks.
    Quiet(QuietCall),
}

impl CallRegistry {
    /// Returns the call that streams on `stream`.
    pub(super) fn find(&self, stream: StreamId) -> Option<Arc<ActiveCall>> {
        match self.0.lock().by_stream.get(&stream)? {
            RegisteredCall::Active(active) => Some(Arc::clone(active)),
            RegisteredCall::Quiet(_) => None,
        }
    }

    /// Notes that the server behind a gateway is asked to cancel the call. Returns whether this is the first time and
    /// the call goes on.
    pub(super) fn begin_asking(&self, stream: StreamId) -> bool {
        match self.0.lock().by_stream.get_mut(&stream) {
            Some(RegisteredCall::Quiet(quiet)) => quiet.begin_asking(),
            _ => false,
        }
    }

    /// Cancels the call, unless the call is over, and returns the answer to the cancellation.
    pub(super) fn cancel(&self, stream: StreamId) -> Option<Response> {
        let mut calls = self.0.lock();
        match calls.by_stream.get_mut(&stream)? {
            RegisteredCall::Active(active) => {
                let active = Arc::clone(active);
                drop(calls);
                active.cancel()
            }
            RegisteredCall::Quiet(quiet) => {
                let (answer, waker) = quiet.cancel()?;
                drop(calls);
                if let Some(waker) = waker {
                    waker.wake();
                }
                Some(answer)
            }
        }
    }

    pub(super) fn calls(&self) -> MutexGuard<'_, CallRegistryState> {
        self.0.lock()
    }
}

/// The work on one call that streams. Dropping this value ends the call: no more chunks leave, and the call is no
/// longer found.
pub(super) struct StreamingWork {
    pub(super) registry: Arc<CallRegistry>,
    pub(super) active: Arc<ActiveCall>,
    pub(super) trail: Option<Arc<CallRecord>>,
    /// True once the call is in the table.
    pub(super) entered: bool,
}

impl StreamingWork {
    /// Returns how the call ended, if not by its handler. The task is woken when the call ends in this way.
    pub(super) fn ended(&self, cx: &Context<'_>) -> Option<Result<Response, Error>> {
        self.active.watch(cx.waker()).map(|end| self.end(end))
    }

    /// Enters the call in the table.
    pub(super) fn enter(&mut self) {
        if !self.entered {
            self.entered = true;
            let entry = RegisteredCall::Active(Arc::clone(&self.active));
            self.registry.calls().by_stream.insert(self.active.stream, entry);
        }
    }

    /// Returns the answer of a call whose handler is done, or the answer of an end that was faster.
    pub(super) fn finish(&self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        match self.active.finish() {
            Ok(None) => outcome,
            Ok(Some(streamed)) => outcome.map(|response| complete(response, &streamed)),
            Err(end) => self.end(end),
        }
    }

    fn end(&self, end: ForcedEnd) -> Result<Response, Error> {
        if let (ForcedEnd::Cancelled(_), Some(trail)) = (&end, &self.trail) {
            trail.note_cancelled();
        }
        end.into_answer()
    }
}

impl Drop for StreamingWork {
    fn drop(&mut self) {
        self.active.abandon();
        if self.entered {
            let mut calls = self.registry.calls();
            let stream = self.active.stream;
            // A request that is tried twice at once has one stream and two works.
            let own = |entry: &RegisteredCall| matches!(entry, RegisteredCall::Active(it) if Arc::ptr_eq(it, &self.active));
            if calls.by_stream.get(&stream).is_some_and(own) {
                calls.by_stream.remove(&stream);
            }
        }
    }
}
