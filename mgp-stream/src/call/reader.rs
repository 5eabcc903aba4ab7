//! The client's reader of a streamed call.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use mgp_types::mgp::{
    CallOptions, Extension, StreamCancel, StreamCancelled, StreamGap, StreamPace, StreamSummary, method,
};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, Request, Response, RpcService, StreamId, call_once,
};
use tokio::time::{Instant, Sleep};

use super::assembly::StreamPart;
use super::complete::summary;
use super::feed::{CallFeed, FeedRead, IntakeMode};
use super::pace::FlowControl;

/// A call whose result is read while it is made: a [`Stream`] of its parts, and its final result.
///
/// The call goes on while the reader is polled. Dropping the reader drops the call, which takes it back. A server that
/// does not stream sends no parts: the stream is empty, and the result is there.
///
/// A reader that does not keep up lets chunks wait at the server: the queue before the reader is bounded, and a server
/// that streams is told how fast the reader takes chunks. A reader that takes nothing for seconds loses chunks. Missing
/// chunks are asked for again, and chunks that do not come are reported as a [`AwaitedChunk`](StreamPart::Gap).
pub struct StreamReader<S> {
    service: S,
    feed: Arc<CallFeed>,
    call: Option<BoxFuture<'static, Result<Response, Error>>>,
    /// The answer, once it came.
    outcome: Option<Result<Response, Error>>,
    /// The context of all messages about the call.
    context: mgp_types::Context,
    /// Set if the server may be told about streaming.
    negotiated: bool,
    /// The messages on their way, in order.
    sends: VecDeque<BoxFuture<'static, ()>>,
    /// The number of parts that were left in the queue at the last look.
    left: usize,
    flow: FlowControl,
    gap: Option<AwaitedChunk>,
}

/// A missing chunk that all later chunks wait for.
struct AwaitedChunk {
    index: u64,
    again: Pin<Box<Sleep>>,
    asked: u32,
}

const MAX_SENDS: usize = 8;

/// The number of times that one chunk is asked for. A chunk that does not come then is reported as lost with the
/// answer.
const MAX_ASKED: u32 = 3;

/// The time after which a missing chunk is late.
const LATE: Duration = Duration::from_secs(1);

impl<S: RpcService> StreamReader<S> {
    /// Makes the call with `service`, and asks for its result in parts.
    ///
    /// The call does not ask for parts in a session that is known to lack the extension `streaming`.
    pub fn open(service: S, request: Request) -> Self {
        Self::open_at(service, request, 0)
    }

    /// Makes a call that goes on with an interrupted one, as [`open`](Self::open) does: the chunks before number `first`
    /// came with the earlier call.
    pub fn open_at(service: S, mut request: Request, first: u64) -> Self {
        let session = request.context.session.as_deref();
        let lacking = session.is_some_and(|session| !session.has(&Extension::Streaming));
        if !lacking {
            let mut wishes = CallOptions::of(&request.params);
            wishes.stream = true;
            wishes.write(&mut request.params);
        }
        let stream = StreamId::fresh();
        let feed = Arc::new(CallFeed::new(std::mem::take(&mut request.context.outbox), first));
        let mut context = mgp_types::Context::default();
        context.session.clone_from(&request.context.session);
        context.principal.clone_from(&request.context.principal);
        context.outbox = Outbox::on(stream);
        request.context.outbox = Outbox::new(feed.clone(), stream);
        Self {
            call: Some(Box::pin(call_once(service.clone(), request))),
            service,
            feed,
            outcome: None,
            context,
            negotiated: !lacking,
            sends: VecDeque::new(),
            left: 0,
            flow: FlowControl::default(),
            gap: None,
        }
    }

    /// Returns the stream of the call, which names the call in messages about it.
    pub const fn stream(&self) -> StreamId {
        self.context.outbox.stream()
    }

