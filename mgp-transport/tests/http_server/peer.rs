//! A client made of raw requests.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use mgp_transport::Accept;
use mgp_transport::http::{HttpBody, HttpConfig, HttpServer, Routes};
use mgp_types::Principal;
use serde_json::Value;

use crate::stack::{World, accept, world};

pub(crate) struct Peer<A: Accept> {
    pub(crate) routes: Routes<A>,
    pub(crate) world: Arc<World>,
}

pub(crate) fn peer() -> Peer<impl Accept> {
    peer_with(HttpConfig::default())
}

pub(crate) fn peer_with(config: HttpConfig) -> Peer<impl Accept> {
    let world = world();
    let routes = HttpServer::with_config(accept(&world), config).routes();
    Peer { routes, world }
}

/// A request, put together header by header.
#[derive(Clone)]
pub(crate) struct Ask(pub(crate) Request<Bytes>);

impl Ask {
    pub(crate) fn new(method: Method, path: &str) -> Self {
        let mut request = Request::new(Bytes::new());
        *request.method_mut() = method;
        *request.uri_mut() = path.parse().unwrap();
        Self(request).with("host", "localhost:8080")
    }

    /// Returns a POST to the endpoint with the headers of every client.
    pub(crate) fn post(body: impl Into<Bytes>) -> Self {
        let mut ask = Self::new(Method::POST, "/mcp")
            .with("content-type", "application/json")
            .with("accept", "application/json, text/event-stream");
        *ask.0.body_mut() = body.into();
        ask
    }

    /// Returns a call without a session, with all it needs.
    pub(crate) fn modern(method: &str, params: &str) -> Self {
        let members = params.trim_matches(['{', '}']);
        let comma = if members.is_empty() { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{members}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"dev.cloto/mgp":{{"version":"0.1.0","extensions":["streaming"]}}}}}}}}}}}}"#
        );
        Self::post(body).with("mcp-protocol-version", "2026-07-28").with("mcp-method", method)
    }

    /// Returns a call of the tool `name` without a session.
    pub(crate) fn tool(name: &str) -> Self {
        Self::modern("tools/call", &format!(r#"{{"name":"{name}"}}"#)).with("mcp-name", name)
    }

    pub(crate) fn get(session: &str) -> Self {
        Self::new(Method::GET, "/mcp").with("accept", "text/event-stream").with("mcp-session-id", session)
    }

    pub(crate) fn delete(session: &str) -> Self {
        Self::new(Method::DELETE, "/mcp").with("mcp-session-id", session)
    }

    /// Returns a call in a session.
    pub(crate) fn call(session: &str, id: u32, method: &str, params: &str) -> Self {
        let body = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#);
        Self::post(body).with("mcp-session-id", session)
    }

    pub(crate) fn with(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn and(mut self, name: &'static str, value: &str) -> Self {
        self.0.headers_mut().append(HeaderName::from_static(name), HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.0.headers_mut().remove(name);
        self
    }

    pub(crate) fn by(mut self, principal: &str) -> Self {
        self.0.extensions_mut().insert(Principal::new(principal));
        self
    }
}

impl<A: Accept> Peer<A> {
    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        let response = self.routes.handle(ask.0.map(Full::new)).await.unwrap();
        let (parts, body) = response.into_parts();
        Answer { status: parts.status, headers: parts.headers, body }
    }

    /// Returns the status, and the code of the error in the body.
    pub(crate) async fn refusal(&self, ask: Ask) -> (u16, i64) {
        let answer = self.send(ask).await;
        let status = answer.status.as_u16();
        (status, answer.json().await["error"]["code"].as_i64().unwrap_or_default())
    }

    /// Opens a session and returns its id.
    pub(crate) async fn open(&self, revision: &str) -> String {
        let answer = self.send(initialize(revision)).await;
        assert_eq!(answer.status, StatusCode::OK);
        let session = answer.headers["mcp-session-id"].to_str().unwrap().to_owned();
        assert_eq!(answer.json().await["result"]["protocolVersion"], revision);
        let ready = Ask::post(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        assert_eq!(self.send(ready.with("mcp-session-id", &session)).await.status, StatusCode::ACCEPTED);
        session
    }
}

pub(crate) fn initialize(revision: &str) -> Ask {
    Ask::post(format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}},"mgp":{{"version":"0.1.0","extensions":["streaming"]}}}},"clientInfo":{{"name":"peer","version":"1"}}}}}}"#
    ))
}

pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: HttpBody,
}

/// One event as it came.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Seen {
    pub(crate) name: String,
    pub(crate) id: String,
    pub(crate) retry: String,
    pub(crate) data: String,
}

impl Answer {
    pub(crate) async fn text(self) -> String {
        let bytes = self.body.collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    pub(crate) async fn json(self) -> Value {
        assert_eq!(self.headers["content-type"], "application/json");
        serde_json::from_str(&self.text().await).unwrap()
    }

    pub(crate) fn is_stream(&self) -> bool {
        self.headers.get("content-type").is_some_and(|value| value == "text/event-stream")
    }

    /// Returns the next event that is not a comment.
    pub(crate) async fn event(&mut self) -> Option<Seen> {
        assert!(self.is_stream(), "{}", self.status);
        loop {
            let frame = self.body.frame().await?.unwrap().into_data().unwrap();
            let text = String::from_utf8(frame.to_vec()).unwrap();
            if !text.starts_with(':') {
                return Some(parse(&text));
            }
        }
    }

    pub(crate) async fn data(&mut self) -> Value {
        serde_json::from_str(&self.event().await.expect("an event comes").data).unwrap()
    }
}

fn parse(text: &str) -> Seen {
    let mut seen = Seen::default();
    for line in text.strip_suffix("\n\n").expect("one event a frame").lines() {
        let (field, value) = line.split_once(": ").unwrap();
        match field {
            "event" => seen.name = value.into(),
            "id" => seen.id = value.into(),
            "retry" => seen.retry = value.into(),
            "data" => seen.data += value,
            _ => panic!("{line}"),
        }
    }
    seen
}

/// Lets every task run until all of them wait.
pub(crate) async fn settle() {
    for _ in 0..32 {
        tokio::task::yield_now().await;
    }
}
