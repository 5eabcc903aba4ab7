//! A client for tests: it speaks either era over memory, and answers the server's questions.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_server_sdk::types::{
    Error, Flow, Gate, Object, Outbox, Principal, RawJson, Request, RequestKind, Response, RpcService,
};
use mgp_server_sdk::{Server, ServerCore};
use mgp_transport::{ConnectionLimits, Wire, connect, memory};
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::mpsc;
use tower_layer::Layer;
use tower_service::Service;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Session,
    Stateless,
}

impl Era {
    pub(crate) const BOTH: [Self; 2] = [Self::Session, Self::Stateless];
}

/// The client's answers to the server's questions.
pub(crate) type Answers = Arc<dyn Fn(&str, &Value) -> Value + Send + Sync>;

pub(crate) struct Peer {
    pub(crate) era: Era,
    wire: Wire,
    notifications: mpsc::UnboundedReceiver<(String, Value)>,
    capabilities: Value,
    pub(crate) initialized: Value,
    answers: Answers,
}

impl Peer {
    /// Connects to the server as a client that can do everything.
    pub(crate) async fn open<L, S>(server: Server<L>, era: Era) -> Self
    where
        L: Layer<ServerCore, Service = S>,
        S: RpcService + Sync + Unpin,
    {
        let capabilities = json!({
            "sampling": {}, "roots": {}, "elicitation": {"form": {}, "url": {}},
            "extensions": {"io.modelcontextprotocol/tasks": {}},
        });
        Self::with(server, era, capabilities, Arc::new(|_, _| json!({"action": "cancel"}))).await
    }

    /// Connects as a client with these capabilities and answers.
    pub(crate) async fn with<L, S>(server: Server<L>, era: Era, capabilities: Value, answers: Answers) -> Self
    where
        L: Layer<ServerCore, Service = S>,
        S: RpcService + Sync + Unpin,
    {
        let accept = server.accept().unwrap();
        Self::connect(&accept, era, capabilities, answers).await
    }

    /// Opens a peer that answers no questions.
    pub(crate) async fn silent<L, S>(server: Server<L>, era: Era, capabilities: Value) -> Self
    where
        L: Layer<ServerCore, Service = S>,
        S: RpcService + Sync + Unpin,
    {
        Self::with(server, era, capabilities, Arc::new(|_, _| Value::Null)).await
    }

    pub(crate) async fn connect<S>(
        accept: &mgp_server_sdk::ServerAccept<S>,
        era: Era,
        capabilities: Value,
        answers: Answers,
    ) -> Self
    where
        S: RpcService + Sync + Unpin,
    {
        let (near, far) = memory::pair(1 << 16);
        let (_, served) = connect(far.0, far.1, accept, ConnectionLimits::default());
        tokio::spawn(served);
        let (tell, notifications) = mpsc::unbounded_channel();
        let client = Client { tell, answers: answers.clone() };
        let (wire, connection) =
            connect(near.0, near.1, &move |_: Outbox| client.clone(), ConnectionLimits::default());
        tokio::spawn(connection);
        let mut peer = Self { era, wire, notifications, capabilities, initialized: Value::Null, answers };
        if era == Era::Session {
            let params = json!({
                "protocolVersion": "2025-11-25", "capabilities": peer.capabilities,
                "clientInfo": {"name": "test", "version": "1"},
            });
            peer.initialized = peer.send("initialize", params).await.unwrap();
            peer.notify("notifications/initialized", json!({})).await;
        }
        peer
    }

