//! A client that sends and receives lines.

use mgp_types::Revision;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};

use crate::host::{Kind, Place, serve};
use crate::leg::Leg;
use crate::sections::server::State;

/// A client that sends and gets lines.
pub(crate) struct Raw {
    incoming: Lines<BufReader<ReadHalf<DuplexStream>>>,
    outgoing: WriteHalf<DuplexStream>,
    revision: Revision,
    extensions: Vec<&'static str>,
    pub(crate) state: Arc<State>,
    /// The messages that came before the expected one.
    pub(crate) passed: Vec<Value>,
}

impl Raw {
    /// Returns a client that speaks MGP with these extensions, or none of it.
    pub(crate) async fn open(leg: Leg, kind: Kind, extensions: &[&'static str]) -> Self {
        let (near, far) = tokio::io::duplex(64 << 10);
        let state = State::new();
        tokio::spawn(serve(kind, state.clone(), Place::Io(far)));
        let (reader, outgoing) = tokio::io::split(near);
        let incoming = BufReader::new(reader).lines();
        let (revision, extensions) = (leg.revision, extensions.to_vec());
        let mut raw = Self { incoming, outgoing, revision, extensions, state, passed: Vec::new() };
        if !revision.is_stateless() {
            let params = json!({
                "protocolVersion": revision.as_str(),
                "capabilities": raw.capabilities(),
                "clientInfo": { "name": "raw", "version": "1" },
            });
            raw.write(&json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": params}))
                .await;
            let answer = raw.answer("open").await;
            assert_eq!(answer["result"]["protocolVersion"], revision.as_str(), "{answer}");
            raw.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        raw
    }

    fn capabilities(&self) -> Value {
        let offer = json!({ "version": "0.6.0", "extensions": self.extensions });
        match (self.extensions.is_empty(), self.revision.is_stateless()) {
            (true, _) => json!({}),
            (false, false) => json!({ "mgp": offer }),
            (false, true) => json!({ "extensions": { "dev.cloto/mgp": offer } }),
        }
    }

    async fn write(&mut self, message: &Value) {
        self.outgoing.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// `params` with what a request of the era says about itself.
    fn described(&self, mut params: Value) -> Value {
        if self.revision.is_stateless() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(self.revision.as_str());
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "raw", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities();
        }
        params
    }

    /// Sends a request.
    pub(crate) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let params = self.described(params);
        self.write(&json!({"jsonrpc": "2.0", "id": id.into(), "method": method, "params": params})).await;
    }

    /// Sends a call of a tool, with `_mgp` if it is not null.
    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value, mgp: Value) {
        let mut params = json!({"name": tool, "arguments": arguments});
        if !mgp.is_null() {
            params["_mgp"] = mgp;
        }
        self.ask(id, "tools/call", params).await;
    }

    /// Returns the next message; `None` if the server has closed the connection.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let next = tokio::time::timeout(PATIENCE, self.incoming.next_line());
        let line = next.await.expect("the server says something").unwrap()?;
        Some(serde_json::from_str(&line).unwrap())
    }

    /// Returns the next message that is as wanted; others are kept in `passed`.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let message = self.next().await.expect("the server stays");
            if wanted(&message) {
                return message;
            }
            self.passed.push(message);
        }
    }

    /// Returns the answer to a request.
    pub(crate) async fn answer(&mut self, id: impl Into<Value>) -> Value {
        let id = id.into();
        self.until(|message| message.get("method").is_none() && message["id"] == id).await
    }

    /// Returns the next notification of a method.
    pub(crate) async fn next_notification(&mut self, method: &str) -> Value {
        self.until(|message| message["method"] == method).await
    }

    /// Returns the params of all notifications of a method that were passed over.
    pub(crate) fn params(&self, method: &str) -> Vec<Value> {
        let of_method = self.passed.iter().filter(|message| message["method"] == method);
        of_method.map(|message| message["params"].clone()).collect()
    }
}

/// Longer than anything that is waited for here, in a time that is virtual where it matters.
const PATIENCE: Duration = Duration::from_secs(50);

pub(crate) const CHUNK: &str = "notifications/mgp.stream.chunk";
pub(crate) const STREAMING: &[&str] = &["streaming"];
