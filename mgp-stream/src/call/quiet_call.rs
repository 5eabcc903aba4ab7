//! Calls in progress that stream nothing and can only be cancelled.

use std::sync::Arc;
use std::task::{Context, Waker};

use futures_util::task::AtomicWaker;
use mgp_types::mgp::{CallRecord, StreamSummary};
use mgp_types::{Error, Response, StreamId};
use tokio::time::Instant;

use super::active::{StreamedResult, millis_since};
use super::complete::{cancellation_answer, cancelled_result};
use super::content::StreamedContent;
use super::registry::{CallRegistry, CallRegistryState, RegisteredCall};
use super::summary::summary;

/// A call in progress that streams nothing and can only be cancelled.
pub(super) struct QuietCall {
    /// The number of the work on this call. A request that is tried twice at once has one stream and two works.
    work: u64,
    began: Instant,
    /// The waker of the task that runs the call.
    waker: AtomicWaker,
    /// Set once the server behind was asked to cancel the call.
    asked: bool,
    /// The answer to the call, once the call was cancelled.
    stopped: Option<Response>,
}

impl QuietCall {
    /// Notes that the server behind is asked to cancel the call. Returns whether this is the first time and the call
    /// goes on.
    pub(super) const fn begin_asking(&mut self) -> bool {
        self.stopped.is_none() && !std::mem::replace(&mut self.asked, true)
    }

    /// Cancels the call, unless it was cancelled before. Returns the answer for the caller, and the task to wake.
    pub(super) fn cancel(&mut self) -> Option<(Response, Option<Waker>)> {
        if self.stopped.is_some() {
            return None;
        }
        let summary = StreamSummary::new(0, millis_since(self.began)).cancelled();
        let nothing = StreamedResult { content: StreamedContent::default(), summary };
        self.stopped = Some(cancelled_result(&nothing));
        Some((cancellation_answer(&nothing.content), self.waker.take()))
    }
}

/// The work on one call that streams nothing. Dropping this value ends the call.
///
/// The work costs nothing until the call has to wait, and then an entry in the table.
pub(super) struct QuietWork {
    pub(super) registry: Arc<CallRegistry>,
    pub(super) stream: StreamId,
    pub(super) trail: Option<Arc<CallRecord>>,
    /// The number of the work, once the call is in the table.
    pub(super) entered: Option<u64>,
}

impl QuietWork {
    /// Returns the answer, if the call was cancelled. The task is woken when the call is cancelled.
    pub(super) fn stopped(&mut self, cx: &Context<'_>) -> Option<Response> {
        let work = self.entered?;
        let mut calls = self.registry.calls();
        let quiet = own(&mut calls, self.stream, work)?;
        if let Some(answer) = quiet.stopped.take() {
            calls.by_stream.remove(&self.stream);
            drop(calls);
            self.entered = None;
            self.note_cancelled();
            return Some(answer);
        }
        quiet.waker.register(cx.waker());
        None
    }

    /// Enters the call in the table, because its handler has to wait.
    pub(super) fn enter(&mut self, cx: &Context<'_>) {
        if self.entered.is_none() {
            let mut calls = self.registry.calls();
            let work = calls.number();
            let waker = AtomicWaker::new();
            waker.register(cx.waker());
            let quiet = QuietCall { work, began: Instant::now(), waker, asked: false, stopped: None };
            calls.by_stream.insert(self.stream, RegisteredCall::Quiet(quiet));
            self.entered = Some(work);
        }
    }

    /// Returns the answer of a call whose handler is done, or the answer of a cancellation that was faster.
    pub(super) fn finish(&mut self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        let Some(QuietCall { asked, stopped, .. }) = self.leave() else { return outcome };
        let is_cancelled = |response| summary(response).is_some_and(|summary| summary.cancelled);
        if stopped.is_some() || asked && outcome.as_ref().is_ok_and(is_cancelled) {
            self.note_cancelled();
        }
        stopped.map_or(outcome, Ok)
    }

    fn note_cancelled(&self) {
        if let Some(trail) = &self.trail {
            trail.note_cancelled();
        }
    }

    /// Takes the call out of the table and returns its entry, if the call had to wait.
    fn leave(&mut self) -> Option<QuietCall> {
        let work = self.entered.take()?;
        let mut calls = self.registry.calls();
        own(&mut calls, self.stream, work)?;
        match calls.by_stream.remove(&self.stream)? {
            RegisteredCall::Quiet(quiet) => Some(quiet),
            RegisteredCall::Active(_) => None,
        }
    }
}

impl Drop for QuietWork {
    fn drop(&mut self) {
        self.leave();
    }
}

fn own(calls: &mut CallRegistryState, stream: StreamId, work: u64) -> Option<&mut QuietCall> {
    match calls.by_stream.get_mut(&stream)? {
        RegisteredCall::Quiet(quiet) if quiet.work == work => Some(quiet),
        _ => None,
    }
}
