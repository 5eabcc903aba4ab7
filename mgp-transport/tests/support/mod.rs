//! Services, outboxes and peers whose every move the test makes, and a server to talk to.
#![allow(dead_code, reason = "each test uses its part")]

use std::fmt::Debug;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_transport::era::{ServerEraGate, ServerIdentity};
use mgp_transport::mrtr::MrtrGate;
use mgp_transport::token::SealingKey;
use mgp_transport::{Accept, ConnectionLimits, Wire, connect, memory};
use mgp_types::mcp::Implementation;
use mgp_types::{
    BoxFuture, Error, Gate as _, Method, Object, Outbox, OutboxPort, Params, RawJson, Request, RequestKind,
    Response, RpcService, StreamId,
};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tower_service::Service;
use tracing::field::{Field, Visit};
use tracing::span::{self, Attributes, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// A service that does its work with each request.
#[derive(Clone)]
pub(crate) struct Does<F>(pub(crate) F);

impl<F, Fut> Service<Request> for Does<F>
where
    F: FnMut(Request) -> Fut,
    Fut: Future<Output = Result<Response, Error>> + Send + 'static,
{
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin((self.0)(request))
    }
}

/// A request, to be answered by the test.
pub(crate) struct Asked {
    pub(crate) request: Request,
    answer: oneshot::Sender<Result<Response, Error>>,
}

pub(crate) struct Requests(mpsc::UnboundedReceiver<Asked>);

/// Returns a service that hands each request to the test.
pub(crate) fn handed() -> (impl RpcService + Sync, Requests) {
    let (asks, asked) = mpsc::unbounded_channel();
    let service = Does(move |request: Request| {
        let kind = request.kind;
        let (answer, answered) = oneshot::channel();
        let _ = asks.send(Asked { request, answer });
        async move {
            match kind {
                RequestKind::Notify => Ok(Response::empty()),
                RequestKind::Call => answered.await.unwrap_or_else(|_| Err(Error::internal("not answered"))),
            }
        }
    });
    (service, Requests(asked))
}

impl Requests {
    pub(crate) async fn next(&mut self) -> Asked {
        in_time(self.0.recv()).await.expect("the service lives")
    }

    pub(crate) fn none(&mut self) {
        if let Ok(Asked { request, .. }) = self.0.try_recv() {
            panic!("{} {}", request.method, text(&request.params));
        }
    }
}

impl Asked {
    /// Sends a notification on the outbox of the request.
    pub(crate) async fn say(&self, method: Method, params: &str) {
        in_time(self.request.context.outbox.notify(notification(method, params))).await.unwrap();
    }

    pub(crate) fn answer(self, result: &str) {
        let _ = self.answer.send(Ok(plain(result)));
    }

    /// Returns whether nobody waits for the answer any more.
    pub(crate) fn is_dropped(&self) -> bool {
        self.answer.is_closed()
    }

    pub(crate) fn stream(&self) -> StreamId {
        self.request.context.outbox.stream()
    }
}

/// An outbox that notes its messages, one per permit.
pub(crate) struct Reader {
    pub(crate) permits: Semaphore,
    noted: Mutex<Vec<String>>,
    streams: Mutex<Vec<StreamId>>,
}

pub(crate) fn reader() -> Arc<Reader> {
    reader_of(Semaphore::MAX_PERMITS)
}

pub(crate) fn reader_of(permits: usize) -> Arc<Reader> {
    Arc::new(Reader { permits: Semaphore::new(permits), noted: Mutex::default(), streams: Mutex::default() })
}

impl Reader {
    pub(crate) fn noted(&self) -> Vec<String> {
        self.noted.lock().clone()
    }

    pub(crate) fn streams(&self) -> Vec<StreamId> {
        self.streams.lock().clone()
    }
}

impl OutboxPort for Reader {
    fn notify(&self, stream: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            self.permits.acquire().await.expect("never closed").forget();
            let method = notification.method.as_str().trim_start_matches("notifications/mgp.").to_owned();
            self.noted.lock().push(format!("{method} {}", text(&notification.params)));
            self.streams.lock().push(stream);
            Ok(())
        })
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(async { Err(Error::internal("nobody asks")) })
    }
}

/// Returns a call whose outbox is `reader`.
pub(crate) fn followed(reader: &Arc<Reader>) -> Request {
    let mut request = Request::call("tools/call", Params::new());
    request.context.outbox = Outbox::new(Arc::clone(reader) as _, StreamId::fresh());
    request
}

pub(crate) fn text(params: &Params) -> String {
    String::from_utf8(params.to_raw().as_bytes().to_vec()).unwrap()
}

