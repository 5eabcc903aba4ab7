use std::sync::Arc;
use std::task::{Context, Waker};

use mgp_types::mgp::StreamSummary;
use mgp_types::{Error, Response, StreamId};
use tokio::time::Instant;

use super::active::{Streamed, millis_since};
use super::cancel;
use super::content::Content;
use super::registry::{Calls, Entry, Registry};

/// A call in work that nothing is streamed of. It can be stopped, and that is all.
pub(super) struct Quiet {
    /// Which work it is. A request that is tried twice at once has one stream and two works.
    work: u64,
    began: Instant,
    /// The task of the call.
    waker: Option<Waker>,
    /// What the call is answered, once it was stopped.
    stopped: Option<Response>,
}

impl Quiet {
    /// Stops the call, unless it was stopped before: what the caller is told, and the task to wake.
    pub(super) fn cancel(&mut self) -> Option<(Response, Option<Waker>)> {
        if self.stopped.is_some() {
            return None;
        }
        let summary = StreamSummary::new(0, millis_since(self.began)).cancelled();
        let nothing = Streamed { content: Content::default(), summary };
        self.stopped = Some(cancel::result(&nothing));
        Some((cancel::partial(&nothing.content), self.waker.take()))
    }
}

/// The work on one call that nothing is streamed of.
///
/// It costs nothing until it has to wait, and then a place in the table. With this value the call is over.
pub(super) struct QuietWork {
    registry: Arc<Registry>,
    stream: StreamId,
    /// Its number, once others find it.
    entered: Option<u64>,
}

impl QuietWork {
    pub(super) const fn new(registry: Arc<Registry>, stream: StreamId) -> Self {
        Self { registry, stream, entered: None }
    }

    /// The answer, if the call was stopped. The task is woken when it is.
    pub(super) fn stopped(&mut self, cx: &Context<'_>) -> Option<Response> {
        let work = self.entered?;
        let mut calls = self.registry.calls();
        let quiet = own(&mut calls, self.stream, work)?;
        if let Some(answer) = quiet.stopped.take() {
            calls.by_stream.remove(&self.stream);
            self.entered = None;
            return Some(answer);
        }
        match &mut quiet.waker {
            Some(waker) => waker.clone_from(cx.waker()),
            None => quiet.waker = Some(cx.waker().clone()),
        }
        None
    }

    /// The handler has to wait: makes the call one that others find.
    pub(super) fn enter(&mut self, cx: &Context<'_>) {
        if self.entered.is_none() {
            let mut calls = self.registry.calls();
            let work = calls.number();
            let waker = Some(cx.waker().clone());
            let quiet = Quiet { work, began: Instant::now(), waker, stopped: None };
            calls.by_stream.insert(self.stream, Entry::Quiet(quiet));
            self.entered = Some(work);
        }
    }

    /// The answer of a call whose handler is done; that of whoever stopped it, if somebody was faster.
    pub(super) fn finish(&mut self, outcome: Result<Response, Error>) -> Result<Response, Error> {
        self.leave().map_or(outcome, Ok)
    }

    /// The call is over. Its answer, if it was stopped before.
    fn leave(&mut self) -> Option<Response> {
        let work = self.entered.take()?;
        let mut calls = self.registry.calls();
        let stopped = own(&mut calls, self.stream, work)?.stopped.take();
        calls.by_stream.remove(&self.stream);
        stopped
    }
}

impl Drop for QuietWork {
    fn drop(&mut self) {
        self.leave();
    }
}

fn own(calls: &mut Calls, stream: StreamId, work: u64) -> Option<&mut Quiet> {
    match calls.by_stream.get_mut(&stream)? {
        Entry::Quiet(quiet) if quiet.work == work => Some(quiet),
        _ => None,
    }
}
