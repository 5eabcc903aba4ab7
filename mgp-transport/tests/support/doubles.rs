//! A service and an outbox whose every move the test makes, and a peer of raw lines.
#![allow(dead_code, reason = "each test uses its part")]

use std::task::{Context, Poll};
use std::time::Duration;

use mgp_transport::{ConnectionLimits, Wire, connect, memory};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, RawJson, Request, RequestKind, Response, StreamId,
};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::{mpsc, oneshot};
use tower_service::Service;

pub(crate) use crate::reader::*;

/// A service that hands each request to the test.
#[derive(Clone)]
pub(crate) struct Handed(mpsc::UnboundedSender<Asked>);

/// A request, to be answered by the test.
pub(crate) struct Asked {
    pub(crate) request: Request,
    answer: oneshot::Sender<Result<Response, Error>>,
}

pub(crate) struct Requests(mpsc::UnboundedReceiver<Asked>);

pub(crate) fn handed() -> (Handed, Requests) {
    let (asks, asked) = mpsc::unbounded_channel();
    (Handed(asks), Requests(asked))
}

impl Service<Request> for Handed {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let kind = request.kind;
        let (answer, answered) = oneshot::channel();
        let _ = self.0.send(Asked { request, answer });
        Box::pin(async move {
            match kind {
                RequestKind::Notify => Ok(Response::empty()),
                RequestKind::Call => answered.await.unwrap_or_else(|_| Err(Error::internal("not answered"))),
            }
        })
    }
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
        let _ = self.answer.send(Ok(Response::plain(RawJson::parse(result.to_owned()).unwrap())));
    }

    /// Returns whether nobody waits for the answer any more.
    pub(crate) fn is_dropped(&self) -> bool {
        self.answer.is_closed()
    }

    pub(crate) fn stream(&self) -> StreamId {
        self.request.context.outbox.stream()
    }
}

/// A service that does `work` with each request.
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

/// Returns a message about the call that has `stream`.
pub(crate) fn about(stream: StreamId, mut request: Request) -> Request {
    request.context.outbox = Outbox::on(stream);
    request
}

pub(crate) fn notification(method: impl Into<Method>, params: &str) -> Request {
    Request::notify(method, Object::parse(params.to_owned()).unwrap())
}

/// The end of a connection that the test speaks for.
pub(crate) struct Peer {
    lines: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

/// Returns a connection to a [`Peer`].
pub(crate) fn connected(service: Handed, limits: ConnectionLimits) -> (Wire, Peer) {
    connected_to(&move |_: Outbox| service.clone(), limits)
}

pub(crate) fn connected_to(
    accept: &impl mgp_transport::Accept<Service: mgp_types::RpcService>,
    limits: ConnectionLimits,
) -> (Wire, Peer) {
    let ((reader, writer), far) = memory::pair(4 << 10);
    let (wire, connection) = connect(far.0, far.1, accept, limits);
    tokio::spawn(connection);
    (wire, Peer { lines: BufReader::new(reader).lines(), writer })
}

/// Returns a connection whose service is not asked.
pub(crate) fn client(limits: ConnectionLimits) -> (Wire, Peer) {
    connected(handed().0, limits)
}

impl Peer {
    pub(crate) async fn send(&mut self, line: &str) {
        in_time(self.writer.write_all(format!("{line}\n").as_bytes())).await.unwrap();
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

    /// Asserts that no line comes for a minute.
    pub(crate) async fn is_quiet(&mut self) {
        if let Ok(line) = tokio::time::timeout(Duration::from_mins(1), self.lines.next_line()).await {
            panic!("{line:?}");
        }
    }
}

/// Starts a call as a task; aborting the task drops the call.
pub(crate) fn start(wire: &Wire, request: Request) -> tokio::task::JoinHandle<Result<Response, Error>> {
    tokio::spawn(in_time(Service::call(&mut wire.clone(), request)))
}

/// Lets every task run until all of them wait.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

/// Waits for `coming`, and fails the test in place of hanging; the clock of the tests costs no time.
pub(crate) async fn in_time<T>(coming: impl Future<Output = T>) -> T {
    let outcome = tokio::time::timeout(Duration::from_hours(1), coming).await;
    outcome.expect("it should have come long ago")
}
