//! The parts that both kinds of HTTP client share.

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Uri};
use mgp_types::{Error, Id, Request, Response, RpcService, Session};
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

#[cfg(feature = "ext")]
use super::auth_member::AuthMember;
use super::followed::FollowedCalls;
use super::inbound::ServerQuestion;
use super::link::HttpLink;
use crate::ConnectionLimits;

/// A client as its parts see it: it carries messages to the server.
pub(super) trait MessageCarrier: Send + Sync + Sized + 'static {
    /// The service that answers the server.
    type Inbound: RpcService;

    fn core(&self) -> &ClientCore<Self::Inbound>;

    /// Carries one message that has no answer: a notification, or the answer to a request of the server.
    fn post(
        &self,
        message: Vec<u8>,
        session: Option<&Arc<Session>>,
    ) -> impl Future<Output = Result<(), Error>> + Send;

    /// Returns whether a caller waits for the answer to request `id` beside the reader of its own stream.
    fn is_awaited(&self, id: i64) -> bool;

    /// Carries a request, and brings its answer.
    fn exchange(self: Arc<Self>, request: Request) -> impl Future<Output = Result<Response, Error>> + Send;
}

/// The state that both kinds of client share.
pub(super) struct ClientCore<I> {
    pub(super) link: HttpLink,
    pub(super) url: Uri,
    /// The headers that the builder of the client set for every request.
    pub(super) headers: HeaderMap,
    /// The headers of `headers`, with those that every message has.
    pub(super) post_headers: HeaderMap,
    /// The key that every message carries.
    #[cfg(feature = "ext")]
    auth: Option<AuthMember>,
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
    next_id: AtomicI64,
}

/// The number of headers of most messages: a clone of the map has room for as many names.
const MAX_HEADERS: usize = 12;

impl<I: RpcService> ClientCore<I> {
    pub(super) fn new(
        link: HttpLink,
        url: Uri,
        headers: HeaderMap,
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
            url,
            headers,
            post_headers,
            #[cfg(feature = "ext")]
            auth: None,
            in_flight: room(limits.max_in_flight),
            chores: room(limits.max_queued),
            limits,
            tasks,
            inbound: Mutex::new(inbound),
            answering: Mutex::new(HashMap::new()),
            followed: FollowedCalls::default(),
            next_id: AtomicI64::new(1),
        }
    }

    #[cfg(feature = "ext")]
    pub(super) fn with_auth(self, auth: Option<AuthMember>) -> Self {
        Self { auth, ..self }
    }

    /// Returns the message as it is posted: with the key, if messages carry one.
    #[cfg_attr(not(feature = "ext"), expect(clippy::unused_self, reason = "no message carries a key"))]
    pub(super) fn to_post(&self, message: Vec<u8>) -> Vec<u8> {
        #[cfg(feature = "ext")]
        if let Some(auth) = &self.auth {
            let mut message = message;
            auth.add_to(&mut message);
            return message;
        }
        message
    }

    /// Waits as long as a server may take to accept a message that it does not answer.
    pub(super) async fn in_time(
        &self,
        posting: impl Future<Output = Result<(), Error>>,
    ) -> Result<(), Error> {
        tokio::time::timeout(self.limits.write_timeout, posting)
            .await
            .unwrap_or_else(|_| Err(Error::timeout("the server did not accept the message in time")))
    }

    /// Returns an id that no other request of this client has.
    pub(super) fn next_id(&self) -> i64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

// Headers and the query of a URL may hold credentials.
mgp_types::partial_debug!([I] ClientCore<I>, self => url: self.url.to_string().split('?').next(), limits: self.limits);

/// Sends a message beside the calls: if there is room for it, for a bounded time, and without a report of its success.
pub(super) fn post_aside<P: MessageCarrier>(peer: &Arc<P>, message: Vec<u8>, session: Option<Arc<Session>>) {
    let Ok(room) = Arc::clone(&peer.core().chores).try_acquire_owned() else {
        tracing::debug!("too many messages beside the calls; one is dropped");
        return;
    };
    let sender = Arc::clone(peer);
    peer.core().tasks.spawn(async move {
        post_in_time(&*sender, message, session.as_ref()).await;
        drop(room);
    });
}

const POST_TIMEOUT: Duration = Duration::from_secs(10);

/// Sends a message for a bounded time.
pub(super) async fn post_in_time<P: MessageCarrier>(
    peer: &P,
    message: Vec<u8>,
    session: Option<&Arc<Session>>,
) {
    match tokio::time::timeout(POST_TIMEOUT, peer.post(message, session)).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => tracing::debug!(%error, "a message did not reach the server"),
        Err(_) => tracing::debug!("a message did not reach the server in time"),
    }
}

/// The owner of the client's tasks, which ends them when the last handle goes.
pub(super) struct ClientOwner<P> {
    pub(super) peer: Arc<P>,
    tasks: Arc<Tasks>,
}

impl<P: MessageCarrier> ClientOwner<P> {
    pub(super) fn new(peer: Arc<P>) -> Self {
        let tasks = Arc::clone(&peer.core().tasks);
        Self { peer, tasks }
    }
}

impl<P> Drop for ClientOwner<P> {
    fn drop(&mut self) {
        self.tasks.abort_all();
    }
}

/// Takes a request back when it is dropped before [`done`](Self::done).
pub(super) struct CancelOnDrop<P: MessageCarrier> {
    /// The client; `None` once there is no request to take back.
    peer: Option<Arc<P>>,
    id: i64,
    session: Option<Arc<Session>>,
}

impl<P: MessageCarrier> CancelOnDrop<P> {
    pub(super) fn new(peer: &Arc<P>, id: i64, session: Option<&Arc<Session>>) -> Self {
        Self { peer: Some(Arc::clone(peer)), id, session: session.cloned() }
    }

    /// Notes that the request has its answer, or never gets one.
    pub(super) fn done(&mut self) {
        self.peer = None;
    }
}

impl<P: MessageCarrier> Drop for CancelOnDrop<P> {
    fn drop(&mut self) {
        let Some(peer) = self.peer.take() else { return };
        let message = format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"nobody waits for the answer any more"}}}}"#,
            self.id
        );
        post_aside(&peer, message.into_bytes(), self.session.take());
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
        if self.running.lock().is_none() {
            return None;
        }
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
