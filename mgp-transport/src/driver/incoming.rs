use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use mgp_types::frame::{self, Frame, Malformed, Message};
use mgp_types::{
    Error, Id, Kind, Method, Object, Outbox, OutboxPort, Params, Request, Response, Revision, RpcService,
    StreamId, code, json,
};
use tokio::io::AsyncWrite;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{AbortHandle, JoinSet};
use tower_service::Service;

use super::batch::{BatchId, Batches};
use super::correlate::Correlation;
use super::outgoing::WriteBuffer;
use super::task::{Report, Work};
use super::wire::{Outgoing, closed};
use crate::era::tag_subscription;
use crate::{Accept, CatchPanic, ConnectionLimits};

/// The heart of a connection: what each frame does, and what each message becomes.
pub(super) struct Incoming<S: RpcService> {
    service: CatchPanic<S>,
    /// The way back to the peer. `None` once the connection is over.
    port: Option<Arc<dyn OutboxPort>>,
    reports: mpsc::UnboundedSender<Report>,
    waiting: Correlation<Waiter, InWork>,
    /// Notifications that are still in work, at most as many as requests.
    notified: JoinSet<Result<Response, Error>>,
    batches: Batches,
    batches_allowed: bool,
    json: json::Limits,
    max_in_flight: usize,
}

/// Who waits for an answer of the peer.
struct Waiter {
    answer: oneshot::Sender<Result<Response, Error>>,
    method: Method,
}

/// A request of the peer that goes on in a task.
struct InWork {
    task: AbortHandle,
    batch: Option<BatchId>,
    /// The stream of a subscription: its messages name the request.
    subscription: Option<StreamId>,
}

impl<S: RpcService> Incoming<S> {
    pub(super) fn new<A: Accept<Service = S>>(
        accept: &A,
        port: Arc<dyn OutboxPort>,
        reports: mpsc::UnboundedSender<Report>,
        limits: &ConnectionLimits,
    ) -> Self {
        Self {
            service: CatchPanic::new(accept.accept(Outbox::new(port.clone(), StreamId::STANDALONE))),
            port: Some(port),
            reports,
            waiting: Correlation::default(),
            notified: JoinSet::new(),
            batches: Batches::default(),
            batches_allowed: false,
            json: limits.json,
            max_in_flight: limits.max_in_flight,
        }
    }

    pub(super) fn in_work(&self) -> usize {
        self.waiting.in_work()
    }

