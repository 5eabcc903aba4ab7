//! The state of a client, its tasks, its followed calls, and the messages that it posts beside the calls.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwapOption;
use bytes::Bytes;
use foldhash::fast::RandomState;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Uri};
use mgp_types::mgp::StreamCancelled;
use mgp_types::{Error, Id, Method, Request, RequestKind, Response, RpcService, Session, StreamId};
use parking_lot::Mutex;
use scopeguard::guard;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use super::inbound::ServerQuestion;
use super::pool::HttpLink;
use crate::deliveries::{CallDeliveries, PeerOutcome};
use crate::http::replies::Replies;
use crate::{ConnectionLimits, about};

/// The state of a client of Streamable HTTP or of HTTP+SSE.
pub(super) struct ClientCore<I> {
    pub(super) link: HttpLink,
    pub(super) url: Uri,
    /// The address of messages: the URL, or the one that a server of HTTP+SSE names.
    pub(super) endpoint: Uri,
    /// True if the client speaks HTTP+SSE.
    pub(super) is_sse: bool,
    /// The headers that the builder of the client set for every request.
    pub(super) headers: HeaderMap,
    /// The headers of `headers`, with those that every message has.
    pub(super) post_headers: HeaderMap,
    /// The member `auth` of every message, with the comma in front of it; empty if messages carry no key.
    auth: Bytes,
    pub(super) limits: ConnectionLimits,
    pub(super) tasks: Arc<Tasks>,
    /// The service that answers the server, cloned once per stream; the lock makes a service that is not `Sync`
    /// shareable.
    pub(super) inbound: Mutex<I>,
    /// The server's requests in work.
    pub(super) answering: Mutex<HashMap<Id, ServerQuestion>>,
    /// The calls whose callers take the server's messages about them.
    pub(super) followed: FollowedCalls,
    /// The room for work that the server starts here: its requests, and notifications that take time.
    pub(super) in_flight: Arc<Semaphore>,
    /// The room for messages beside the calls: cancellations and refusals.
    pub(super) chores: Arc<Semaphore>,
    /// The session that the last `initialize` opened.
    pub(super) session_id: ArcSwapOption<HeaderValue>,
    /// The task that reads the server's unasked messages.
    pub(super) listener: Mutex<Option<AbortHandle>>,
    /// The callers of answers that come on a stream other than their own: all of HTTP+SSE, and those of servers that send
    /// answers wherever a stream is open.
    pub(super) replies: Replies,
    next_id: AtomicI64,
}

/// The number of headers of most messages: a clone of the map has room for as many names.
const MAX_HEADERS: usize = 12;

impl<I: RpcService> ClientCore<I> {
    pub(super) fn new(
        link: HttpLink,
        url: Uri,
        headers: HeaderMap,
        auth: Bytes,
        limits: ConnectionLimits,
        tasks: Arc<Tasks>,
        inbound: I,
    ) -> Self {
        let room = |count: usize| Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS)));
        let mut post_headers = HeaderMap::with_capacity(MAX_HEADERS);
        post_headers.extend(headers.clone());
        post_headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        post_headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self {
            link,
            endpoint: url.clone(),
            is_sse: false,
            url,
            headers,
            post_headers,
            auth,
            in_flight: room(limits.max_in_flight),
            chores: room(limits.max_queued),
            limits,
            tasks,
            inbound: Mutex::new(inbound),
            answering: Mutex::new(HashMap::new()),
            followed: FollowedCalls::default(),
            session_id: ArcSwapOption::empty(),
            listener: Mutex::new(None),
            replies: Replies::new(usize::MAX, "the stream that brings the answers has ended"),
            next_id: AtomicI64::new(1),
        }
    }

    /// Returns the message, an object with members, as it is posted: with the key, if messages carry one.
    pub(super) fn to_post(&self, mut message: Vec<u8>) -> Bytes {
        if !self.auth.is_empty() && message.pop_if(|last| *last == b'}').is_some() {
            message.extend_from_slice(&self.auth);
        }
        message.into()
    }

    /// Returns an id that no other request of this client has.
    pub(super) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }

    /// Sends a message beside the calls: if there is room for it, for a bounded time, and without a report of its success.
    pub(super) fn post_aside(self: &Arc<Self>, message: Vec<u8>, session: Option<Arc<Session>>) {
        let Ok(room) = Arc::clone(&self.chores).try_acquire_owned() else {
            return tracing::debug!("too many messages beside the calls; one is dropped");
        };
        let sender = Arc::clone(self);
        self.tasks.spawn(async move {
            sender.post_in_time(message, session.as_ref()).await;
            drop(room);
        });
    }

    /// Lets `listener` read the server's unasked messages in place of an earlier reader, which ends.
    pub(super) fn set_listener(&self, listener: Option<AbortHandle>) {
        let earlier = std::mem::replace(&mut *self.listener.lock(), listener);
        if let Some(earlier) = earlier {
            earlier.abort();
        }
    }

    /// Takes a request back.
    pub(super) fn take_back(self: &Arc<Self>, id: i64, session: Option<Arc<Session>>) {
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":"nobody waits for the answer any more"}}}}"#
        );
        self.post_aside(message.into_bytes(), session);
    }

    /// Sends a message for a bounded time.
    pub(super) async fn post_in_time(&self, message: Vec<u8>, session: Option<&Arc<Session>>) {
        match tokio::time::timeout(POST_TIMEOUT, self.post(message, session)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::debug!(%error, "a message did not reach the server"),
            Err(_) => tracing::debug!("a message did not reach the server in time"),
        }
    }
}