    /// Calls a method and answers its questions, if the result is one, until the result is the last.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Error> {
        let mut params = params;
        loop {
            let result = self.send(method, params.clone()).await?;
            if result["resultType"] != "input_required" {
                return Ok(result);
            }
            let asked = result["inputRequests"].as_object().unwrap();
            let answers = asked.iter().map(|(key, question)| {
                let method = question["method"].as_str().unwrap();
                (key.clone(), (self.answers)(method, &question["params"]))
            });
            params["inputResponses"] = Value::Object(answers.collect());
            params["requestState"] = result["requestState"].clone();
        }
    }

    /// Calls a method once.
    pub(crate) async fn send(&mut self, method: &str, params: Value) -> Result<Value, Error> {
        let request = self.request(method, params);
        let response = within(self.wire.call(request)).await?;
        Ok(response.to_raw().to().unwrap())
    }

    /// Calls a method and leaves it running.
    pub(crate) fn start(
        &mut self,
        method: &str,
        params: Value,
    ) -> tokio::task::JoinHandle<Result<Value, Error>> {
        let request = self.request(method, params);
        let call = self.wire.call(request);
        tokio::spawn(async move { Ok(call.await?.to_raw().to().unwrap()) })
    }

    pub(crate) async fn notify(&mut self, method: &str, params: Value) {
        let mut request = self.request(method, params);
        request.kind = RequestKind::Notify;
        self.wire.call(request).await.unwrap();
    }

    pub(crate) async fn tool(&mut self, name: &str, arguments: Value) -> Result<Value, Error> {
        self.call("tools/call", json!({"name": name, "arguments": arguments})).await
    }

    /// Returns the text of a tool's result.
    pub(crate) async fn text(&mut self, name: &str, arguments: Value) -> String {
        let result = self.tool(name, arguments).await.unwrap();
        result["content"][0]["text"].as_str().unwrap_or_default().into()
    }

    /// Returns the capabilities that the server declares.
    pub(crate) async fn declared(&mut self) -> Value {
        let described = match self.era {
            Era::Session => self.initialized.clone(),
            Era::Stateless => self.call("server/discover", json!({})).await.unwrap(),
        };
        described["capabilities"].clone()
    }

    /// Returns the definition of a tool in the list.
    pub(crate) async fn listed(&mut self, name: &str) -> Value {
        let tools = self.call("tools/list", json!({})).await.unwrap();
        tools["tools"].as_array().unwrap().iter().find(|tool| tool["name"] == name).unwrap().clone()
    }

    /// Returns the next notification of the server.
    pub(crate) async fn next_notification(&mut self) -> (String, Value) {
        within(self.notifications.recv()).await.unwrap()
    }

    /// Returns the next notification that the server sent already.
    pub(crate) fn told_already(&mut self) -> Option<(String, Value)> {
        self.notifications.try_recv().ok()
    }

    /// Asserts that the server sends no further message.
    pub(crate) async fn told_nothing(&mut self) {
        let received = tokio::time::timeout(Duration::from_millis(50), self.notifications.recv()).await;
        assert!(received.is_err(), "{received:?}");
    }

    fn request(&self, method: &str, mut params: Value) -> Request {
        if self.era == Era::Stateless {
            let meta = &mut params["_meta"];
            meta["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
            meta["io.modelcontextprotocol/clientCapabilities"] = self.capabilities.clone();
        }
        Request::call(method, Object::from_value(&params).unwrap())
    }
}

/// Returns the capabilities of a client that declares these extensions: proposed ones by their short names, others by
/// their ids.
pub(crate) fn declaring(extensions: &[&str]) -> Value {
    let ids = extensions.iter().map(|name| {
        let prefix = if name.contains('/') { "" } else { "io.github.mcp-extension-proposals/" };
        (format!("{prefix}{name}"), json!({}))
    });
    json!({"extensions": ids.collect::<serde_json::Map<_, _>>()})
}

/// Returns the capabilities of a client that speaks MGP with these sections, and declares these extensions.
pub(crate) fn speaking(era: Era, sections: &[&str], extensions: &[&str]) -> Value {
    let mut capabilities = declaring(extensions);
    let offer = json!({"version": "0.6.0", "extensions": sections});
    match era {
        Era::Session => capabilities["mgp"] = offer,
        Era::Stateless => capabilities["extensions"]["dev.cloto/mgp"] = offer,
    }
    capabilities
}

/// Believes each request who it is from.
#[derive(Clone)]
pub(crate) struct Believing;

impl Gate for Believing {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let who = request.params.object("_meta").and_then(|meta| meta.text("who").map(String::from));
        request.context.principal = who.map(|name| Principal::new(&*name));
        Flow::Pass(())
    }
}

/// A client that writes lines, whatever they are.
pub(crate) struct Raw {
    incoming: Lines<BufReader<ReadHalf<DuplexStream>>>,
    outgoing: WriteHalf<DuplexStream>,
}

impl Raw {
    pub(crate) fn of<L, S>(server: Server<L>) -> Self
    where
        L: Layer<ServerCore, Service = S>,
        S: RpcService + Sync + Unpin,
    {
        let (near, far) = memory::pair(1 << 16);
        let accept = server.accept().unwrap();
        let (_, connection) = connect(far.0, far.1, &accept, ConnectionLimits::default());
        tokio::spawn(connection);
        Self { incoming: BufReader::new(near.0).lines(), outgoing: near.1 }
    }

    pub(crate) async fn write(&mut self, line: &str) {
        self.outgoing.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    pub(crate) async fn read(&mut self) -> Value {
        serde_json::from_str(&within(self.incoming.next_line()).await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn ask(&mut self, line: &str) -> Value {
        self.write(line).await;
        self.read().await
    }

    pub(crate) async fn hello(&mut self, version: &str, capabilities: &Value) -> Value {
        self.ask(&hello(version, capabilities).to_string()).await
    }
}

pub(crate) fn hello(version: &str, capabilities: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": capabilities, "clientInfo": {"name": "raw", "version": "1"},
    }})
}

/// The other direction: a service that notes notifications and answers requests.
#[derive(Clone)]
struct Client {
    tell: mpsc::UnboundedSender<(String, Value)>,
    answers: Answers,
}

impl Service<Request> for Client {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let params: Value = request.params.to_raw().to().unwrap();
        if request.kind == RequestKind::Notify {
            let _ = self.tell.send((request.method.to_string(), params));
            return ready(Ok(Response::empty()));
        }
        let answer = (self.answers)(request.method.as_str(), &params);
        ready(Ok(Response::new(RawJson::from_value(&answer).unwrap())))
    }
}

async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(5), future).await.expect("it takes too long")
}