    /// Does what a frame asks for.
    pub(super) fn frame<W>(&mut self, bytes: &Bytes, cx: &mut Context<'_>, writes: &mut WriteBuffer<W>)
    where
        W: AsyncWrite + Unpin,
    {
        match frame::decode(bytes, self.json) {
            Frame::Single(message) => self.message(message, None, cx, writes),
            Frame::Batch(_) if !self.batches_allowed => {
                let error = Error::invalid_request("batches are not part of this protocol version");
                writes.message(|out| frame::write_error(out, None, &error));
            }
            Frame::Batch(messages) => {
                let batch = self.batches.open();
                for message in messages {
                    self.message(message, Some(batch), cx, writes);
                }
                self.answer_batch(batch, writes, |_| {});
            }
        }
    }

    /// Writes a message of our side.
    pub(super) fn send<W: AsyncWrite + Unpin>(&mut self, message: Outgoing, writes: &mut WriteBuffer<W>) {
        match message {
            Outgoing::Notify { stream, method, mut params } => {
                if let Some(id) = self.subscription(stream) {
                    tag_subscription(&mut params, &id);
                }
                writes.message(|out| frame::write_notification(out, &method, &params));
            }
            Outgoing::Call { id, method, params, waiter } => {
                if self.port.is_none() {
                    let _ = waiter.send(Err(closed()));
                    return;
                }
                writes.message(|out| frame::write_call(out, &Id::Number(id), &method, &params));
                self.waiting.sent(id, Waiter { answer: waiter, method });
            }
        }
    }

    /// Does what a report asks for.
    pub(super) fn report<W: AsyncWrite + Unpin>(&mut self, report: Report, writes: &mut WriteBuffer<W>) {
        match report {
            Report::Done { id, outcome } => self.finish(&id, outcome, writes),
            Report::Dropped { id } => self.take_back(id, writes),
        }
    }

    /// Answers a request of the peer whose work is done.
    fn finish<W: AsyncWrite + Unpin>(
        &mut self,
        id: &Id,
        mut outcome: Result<Response, Error>,
        writes: &mut WriteBuffer<W>,
    ) {
        // A request that was taken back is not answered.
        let Some(work) = self.waiting.ended(id) else { return };
        if let (Some(_), Ok(response)) = (work.subscription, &mut outcome) {
            tag_result(response, id);
        }
        self.answer(id, &outcome, work.batch, writes);
    }

    /// Tells the peer that nobody waits for its answer any more.
    fn take_back<W: AsyncWrite + Unpin>(&mut self, id: i64, writes: &mut WriteBuffer<W>) {
        let Some(waiter) = self.waiting.answered(&Id::Number(id)) else { return };
        // The specification forbids to cancel the opening of a session.
        if waiter.method == Method::INITIALIZE {
            return;
        }
        let mut params = Params::new();
        params.set("requestId", Id::Number(id).to_raw());
        writes.message(|out| frame::write_notification(out, &Method::CANCELLED, &params));
    }

    /// No answer of the peer will come any more.
    pub(super) fn lose_answers(&mut self) {
        self.port = None;
        for waiter in self.waiting.lost() {
            let _ = waiter.answer.send(Err(closed()));
        }
    }

    /// Nobody waits for our answers any more.
    pub(super) fn close(&mut self) {
        self.lose_answers();
        for work in self.waiting.abandoned() {
            work.task.abort();
        }
    }

    fn message<W: AsyncWrite + Unpin>(
        &mut self,
        message: Result<Message, Malformed>,
        batch: Option<BatchId>,
        cx: &mut Context<'_>,
        writes: &mut WriteBuffer<W>,
    ) {
        match message {
            Ok(Message::Call { id, method, params }) => {
                if let Some(batch) = batch {
                    self.batches.expect(batch);
                }
                self.call(id, method, params, batch, cx, writes);
            }
            Ok(Message::Notify { method, params }) if method == Method::CANCELLED => {
                self.cancelled(&params, writes);
            }
            Ok(Message::Notify { method, params }) => self.notified(method, params, cx),
            Ok(Message::Reply { id: Some(id), outcome }) => self.replied(&id, outcome),
            Ok(Message::Reply { id: None, outcome }) => {
                tracing::warn!(error = ?outcome.err(), "the peer could not read a message of ours");
            }
            Err(malformed) if malformed.answerable => {
                tracing::debug!(error = %malformed.error, "refusing a malformed message");
                let write =
                    |out: &mut Vec<u8>| frame::write_error(out, malformed.id.as_ref(), &malformed.error);
                match batch {
                    None => writes.message(write),
                    Some(batch) => {
                        self.batches.expect(batch);
                        self.answer_batch(batch, writes, write);
                    }
                }
            }
            Err(malformed) => tracing::warn!(error = %malformed.error, "ignoring a malformed message"),
        }
    }

    fn call<W: AsyncWrite + Unpin>(
        &mut self,
        id: Id,
        method: Method,
        params: Params,
        batch: Option<BatchId>,
        cx: &mut Context<'_>,
        writes: &mut WriteBuffer<W>,
    ) {
        if let Err(error) = self.admit(&id, &method, batch) {
            return self.answer(&id, &Err(error), batch, writes);
        }
        let stream = StreamId::fresh();
        let opens_session = method == Method::INITIALIZE;
        let subscription = (method == Method::LISTEN).then_some(stream);
        let mut request = Request::call(method, params);
        if let Some(port) = &self.port {
            request.context.outbox = Outbox::new(port.clone(), stream);
        }
        let task = match self.service.poll_ready(cx) {
            Poll::Ready(Ok(())) => {
                let mut future = Box::pin(self.service.call(request));
                // Most calls are done when they are first looked at and need no task.
                if subscription.is_none()
                    && let Poll::Ready(outcome) =
                        future.as_mut().poll(&mut Context::from_waker(Waker::noop()))
                {
                    if opens_session {
                        self.batches_allowed = outcome.as_ref().is_ok_and(allows_batches);
                    }
                    return self.answer(&id, &outcome, batch, writes);
                }
                tokio::spawn(Work::new(id.clone(), future, self.reports.clone()))
            }
            Poll::Ready(Err(error)) => return self.answer(&id, &Err(error), batch, writes),
            // No capacity now: the request waits for it in a task, and the connection goes on.
            Poll::Pending => {
                let future = Box::pin(when_ready(self.service.clone(), request));
                tokio::spawn(Work::new(id.clone(), future, self.reports.clone()))
            }
        };
        self.waiting.began(id, InWork { task: task.abort_handle(), batch, subscription });
    }

    fn admit(&self, id: &Id, method: &Method, batch: Option<BatchId>) -> Result<(), Error> {
        if self.waiting.in_work() >= self.max_in_flight {
            return Err(Error::new(code::RESOURCE_EXHAUSTED, "too many requests in flight"));
        }
        if self.waiting.in_work() > 0 && self.waiting.is_in_work(id) {
            return Err(Error::invalid_request("another request with this id is in flight"));
        }
        if batch.is_some() && *method == Method::INITIALIZE {
            return Err(Error::invalid_request("`initialize` must not be part of a batch"));
        }
        Ok(())
    }

    fn notified(&mut self, method: Method, params: Params, cx: &mut Context<'_>) {
        while self.notified.try_join_next().is_some() {}
        if self.notified.len() >= self.max_in_flight {
            tracing::warn!(%method, "dropping a notification: too many are in work");
            return;
        }
        let request = Request::new(Kind::Notify, method, params);
        match self.service.poll_ready(cx) {
            Poll::Ready(Ok(())) => {
                let mut future = Box::pin(self.service.call(request));
                if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
                    self.notified.spawn(future);
                }
            }
            Poll::Ready(Err(error)) => tracing::warn!(%error, "a notification was refused"),
            Poll::Pending => {
                self.notified.spawn(when_ready(self.service.clone(), request));
            }
        }
    }

