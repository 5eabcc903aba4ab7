//! The table of the calls in progress that can be cancelled, by their streams, and the work on each.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;
use std::task::{Context, Waker};

use futures_util::task::AtomicWaker;
use mgp_types::mgp::{CallRecord, StreamSummary};
use mgp_types::{Error, RawJson, Response, StreamId};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::active::{ActiveCall, ForcedEnd, StreamedResult, millis_since};
use super::complete::{cancellation_answer, cancelled_result, complete, summary};
use super::content::StreamedContent;
use super::split::{send, split};

/// The calls that had to wait, by their streams.
#[derive(Default)]
pub(super) struct CallRegistry(Mutex<CallRegistryState>);

#[derive(Default)]
pub(super) struct CallRegistryState {
    /// The calls, each with the number of the work on it. A request that is tried twice at once has one stream and two
    /// works.
    pub(super) by_stream: HashMap<StreamId, (u64, RegisteredCall), foldhash::fast::RandomState>,
    /// The count of the numbers given out.
    numbers: u64,
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
            (_, RegisteredCall::Active(active)) => Some(Arc::clone(active)),
            (_, RegisteredCall::Quiet(_)) => None,
        }
    }

    /// Notes that the server behind a gateway is asked to cancel the call, until the result is dropped. Returns nothing
    /// unless this is the first time and the call goes on.
    pub(super) fn begin_asking(self: &Arc<Self>, stream: StreamId) -> Option<Asking> {
        match self.0.lock().by_stream.get_mut(&stream) {
            Some((_, RegisteredCall::Quiet(quiet))) => {
                quiet.begin_asking().then(|| Asking { registry: Arc::clone(self), stream })
            }
            _ => None,
        }
    }

    /// Cancels the call, unless the call is over, and returns the answer to the cancellation. A call that is not streamed
    /// here ends with the content `so_far`.
    pub(super) fn cancel(&self, stream: StreamId, so_far: StreamedContent) -> Option<Response> {
        let mut calls = self.0.lock();
        match calls.by_stream.get_mut(&stream)? {
            (_, RegisteredCall::Active(active)) => {
                let active = Arc::clone(active);
                drop(calls);
                active.cancel()
            }
            (_, RegisteredCall::Quiet(quiet)) => {
                let (answer, waker) = quiet.cancel(so_far)?;
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

/// The time in which the server behind a gateway is asked to cancel a call. What the server answers to the call itself
/// meanwhile waits for the end of this time.
pub(super) struct Asking {
    registry: Arc<CallRegistry>,
    stream: StreamId,
}

impl Drop for Asking {
    fn drop(&mut self) {
        let mut calls = self.registry.calls();
        if let Some((_, RegisteredCall::Quiet(quiet))) = calls.by_stream.get_mut(&self.stream) {
            quiet.asked = Asked::Before;
            let waker = quiet.waker.take();
            drop(calls);
            if let Some(waker) = waker {
                waker.wake();
            }
        }
    }
}

/// A call in progress that streams nothing and can only be cancelled.
pub(super) struct QuietCall {
    began: Instant,
    /// The waker of the task that runs the call.
    waker: AtomicWaker,
    asked: Asked,
    end: Option<QuietEnd>,
}

/// Whether the server behind is asked to cancel a call.
#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Never,
    Now,
    Before,
}

/// The end of a call that is not streamed here.
enum QuietEnd {
    /// The call was cancelled, with this answer.
    Stopped(Response),
    /// The handler ended while its server was asked to cancel the call.
    Crossed(Result<Response, Error>),
}

impl QuietCall {
    /// Notes that the server behind is asked to cancel the call. Returns whether this is the first time and the call
    /// goes on.
    fn begin_asking(&mut self) -> bool {
        let is_first = self.end.is_none() && self.asked == Asked::Never;
        if is_first {
            self.asked = Asked::Now;
        }
        is_first
    }

    fn is_over(&self) -> bool {
        match &self.end {
            Some(QuietEnd::Stopped(_)) => true,
            Some(QuietEnd::Crossed(_)) => self.asked != Asked::Now,
            None => false,
        }
    }

    /// Cancels the call, unless it is over. Returns the answer for the caller, and the task to wake.
    fn cancel(&mut self, so_far: StreamedContent) -> Option<(Response, Option<Waker>)> {
        if self.is_over() {
            return None;
        }
        let summary = StreamSummary::new(0, millis_since(self.began)).cancelled();
        let streamed = StreamedResult { content: so_far, summary };
        self.end = Some(QuietEnd::Stopped(cancelled_result(&streamed)));
        Some((cancellation_answer(&streamed.content), self.waker.take()))
    }
}

/// The work on one call. Dropping this value ends the call: no more chunks leave, and the call is no longer found.
///
/// The work on a call that streams nothing costs nothing until the call has to wait, and then an entry in the table.
pub(super) struct CallWork {
    pub(super) registry: Arc<CallRegistry>,
    pub(super) stream: StreamId,
    pub(super) trail: Option<Arc<CallRecord>>,
    /// The call, if it streams.
    pub(super) active: Option<Arc<ActiveCall>>,
    /// The number of the work, once the call is in the table.
    pub(super) entered: Option<u64>,
}

impl CallWork {
    /// Returns how the call ended, if not by its handler. The task is woken when the call ends in this way.
    pub(super) fn ended(&mut self, cx: &Context<'_>) -> Option<Result<Response, Error>> {
        if let Some(active) = &self.active {
            return active.watch(cx.waker()).map(|end| self.end(end));
        }
        let work = self.entered?;
        let mut calls = self.registry.calls();
        let is_over = match calls.by_stream.get_mut(&self.stream)? {
            (number, RegisteredCall::Quiet(quiet)) if *number == work => {
                quiet.waker.register(cx.waker());
                quiet.is_over()
            }
            _ => false,
        };
        drop(calls);
        is_over.then(|| self.finish(Err(Error::cancelled())))
    }

    /// Keeps the outcome of a handler whose server is asked to cancel the call: which of the two counts is known when the
    /// server has answered. Returns the outcome if it counts.
    pub(super) fn hold(&mut self, outcome: Result<Response, Error>) -> Option<Result<Response, Error>> {
        let Some(work) = self.entered else { return Some(outcome) };
        match self.registry.calls().by_stream.get_mut(&self.stream) {
            Some((number, RegisteredCall::Quiet(quiet)))
                if *number == work && quiet.asked == Asked::Now && !is_cancelled(&outcome) =>
            {
                quiet.end.get_or_insert(QuietEnd::Crossed(outcome));
                None
            }
            _ => Some(outcome),
        }
    }

    /// Enters the call in the table, because its handler has to wait.
    pub(super) fn enter(&mut self, cx: &Context<'_>) {
        if self.entered.is_some() {
            return;
        }
        let call = if let Some(active) = &self.active {
            RegisteredCall::Active(Arc::clone(active))
        } else {
            let waker = AtomicWaker::new();
            waker.register(cx.waker());
            RegisteredCall::Quiet(QuietCall { began: Instant::now(), waker, asked: Asked::Never, end: None })
        };
        let mut calls = self.registry.calls();
        calls.numbers += 1;
        let work = calls.numbers;
        calls.by_stream.insert(self.stream, (work, call));
        self.entered = Some(work);
    }

    /// Returns the answer of a call whose handler is done, or the answer of an end that was faster.
    pub(super) fn finish(&mut self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        if let Some(active) = &self.active {
            return match active.finish() {
                Ok(None) => outcome,
                Ok(Some(streamed)) => outcome.map(|response| complete(response, &streamed)),
                Err(end) => self.end(end),
            };
        }
        let Some(RegisteredCall::Quiet(QuietCall { asked, end, .. })) = self.leave() else {
            return outcome;
        };
        match end {
            Some(QuietEnd::Stopped(answer)) => {
                self.note_cancelled();
                Ok(answer)
            }
            Some(QuietEnd::Crossed(outcome)) => outcome,
            None => {
                if asked != Asked::Never && is_cancelled(&outcome) {
                    self.note_cancelled();
                }
                outcome
            }
        }
    }

    /// Returns the contents of the chunks in which a large result is sent, if its caller takes chunks and got none.
    pub(super) fn chunks_of(&self, outcome: &Result<Response, Error>) -> Option<Vec<RawJson>> {
        self.active.as_ref().filter(|active| active.chunks_sent() == 0)?;
        split(outcome)
    }

    /// Sends the chunks of a large result, and returns the answer of its call.
    pub(super) async fn finish_in_chunks(
        mut self,
        chunks: Vec<RawJson>,
        outcome: Result<Response, Error>,
    ) -> Result<Response, Error> {
        if let Some(active) = self.active.clone() {
            send(&active, chunks).await;
        }
        self.finish(outcome)
    }

    fn end(&self, end: ForcedEnd) -> Result<Response, Error> {
        match end {
            ForcedEnd::Cancelled(streamed) => {
                self.note_cancelled();
                Ok(cancelled_result(&streamed))
            }
            ForcedEnd::Failed(error) => Err(error),
        }
    }

    fn note_cancelled(&self) {
        if let Some(trail) = &self.trail {
            trail.note_cancelled();
        }
    }

    /// Takes the call out of the table and returns its entry, if the call had to wait.
    fn leave(&mut self) -> Option<RegisteredCall> {
        let work = self.entered.take()?;
        match self.registry.calls().by_stream.entry(self.stream) {
            Entry::Occupied(own) if own.get().0 == work => Some(own.remove().1),
            _ => None,
        }
    }
}

/// Returns whether the server itself answered that it cancelled the call.
fn is_cancelled(outcome: &Result<Response, Error>) -> bool {
    outcome.as_ref().ok().and_then(summary).is_some_and(|summary| summary.cancelled)
}

impl Drop for CallWork {
    fn drop(&mut self) {
        if let Some(active) = &self.active {
            active.abandon();
        }
        self.leave();
    }
}
