//! Fixtures of the tests: a session, an outbox to a peer, and a service, which do as they are told.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
use mgp_types::{
    BoxFuture, Error, Object, Outbox, OutboxPort, RawJson, Request, Response, Revision, Session, StreamId,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tower::service_fn;
use tower::util::BoxCloneSyncService;

/// An outbox to a peer that has room for so many messages, keeps the messages it is sent, and answers as it is told.
pub(crate) struct TestPort {
    room: Semaphore,
    broken: AtomicBool,
    sent: Mutex<Vec<(StreamId, Request)>>,
    pub(crate) called: Mutex<Vec<Request>>,
    answer: Box<TestAnswer>,
}

type TestAnswer = dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync;

impl TestPort {
    /// Creates a port to a peer that reads everything and never answers.
    pub(crate) fn new() -> Arc<Self> {
        Self::with_room(Semaphore::MAX_PERMITS)
    }

    pub(crate) fn with_room(messages: usize) -> Arc<Self> {
        Arc::new(Self::made(messages, Box::new(|_| Box::pin(pending()))))
    }

    /// Creates a port to a peer that answers every request with `json`.
    pub(crate) fn answering(json: &'static str) -> Arc<Self> {
        Self::deciding(move |_| ready(Ok(result(json))))
    }

    pub(crate) fn deciding<F>(answer: impl Fn(Request) -> F + Send + Sync + 'static) -> Arc<Self>
    where
        F: Future<Output = Result<Response, Error>> + Send + 'static,
    {
        let answer = Box::new(move |request| -> BoxFuture<'static, _> { Box::pin(answer(request)) });
        Arc::new(Self::made(Semaphore::MAX_PERMITS, answer))
    }

    fn made(room: usize, answer: Box<TestAnswer>) -> Self {
        let (sent, called) = (Mutex::default(), Mutex::default());
        Self { room: Semaphore::new(room), broken: AtomicBool::new(false), sent, called, answer }
    }

    pub(crate) fn make_room(&self, messages: usize) {
        self.room.add_permits(messages);
    }

    /// Cuts the connection: no further message arrives.
    pub(crate) fn cut(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    pub(crate) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::<Self>::clone(self), StreamId::fresh())
    }

    /// Takes the messages that were sent since the last call.
    pub(crate) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.sent.lock()).into_iter().map(|(_, request)| request).collect()
    }

    pub(crate) fn sent(&self) -> Vec<Request> {
        self.sent.lock().iter().map(|(_, request)| request.clone()).collect()
    }

    pub(crate) fn streams(&self) -> Vec<StreamId> {
        self.sent.lock().iter().map(|(stream, _)| *stream).collect()
    }

    /// Takes the methods that were sent, without their common prefix.
    pub(crate) fn methods(&self) -> Vec<String> {
        let short =
            |request: &Request| request.method.as_str().trim_start_matches("notifications/").to_owned();
        self.sent().iter().map(short).collect()
    }

    pub(crate) fn params(&self) -> Vec<String> {
        self.sent().iter().map(|request| text(&request.params.to_raw())).collect()
    }
}

impl OutboxPort for TestPort {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.room.acquire().await.map_err(|_| Error::disconnected("closed"))?.forget();
            if self.is_cut() {
                return Err(Error::disconnected("cut"));
            }
            self.sent.lock().push((stream, notification));
            Ok(())
        })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.called.lock().push(request.clone());
        (self.answer)(request)
    }
}

mgp_types::partial_debug!(TestPort);

/// A service that answers with a function.
pub(crate) type TestServer = BoxCloneSyncService<Request, Response, Error>;

pub(crate) fn server<F>(work: impl Fn(Request) -> F + Send + Sync + 'static) -> TestServer
where
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let work = Arc::new(work);
    BoxCloneSyncService::new(service_fn(move |request| work(request)))
}

/// Returns a service that knows no method.
pub(crate) fn knowing_nothing() -> TestServer {
    server(|request| ready(Err(Error::method_not_found(&request.method))))
}

/// Returns a session that has these extensions of MGP, or none.
pub(crate) fn session(revision: Revision, extensions: &[&str]) -> Session {
    let offer = Offer::new(ExtensionSet::from_names(extensions));
    let mut session = Session::new(revision);
    session.mgp = (!extensions.is_empty()).then(|| Negotiated::agree(&offer, &offer)).flatten();
    session
}

pub(crate) fn raw(json: &str) -> RawJson {
    RawJson::parse(json.to_owned()).unwrap()
}

pub(crate) fn object(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

pub(crate) fn result(json: &str) -> Response {
    Response::plain(raw(json))
}

pub(crate) fn text(raw: &RawJson) -> String {
    String::from_utf8(raw.as_bytes().to_vec()).unwrap()
}

const TURNS: usize = 64;

/// Lets all tasks run until they wait, without any time going by.
pub(crate) async fn settle() {
    for _ in 0..TURNS {
        tokio::task::yield_now().await;
    }
}