    /// The peer takes a request of its own back, or ends a subscription of ours.
    fn cancelled<W: AsyncWrite + Unpin>(&mut self, params: &Params, writes: &mut WriteBuffer<W>) {
        let Some(id) = params.bytes("requestId").and_then(Id::from_json) else { return };
        if let Some(work) = self.waiting.ended(&id) {
            work.task.abort();
            if let Some(batch) = work.batch {
                self.answer_batch(batch, writes, |_| {});
            }
        } else if self.waiting.waiter(&id).is_some_and(|waiter| waiter.method == Method::LISTEN)
            && let Some(waiter) = self.waiting.answered(&id)
        {
            let _ = waiter.answer.send(Err(Error::cancelled()));
        }
    }

    fn replied(&mut self, id: &Id, outcome: Result<json::RawJson, Error>) {
        let Some(waiter) = self.waiting.answered(id) else {
            tracing::debug!(%id, "ignoring an answer nobody waits for");
            return;
        };
        // Fails if the caller has given up in this moment.
        let _ = waiter.answer.send(outcome.map(Response::new));
    }

    fn answer<W: AsyncWrite + Unpin>(
        &mut self,
        id: &Id,
        outcome: &Result<Response, Error>,
        batch: Option<BatchId>,
        writes: &mut WriteBuffer<W>,
    ) {
        let write = |out: &mut Vec<u8>| match outcome {
            Ok(response) => frame::write_reply(out, id, response),
            Err(error) => frame::write_error(out, Some(id), error),
        };
        match batch {
            None => writes.message(write),
            Some(batch) => self.answer_batch(batch, writes, write),
        }
    }

    fn answer_batch<W: AsyncWrite + Unpin>(
        &mut self,
        batch: BatchId,
        writes: &mut WriteBuffer<W>,
        write: impl FnOnce(&mut Vec<u8>),
    ) {
        if let Some(answers) = self.batches.answered(batch, write) {
            writes.message(|out| out.extend_from_slice(&answers));
        }
    }

    /// The id of the subscription that the stream belongs to.
    fn subscription(&self, stream: StreamId) -> Option<Id> {
        if stream == StreamId::STANDALONE {
            return None;
        }
        self.waiting.find(|work| work.subscription == Some(stream)).cloned()
    }
}

async fn when_ready<S: RpcService>(mut service: S, request: Request) -> Result<Response, Error> {
    std::future::poll_fn(|cx| service.poll_ready(cx)).await?;
    service.call(request).await
}

fn allows_batches(initialized: &Response) -> bool {
    Object::from_raw(&initialized.to_raw())
        .ok()
        .and_then(|result| Some(result.text("protocolVersion")? == Revision::V2025_03_26.as_str()))
        .unwrap_or(false)
}

fn tag_result(response: &mut Response, id: &Id) {
    if let Ok(mut result) = Object::from_raw(&response.to_raw()) {
        tag_subscription(&mut result, id);
        response.result = result.to_raw();
        response.context.stamp = None;
    }
}
