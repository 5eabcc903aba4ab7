//! A scripted server for the tests of the client.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, PlainStack};
use mgp_transport::Wire;
use mgp_types::{Error, Revision};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) type PlainClient = Client<PlainStack<Wire>>;

/// The two eras every test runs in unless its name says otherwise.
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A server made of lines.
#[derive(Clone)]
pub(crate) struct Peer {
    seen: Arc<Mutex<Vec<Value>>>,
    lines: mpsc::UnboundedSender<String>,
}

impl Peer {
    /// Returns a peer that answers each message with what `answer` returns.
    pub(crate) fn raw(
        answer: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
    ) -> (Self, (ReadHalf<DuplexStream>, WriteHalf<DuplexStream>)) {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (lines, outgoing) = mpsc::unbounded_channel();
        let peer = Self { seen: Arc::default(), lines };
        tokio::spawn(peer.clone().run(far, outgoing, answer));
        (peer, tokio::io::split(near))
    }

    /// Returns a peer of one era that answers what `answer` returns for a call, by its method and params.
    pub(crate) async fn connect(
        revision: Revision,
        builder: ClientBuilder,
        answer: impl FnMut(&str, &Value) -> Value + Send + 'static,
    ) -> (Self, PlainClient) {
        let (peer, (reader, writer)) = Self::raw(era(revision, answer));
        let client = builder.connect_io(reader, writer).await.unwrap();
        assert_eq!(client.revision(), Some(revision));
        (peer, client)
    }

    async fn run(
        self,
        far: DuplexStream,
        mut outgoing: mpsc::UnboundedReceiver<String>,
        mut answer: impl FnMut(&Value) -> Vec<Value>,
    ) {
        let (reader, mut writer) = tokio::io::split(far);
        let mut incoming = BufReader::new(reader).lines();
        loop {
            let out = tokio::select! {
                line = incoming.next_line() => {
                    let Ok(Some(line)) = line else {
                        self.seen.lock().push(json!("end"));
                        return;
                    };
                    let message: Value = serde_json::from_str(&line).unwrap();
                    let out: Vec<_> = answer(&message).iter().map(Value::to_string).collect();
                    self.seen.lock().push(message);
                    if out.is_empty() { String::new() } else { out.join("\n") + "\n" }
                }
                Some(line) = outgoing.recv() => line,
            };
            if writer.write_all(out.as_bytes()).await.is_err() {
                return;
            }
        }
    }

    /// Sends a message unasked.
    pub(crate) fn push(&self, message: &Value) {
        self.lines.send(format!("{message}\n")).unwrap();
    }

    /// Returns the messages of a method, or under an id, that have come.
    pub(crate) fn seen(&self, method: &str) -> Vec<Value> {
        self.seen.lock().iter().filter(|message| message["method"] == method).cloned().collect()
    }

    /// The params of what has come of a method.
    pub(crate) fn params(&self, method: &str) -> Vec<Value> {
        self.seen(method).into_iter().map(|message| message["params"].clone()).collect()
    }

    /// Everything that has come.
    pub(crate) fn all(&self) -> Vec<Value> {
        self.seen.lock().clone()
    }

    /// Waits until `found` finds something in what has come.
    pub(crate) async fn until<T>(&self, mut found: impl FnMut(&[Value]) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            if let Some(value) = found(&self.seen.lock()) {
                return value;
            }
            assert!(began.elapsed() < Duration::from_secs(20), "not seen in {:#?}", self.all());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Waits for a message of a method.
    pub(crate) async fn until_seen(&self, method: &str) -> Value {
        self.until(|seen| seen.iter().find(|message| message["method"] == method).cloned()).await
    }
}

/// Returns a server of one era around answers to calls: a result, `{"error":…}`, or null for silence. Members of
/// `before` are sent first.
pub(crate) fn era(
    revision: Revision,
    mut answer: impl FnMut(&str, &Value) -> Value + Send + 'static,
) -> impl FnMut(&Value) -> Vec<Value> + Send + 'static {
    move |message| {
        let id = message["id"].clone();
        let Some(method) = message["method"].as_str() else { return Vec::new() };
        if id.is_null() {
            return Vec::new();
        }
        let mut reply = match (method, revision.is_stateless()) {
            ("server/discover", true) => json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities(),
            }),
            ("initialize", false) => json!({
                "protocolVersion": revision.as_str(), "capabilities": capabilities(),
                "serverInfo": {"name": "peer", "version": "1"},
            }),
            ("server/discover" | "initialize", _) => json!({"error": {"code": -32601, "message": "no"}}),
            _ => answer(method, &message["params"]),
        };
        if reply.is_null() {
            return Vec::new();
        }
        let mut out: Vec<Value> = match reply["before"].take() {
            Value::Array(before) => before,
            _ => Vec::new(),
        };
        if let Some(object) = reply.as_object_mut() {
            object.remove("before");
        }
        out.push(match reply.get("error") {
            Some(error) => json!({"jsonrpc": "2.0", "id": id, "error": error}),
            None => json!({"jsonrpc": "2.0", "id": id, "result": reply}),
        });
        out
    }
}

fn capabilities() -> Value {
    json!({
        "tools": {"listChanged": true}, "resources": {"subscribe": true}, "prompts": {}, "logging": {},
        "tasks": {"requests": {"tools": {"call": {}}}},
    })
}

pub(crate) fn builder() -> ClientBuilder {
    Client::builder("tester", "1.0.0")
}

pub(crate) fn text(text: &str) -> Value {
    json!({"resultType": "complete", "content": [{"type": "text", "text": text}]})
}

pub(crate) async fn fails(future: impl IntoFuture<Output = Result<impl std::fmt::Debug, Error>>) -> Error {
    future.await.unwrap_err()
}
