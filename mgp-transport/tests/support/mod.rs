//! A server to talk to, and a peer that writes and reads raw lines.
#![allow(unreachable_pub, reason = "a test support module has no outside")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "each test file uses its part")]

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::era::{ServerEraGate, ServerIdentity};
use mgp_transport::mrtr::MrtrGate;
use mgp_transport::token::SealingKey;
use mgp_transport::{Accept, ConnectionLimits, connect, memory};
use mgp_types::mcp::Implementation;
use mgp_types::{BoxFuture, Error, Gate as _, Method, Object, Outbox, RawJson, Request, Response};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::task::JoinHandle;
use tower_service::Service;

/// A server with a few methods: `tools/call` echoes its arguments, the rest shows one behaviour each.
#[derive(Debug, Clone, Default)]
pub struct Stub;

impl Service<Request> for Stub {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        Box::pin(answer(request))
    }
}

async fn answer(request: Request) -> Result<Response, Error> {
    let json = |text: &str| RawJson::parse(text.to_owned()).unwrap();
    match request.method.as_str() {
        "server/discover" => {
            Ok(Response::plain(json(r#"{"capabilities":{"tools":{}},"instructions":"be kind"}"#)))
        }
        "tools/list" => Ok(Response::plain(json(r#"{"tools":[]}"#))),
        "tools/call" => match request.params.text("name").as_deref() {
            Some("ask") => {
                let params =
                    Object::parse(r#"{"message":"who?","requestedSchema":{"type":"object"}}"#).unwrap();
                let answer = request.context.ask("who", Method::ELICIT, params).await?;
                Ok(Response::plain(json(&format!(
                    r#"{{"content":[],"structuredContent":{}}}"#,
                    std::str::from_utf8(answer.as_bytes()).unwrap()
                ))))
            }
            Some("notify") => {
                for step in ["1", "2", "3"] {
                    let mut params = Object::new();
                    params.set("progress", json(step));
                    request.context.outbox.notify(Request::notify(Method::PROGRESS, params)).await?;
                    tokio::task::yield_now().await;
                }
                Ok(Response::plain(json(r#"{"content":[]}"#)))
            }
            _ => {
                let arguments = request.params.get("arguments").unwrap_or_else(RawJson::null);
                let mut result = Object::new();
                result.set("content", json("[]"));
                result.set("structuredContent", arguments);
                Ok(Response::plain(result.to_raw()))
            }
        },
        "test/later" => {
            tokio::task::yield_now().await;
            Ok(Response::plain(json(r#"{"later":true}"#)))
        }
        "test/hang" => std::future::pending().await,
        "test/panic" => {
            tokio::task::yield_now().await;
            panic!("the handler is broken")
        }
        "test/opaque" => Ok(Response::new(json(r#"{"resultType":"task","ttlMs":5,"x":1}"#))),
        "test/refuse" => Err(Error::new(mgp_types::code::RATE_LIMITED, "too many")
            .with_recovery(mgp_types::mgp::Recovery::for_code(mgp_types::code::RATE_LIMITED).unwrap())),
        "subscriptions/listen" => {
            request.context.outbox.notify(Request::notify(Method::ACKNOWLEDGED, Object::new())).await?;
            Ok(Response::plain(json("{}")))
        }
        _ => Err(Error::method_not_found(&request.method)),
    }
}

/// A server whose every call panics before it returns a future.
#[derive(Debug, Clone)]
pub struct Panics;

impl Service<Request> for Panics {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        panic!("the service is broken")
    }
}

/// Returns the factory of [`Stub`]s.
pub fn server() -> impl Accept {
    server_with(ServerIdentity::new(Implementation::new("stub", "1.0.0")))
}

pub fn server_with(identity: ServerIdentity) -> impl Accept {
    let identity = Arc::new(identity);
    let mrtr = MrtrGate::new(SealingKey::random());
    move |outbox: Outbox| ServerEraGate::new(identity.clone(), outbox).layer(mrtr.layer(Stub))
}

/// A peer that writes and reads raw lines.
pub struct Peer {
    reader: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
    pub connection: JoinHandle<Result<(), Error>>,
}

impl Peer {
    pub fn of(accept: &impl Accept) -> Self {
        Self::with_limits(accept, ConnectionLimits::default())
    }

    pub fn with_limits(accept: &impl Accept, limits: ConnectionLimits) -> Self {
        let ((reader, writer), (far_reader, far_writer)) = memory::pair(64 << 10);
        let (_, connection) = connect(far_reader, far_writer, accept, limits);
        let connection = tokio::spawn(connection);
        Self { reader: BufReader::new(reader).lines(), writer, connection }
    }

    /// Returns a peer whose session is open in revision 2025-11-25, and can be asked.
    pub async fn in_session(accept: &impl Accept) -> Self {
        let mut peer = Self::of(accept);
        peer.send(INITIALIZE).await;
        peer.line().await;
        peer.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        peer
    }

    pub async fn send(&mut self, line: &str) {
        self.writer.write_all(line.as_bytes()).await.unwrap();
        self.writer.write_all(b"\n").await.unwrap();
    }

    pub async fn send_bytes(&mut self, bytes: &[u8]) {
        self.writer.write_all(bytes).await.unwrap();
    }

    pub async fn line(&mut self) -> String {
        let line = tokio::time::timeout(Duration::from_secs(30), self.reader.next_line()).await;
        line.expect("an answer comes").unwrap().expect("the connection lives")
    }

    pub async fn round_trip(&mut self, line: &str) -> String {
        self.send(line).await;
        self.line().await
    }

    /// Checks that nothing unasked was sent and the connection lives.
    pub async fn is_quiet(&mut self) {
        let answer = self.round_trip(r#"{"jsonrpc":"2.0","id":"quiet?","method":"test/none"}"#).await;
        assert!(answer.contains(r#""id":"quiet?""#), "{answer}");
    }

    pub async fn end_of_input(&mut self) {
        self.writer.shutdown().await.unwrap();
    }

    /// Returns the lines that still come until the connection ends.
    pub async fn rest(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        while let Ok(Some(line)) = self.reader.next_line().await {
            lines.push(line);
        }
        lines
    }
}

/// Opens a session in revision 2025-11-25 for a peer that can be asked.
pub const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"peer","version":"1"}}}"#;

/// `_meta` of a stateless request, as a member.
pub const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/clientInfo":{"name":"peer","version":"1"}}"#;

/// Returns a stateless request with further members of `params`.
pub fn stateless(id: u32, method: &str, members: &str) -> String {
    let comma = if members.is_empty() { "" } else { "," };
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{members}{comma}{META}}}}}"#)
}

/// A server whose description comes from elsewhere, with members of the stateless era in it.
#[derive(Debug, Clone)]
pub struct Relayed;

impl Service<Request> for Relayed {
    type Response = Response;
    type Error = Error;
    type Future = std::future::Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> std::task::Poll<Result<(), Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        let text =
            r#"{"resultType":"complete","capabilities":{},"ttlMs":7,"cacheScope":"public","_meta":{"a":1}}"#;
        std::future::ready(RawJson::parse(text).map(Response::new).map_err(Error::from))
    }
}
