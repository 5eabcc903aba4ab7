//! A client that writes and reads frames.

use mgp_transport::{ConnectionLimits, connect, memory};
use mgp_types::{Principal, Revision};
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::task::JoinHandle;

use crate::host::{Host, PATIENCE};

/// The eras: what is said in sessions, and what each request says of itself.
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// The extensions of the specification.
pub(crate) const ALL: &[&str] = &[
    "security", "access_control", "audit", "code_safety", "lifecycle", "streaming", "bidirectional",
    "discovery", "tool_discovery",
];

/// A client of a kernel that is made of frames alone.
pub(crate) struct Raw {
    incoming: Lines<BufReader<ReadHalf<DuplexStream>>>,
    outgoing: WriteHalf<DuplexStream>,
    revision: Revision,
    /// The client's capabilities.
    capabilities: Value,
    last: u64,
    /// The answer to `initialize`, in a session.
    pub(crate) opened: Value,
    /// The frames that were passed over, the oldest first.
    pub(crate) heard: Vec<Value>,
    connection: JoinHandle<()>,
}

impl Raw {
    /// A client of an agent that offers all of MGP.
    pub(crate) async fn agent(host: &Host, agent: &str, revision: Revision) -> Self {
        Self::offering(host, Principal::new(agent), revision, ALL).await
    }

    /// An operator's client that offers all of MGP.
    pub(crate) async fn operator(host: &Host, revision: Revision) -> Self {
        Self::offering(host, Principal::operator("root"), revision, ALL).await
    }

    /// A client of an agent that knows nothing of MGP.
    pub(crate) async fn plain(host: &Host, agent: &str, revision: Revision) -> Self {
        Self::open(host, Principal::new(agent), revision, Value::Null).await
    }

    pub(crate) async fn offering(
        host: &Host,
        principal: Principal,
        revision: Revision,
        extensions: &[&str],
    ) -> Self {
        Self::open(host, principal, revision, json!({"version": "0.2.0", "extensions": extensions})).await
    }

    /// A client of an agent that declares these optional extensions, and knows nothing of MGP.
    pub(crate) async fn declaring(host: &Host, agent: &str, revision: Revision, extensions: &[&str]) -> Self {
        let id = |name: &&str| (format!("io.github.mcp-extension-proposals/{name}"), json!({}));
        let declared: Map<_, _> = extensions.iter().map(id).collect();
        Self::with(host, Principal::new(agent), revision, json!({"extensions": declared})).await
    }

    /// A client whose `mgp` is this; null for one that knows nothing of MGP.
    pub(crate) async fn open(host: &Host, principal: Principal, revision: Revision, offer: Value) -> Self {
        let capabilities = match (offer, revision.is_stateless()) {
            (Value::Null, _) => json!({}),
            (offer, false) => json!({"mgp": offer}),
            (offer, true) => json!({"extensions": {"dev.cloto/mgp": offer}}),
        };
        Self::with(host, principal, revision, capabilities).await
    }

    /// A client with these capabilities.
    pub(crate) async fn with(
        host: &Host,
        principal: Principal,
        revision: Revision,
        capabilities: Value,
    ) -> Self {
        let (near, far) = memory::pair(1 << 16);
        let (_, connection) =
            connect(far.0, far.1, &host.kernel.accept(principal), ConnectionLimits::default());
        let connection = tokio::spawn(async move { drop(connection.await) });
        let mut raw = Self {
            incoming: BufReader::new(near.0).lines(),
            outgoing: near.1,
            revision,
            capabilities,
            last: 0,
            opened: Value::Null,
            heard: Vec::new(),
            connection,
        };
        if !revision.is_stateless() {
            let hello = json!({
                "protocolVersion": revision.as_str(), "capabilities": raw.capabilities,
                "clientInfo": {"name": "raw", "version": "1"},
            });
            raw.opened = raw.call("initialize", hello).await;
            raw.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        raw
    }

    /// Sends a frame as it is.
    pub(crate) async fn write(&mut self, frame: &Value) {
        self.outgoing.write_all(format!("{frame}\n").as_bytes()).await.unwrap();
    }

    /// Returns `params` with what a request of the era says about itself.
    fn described(&self, mut params: Value) -> Value {
        if self.revision.is_stateless() {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(self.revision.as_str());
            params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "raw", "version": "1"});
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        params
    }

    /// Sends a request, and returns its id.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> u64 {
        let params = self.described(params);
        self.last += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params})).await;
        self.last
    }

    /// Sends a notification.
    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let params = self.described(params);
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params})).await;
    }

    async fn read(&mut self) -> Value {
        let line = tokio::time::timeout(PATIENCE, self.incoming.next_line()).await;
        let line = line.expect("the kernel says something").unwrap().expect("the kernel stays");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the next frame that is as wanted; others are kept in `heard`.
    async fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return self.heard.remove(at);
        }
        loop {
            let frame = self.read().await;
            if is_it(&frame) {
                return frame;
            }
            self.heard.push(frame);
        }
    }

    /// Returns the frame that answers a request.
    pub(crate) async fn answer(&mut self, id: u64) -> Value {
        self.until(|frame| frame.get("method").is_none() && frame["id"] == id).await
    }

    /// Returns the next notification of a method.
    pub(crate) async fn next_notification(&mut self, method: &str) -> Value {
        self.until(|frame| frame["method"] == method).await
    }

    /// Sends a line as it is, and returns the next frame without a method.
    pub(crate) async fn say(&mut self, line: &str) -> Value {
        self.outgoing.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        loop {
            let frame = self.read().await;
            if frame.get("method").is_none() {
                return frame;
            }
        }
    }

    /// Sends a request, and returns the frame that answers it.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        self.answer(id).await
    }

    /// Returns the result of a request, without the members that every result of its era has.
    pub(crate) async fn result(&mut self, method: &str, params: Value) -> Value {
        let mut frame = self.call(method, params).await;
        let mut result: Map<_, _> =
            serde_json::from_value(frame["result"].take()).unwrap_or_else(|_| panic!("{method}: {frame}"));
        result.retain(|name, _| !matches!(name.as_str(), "resultType" | "_meta" | "ttlMs" | "cacheScope"));
        result.into()
    }

    /// Returns the error of a request.
    pub(crate) async fn error(&mut self, method: &str, params: Value) -> Value {
        let frame = self.call(method, params).await;
        assert!(frame["error"].is_object(), "{method}: {frame}");
        frame["error"].clone()
    }

    /// Returns the result of a tool.
    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Value {
        self.result("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// Returns the error that a call of a tool ends in.
    pub(crate) async fn refused(&mut self, name: &str, arguments: Value) -> Value {
        self.error("tools/call", json!({"name": name, "arguments": arguments})).await
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.connection.abort();
    }
}
