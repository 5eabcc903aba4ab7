//! A gateway with a few servers, and the peers that ask it, for tests.

use std::future::{pending, ready};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use mgp_types::mgp::{
    ExtensionSet, Negotiated, Offer, Permission, Recovery, RiskLevel, ToolContextBudget, ToolHints, code,
};
use mgp_types::{
    BoxFuture, Error, Gate, Gated, Object, Outbox, OutboxPort, Principal, RawJson, Request, Response,
    Revision, Session, StreamId,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tower_service::Service;

use crate::budget::default_counter;
use crate::discovery::{ToolDiscoveryGate, ToolDiscoverySettings, ToolVisibility};
use crate::embed::{Embedder, NullEmbedder};
use crate::session::{PinnedTools, SessionSettings, ToolSessions};
use crate::{Index, ServerTools, Tool, ToolListing};

pub(super) struct World {
    pub(super) index: Index,
    pub(super) sessions: Arc<ToolSessions>,
    pub(super) layer: ToolDiscoveryGate,
    pub(super) server: Server,
}

impl World {
    pub(super) async fn new() -> Self {
        Self::with(ToolDiscoverySettings::new()).await
    }

    pub(super) async fn with(settings: ToolDiscoverySettings) -> Self {
        Self::with_budget(settings, ToolContextBudget::default()).await
    }

    pub(super) async fn with_budget(settings: ToolDiscoverySettings, budget: ToolContextBudget) -> Self {
        Self::of(settings, budget, Arc::new(NullEmbedder), servers()).await
    }

    /// Creates a gateway with another embedder and other servers.
    pub(super) async fn of(
        settings: ToolDiscoverySettings,
        budget: ToolContextBudget,
        embedder: Arc<dyn Embedder>,
        servers: Vec<ServerTools>,
    ) -> Self {
        let index = Index::new(embedder);
        for server in servers {
            index.put_server(server).await;
        }
        index.settled().await;
        let sessions = SessionSettings::new(budget, default_counter()).pins(PinnedTools::new(["think"]));
        let sessions = Arc::new(ToolSessions::new(sessions).unwrap());
        let layer = ToolDiscoveryGate::new(index.clone(), Arc::clone(&sessions), settings);
        Self { index, sessions, layer, server: Server::default() }
    }

    pub(super) fn service(&self) -> Gated<ToolDiscoveryGate, Server> {
        self.layer.layer(self.server.clone())
    }

    /// Calls the method.
    pub(super) async fn method(&self, peer: &Peer, method: &str, params: Value) -> Result<Value, Error> {
        let response = self.service().call(peer.request(method, &params)).await?;
        Ok(response.to_raw().to().unwrap())
    }

    /// Calls the tool, and returns the result of the call.
    pub(super) async fn tool(&self, peer: &Peer, name: &str, arguments: Value) -> Result<Value, Error> {
        self.method(peer, "tools/call", json!({ "name": name, "arguments": arguments })).await
    }

    /// Returns the names in the peer's list of tools.
    pub(super) async fn listed(&self, peer: &Peer) -> Vec<String> {
        let list = self.method(peer, "tools/list", json!({})).await.unwrap();
        names(&list["tools"])
    }
}

pub(super) fn names(tools: &Value) -> Vec<String> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn servers() -> Vec<ServerTools> {
    vec![
        ServerTools::new(
            "files",
            vec![
                tool("read_file", "Read the contents of a file", &json!({ "path": { "type": "string" } })),
                tool("write_file", "Write contents to a file", &json!({ "path": { "type": "string" } }))
                    .risk(RiskLevel::Moderate)
                    .permissions([Permission::FilesystemWrite]),
            ],
        ),
        ServerTools::new(
            "data",
            vec![
                tool("analyze_csv", "Compute statistics on CSV", &json!({ "csv": { "type": "string" } })),
                tool("rewrite_csv", "Compute statistics on CSV", &json!({ "csv": { "type": "string" } }))
                    .risk(RiskLevel::Dangerous),
                tool("think", "Ponder a problem", &json!({})),
            ],
        ),
        ServerTools::new(
            "pictures",
            vec![
                tool("shrink_image", "Shrink an image", &json!({ "image_path": { "type": "string" } })),
                tool(
                    "measure_image",
                    "Histogram of an image",
                    &json!({ "image_path": { "type": "string" } }),
                ),
            ],
        ),
        ServerTools::new("mail", vec![tool("send", "Send an electronic letter", &json!({}))]),
        ServerTools::new("chat", vec![tool("send", "Send a telegram", &json!({}))]),
    ]
}

pub(super) fn tool(name: &str, description: &str, properties: &Value) -> ToolListing {
    let required: Vec<_> = properties.as_object().unwrap().keys().collect();
    let definition = json!({
        "name": name,
        "description": description,
        "inputSchema": { "type": "object", "properties": properties, "required": required }
    });
    let hints: ToolHints =
        serde_json::from_value(json!({ "categories": [format!("{}/x", &name[..1])] })).unwrap();
    ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap().risk(RiskLevel::Safe).hints(hints)
}

/// Returns a tool whose definition takes more than any budget has.
pub(super) fn large(name: &str) -> ToolListing {
    let long = "Says at length what nobody needs to know for a call. ".repeat(50);
    let properties: serde_json::Map<_, _> =
        (0..60).map(|n| (format!("option{n}"), json!({ "type": "string", "description": long }))).collect();
    let definition = json!({
        "name": name,
        "description": "Weld steel",
        "inputSchema": { "type": "object", "properties": properties, "required": ["option1"] }
    });
    ToolListing::read(&RawJson::from_value(&definition).unwrap()).unwrap().risk(RiskLevel::Safe)
}

/// The service behind the gate: it records requests, and does what the name of the tool says.
#[derive(Debug, Clone, Default)]
pub(super) struct Server {
    pub(super) seen: Arc<Mutex<Vec<Request>>>,
    pub(super) says: Arc<Mutex<Option<Value>>>,
    pub(super) hangs: Arc<AtomicU64>,
    pub(super) refuses: Arc<AtomicBool>,
}

impl Server {
    /// Sets the answer to all further requests.
    pub(super) fn says(&self, result: Value) {
        *self.says.lock() = Some(result);
    }

    pub(super) fn last(&self) -> Request {
        self.seen.lock().last().unwrap().clone()
    }
}

impl Service<Request> for Server {
    type Response = Response;
    type Error = Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let listens = request.method == mgp_types::Method::LISTEN;
        let outbox = request.context.outbox.clone();
        self.seen.lock().push(request);
        if listens {
            let acknowledged =
                Object::from_value(&json!({ "notifications": { "toolsListChanged": true } })).unwrap();
            return Box::pin(async move {
                outbox.notify(Request::notify(mgp_types::Method::ACKNOWLEDGED, acknowledged)).await?;
                pending().await
            });
        }
        if self.hangs.load(Ordering::Relaxed) > 0 {
            return Box::pin(pending());
        }
        if self.refuses.load(Ordering::Relaxed) {
            return Box::pin(ready(Err(Error::invalid_params("refused"))));
        }
        let says = self.says.lock().clone();
        let result = says.unwrap_or_else(|| json!({ "content": [{ "type": "text", "text": "done" }] }));
        Box::pin(ready(Ok(Response::new(RawJson::from_value(&result).unwrap()))))
    }
}

