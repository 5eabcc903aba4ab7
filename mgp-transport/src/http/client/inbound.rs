//! The messages of the server: to the service that answers it, or to the caller they are about.

use std::collections::hash_map::Entry;
use std::future::poll_fn;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use mgp_types::frame::{Malformed, Message, write_error, write_reply};
use mgp_types::mgp::method;
use mgp_types::{
    BoxFuture, CallSide, Error, Id, Method, Outbox, OutboxPort, Params, Request, RequestKind, Response,
    RpcService, Session, StreamId, code,
};
use scopeguard::guard;
use tokio::task::AbortHandle;

use super::core::ClientCore;
use crate::OriginatingCall;
use crate::about::{self, PeerCallName, UNNAMED, number, take_id};
use crate::deliveries::{CallDeliveries, PeerOutcome, ReadStalls};
use crate::sent_future::sent;

/// Brings the messages of one stream to the service that answers the server.
pub(super) struct StreamReceiver<I: RpcService> {
    peer: Arc<ClientCore<I>>,
    service: I,
    session: Option<Arc<Session>>,
    outbox: Outbox,
    /// True if the server may send requests on the stream: there is a way to answer them.
    takes_requests: bool,
    /// The call of ours that the stream answers.
    call: Option<i64>,
    questions: Option<CallQuestions>,
    /// The callers that have to catch up before more is read.
    stalls: ReadStalls,
}

/// A request of the server that is in work.
pub(super) struct ServerQuestion {
    /// The task of the work; `None` while it is being started.
    task: Option<AbortHandle>,
    /// The way back to the server, on the stream of the request.
    outbox: Outbox,
}

impl ServerQuestion {
    /// Returns whether this question has the stream; its id may belong to another question by now.
    fn is_on(&self, stream: StreamId) -> bool {
        self.outbox.stream() == stream
    }
}

/// The server's questions on the stream of a call. Dropping the call aborts the answers.
#[derive(Default)]
struct CallQuestions(Vec<AbortHandle>);

impl Drop for CallQuestions {
    fn drop(&mut self) {
        for question in &self.0 {
            question.abort();
        }
    }
}

/// The receiver of a message about a call.
enum MessageRecipient {
    Service(Outbox),
    Caller(Arc<CallDeliveries>, i64),
    Nobody,
}

/// An answer of the server.
#[derive(Debug)]
pub(super) struct ServerReply {
    pub(super) id: Option<Id>,
    pub(super) outcome: PeerOutcome,
}

impl ServerReply {
    /// Returns the answer to request `id`, or the error that a reader of its stream ends with.
    pub(super) fn for_request(self, id: i64) -> Result<PeerOutcome, Error> {
        match self.id {
            Some(Id::Number(number)) if number == id => Ok(self.outcome),
            // An error without an id means that the server could not read the request; no other request was sent here.
            None if self.outcome.is_err() => Ok(self.outcome),
            _ => Err(Error::misbehaved("the server answered a request that was not asked here")),
        }
    }
}

impl<I: RpcService> StreamReceiver<I> {
    pub(super) fn new(
        peer: &Arc<ClientCore<I>>,
        session: Option<&Arc<Session>>,
        takes_requests: bool,
    ) -> Self {
        let port = ReplyPort { peer: Arc::downgrade(peer), session: session.cloned(), call: None };
        Self {
            peer: Arc::clone(peer),
            service: peer.inbound.lock().clone(),
            session: session.cloned(),
            outbox: port.outbox(),
            takes_requests,
            call: None,
            questions: None,
            stalls: ReadStalls::new(&peer.limits),
        }
    }

    /// Notes that the messages come with the answer to call `id`.
    pub(super) fn about(mut self, id: i64) -> Self {
        self.call = Some(id);
        self
    }

    /// Notes that the stream is that of call `id`. Dropping the receiver ends the questions on it, unless the call was
    /// [answered](Self::answered).
    pub(super) fn of_call(mut self, id: i64) -> Self {
        self.questions = Some(CallQuestions::default());
        self.about(id)
    }

