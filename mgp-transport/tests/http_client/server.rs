//! A scripted server, and a service that notes the server's messages.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response as HttpResponse, StatusCode};
use http_body::Frame;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use mgp_transport::http::{HttpClient, HttpClientBuilder};
use mgp_types::{BoxFuture, Error, Object, Params, Request, RequestKind, Response, Revision, Session};
use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use tower_service::Service;

use crate::support::in_time;
pub(crate) use crate::support::start;

pub(crate) const URL: &str = "http://server.example/mcp";

/// A request of the client, which the test answers.
pub(crate) struct Exchange {
    pub(crate) head: http::request::Parts,
    pub(crate) body: Bytes,
    reply: oneshot::Sender<HttpResponse<ChannelBody>>,
}

/// The body of an answer, as the test writes it.
pub(crate) struct Stream(mpsc::Sender<io::Result<Bytes>>);

pub(crate) struct ChannelBody(mpsc::Receiver<io::Result<Bytes>>);

/// The requests of one client, in order, and how many connections it has made.
pub(crate) struct Server {
    asked: mpsc::UnboundedReceiver<Exchange>,
    connections: Arc<AtomicUsize>,
}

/// Returns a builder of clients that reach `Server` whatever the URL says.
pub(crate) fn server() -> (HttpClientBuilder, Server) {
    server_of(URL)
}

/// Returns a client with nothing set, its server, and what the client's service sees.
pub(crate) fn connected() -> (HttpClient<Recorder>, Server, Recorder) {
    let (builder, server) = server();
    let recorder = Recorder::default();
    (builder.connect_with(recorder.clone()).unwrap(), server, recorder)
}

pub(crate) fn server_of(url: &str) -> (HttpClientBuilder, Server) {
    let (exchanges, asked) = mpsc::unbounded_channel();
    let connections = Arc::new(AtomicUsize::new(0));
    let server = Server { asked, connections: Arc::clone(&connections) };
    let builder = HttpClient::builder(url).dial_with(move |_| {
        connections.fetch_add(1, Ordering::Relaxed);
        let (ours, theirs) = tokio::io::duplex(1 << 16);
        tokio::spawn(serve(theirs, exchanges.clone()));
        async { Ok(ours) }
    });
    (builder, server)
}

async fn serve(stream: tokio::io::DuplexStream, exchanges: mpsc::UnboundedSender<Exchange>) {
    let service = service_fn(|request: http::Request<Incoming>| {
        let exchanges = exchanges.clone();
        async move {
            let (head, body) = request.into_parts();
            let body = body.collect().await.map(http_body_util::Collected::to_bytes).unwrap_or_default();
            let (reply, replied) = oneshot::channel();
            let _ = exchanges.send(Exchange { head, body, reply });
            // A test that drops the exchange lets the request hang.
            Ok::<_, Infallible>(match replied.await {
                Ok(response) => response,
                Err(_) => std::future::pending().await,
            })
        }
    });
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

impl Server {
    pub(crate) async fn next(&mut self) -> Exchange {
        in_time(self.asked.recv()).await.unwrap()
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    /// Returns the next request, which has this HTTP method.
    pub(crate) async fn next_is(&mut self, method: &str) -> Exchange {
        let exchange = self.next().await;
        assert_eq!(exchange.head.method, method, "{:?}", exchange.body);
        exchange
    }

    /// Answers the next call with a stream of events; returns the id of the call, and the stream.
    pub(crate) async fn streams(&mut self) -> (i64, Stream) {
        let asked = self.next_is("POST").await;
        (asked.id(), asked.events())
    }

    /// The client takes a call back, and sends nothing more.
    pub(crate) async fn has_a_call_taken_back(&mut self) {
        let cancelled = self.next_is("POST").await;
        assert_eq!(cancelled.method(), "notifications/cancelled");
        cancelled.status(202);
        self.is_left_alone().await;
    }

    /// Asserts that the client sends no request for a minute.
    pub(crate) async fn is_left_alone(&mut self) {
        let more = tokio::time::timeout(Duration::from_mins(1), self.asked.recv()).await;
        if let Ok(Some(exchange)) = more {
            panic!("{} {:?}", exchange.head.method, exchange.body);
        }
    }
}

impl Exchange {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn message(&self) -> Object {
        Object::parse(self.body.clone()).unwrap()
    }

    pub(crate) fn method(&self) -> String {
        self.message().text("method").unwrap().into_owned()
    }

    pub(crate) fn id(&self) -> i64 {
        String::from_utf8(self.message().get("id").unwrap().as_bytes().to_vec()).unwrap().parse().unwrap()
    }

    pub(crate) fn respond(self, status: u16, headers: &[(&str, &str)], body: impl Into<Bytes>) {
        let stream = self.start(status, headers);
        stream.0.try_send(Ok(body.into())).unwrap();
    }

    /// Answers with a status and no body.
    pub(crate) fn status(self, status: u16) {
        self.respond(status, &[], "");
    }

    pub(crate) fn json(self, status: u16, body: impl Into<Bytes>) {
        self.respond(status, &[("content-type", "application/json; charset=utf-8")], body);
    }

    /// Answers the request with `{"ok":true}`.
    pub(crate) fn ok(self) {
        let body = reply(self.id());
        self.json(200, body);
    }

    pub(crate) fn events(self) -> Stream {
        self.start(200, &[("content-type", "text/event-stream")])
    }

    pub(crate) fn start(self, status: u16, headers: &[(&str, &str)]) -> Stream {
        let (sender, body) = mpsc::channel(1024);
        let mut response = HttpResponse::new(ChannelBody(body));
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        for (name, value) in headers {
            let name = HeaderName::try_from(*name).unwrap();
            response.headers_mut().append(name, HeaderValue::try_from(*value).unwrap());
        }
        assert!(self.reply.send(response).is_ok(), "the client has gone");
        Stream(sender)
    }

    /// Waits until the client gives the request up.
    pub(crate) async fn given_up(mut self) {
        in_time(self.reply.closed()).await;
    }
}

/// Returns the answer `{"ok":true}` to request `id`.
pub(crate) fn reply(id: i64) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"ok":true}}}}"#)
}

