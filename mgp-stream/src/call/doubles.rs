//! What the tests of calls are arranged with: a service and a way back that do as they are told.

use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, RawJson, Request, Response, Revision, Session,
    StreamId,
};
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tower_service::Service;

/// A way back with room for so many messages; what is sent is read back.
pub(super) struct Port {
    room: Semaphore,
    sent: Mutex<Vec<(StreamId, Request)>>,
}

impl Port {
    pub(super) fn new() -> Arc<Self> {
        Self::with_room(Semaphore::MAX_PERMITS)
    }

    pub(super) fn with_room(messages: usize) -> Arc<Self> {
        Arc::new(Self { room: Semaphore::new(messages), sent: Mutex::default() })
    }

    pub(super) fn make_room(&self, messages: usize) {
        self.room.add_permits(messages);
    }

    /// The methods that were sent, without what all have in common.
    pub(super) fn methods(&self) -> Vec<String> {
        let short = |method: &Method| method.as_str().trim_start_matches("notifications/").to_owned();
        self.sent.lock().iter().map(|(_, request)| short(&request.method)).collect()
    }

    pub(super) fn params(&self) -> Vec<String> {
        self.sent.lock().iter().map(|(_, request)| text(&request.params.to_raw())).collect()
    }

    pub(super) fn streams(&self) -> Vec<StreamId> {
        self.sent.lock().iter().map(|(stream, _)| *stream).collect()
    }
}

impl OutboxPort for Port {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.room.acquire().await.map_err(|_| Error::disconnected("closed"))?.forget();
            self.sent.lock().push((stream, notification));
            Ok(())
        })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async move { Ok(Response::new(RawJson::from_value(request.method.as_str()).unwrap())) })
    }
}

/// A service that works as it is told.
#[derive(Clone)]
pub(super) struct Server(Work);

type Work = Arc<dyn Fn(Request) -> BoxFuture<'static, Result<Response, Error>> + Send + Sync>;

impl Server {
    pub(super) fn new<F>(work: impl Fn(Request) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Response, Error>> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(work(request))))
    }
}

impl Service<Request> for Server {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.0)(request)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

/// A session with these extensions, or one of plain MCP.
pub(super) fn session(extensions: Option<&[&'static str]>) -> Arc<Session> {
    let mut session = Session::new(Revision::LATEST);
    session.mgp = extensions.and_then(|names| {
        let offer = Offer::new(ExtensionSet::from_names(names.iter().copied()));
        Negotiated::agree(&offer, &offer)
    });
    Arc::new(session)
}

pub(super) fn object(json: &str) -> Object {
    Object::parse(json.to_owned()).unwrap()
}

pub(super) fn result(json: &str) -> Response {
    Response::plain(RawJson::parse(json.to_owned()).unwrap())
}

pub(super) fn text(raw: &RawJson) -> String {
    String::from_utf8(raw.as_bytes().to_vec()).unwrap()
}

pub(super) fn answered(answer: &Response) -> String {
    text(&answer.to_raw())
}

/// A call of a tool that wants chunks, in a session that has them.
pub(super) fn streamed_call(port: &Arc<Port>) -> Request {
    call(port, Some(&["streaming"]), r#"{"name":"think","_mgp":{"stream":true}}"#)
}

pub(super) fn call(port: &Arc<Port>, extensions: Option<&[&'static str]>, params: &str) -> Request {
    let mut request = Request::call(Method::TOOLS_CALL, object(params));
    request.context.session = Some(session(extensions));
    request.context.outbox = Outbox::new(port.clone(), StreamId::fresh());
    request
}

/// A message about the call on `stream`, in a session that has streaming.
pub(super) fn about(stream: StreamId, request: Request) -> Request {
    let mut request = request;
    request.context.session = Some(session(Some(&["streaming"])));
    request.context.outbox = Outbox::on(stream);
    request
}

pub(super) fn chunk(content: &str) -> Request {
    let text = text(&RawJson::from_value(content).unwrap());
    Request::notify(
        Method::STREAM_CHUNK,
        object(&format!(r#"{{"content":{{"type":"text","text":{text}}}}}"#)),
    )
}
