//! What the tests are arranged with: sessions, a way to the peer that does as it is told, and a server behind layers.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use mgp_types::mgp::{ExtensionSet, Negotiated, Offer, method};
use mgp_types::{
    BoxFuture, Context, Error, Method, Object, Outbox, OutboxPort, Principal, RawJson, Request, Response,
    Revision, Session, StreamId,
};
use parking_lot::Mutex;
use tower_layer::Layer;
use tower_service::Service;

use super::{CallbackLayer, CallbackService, Callbacks};

pub(super) fn raw(json: &str) -> RawJson {
    RawJson::parse(json.to_owned()).unwrap()
}

/// A session with these extensions and capabilities.
pub(super) fn session(revision: Revision, extensions: &[&str], capabilities: &str) -> Session {
    let offer = Offer::new(ExtensionSet::from_names(extensions));
    let mut session = Session::new(revision);
    session.mgp = (!extensions.is_empty()).then(|| Negotiated::agree(&offer, &offer)).flatten();
    session.capabilities = Object::parse(capabilities.to_owned()).unwrap();
    session
}

/// A peer that keeps what it is sent, and answers as it is told.
pub(super) struct Peer {
    pub(super) notified: Mutex<Vec<(StreamId, Request)>>,
    pub(super) called: Mutex<Vec<Request>>,
    answer: Box<Answer>,
}

type Answer = dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync;

impl Peer {
    pub(super) fn new(
        answer: impl Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self { notified: Mutex::default(), called: Mutex::default(), answer: Box::new(answer) })
    }

    /// One that answers every question with this.
    pub(super) fn answering(json: &'static str) -> Arc<Self> {
        Self::new(move |_| Box::pin(ready(Ok(Response::new(raw(json))))))
    }

    /// One that is asked nothing, or never answers.
    pub(super) fn silent() -> Arc<Self> {
        Self::new(|_| Box::pin(std::future::pending()))
    }

    pub(super) fn outbox(self: &Arc<Self>) -> Outbox {
        Outbox::new(Arc::<Self>::clone(self), StreamId::fresh())
    }

    /// What it was sent, one after the other.
    pub(super) fn lines(&self) -> Vec<String> {
        let line = |(_, request): &(StreamId, Request)| {
            let params = String::from_utf8(request.params.to_raw().as_bytes().to_vec()).unwrap();
            format!("{} {params}", request.method)
        };
        self.notified.lock().iter().map(line).collect()
    }

    /// The ids of the callbacks it was sent.
    pub(super) fn ids(&self) -> Vec<String> {
        let notified = self.notified.lock();
        let asked = notified.iter().filter(|(_, request)| request.method == *method::CALLBACK_REQUEST);
        asked.map(|(_, request)| request.params.text("callback_id").unwrap().into_owned()).collect()
    }
}

impl OutboxPort for Peer {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.notified.lock().push((stream, notification));
        Box::pin(ready(Ok(())))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.called.lock().push(request.clone());
        (self.answer)(request)
    }
}

/// A server behind the layer, and one client of it.
pub(super) struct Bench {
    pub(super) callbacks: Callbacks,
    pub(super) peer: Arc<Peer>,
    /// Of the call in which is asked.
    pub(super) context: Context,
    pub(super) server: CallbackService<Router>,
}

impl Bench {
    pub(super) fn new(session: Session, peer: Arc<Peer>) -> Self {
        let callbacks = Callbacks::new();
        let mut context = Context::default();
        context.session = Some(Arc::new(session));
        context.principal = Some(Principal::new("agent"));
        context.outbox = peer.outbox();
        let server = CallbackLayer::new(callbacks.clone()).layer(Router);
        Self { callbacks, peer, context, server }
    }

    /// With callbacks in a session.
    pub(super) fn with_callbacks() -> Self {
        Self::new(session(Revision::V2025_11_25, &["callbacks"], "{}"), Peer::silent())
    }

    /// What the client is answered that responds in this context.
    pub(super) async fn respond_as(&self, context: &Context, id: &str, json: &str) -> Result<String, Error> {
        let mut params = Object::parse(r#"{"callback_id":""}"#).unwrap();
        params.set("callback_id", RawJson::from_value(id).unwrap());
        params.set("response", raw(json));
        let mut request = Request::call(Method::new(method::CALLBACK_RESPOND), params);
        request.context.session.clone_from(&context.session);
        request.context.principal.clone_from(&context.principal);
        let answer = self.server.clone().call(request).await?;
        Ok(String::from_utf8(answer.to_raw().as_bytes().to_vec()).unwrap())
    }

    pub(super) async fn respond(&self, id: &str, json: &str) -> Result<String, Error> {
        self.respond_as(&self.context, id, json).await
    }

    /// The id of the only callback so far, however often it was sent.
    pub(super) fn id(&self) -> String {
        let mut ids = self.peer.ids();
        ids.dedup();
        assert_eq!(ids.len(), 1, "{ids:?}");
        ids.remove(0)
    }
}

/// Lets everything happen that needs no time.
pub(super) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Answers everything with its method.
#[derive(Debug, Clone)]
pub(super) struct Router;

impl Service<Request> for Router {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut TaskContext<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        ready(Err(Error::method_not_found(&request.method)))
    }
}