pub(crate) fn notification(method: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}"}}"#)
}

impl Stream {
    pub(crate) fn send(&self, text: impl Into<Bytes>) {
        self.0.try_send(Ok(text.into())).unwrap();
    }

    pub(crate) fn event(&self, data: &str) {
        self.send(format!("event: message\ndata: {data}\n\n"));
    }

    /// Returns how many pieces were not taken yet.
    pub(crate) fn waiting(&self) -> usize {
        self.0.max_capacity() - self.0.capacity()
    }

    pub(crate) fn break_off(self) {
        self.0.try_send(Err(io::ErrorKind::ConnectionReset.into())).unwrap();
    }

    pub(crate) async fn is_closed(&self) {
        in_time(self.0.closed()).await;
    }
}

impl http_body::Body for ChannelBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        self.0.poll_recv(cx).map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }
}

/// A service that notes the server's messages. It answers calls with `{"done":true}`, but never one of `never`; it
/// passes `echo/*` back to the server before it is done.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Arc<Mutex<Vec<String>>>);

impl Recorder {
    pub(crate) fn seen(&self) -> Vec<String> {
        self.0.lock().clone()
    }

    pub(crate) async fn saw(&self, count: usize) -> Vec<String> {
        in_time(async {
            while self.0.lock().len() < count {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        self.seen()
    }
}

impl Service<Request> for Recorder {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let kind = if request.kind == RequestKind::Call { "call " } else { "" };
        self.0.lock().push(format!("{kind}{}", request.method));
        let noted = Arc::clone(&self.0);
        Box::pin(async move {
            if request.method.as_str().ends_with("never") {
                return std::future::pending().await;
            }
            if request.method.as_str().contains("echo/") {
                let answer = request.context.outbox.call(Request::call("back", Params::new())).await?;
                noted.lock().push(format!("answer {}", String::from_utf8_lossy(answer.result.as_bytes())));
            }
            Ok(Response::plain(mgp_types::RawJson::parse(r#"{"done":true}"#).unwrap()))
        })
    }
}

/// Returns a request in a session of `revision`.
pub(crate) fn within(revision: Revision, mut request: Request) -> Request {
    request.context.session = Some(Arc::new(Session::new(revision)));
    request
}

/// Opens a session.
pub(crate) async fn initialize(client: &HttpClient<Recorder>, server: &mut Server, id: &str) {
    let call = start(client, Request::call("initialize", Params::new()));
    let asked = server.next().await;
    assert_eq!(asked.header("mcp-session-id"), None);
    assert_eq!(asked.header("mcp-protocol-version"), None);
    let body = reply(asked.id());
    asked.respond(200, &[("content-type", "application/json"), ("mcp-session-id", id)], body);
    is_ok(call.await);
}

/// Returns a call that stands alone.
pub(crate) fn list() -> Request {
    within(Revision::V2026_07_28, Request::call("tools/list", Params::new()))
}

pub(crate) fn params(json: &str) -> Params {
    Params::parse(json.to_owned()).unwrap()
}

pub(crate) fn is_ok(outcome: Result<Result<Response, Error>, tokio::task::JoinError>) {
    assert_eq!(outcome.unwrap().unwrap().result.as_bytes(), br#"{"ok":true}"#);
}