    /// Notes that the call was answered; answers on their way to the server may arrive.
    pub(super) fn answered(&mut self) {
        if let Some(questions) = &mut self.questions {
            questions.0.clear();
        }
    }

    /// Handles one message; an answer is handed back.
    pub(super) async fn take(&mut self, message: Result<Message, Malformed>) -> Option<ServerReply> {
        match message {
            Ok(Message::Reply { id, outcome }) => return Some(ServerReply { id, outcome }),
            Ok(Message::Notify { method, params }) => self.notify(method, params).await,
            Ok(Message::Call { id, method, params }) => self.call(id, method, params).await,
            Err(malformed) if malformed.answerable => {
                tracing::warn!(error = %malformed.error, "the server sent a malformed message");
                if let Some(id) = malformed.id.filter(|_| self.takes_requests) {
                    self.refuse(&id, &malformed.error);
                }
            }
            Err(malformed) => {
                tracing::warn!(error = %malformed.error, "the server sent a malformed answer");
                let outcome = Err(Error::misbehaved("the answer is malformed").with_source(malformed.error));
                return malformed.id.map(|id| ServerReply { id: Some(id), outcome });
            }
        }
        None
    }

    async fn notify(&mut self, method: Method, mut params: Params) {
        if method == Method::CANCELLED && self.take_back(&params) {
            return;
        }
        let outbox = match method.about_call() {
            None => match self.listener(&params) {
                Some((call, id)) => {
                    about::take_subscription_out(&mut params);
                    return self.deliver(&call, id, method, params).await;
                }
                None => self.outbox.clone(),
            },
            Some(CallSide::Sender) => match self.theirs(&mut params) {
                Some(outbox) => outbox,
                None => return tracing::debug!(%method, "dropping a message that names no call"),
            },
            Some(CallSide::Receiver) => match self.of_ours(&method, &mut params) {
                MessageRecipient::Service(outbox) => outbox,
                MessageRecipient::Caller(call, id) => return self.deliver(&call, id, method, params).await,
                MessageRecipient::Nobody => {
                    return tracing::debug!(%method, "dropping a message nobody waits for");
                }
            },
        };
        // People take their time to answer, and only messages that have to wait for them do.
        let asks = method == *method::CALLBACK_REQUEST;
        let mut request = Request::notify(method, params);
        request.context.outbox = outbox;
        let mut taking_in = match self.start(request).await {
            Ok(future) => Box::pin(future),
            Err(error) => return tracing::debug!(%error, "a notification was not handled"),
        };
        // A slow service slows the server down, and all notifications are handled before the answer; but the stream of
        // HTTP+SSE also brings the answers that the service may wait for.
        if !self.peer.is_sse && !asks {
            return log_refusal(taking_in.await);
        }
        if let Some(outcome) = (&mut taking_in).now_or_never() {
            return log_refusal(outcome);
        }
        // When all the room is taken, the stream is not read on, for as long as the server may be kept waiting.
        let core = &self.peer;
        let room =
            tokio::time::timeout(core.limits.write_timeout, Arc::clone(&core.in_flight).acquire_owned());
        let Ok(Ok(room)) = room.await else {
            return tracing::warn!("too many notifications are in work; one is dropped");
        };
        core.tasks.spawn(async move {
            log_refusal(taking_in.await);
            drop(room);
        });
    }

    /// Returns the call of ours that listens for a message, if its caller follows it.
    fn listener(&self, params: &Params) -> Option<(Arc<CallDeliveries>, i64)> {
        let id = number(&about::subscription(params)?)?;
        let call = self.peer.followed.listener(id)?;
        call.outbox().is_open().then_some((call, id))
    }

