//! What the tests of both sides are arranged with: a connection that is looked into, and a server behind the layer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_types::mgp::{Event, ExtensionSet, Negotiated, Offer};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, Principal, Request, Response, Revision, Session,
    StreamId,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tower_layer::Layer;
use tower_service::Service;

use super::{EventQuotas, EventsLayer, Publisher, ServeEvents};

/// A connection to a client, which reads as much as it is told to.
#[derive(Debug)]
pub(super) struct Pipe {
    sent: Mutex<Vec<Request>>,
    room: Semaphore,
    broken: AtomicBool,
}

impl Pipe {
    pub(super) fn new() -> Arc<Self> {
        Self::with_room(Semaphore::MAX_PERMITS)
    }

    pub(super) fn with_room(messages: usize) -> Arc<Self> {
        let room = Semaphore::new(messages);
        Arc::new(Self { sent: Mutex::default(), room, broken: AtomicBool::new(false) })
    }

    pub(super) fn make_room(&self, messages: usize) {
        self.room.add_permits(messages);
    }

    pub(super) fn cut(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// What came since the last time.
    pub(super) fn take(&self) -> Vec<Request> {
        std::mem::take(&mut *self.sent.lock())
    }

    /// The events that came since the last time; nothing else did.
    #[track_caller]
    pub(super) fn events(&self) -> Vec<Event> {
        let event = |request: Request| {
            assert_eq!(request.method, Method::EVENT);
            request.body().unwrap()
        };
        self.take().into_iter().map(event).collect()
    }

    #[track_caller]
    pub(super) fn seqs(&self) -> Vec<u64> {
        self.events().iter().filter_map(|event| event.seq).collect()
    }
}

impl OutboxPort for Pipe {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async {
            let room = self.room.acquire().await.map_err(|_| Error::disconnected("closed"))?;
            room.forget();
            if self.broken.load(Ordering::Relaxed) {
                return Err(Error::disconnected("cut"));
            }
            self.sent.lock().push(notification);
            Ok(())
        })
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async { Err(Error::disconnected("nobody answers")) })
    }
}

/// A server that acknowledges those who listen, if it is not told to refuse or to be late, and knows nothing else.
#[derive(Debug, Clone)]
pub(super) struct Bare;

impl Service<Request> for Bare {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(async move {
            if request.method != Method::LISTEN || request.params.contains("refuse") {
                return Err(Error::method_not_found(&request.method));
            }
            let mut acknowledged = Object::new();
            acknowledged.set("notifications", request.params.get("notifications").unwrap());
            let notification = Request::notify(Method::ACKNOWLEDGED, acknowledged);
            let (outbox, late) = (request.context.outbox, request.params.contains("late"));
            let acknowledging = async move { outbox.notify(notification).await };
            if late {
                // Whether or not the request lasts that long.
                drop(tokio::spawn(acknowledging));
            } else {
                acknowledging.await?;
            }
            std::future::pending().await
        })
    }
}

pub(super) fn serve(publisher: &Publisher, quotas: EventQuotas) -> ServeEvents<Bare> {
    EventsLayer::with_quotas(publisher.clone(), quotas).layer(Bare)
}

/// One connection of a client to the service.
#[derive(Debug, Clone)]
pub(super) struct Peer<S> {
    pub(super) service: S,
    pub(super) pipe: Arc<Pipe>,
    pub(super) session: Arc<Session>,
    pub(super) principal: Option<Principal>,
}

impl<S: Clone> Peer<S> {
    /// With a session that leads to `pipe`.
    pub(super) fn with(service: &S, extensions: &[&str], pipe: Arc<Pipe>) -> Self {
        let mut session = session(Revision::V2025_11_25, extensions);
        session.outbox = Outbox::new(pipe.clone(), StreamId::STANDALONE);
        Self { service: service.clone(), pipe, session: Arc::new(session), principal: None }
    }

    pub(super) fn new(service: &S) -> Self {
        Self::with(service, &["bidirectional"], Pipe::new())
    }

    /// Without a session: each request comes with its own way back.
    pub(super) fn stateless(service: &S) -> Self {
        let session = Arc::new(session(Revision::V2026_07_28, &["events"]));
        Self { service: service.clone(), pipe: Pipe::new(), session, principal: None }
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        self.principal = Some(Principal::new(name));
        self
    }

    fn with_context(&self, mut request: Request) -> Request {
        request.context.session = Some(self.session.clone());
        request.context.principal.clone_from(&self.principal);
        request.context.outbox = Outbox::new(self.pipe.clone(), StreamId::fresh());
        request
    }
}

impl<S> Service<Request> for Peer<S>
where
    S: Service<Request, Response = Response, Error = Error, Future: Send> + Clone + 'static,
{
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.service.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        if self.pipe.broken.load(Ordering::Relaxed) {
            return Box::pin(async { Err(Error::disconnected("cut")) });
        }
        let request = self.with_context(request);
        Box::pin(self.service.call(request))
    }
}

impl<S> Peer<S>
where
    S: Service<Request, Response = Response, Error = Error, Future: Send> + Clone + 'static,
{
    pub(super) async fn ask<P: Serialize, R: DeserializeOwned>(
        &mut self,
        method: &'static str,
        params: &P,
    ) -> Result<R, Error> {
        self.call(Request::with_body(method, params).unwrap()).await?.body()
    }
}

fn session(revision: Revision, extensions: &[&str]) -> Session {
    let mut session = Session::new(revision);
    let ours = Offer::new(ExtensionSet::standard());
    session.mgp = Negotiated::agree(&ours, &Offer::new(ExtensionSet::from_names(extensions)));
    session
}

/// Lets all tasks run until they wait.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Data that tells which event it is.
pub(super) fn data(number: u64) -> Object {
    Object::parse(format!(r#"{{"n":{number}}}"#)).unwrap()
}