    /// Waits for the final result, which is complete however much was read. Parts that were not read are dropped.
    ///
    /// # Errors
    /// The errors of the call.
    pub async fn finish(mut self) -> Result<Response, Error> {
        poll_fn(|cx| {
            while ready!(Pin::new(&mut self).poll_next(cx)).is_some() {}
            self.outcome.take().map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }

    /// Asks the server to cancel the call (§12.7), and waits for its answer. The call is answered as well, see
    /// [`finish`](Self::finish). Parts that came until then can still be read; parts that find no room any more are
    /// left out.
    ///
    /// # Errors
    /// The connection is lost, or the server does not cancel calls: -32601 or, from some servers, -32602.
    ///
    /// # Cancel safety
    /// Dropping the future takes the request back; the server may have cancelled the call all the same.
    pub async fn cancel(&mut self, reason: Option<&str>) -> Result<StreamCancelled, Error> {
        if self.outcome.is_some() {
            return Ok(StreamCancelled::not_active());
        }
        self.feed.leave_out(IntakeMode::Stopping);
        let mut cancel = StreamCancel::default();
        cancel.reason = reason.map(Into::into);
        let mut request = Request::with_body(Method::STREAM_CANCEL, &cancel)?;
        request.context = Box::new(self.context.clone());
        let mut answer: BoxFuture<'_, _> = Box::pin(call_once(self.service.clone(), request));
        let answer = poll_fn(|cx| {
            self.drive(cx);
            answer.as_mut().poll(cx)
        });
        answer.await?.body()
    }

    /// Polls the call, and the messages about it.
    fn drive(&mut self, cx: &mut Context<'_>) {
        self.drive_sends(cx);
        let Some(call) = &mut self.call else { return };
        if let Poll::Ready(outcome) = call.as_mut().poll(cx) {
            self.call = None;
            self.sends.clear();
            let final_summary = outcome.as_ref().ok().and_then(summary);
            self.feed.end(final_summary.map(|summary: StreamSummary| summary.chunks_sent));
            self.outcome = Some(outcome);
        }
    }

    fn drive_sends(&mut self, cx: &mut Context<'_>) {
        while let Some(send) = self.sends.front_mut() {
            if send.as_mut().poll(cx).is_pending() {
                return;
            }
            self.sends.pop_front();
        }
    }

    /// Asks for the chunk that all later ones wait for, once that chunk is late.
    fn mind_the_gap(&mut self, waits_for: Option<u64>, cx: &mut Context<'_>) {
        let Some(index) = waits_for else {
            self.gap = None;
            return;
        };
        if self.gap.as_ref().is_none_or(|gap| gap.index != index) {
            self.gap = Some(AwaitedChunk { index, again: Box::pin(tokio::time::sleep(LATE)), asked: 0 });
        }
        while let Some(gap) = &mut self.gap
            && gap.asked < MAX_ASKED
            && gap.again.as_mut().poll(cx).is_ready()
        {
            gap.asked += 1;
            gap.again.as_mut().reset(Instant::now() + LATE);
            let gap = StreamGap::new(self.feed.missing());
            self.tell(method::STREAM_GAP, Object::from_value(&gap).unwrap_or_default(), cx);
        }
    }

    fn tell(&mut self, method: &'static str, params: Object, cx: &mut Context<'_>) {
        if !self.negotiated || self.outcome.is_some() || self.sends.len() >= MAX_SENDS {
            return;
        }
        let mut request = Request::notify(Method::from_static(method), params);
        request.context = Box::new(self.context.clone());
        let sent = call_once(self.service.clone(), request);
        self.sends.push_back(Box::pin(async move {
            if let Err(error) = sent.await {
                tracing::debug!(%error, method, "a message about a stream did not reach the server");
            }
        }));
        self.drive_sends(cx);
    }
}

impl<S: RpcService> Stream for StreamReader<S> {
    type Item = StreamPart;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<StreamPart>> {
        let this = self.get_mut();
        // The call is polled when there is room for many parts, and not for each one. The limit is above zero, or a
        // reader that lags behind could not be told from one that keeps up.
        if this.left <= super::feed::CAPACITY / 2 {
            this.feed.forget_waker();
            this.drive(cx);
        }
        let FeedRead { part, left, waits_for, streamed } = this.feed.pop(cx);
        this.left = left;
        if let Some(part) = part {
            // Only a server that streams can be told a pace.
            if streamed && let Some(rate) = this.flow.took(Instant::now, left) {
                let pace = StreamPace::new(rate);
                this.tell(method::STREAM_PACE, Object::from_value(&pace).unwrap_or_default(), cx);
            }
            return Poll::Ready(Some(part));
        }
        if this.outcome.is_some() {
            return Poll::Ready(None);
        }
        this.mind_the_gap(waits_for, cx);
        Poll::Pending
    }
}

/// The reader is `Unpin` because each pinned part is boxed.
impl<S> Unpin for StreamReader<S> {}

impl<S> Drop for StreamReader<S> {
    fn drop(&mut self) {
        self.feed.leave_out(IntakeMode::Closed);
    }
}

mgp_types::partial_debug!([S] StreamReader<S>, self => stream: self.context.outbox.stream(), answered: self.outcome.is_some());