    /// Returns the receiver of a notification about a call of ours.
    fn of_ours(&self, method: &Method, params: &mut Params) -> MessageRecipient {
        let asks = *method == *method::CALLBACK_REQUEST;
        let name = PeerCallName::of(params);
        let id = name.as_ref().and_then(PeerCallName::id).as_ref().and_then(number);
        let whose = match id.and_then(|id| Some((id, self.peer.followed.get(id)?))) {
            Some((id, call)) if call.outbox().is_open() && !asks => MessageRecipient::Caller(call, id),
            Some((_, call)) if call.outbox().is_open() => MessageRecipient::Service(call.outbox().clone()),
            Some((_, call)) => MessageRecipient::Service(self.way_back(call.outbox().stream())),
            None if asks => MessageRecipient::Service(self.outbox.clone()),
            None if id.is_some_and(|id| self.call == Some(id) || self.peer.replies.is_awaited(id)) => {
                MessageRecipient::Service(self.outbox.clone())
            }
            None => return MessageRecipient::Nobody,
        };
        if let Some(name) = name {
            name.take_out(params);
        }
        whose
    }

    /// Brings a message to the caller. On the call's own stream no further message is read until it was taken; a stream
    /// of others waits only when too much waits already, and not for too long.
    async fn deliver(&mut self, call: &Arc<CallDeliveries>, id: i64, method: Method, params: Params) {
        if self.call == Some(id) {
            if let Err(error) = call.outbox().notify(Request::notify(method, params)).await {
                tracing::debug!(%error, "the caller did not take a message about its call");
            }
            return;
        }
        let bytes = params.to_raw().as_bytes().len();
        self.stalls.put(call, method, params, bytes);
        // A caller that takes too long has lost the call, and that takes it back.
        let _ = poll_fn(|cx| self.stalls.poll(cx)).await;
    }

    /// Returns the way back on the stream of the server's request that a message names; `None` if it names no request.
    fn theirs(&self, params: &mut Params) -> Option<Outbox> {
        let id = take_id(params)?;
        let answering = self.peer.answering.lock();
        Some(answering.get(&id).map_or_else(|| self.outbox.clone(), |question| question.outbox.clone()))
    }

    fn way_back(&self, stream: StreamId) -> Outbox {
        let parts = self.outbox.clone().into_parts();
        parts.map_or_else(|| Outbox::on(stream), |(port, _)| Outbox::new(port, stream))
    }

    async fn call(&mut self, id: Id, method: Method, mut params: Params) {
        if !self.takes_requests {
            return tracing::warn!(%method, "the server sent a request where it must not, and gets no answer");
        }
        let mut named = None;
        if method.about_call() == Some(CallSide::Sender) {
            match self.theirs(&mut params) {
                Some(outbox) => named = Some(outbox),
                None => return self.refuse(&id, &Error::invalid_params(UNNAMED)),
            }
        }
        let core = &self.peer;
        let Ok(room) = Arc::clone(&core.in_flight).try_acquire_owned() else {
            return self.refuse(&id, &Error::new(code::RESOURCE_EXHAUSTED, "too many requests are in work"));
        };
        let stream = StreamId::fresh();
        let (peer, session) = (Arc::downgrade(&self.peer), self.session.clone());
        let own = ReplyPort { peer, session, call: Some((stream, id.clone())) }.outbox();
        // The entry is made before the task starts, so that its removal always comes later.
        let question = ServerQuestion { task: None, outbox: own.clone() };
        if let Entry::Vacant(place) = core.answering.lock().entry(id.clone()) {
            place.insert(question);
        } else {
            return self.refuse(&id, &Error::invalid_request("a request with this id is in work"));
        }
        let entry = guard((Arc::clone(core), id.clone()), move |(peer, id)| {
            let mut answering = peer.answering.lock();
            if answering.get(&id).is_some_and(|question| question.is_on(stream)) {
                answering.remove(&id);
            }
        });
        let mut request = Request::call(method, params);
        request.context.outbox = named.unwrap_or(own);
        if let Some(call) = self.call.and_then(|id| core.followed.get(id)) {
            request.extensions.insert(OriginatingCall::new(call.outbox().stream()));
        }
        let started = self.start(request).await;
        let peer = Arc::clone(&self.peer);
        let session = self.session.clone();
        let task_id = id.clone();
        let is_answered = Arc::new(AtomicBool::new(false));
        let answered = Arc::clone(&is_answered);
        let task = self.peer.tasks.spawn(async move {
            let outcome = async { started?.await }.await;
            answered.store(true, Ordering::Release);
            drop(entry);
            let mut answer = Vec::new();
            match outcome {
                Ok(response) => write_reply(&mut answer, &task_id, &response),
                Err(error) => write_error(&mut answer, Some(&task_id), &error),
            }
            peer.post_in_time(answer, session.as_ref()).await;
            drop(room);
        });
        if let (Some(questions), Some(task)) = (&mut self.questions, &task) {
            questions.0.retain(|question| !question.is_finished());
            questions.0.push(task.clone());
        }
        let mut answering = self.peer.answering.lock();
        match answering.get_mut(&id).filter(|question| question.is_on(stream)) {
            Some(question) => question.task = task,
            // The answer is on its way.
            None if is_answered.load(Ordering::Acquire) => {}
            // The request was taken back before it had a task.
            None => task.iter().for_each(AbortHandle::abort),
        }
    }