// Headers and the query of a URL may hold credentials.
mgp_types::partial_debug!([I] ClientCore<I>, self => url: self.url.to_string().split('?').next(), limits: self.limits);

const POST_TIMEOUT: Duration = Duration::from_secs(10);

/// The owner of the client's tasks, which ends them when the last handle goes.
pub(super) struct ClientOwner<I>(pub(super) Arc<ClientCore<I>>);

impl<I> Drop for ClientOwner<I> {
    fn drop(&mut self) {
        self.0.tasks.abort_all();
    }
}

/// The tasks of one client. They end when the client ends.
#[derive(Debug)]
pub(super) struct Tasks {
    /// The running tasks; `None` once the client has ended.
    running: Mutex<Option<Vec<AbortHandle>>>,
    runtime: Handle,
}

impl Tasks {
    pub(super) fn new(runtime: Handle) -> Self {
        Self { running: Mutex::new(Some(Vec::new())), runtime }
    }

    /// Starts a task, unless the client has ended.
    pub(super) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Option<AbortHandle> {
        self.running.lock().as_ref()?;
        // The task is spawned outside of the lock: a runtime that shuts down drops the task at once, and its values may
        // try to start another one when they are dropped.
        let handle = self.runtime.spawn(task).abort_handle();
        let mut running = self.running.lock();
        let Some(running) = running.as_mut() else {
            handle.abort();
            return None;
        };
        if running.len() == running.capacity() {
            running.retain(|task| !task.is_finished());
        }
        running.push(handle.clone());
        Some(handle)
    }

    /// Ends every task, and refuses further ones.
    pub(super) fn abort_all(&self) {
        let running = self.running.lock().take();
        for task in running.into_iter().flatten() {
            task.abort();
        }
    }
}

/// The calls of one client that have a stream on our side: the server's messages about them go to their callers, and
/// messages of ours can be about them.
#[derive(Default)]
pub(super) struct FollowedCalls(Mutex<HashMap<i64, FollowedStream, RandomState>>);

struct FollowedStream {
    deliveries: Arc<CallDeliveries>,
    /// True if the call listens for notifications.
    listens: bool,
}

impl FollowedCalls {
    /// Waits for the answer to call `id`, and meanwhile delivers the messages about it that readers other than `asking`
    /// get.
    pub(super) async fn follow(
        &self,
        id: i64,
        request: &Request,
        limits: &ConnectionLimits,
        asking: impl Future<Output = Result<PeerOutcome, Error>>,
    ) -> PeerOutcome {
        let outbox = &request.context.outbox;
        if !about::is_followed(outbox) || about::own(&request.method, outbox).is_some() {
            return asking.await?;
        }
        let deliveries = Arc::new(CallDeliveries::new(outbox.clone(), limits));
        let listens = request.method == Method::LISTEN;
        self.0.lock().insert(id, FollowedStream { deliveries: Arc::clone(&deliveries), listens });
        let deliveries = guard(deliveries, |deliveries| {
            let call = self.0.lock().remove(&id);
            drop(call);
            deliveries.close();
        });
        let mut delivered = pin!(deliveries.run());
        let answer = tokio::select! {
            biased;
            answer = asking => answer,
            failed = &mut delivered => return failed,
        };
        deliveries.answer(answer.unwrap_or_else(Err));
        delivered.await
    }

    /// Returns the call `id`, if it is followed.
    pub(super) fn get(&self, id: i64) -> Option<Arc<CallDeliveries>> {
        self.0.lock().get(&id).map(|call| Arc::clone(&call.deliveries))
    }

    /// Returns the call `id`, if it is followed and listens.
    pub(super) fn listener(&self, id: i64) -> Option<Arc<CallDeliveries>> {
        self.0.lock().get(&id).filter(|call| call.listens).map(|call| Arc::clone(&call.deliveries))
    }

    /// Writes the id of our call into a message about it, if `request` is such a message. Returns an answer if the call
    /// is over; else the request is to be sent.
    pub(super) fn name(&self, request: &mut Request) -> Option<Result<Response, Error>> {
        let stream = about::own(&request.method, &request.context.outbox)?;
        let is_on =
            |call: &CallDeliveries| stream != StreamId::STANDALONE && call.outbox().stream() == stream;
        let calls = self.0.lock();
        let found = calls.iter().filter(|(_, call)| is_on(&call.deliveries)).map(|(id, _)| *id).max();
        drop(calls);
        match (found, request.kind) {
            (Some(id), _) => {
                about::name(&mut request.params, &id.into());
                None
            }
            (None, RequestKind::Call) => Some(Response::with_body(&StreamCancelled::not_active())),
            (None, RequestKind::Notify) => {
                tracing::debug!(method = %request.method, "dropping a message about a call that is over");
                Some(Ok(Response::empty()))
            }
        }
    }
}