/// Returns a message about the call that has `stream`.
pub(crate) fn about(stream: StreamId, mut request: Request) -> Request {
    request.context.outbox = Outbox::on(stream);
    request
}

pub(crate) fn notification(method: impl Into<Method>, params: &str) -> Request {
    Request::notify(method, Object::parse(params.to_owned()).unwrap())
}

pub(crate) fn plain(result: &str) -> Response {
    Response::plain(RawJson::parse(result.to_owned()).unwrap())
}

/// The end of a connection that the test speaks for, in raw lines.
pub(crate) struct Peer {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    pub(crate) connection: JoinHandle<Result<(), Error>>,
}

/// Returns a connection whose service is not asked.
pub(crate) fn client(limits: ConnectionLimits) -> (Wire, Peer) {
    connected(handed().0, limits)
}

/// Returns a connection of `service` to a [`Peer`].
pub(crate) fn connected(service: impl RpcService + Sync, limits: ConnectionLimits) -> (Wire, Peer) {
    accepted(&move |_: Outbox| service.clone(), limits)
}

fn accepted(accept: &impl Accept, limits: ConnectionLimits) -> (Wire, Peer) {
    let ((reader, writer), far) = memory::pair(4 << 10);
    let (wire, connection) = connect(far.0, far.1, accept, limits);
    let connection = tokio::spawn(connection);
    (wire, Peer { lines: BufReader::new(reader).lines(), writer, connection })
}

impl Peer {
    pub(crate) fn of(accept: &impl Accept) -> Self {
        Self::with_limits(accept, ConnectionLimits::default())
    }

    pub(crate) fn with_limits(accept: &impl Accept, limits: ConnectionLimits) -> Self {
        accepted(accept, limits).1
    }

    /// Returns a peer whose session is open in revision 2025-11-25, and can be asked.
    pub(crate) async fn in_session(accept: &impl Accept) -> Self {
        let mut peer = Self::of(accept);
        peer.round_trip(INITIALIZE).await;
        peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        peer
    }