    /// Hands a message to the service, in the order of arrival.
    async fn start(&mut self, mut request: Request) -> Result<I::Future, Error> {
        request.context.session.clone_from(&self.session);
        poll_fn(|cx| self.service.poll_ready(cx)).await?;
        Ok(self.service.call(request))
    }

    /// Aborts the work on the request that the server takes back; returns whether there was one.
    fn take_back(&self, params: &Params) -> bool {
        let id = params.bytes("requestId").and_then(Id::from_json);
        let answering = id.and_then(|id| self.peer.answering.lock().remove(&id));
        let was_answering = answering.is_some();
        if let Some(task) = answering.and_then(|question| question.task) {
            task.abort();
        }
        was_answering
    }

    fn refuse(&self, id: &Id, error: &Error) {
        let mut answer = Vec::new();
        write_error(&mut answer, Some(id), error);
        self.peer.post_aside(answer, self.session.clone());
    }
}

fn log_refusal(outcome: Result<Response, Error>) {
    if let Err(error) = outcome {
        tracing::debug!(%error, "a notification was not handled");
    }
}

/// The way back to the server for the service that answers it. It does not keep the client alive.
struct ReplyPort<I> {
    peer: Weak<ClientCore<I>>,
    session: Option<Arc<Session>>,
    /// The request of the server that this is the way back of: its stream on our side, and its id on the server's.
    call: Option<(StreamId, Id)>,
}

impl<I: RpcService> ReplyPort<I> {
    /// Returns the way as the outbox of its request.
    fn outbox(self) -> Outbox {
        let stream = self.call.as_ref().map_or(StreamId::STANDALONE, |(stream, _)| *stream);
        Outbox::new(Arc::new(self), stream)
    }

    /// Returns the id of the server's request on `stream`, while it is in work.
    fn request_on(&self, stream: StreamId) -> Option<&Id> {
        let (own, id) = self.call.as_ref().filter(|(own, _)| *own == stream)?;
        let peer = self.peer.upgrade()?;
        let answering = peer.answering.lock();
        answering.get(id).is_some_and(|question| question.is_on(*own)).then_some(id)
    }

    async fn send(&self, kind: RequestKind, mut request: Request) -> Result<Response, Error> {
        let peer = self.peer.upgrade().ok_or_else(|| Error::disconnected("the client has ended"))?;
        request.kind = kind;
        if request.context.session.is_none() {
            request.context.session.clone_from(&self.session);
        }
        peer.exchange(request).await
    }
}

impl<I: RpcService> OutboxPort for ReplyPort<I> {
    fn notify(&self, stream: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if notification.method.about_call() == Some(CallSide::Receiver) {
            let Some(id) = self.request_on(stream) else {
                tracing::debug!(method = %notification.method, "dropping a message about no call in work");
                return sent();
            };
            about::name(&mut notification.params, id);
        }
        Box::pin(async { self.send(RequestKind::Notify, notification).await.map(|_| ()) })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(self.send(RequestKind::Call, request))
    }
}