/// A peer that asks the gateway.
#[derive(Clone)]
pub(super) struct Peer {
    pub(super) session: Arc<Session>,
    pub(super) principal: Option<Principal>,
    pub(super) notifications: Arc<Told>,
}

impl Peer {
    /// Creates a peer that negotiated `tool_discovery` in a session.
    pub(super) fn mgp() -> Self {
        Self::of(Revision::V2025_11_25, Some(&["tool_discovery"]))
    }

    /// Creates a peer that knows nothing of MGP.
    pub(super) fn plain() -> Self {
        Self::of(Revision::V2025_11_25, None)
    }

    pub(super) fn of(revision: Revision, extensions: Option<&[&str]>) -> Self {
        let notifications = Arc::new(Told::default());
        let mut session = Session::new(revision);
        session.mgp = extensions.and_then(|names| {
            let offer = Offer::new(ExtensionSet::from_names(names));
            Negotiated::agree(&offer, &offer)
        });
        if !revision.is_stateless() {
            session.outbox = Outbox::new(Arc::<Told>::clone(&notifications), StreamId::STANDALONE);
        }
        Self { session: Arc::new(session), principal: None, notifications }
    }

    /// Sets the name by which the peer describes itself, which proves nothing.
    pub(super) fn described(mut self, name: &str) -> Self {
        let session = Arc::get_mut(&mut self.session).unwrap();
        session.peer = Some(RawJson::from_value(&name).unwrap());
        self
    }

    pub(super) fn named(mut self, name: &str) -> Self {
        self.principal = Some(Principal::new(name));
        self
    }

    pub(super) fn request(&self, method: &str, params: &Value) -> Request {
        let mut request = Request::call(method, Object::from_value(params).unwrap());
        request.context.session = Some(Arc::clone(&self.session));
        request.context.principal.clone_from(&self.principal);
        request.context.outbox = Outbox::new(Arc::<Told>::clone(&self.notifications), StreamId::fresh());
        request
    }
}

/// The notifications that a peer got.
#[derive(Debug, Default)]
pub(super) struct Told(Mutex<Vec<String>>);

impl Told {
    pub(super) fn all(&self) -> Vec<String> {
        self.0.lock().clone()
    }
}

impl OutboxPort for Told {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        self.0.lock().push(notification.method.as_str().to_owned());
        Box::pin(ready(Ok(())))
    }

    fn call(&self, _: StreamId, _: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(ready(Err(Error::cancelled())))
    }
}

/// A policy that hides the tools of one server, and counts how often it was asked.
#[derive(Debug, Default)]
pub(super) struct Policy {
    pub(super) hidden: Mutex<&'static str>,
    pub(super) ungranted: Vec<Permission>,
    pub(super) revision: AtomicU64,
    pub(super) asked: AtomicU64,
    /// Names the answers of people who are asked for permissions: `grant`, `wait`, or else a denial.
    pub(super) answer: &'static str,
}

impl ToolVisibility for Policy {
    fn sees(&self, _: &mgp_types::Context, tool: &Tool) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        tool.server.as_str() != *self.hidden.lock()
    }

    fn revision(&self, _: &mgp_types::Context) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    fn missing_permissions(&self, _: &mgp_types::Context, tool: &Tool) -> Vec<Permission> {
        tool.permissions.iter().filter(|needed| self.ungranted.contains(needed)).cloned().collect()
    }

    fn ask_permissions<'a>(
        &'a self,
        _: &'a Request,
        tools: &'a [Arc<Tool>],
    ) -> BoxFuture<'a, Vec<Option<Error>>> {
        let refusal = || match self.answer {
            "grant" => None,
            "wait" => {
                let details = json!({ "approval_id": "7f" });
                let mut recovery = Recovery::default();
                recovery.details = Some(RawJson::from_value(&details).unwrap());
                let message = "waits: mgp permissions approve 7f";
                Some(Error::new(code::PERMISSION_DENIED, message).with_recovery(recovery))
            }
            _ => Some(Error::new(code::PERMISSION_DENIED, "denied: mgp permissions reset")),
        };
        Box::pin(ready(tools.iter().map(|_| refusal()).collect()))
    }
}