    pub(crate) async fn send(&mut self, line: &str) {
        self.send_bytes(format!("{line}\n").as_bytes()).await;
    }

    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) {
        in_time(self.writer.write_all(bytes)).await.unwrap();
    }

    /// Sends a notification with these members.
    pub(crate) async fn tell(&mut self, method: &str, members: &str) {
        let line =
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/mgp.{method}","params":{{{members}}}}}"#);
        self.send(&line).await;
    }

    /// Answers a call with `{}`.
    pub(crate) async fn answer(&mut self, id: i64) {
        self.send(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).await;
    }

    pub(crate) async fn line(&mut self) -> String {
        in_time(self.lines.next_line()).await.unwrap().expect("the connection lives")
    }

    pub(crate) async fn round_trip(&mut self, line: &str) -> String {
        self.send(line).await;
        self.line().await
    }

    /// The next line is a notification of MGP; its name and parameters.
    pub(crate) async fn next_notification(&mut self) -> String {
        let line = self.line().await;
        let rest = line.strip_prefix(r#"{"jsonrpc":"2.0","method":"notifications/mgp."#).expect(&line);
        rest.strip_suffix('}').unwrap().replace(r#"","params":"#, " ")
    }

    /// The next line is a call; its id.
    pub(crate) async fn asked(&mut self, method: &str) -> i64 {
        let line = Object::parse(self.line().await).unwrap();
        assert_eq!(line.text("method").unwrap(), method);
        line.get("id").unwrap().to().unwrap()
    }

    /// Asserts that nothing unasked was sent and the connection lives.
    pub(crate) async fn lives_on(&mut self) {
        let answer = self.round_trip(r#"{"jsonrpc":"2.0","id":"quiet?","method":"test/none"}"#).await;
        assert!(answer.contains(r#""id":"quiet?""#), "{answer}");
    }

    /// Asserts that no line comes for a minute.
    pub(crate) async fn is_quiet(&mut self) {
        if let Ok(line) = tokio::time::timeout(Duration::from_mins(1), self.lines.next_line()).await {
            panic!("{line:?}");
        }
    }

    pub(crate) async fn end_of_input(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    /// Returns the lines that still come until the connection ends.
    pub(crate) async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Ok(Some(line)) = self.lines.next_line().await {
            lines.push(line);
        }
        lines
    }
}

/// A subscriber that writes down the names of spans, and every field of spans and events, up to a level.
#[derive(Clone)]
pub(crate) struct Notes {
    level: Level,
    noted: Arc<Mutex<Vec<String>>>,
}

impl Notes {
    pub(crate) fn up_to(level: Level) -> Self {
        Self { level, noted: Arc::default() }
    }

    pub(crate) fn noted(&self) -> Vec<String> {
        self.noted.lock().clone()
    }
}

impl Visit for Notes {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.noted.lock().push(format!("{field}={value:?}"));
    }
}

impl Subscriber for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level
    }
    fn new_span(&self, span: &Attributes<'_>) -> span::Id {
        self.noted.lock().push(span.metadata().name().to_owned());
        span.record(&mut self.clone());
        span::Id::from_u64(1)
    }
    fn record(&self, _: &span::Id, values: &Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &span::Id) {}
    fn exit(&self, _: &span::Id) {}
}

/// Starts a call as a task; aborting the task drops the call.
pub(crate) fn start<S>(service: &S, request: Request) -> JoinHandle<Result<Response, Error>>
where
    S: RpcService,
    S::Future: 'static,
{
    tokio::spawn(in_time(service.clone().call(request)))
}

/// Lets every task run until all of them wait.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Waits for `coming`, and fails the test in place of hanging; a paused clock costs no time.
pub(crate) async fn in_time<T>(coming: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(Duration::from_hours(1), coming).await;
    outcome.expect("it should have come long ago")
}

/// Returns the factory of servers in both eras that do as [`answer`] says.
pub(crate) fn server() -> impl Accept {
    server_with(ServerIdentity::new(Implementation::new("stub", "1.0.0")))
}

pub(crate) fn server_with(identity: ServerIdentity) -> impl Accept {
    let identity = Arc::new(identity);
    let mrtr = MrtrGate::new(SealingKey::random());
    move |outbox: Outbox| ServerEraGate::new(identity.clone(), outbox).layer(mrtr.layer(Does(answer)))
}

/// Answers a few methods: `tools/call` echoes its arguments, the rest shows one behaviour each.
pub(crate) async fn answer(request: Request) -> Result<Response, Error> {
    match request.method.as_str() {
        "server/discover" => Ok(plain(r#"{"capabilities":{"tools":{}},"instructions":"be kind"}"#)),
        "tools/list" => Ok(plain(r#"{"tools":[]}"#)),
        "tools/call" => match request.params.text("name").as_deref() {
            Some("ask") => {
                let params =
                    Object::parse(r#"{"message":"who?","requestedSchema":{"type":"object"}}"#).unwrap();
                let answer = request.context.ask("who", Method::ELICIT, params).await?;
                let answer = std::str::from_utf8(answer.as_bytes()).unwrap();
                Ok(plain(&format!(r#"{{"content":[],"structuredContent":{answer}}}"#)))
            }
            Some("notify") => {
                for step in 1..=3 {
                    let progress = notification(Method::PROGRESS, &format!(r#"{{"progress":{step}}}"#));
                    request.context.outbox.notify(progress).await?;
                    tokio::task::yield_now().await;
                }
                Ok(plain(r#"{"content":[]}"#))
            }
            _ => {
                let arguments = request.params.get("arguments").unwrap_or_else(RawJson::null);
                let mut result = Object::new();
                result.set("content", RawJson::parse("[]").unwrap());
                result.set("structuredContent", arguments);
                Ok(Response::plain(result.to_raw()))
            }
        },
        "test/later" => {
            tokio::task::yield_now().await;
            Ok(plain(r#"{"later":true}"#))
        }
        "test/hang" => std::future::pending().await,
        "test/panic" => {
            tokio::task::yield_now().await;
            panic!("the handler is broken")
        }
        "test/opaque" => {
            Ok(Response::new(RawJson::parse(r#"{"resultType":"task","ttlMs":5,"x":1}"#).unwrap()))
        }
        "test/refuse" => Err(Error::new(mgp_types::code::RATE_LIMITED, "too many")
            .with_recovery(mgp_types::mgp::Recovery::for_code(mgp_types::code::RATE_LIMITED).unwrap())),
        "subscriptions/listen" => {
            request.context.outbox.notify(Request::notify(Method::ACKNOWLEDGED, Object::new())).await?;
            Ok(plain("{}"))
        }
        _ => Err(Error::method_not_found(&request.method)),
    }
}

/// Opens a session in revision 2025-11-25 for a peer that can be asked.
pub(crate) const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"peer","version":"1"}}}"#;

/// `_meta` of a stateless request, as a member.
const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"peer","version":"1"}}"#;

/// Returns a stateless request with further members of `params`.
pub(crate) fn stateless(id: u32, method: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{comma}{META}}}}}"#)
}
