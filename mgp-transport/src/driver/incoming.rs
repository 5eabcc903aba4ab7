//! The handling of each frame and message of a connection.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mgp_types::frame::{self, Frame, Malformed, Message};
use mgp_types::{
    BoxFuture, CallSide, Error, Id, Method, Object, Outbox, OutboxPort, Params, RawJson, Request, Response,
    Revision, RpcService, StreamId, call_once, code,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower_service::Service;

use super::WriteBuffer;
use super::about::{not_active, write_about};
use super::correlate::{BatchId, Batches, Correlation, PeerRequest, RequestStreams};
use super::wire::{ConnectionReport, OutgoingMessage, Queue, Waiter, report_outcome};
use crate::about::{self, UNNAMED};
use crate::deliveries::ReadStalls;
use crate::era::{tag_result, tag_subscription};
use crate::skipped_message::{MessageHead, head, id_at_end};
use crate::{Accept, CatchPanic, ConnectionLimits, SettingNames, TooLong};

/// A function that takes a line that is no message, or returns false.
type StrayTaker = dyn Fn(&[u8]) -> bool + Send + Sync;

/// The core of a connection: it handles each frame and each message.
pub(super) struct IncomingDispatcher<S: RpcService> {
    service: CatchPanic<S>,
    take_stray: Box<StrayTaker>,
    /// The way back to the peer; `None` once the connection is over.
    pub(super) port: Option<Arc<dyn OutboxPort>>,
    queue: Queue,
    reports: mpsc::UnboundedSender<ConnectionReport>,
    pub(super) waiting: Correlation,
    pub(super) streams: RequestStreams,
    /// The callers of ours that have to catch up before more is read.
    pub(super) stalls: ReadStalls,
    /// The notifications in work, at most as many as requests.
    notified: JoinSet<Result<Response, Error>>,
    batches: Batches,
    batches_allowed: bool,
    max_in_flight: usize,
    /// The names by which errors call the settings for long messages.
    setting_names: SettingNames,
    /// The messages that wait to be written.
    pub(super) writes: WriteBuffer,
    /// The known facts about a message that is skipped.
    unclear: Option<UnclearMessage>,
}

/// The known facts about a message that is being skipped, until its last bytes tell the rest.
struct UnclearMessage {
    why: TooLong,
    /// True if the message is a request or a notification; else its kind is unknown.
    is_request: bool,
}

impl<S: RpcService> IncomingDispatcher<S> {
    pub(super) fn new<A: Accept<Service = S>>(
        accept: &A,
        port: Arc<dyn OutboxPort>,
        queue: Queue,
        reports: mpsc::UnboundedSender<ConnectionReport>,
        limits: &ConnectionLimits,
    ) -> Self {
        let strays = accept.clone();
        Self {
            take_stray: Box::new(move |line| strays.take_stray(line)),
            service: CatchPanic::new(accept.accept(Outbox::new(port.clone(), StreamId::STANDALONE))),
            port: Some(port),
            queue,
            reports,
            waiting: Correlation::default(),
            streams: RequestStreams::default(),
            stalls: ReadStalls::new(limits),
            notified: JoinSet::new(),
            batches: Batches::default(),
            batches_allowed: false,
            max_in_flight: limits.max_in_flight,
            setting_names: limits.setting_names,
            writes: WriteBuffer::default(),
            unclear: None,
        }
    }

    /// Handles a frame.
    pub(super) fn frame(&mut self, bytes: &Bytes, cx: &mut Context<'_>) {
        match frame::decode(bytes) {
            Frame::Single(Err(malformed))
                if malformed.answerable && malformed.id.is_none() && (self.take_stray)(bytes) =>
            {
                tracing::debug!(error = %malformed.error, "the peer wrote a line that is no message");
            }
            Frame::Single(message) => self.message(message, bytes.len(), None, cx),
            Frame::Batch(_) if !self.batches_allowed => {
                let error = Error::invalid_request("batches are not part of this protocol version");
                self.writes.message(|out| frame::write_error(out, None, &error));
            }
            Frame::Batch(messages) => {
                let batch = self.batches.open();
                let share = bytes.len() / messages.len().max(1);
                for message in messages {
                    self.message(message, share, Some(batch), cx);
                }
                self.write_answer(Some(batch), |_| {});
            }
        }
    }

    /// Writes the messages of our side, as long as fewer than `enough` bytes wait to be written. Returns whether there
    /// may be more.
    pub(super) fn poll_queue(&mut self, cx: &mut Context<'_>, enough: usize) -> bool {
        if self.writes.unwritten() >= enough {
            return true;
        }
        while let Some(report) = self.queue.due() {
            self.report(report);
        }
        while let Poll::Ready(report) = self.queue.poll_report(cx) {
            self.report(report);
        }
        while self.writes.unwritten() < enough {
            match self.queue.poll_message(cx) {
                Poll::Ready(message) => self.send(message),
                Poll::Pending => return false,
            }
            while let Some(report) = self.queue.due() {
                self.report(report);
            }
        }
        true
    }

    /// Handles a report of finished work.
    #[inline]
    fn report(&mut self, report: ConnectionReport) {
        match report {
            ConnectionReport::Done { id, stream, outcome } => self.finish(id, stream, outcome),
            ConnectionReport::Dropped { id } => self.take_back(id),
        }
    }

    /// Writes a message of our side.
    fn send(&mut self, message: OutgoingMessage) {
        match message {
            OutgoingMessage::Notify { about: Some(own), method, params, .. } => {
                let id = self.id_of_ours(own).map(Id::Number);
                write_about(id.as_ref(), &method, &params, &mut self.writes);
            }
            OutgoingMessage::Notify { stream, method, params, .. }
                if method.about_call() == Some(CallSide::Receiver) =>
            {
                let id = self.streams.id(stream, || self.waiting.find(stream).cloned());
                write_about(id, &method, &params, &mut self.writes);
            }
            OutgoingMessage::Notify { stream, method, mut params, .. } => {
                if let Some(id) = self.streams.subscription(stream) {
                    tag_subscription(&mut params, id);
                }
                self.writes.message(|out| frame::write_notification(out, &method, &params));
            }
            OutgoingMessage::Call { .. } if self.port.is_none() => {} // Its feed ends the call.
            OutgoingMessage::Call { id, method, mut params, about, feed } => {
                if let Some(own) = about {
                    let Some(id) = self.id_of_ours(own) else { return feed.0.answer(not_active()) };
                    about::name(&mut params, &id.into());
                }
                self.writes.message(|out| frame::write_call(out, &Id::Number(id), &method, &params));
                self.waiting.ours.insert(id, Waiter { method, feed });
            }
        }
    }

    /// Answers a request of the peer whose work is done.
    #[inline]
    fn finish(&mut self, id: Id, stream: StreamId, mut outcome: Result<Response, Error>) {
        // A request that was taken back gets no answer, nor does another request that has its id by now.
        let Some((id, work)) = self.waiting.ended(id, stream) else { return };
        self.streams.ended(stream);
        match &mut outcome {
            Ok(response) if work.method == Method::INITIALIZE => self.opened(&response.to_raw()),
            Ok(response) if work.method == Method::LISTEN => tag_result(response, &id),
            _ => {}
        }
        self.answer(&id, &outcome, work.batch);
    }

    /// Notes that a side has opened a session; the sessions of one revision have batches.
    fn opened(&mut self, initialized: &RawJson) {
        let result = Object::from_raw(initialized).unwrap_or_default();
        let revision = result.text("protocolVersion");
        self.batches_allowed = revision.is_some_and(|name| name == Revision::V2025_03_26.as_str());
    }

    /// Tells the peer that the caller no longer waits for its answer.
    pub(super) fn take_back(&mut self, id: i64) {
        let Some(waiter) = self.waiting.answered(&Id::Number(id)) else { return };
        // The specification forbids to cancel the opening of a session.
        if waiter.method == Method::INITIALIZE {
            return;
        }
        let mut params = Params::new();
        params.set("requestId", Id::Number(id).to_raw());
        self.writes.message(|out| frame::write_notification(out, &Method::CANCELLED, &params));
    }

    /// Fails all calls, because no answer of the peer will come any more.
    pub(super) fn lose_answers(&mut self) {
        self.port = None;
        self.waiting.ours.clear(); // Their feeds end the calls.
    }

    /// Drops all work, because the peer no longer waits for answers.
    pub(super) fn close(&mut self) {
        self.lose_answers();
        for (_, work) in self.waiting.theirs.drain() {
            work.task.abort();
        }
    }

    fn message(
        &mut self,
        message: Result<Message, Malformed>,
        bytes: usize,
        batch: Option<BatchId>,
        cx: &mut Context<'_>,
    ) {
        match message {
            Ok(Message::Call { id, method, params }) => {
                self.batches.expect(batch);
                self.call(id, method, params, batch, cx);
            }
            Ok(Message::Notify { method, params }) if method == Method::CANCELLED => {
                self.cancelled(&params);
            }
            Ok(Message::Notify { method, params }) => self.deliver_notification(method, params, bytes, cx),
            Ok(Message::Reply { id: Some(id), outcome }) => self.replied(&id, outcome),
            Ok(Message::Reply { id: None, outcome }) => {
                tracing::warn!(error = ?outcome.err(), "the peer could not read a message of ours");
            }
            Err(malformed) if malformed.answerable => {
                tracing::debug!(error = %malformed.error, "refusing a malformed message");
                self.batches.expect(batch);
                self.write_answer(batch, |out| {
                    frame::write_error(out, malformed.id.as_ref(), &malformed.error);
                });
            }
            Err(malformed) => {
                tracing::warn!(error = %malformed.error, "the peer sent a malformed message");
                if let Some(id) = malformed.id {
                    let error = Error::misbehaved("the answer is malformed").with_source(malformed.error);
                    self.replied(&id, Err(error));
                }
            }
        }
    }

    fn call(&mut self, id: Id, method: Method, params: Params, batch: Option<BatchId>, cx: &mut Context<'_>) {
        if let Err(error) = self.admit(&id, &method, batch) {
            return self.answer(&id, &Err(error), batch);
        }
        let stream = StreamId::fresh();
        let mut request = Request::call(method.clone(), params);
        if request.method.about_call() == Some(CallSide::Sender) {
            match self.theirs(&mut request.params) {
                Some(outbox) => request.context.outbox = outbox,
                None => return self.answer(&id, &Err(Error::invalid_params(UNNAMED)), batch),
            }
        } else if let Some(port) = &self.port {
            request.context.outbox = Outbox::new(port.clone(), stream);
        }
        let mut future: BoxFuture<'static, Result<Response, Error>> = match self.service.poll_ready(cx) {
            Poll::Ready(Ok(())) => Box::pin(self.service.call(request)),
            Poll::Ready(Err(error)) => return self.answer(&id, &Err(error), batch),
            // Without capacity the request waits in a task, and the connection goes on.
            Poll::Pending => Box::pin(call_once(self.service.clone(), request)),
        };
        // Most calls are done when they are first polled, and need no task.
        if method != Method::LISTEN
            && let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
        {
            if let (true, Ok(response)) = (method == Method::INITIALIZE, &outcome) {
                self.opened(&response.to_raw());
            }
            if !self.queue.is_empty() {
                self.send_before_answer(stream, &id);
            }
            return self.answer(&id, &outcome, batch);
        }
        let task = tokio::spawn(report_outcome(id.clone(), stream, future, self.reports.clone()));
        if method == Method::LISTEN {
            self.streams.named(stream, id.clone(), true);
        }
        self.waiting.theirs.insert(id, PeerRequest { task: task.abort_handle(), batch, stream, method });
    }

    /// Writes the messages that a handler sent before it was done, so that they leave before its answer even if it was
    /// done at once.
    fn send_before_answer(&mut self, stream: StreamId, id: &Id) {
        self.streams.named(stream, id.clone(), false);
        for message in self.queue.waiting() {
            self.send(message);
        }
        self.streams.ended(stream);
    }

    fn admit(&self, id: &Id, method: &Method, batch: Option<BatchId>) -> Result<(), Error> {
        if self.waiting.theirs.len() >= self.max_in_flight {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many requests in flight"));
        }
        if self.waiting.theirs.contains_key(id) {
            return Err(Error::invalid_request("another request with this id is in flight"));
        }
        if batch.is_some() && *method == Method::INITIALIZE {
            return Err(Error::invalid_request("`initialize` must not be part of a batch"));
        }
        Ok(())
    }

    /// Hands a notification to the service, with its way back.
    pub(super) fn notified(&mut self, method: Method, params: Params, outbox: Outbox, cx: &mut Context<'_>) {
        while self.notified.try_join_next().is_some() {}
        if self.notified.len() >= self.max_in_flight {
            return tracing::warn!(%method, "dropping a notification: too many are in work");
        }
        let mut request = Request::notify(method, params);
        request.context.outbox = outbox;
        let mut future: BoxFuture<'static, Result<Response, Error>> = match self.service.poll_ready(cx) {
            Poll::Ready(Ok(())) => Box::pin(self.service.call(request)),
            Poll::Ready(Err(error)) => return tracing::warn!(%error, "a notification was refused"),
            Poll::Pending => Box::pin(call_once(self.service.clone(), request)),
        };
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.notified.spawn(future);
        }
    }

    /// Handles a cancellation: the peer takes a request of its own back, or ends a subscription of ours.
    fn cancelled(&mut self, params: &Params) {
        let Some(id) = params.bytes("requestId").and_then(Id::from_json) else { return };
        if let Some(work) = self.waiting.theirs.remove(&id) {
            self.streams.ended(work.stream);
            work.task.abort();
            if work.batch.is_some() {
                self.write_answer(work.batch, |_| {});
            }
        } else if self.waiting.waiter(&id).is_some_and(|waiter| waiter.method == Method::LISTEN)
            && let Some(waiter) = self.waiting.answered(&id)
        {
            waiter.feed.0.answer(Err(Error::cancelled()));
        }
    }

    fn replied(&mut self, id: &Id, outcome: Result<RawJson, Error>) {
        let Some(waiter) = self.waiting.answered(id) else {
            return tracing::debug!(?id, "ignoring an answer nobody waits for");
        };
        let outcome =
            outcome.and_then(|result| frame::check_result(&waiter.method, &result).map(|()| result));
        if let (true, Ok(result)) = (waiter.method == Method::INITIALIZE, &outcome) {
            self.opened(result);
        }
        waiter.feed.0.answer(outcome);
    }

    fn answer(&mut self, id: &Id, outcome: &Result<Response, Error>, batch: Option<BatchId>) {
        self.write_answer(batch, |out| match outcome {
            Ok(response) => frame::write_reply(out, id, response),
            Err(error) => frame::write_error(out, Some(id), error),
        });
    }

    /// Writes an answer, or adds it to those of its batch, which leave together.
    fn write_answer(&mut self, batch: Option<BatchId>, write: impl FnOnce(&mut Vec<u8>)) {
        let Some(batch) = batch else { return self.writes.message(write) };
        if let Some(answers) = self.batches.answered(batch, write) {
            self.writes.message(|out| out.extend_from_slice(&answers));
        }
    }

    /// Handles the beginning of a message that is skipped. Its waiter gets the error as soon as the bytes tell which
    /// call it belongs to.
    pub(super) fn too_long(&mut self, why: TooLong, first: &[u8]) {
        match head(first) {
            MessageHead::Answer(id) => self.replied(&id, Err(why.answer(self.setting_names))),
            MessageHead::Request(Some(id)) => self.refuse(why, Some(&id)),
            MessageHead::Request(None) => self.unclear = Some(UnclearMessage { why, is_request: true }),
            MessageHead::Unclear => self.unclear = Some(UnclearMessage { why, is_request: false }),
        }
    }

    /// Handles the end of a message that was skipped.
    pub(super) fn skipped(&mut self, last: &[u8]) {
        let Some(UnclearMessage { why, is_request }) = self.unclear.take() else { return };
        match id_at_end(last) {
            Some(id) if !is_request => self.replied(&id, Err(why.answer(self.setting_names))),
            // A notification gets no answer.
            None if is_request => tracing::warn!(%why, "a notification is too long and was dropped"),
            id => self.refuse(why, id.as_ref()),
        }
    }

    fn refuse(&mut self, why: TooLong, id: Option<&Id>) {
        let error = why.refusal(self.setting_names);
        self.writes.message(|out| frame::write_error(out, id, &error));
    }
}
