//! The sections of a kernel, with servers and clients that live within the test.

use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_discovery::Config;
use mgp_discovery::catalog::Catalog;
use mgp_discovery::config::model::ListLevel;
use mgp_security::definition::DefinitionKind;
use mgp_types::mgp::{
    AccessGrant, AccessPermission, EffectiveSecurity, ExtensionSet, Negotiated, Offer, ResolvedTool,
    RiskLevel,
};
use mgp_types::{
    BoxFuture, Error, Method, Object, Outbox, OutboxPort, Principal, RawJson, Request, Response, Revision,
    Session, StreamId,
};
use parking_lot::Mutex;
use tokio::sync::Notify;
use tower_service::Service;

use crate::changes::ChangeListeners;
use crate::kernel::tool_discovery;
use crate::policies::Policies;
use crate::record::AuditTrail;
use crate::router::Router;
use crate::sections::Sections;
use crate::servers::fleet::Fleet;
use crate::servers::upstream::fake_server::FakeServer;
use crate::servers::upstream::{FirstStart, ServerSupport, Upstream};
use crate::settings::running::RunningConfig;
use mgp_types::BoxedService;

/// A configuration in which agents have only what they were granted.
pub(crate) const GRANTED: &str = r#"{"access":{"default":"opt-in"}}"#;

/// A router with servers behind it.
pub(crate) struct TestKernel {
    pub(crate) config: Arc<RunningConfig>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) audit: Arc<AuditTrail>,
    pub(crate) catalog: Catalog,
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) support: Arc<ServerSupport>,
    pub(crate) changes: Arc<ChangeListeners>,
    pub(crate) sections: Sections,
    pub(crate) router: Router,
    _state: tempfile::TempDir,
}

impl TestKernel {
    /// Opens a kernel in which everybody may use everything.
    pub(crate) async fn open() -> Self {
        Self::with(r#"{"access":{"default":"opt-out"}}"#).await
    }

    pub(crate) async fn with(config: &str) -> Self {
        let state = tempfile::tempdir().unwrap();
        let mut config: Config = serde_json::from_str(config).unwrap();
        config.tools.level = ListLevel::L0;
        let sections = Sections::open(config, state.path().join("state"), Vec::new()).await.unwrap();
        let router = Router::new(&sections, tool_discovery(&sections).unwrap());
        let Sections { config, policies, audit, tools, fleet, changes, .. } = sections.clone();
        let (catalog, support) = (tools.catalog, Arc::clone(fleet.support()));
        Self { config, policies, audit, catalog, fleet, support, changes, sections, router, _state: state }
    }

    pub(crate) async fn grant(&self, agent: &str, server: &str) {
        let grant = AccessGrant::new(agent.into(), server.into(), AccessPermission::Allow);
        self.policies.access.grant(&Principal::operator("root"), None, grant).await.unwrap();
    }

    pub(crate) async fn server(&self, id: &str) -> TestServer {
        self.server_in(id, Revision::V2025_11_25).await
    }

    /// Adds a server that can do everything, and answers what it is told to.
    pub(crate) async fn server_in(&self, id: &str, revision: Revision) -> TestServer {
        self.server_with(id, revision, r#"{"logging":{},"tasks":{"list":{}},"vendor":{"a":1}}"#).await
    }

    pub(crate) async fn server_with(
        &self,
        id: &str,
        revision: Revision,
        capabilities: &'static str,
    ) -> TestServer {
        self.put(id, revision, capabilities, None).await
    }

    /// Adds a server that is still starting, until the test ends its start.
    pub(crate) async fn starting_server(&self, id: &str, patience: Duration) -> (TestServer, FirstStart) {
        let start = FirstStart::new(id.into());
        start.leave_queue(patience);
        (self.put(id, Revision::V2025_11_25, "{}", Some(start.clone())).await, start)
    }

    async fn put(
        &self,
        id: &str,
        revision: Revision,
        capabilities: &'static str,
        start: Option<FirstStart>,
    ) -> TestServer {
        let (server, handshake) = (TestServer::default(), TestServer::default());
        let agreed = format!(
            r#"{{"protocolVersion":"{revision}","supportedVersions":["{revision}"],"capabilities":{capabilities},
            "serverInfo":{{"name":"{id}","version":"1"}},"tools":[]}}"#
        );
        *handshake.answer.lock() = Some(Ok(Response::new(RawJson::parse(agreed).unwrap())));
        let fake = FakeServer {
            handshake: BoxedService::new(handshake),
            service: BoxedService::new(server.clone()),
            capabilities: Object::parse(capabilities).unwrap(),
            instructions: Some(format!("Use {id} well.").into()),
            start,
        };
        self.fleet.put(Upstream::fake(&self.support, id, fake).await);
        server
    }

    pub(crate) fn tool(&self, server: &str, name: &str) -> Arc<ResolvedTool> {
        let definition = format!(r#"{{"name":"{name}", "x":1.50,"inputSchema":{{"type":"object"}}}}"#);
        let definition = Object::parse(definition).unwrap();
        let security = EffectiveSecurity::new(RiskLevel::Safe);
        let id = server.into();
        let definitions = &self.policies.definitions;
        definitions.examine(&id, DefinitionKind::Tool, std::slice::from_ref(&definition)).unwrap();
        // What is added to the first list waits, and its operator approves it.
        for (holder, state) in definitions.pins().all() {
            let Some(pending) = state.pending() else { continue };
            definitions.pins().approve(&holder, pending.name(), pending.digest()).unwrap();
        }
        let tool = ResolvedTool::new(id, name.into(), definition, security);
        self.catalog.put_server(server.into(), vec![Arc::clone(&tool)]).unwrap();
        tool
    }

    pub(crate) fn resource(&self, server: &str, uri: &str) {
        let definition = Object::parse(format!(r#"{{"uri":"{uri}","name":"it"}}"#)).unwrap();
        self.catalog.put_resources(server.into(), vec![definition]).unwrap();
    }

    pub(crate) fn prompt(&self, server: &str, name: &str) {
        let definition = Object::parse(format!(r#"{{"name":"{name}"}}"#)).unwrap();
        self.catalog.put_prompts(server.into(), vec![definition]).unwrap();
    }
}

/// A server that notes its requests, and answers what it is told to.
#[derive(Clone, Default)]
pub(crate) struct TestServer {
    asked: Arc<Mutex<Vec<Request>>>,
    answer: Arc<Mutex<Option<Result<Response, Error>>>>,
    /// The requests that listen. They stay open and are acknowledged, unless the server refuses everything.
    listening: Arc<Mutex<Vec<Outbox>>>,
    /// True if the server honours nothing of what requests that listen ask for.
    is_deaf: Arc<AtomicBool>,
    ends_listening: Arc<Notify>,
}

impl TestServer {
    pub(crate) fn answers(&self, result: &'static str) {
        *self.answer.lock() = Some(Ok(Response::new(RawJson::parse(result).unwrap())));
    }

    pub(crate) fn refuses(&self, error: Error) {
        *self.answer.lock() = Some(Err(error));
    }

    pub(crate) fn asked(&self) -> Vec<Request> {
        std::mem::take(&mut self.asked.lock())
    }

    pub(crate) fn methods(&self) -> Vec<String> {
        self.asked().iter().map(|request| request.method.to_string()).collect()
    }

    /// Honours nothing of what requests that listen ask for.
    pub(crate) fn honours_nothing(&self) {
        self.is_deaf.store(true, Ordering::Relaxed);
    }

    /// Answers the requests that listen now.
    pub(crate) fn end_listening(&self) {
        self.listening.lock().clear();
        self.ends_listening.notify_waiters();
    }

    pub(crate) fn listening(&self) -> Vec<Outbox> {
        self.listening.lock().clone()
    }
}

impl Service<Request> for TestServer {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        self.asked.lock().push(request.clone());
        let answer = self.answer.lock().clone();
        if request.method == Method::LISTEN && !matches!(answer, Some(Err(_))) {
            let outbox = request.context.outbox;
            self.listening.lock().push(outbox.clone());
            let mut acknowledged = Object::new();
            let honoured = request.params.get("notifications");
            let honoured = honoured.filter(|_| !self.is_deaf.load(Ordering::Relaxed));
            acknowledged.set("notifications", honoured.unwrap_or_else(RawJson::empty_object));
            let ends = Arc::clone(&self.ends_listening);
            return Box::pin(async move {
                let ended = ends.notified();
                outbox.notify(Request::notify(Method::ACKNOWLEDGED, acknowledged)).await?;
                ended.await;
                Ok(Response::empty())
            });
        }
        Box::pin(ready(answer.unwrap_or_else(|| Ok(Response::empty()))))
    }
}

/// A client with its session and the messages that it got.
#[derive(Clone)]
pub(crate) struct TestClient {
    pub(crate) session: Arc<Session>,
    pub(crate) principal: Principal,
    inbox: Arc<Inbox>,
}

#[derive(Default)]
struct Inbox {
    messages: Mutex<Vec<Request>>,
    is_stuck: AtomicBool,
}

impl OutboxPort for Inbox {
    fn notify(&self, _: StreamId, notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        if self.is_stuck.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        self.messages.lock().push(notification);
        Box::pin(ready(Ok(())))
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        self.messages.lock().push(request);
        Box::pin(ready(Ok(Response::empty())))
    }
}

impl TestClient {
    /// Returns a client with a session, which has begun.
    pub(crate) async fn begin(scene: &TestKernel, name: &str) -> Self {
        Self::who_can(scene, name, "{}").await
    }

    /// Returns a client with a session that can be asked something. Its messages include the questions to it.
    pub(crate) async fn who_can(scene: &TestKernel, name: &str, capabilities: &'static str) -> Self {
        let peer = Self::describing(scene, name, capabilities).await;
        peer.notify(scene, "notifications/initialized", "{}").await.unwrap();
        peer
    }

    /// Returns a client with a session that speaks MGP.
    pub(crate) async fn speaking(scene: &TestKernel, principal: Principal) -> Self {
        let mut peer = Self::begin(scene, principal.as_str()).await;
        let all = Offer::new(ExtensionSet::standard());
        let mut session = Session::new(peer.session.revision);
        session.outbox = peer.session.outbox.clone();
        session.mgp = Negotiated::agree(&all, &all);
        (peer.session, peer.principal) = (Arc::new(session), principal);
        peer
    }

    /// Returns a client with a session that does not read.
    pub(crate) async fn begin_stuck(scene: &TestKernel, name: &str) -> Self {
        let peer = Self::begin(scene, name).await;
        peer.inbox.is_stuck.store(true, Ordering::Relaxed);
        peer
    }

    /// Returns a client that has described itself, and is not ready yet.
    pub(crate) async fn describing(scene: &TestKernel, name: &str, capabilities: &'static str) -> Self {
        let mut session = Session::new(Revision::V2025_11_25);
        session.capabilities = Object::parse(capabilities).unwrap();
        let inbox = Arc::new(Inbox::default());
        session.outbox = Outbox::new(Arc::clone(&inbox) as _, StreamId::STANDALONE);
        let peer = Self { session: Arc::new(session), principal: Principal::new(name), inbox };
        peer.call(scene, "server/discover", "{}").await.unwrap();
        peer
    }

    /// Returns a client that describes itself with each request.
    pub(crate) fn stateless(name: &str) -> Self {
        let mut session = Session::new(Revision::V2026_07_28);
        session.capabilities =
            Object::parse(r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}"#).unwrap();
        Self { session: Arc::new(session), principal: Principal::new(name), inbox: Arc::default() }
    }

    pub(crate) fn request(&self, method: &str, params: &str) -> Request {
        self.with_context(Request::call(Method::new(method), Object::parse(params.to_owned()).unwrap()))
    }

    fn with_context(&self, mut request: Request) -> Request {
        request.context.session = Some(Arc::clone(&self.session));
        request.context.principal = Some(self.principal.clone());
        request.context.outbox = Outbox::new(Arc::clone(&self.inbox) as _, StreamId::fresh());
        request
    }

    pub(crate) async fn call(
        &self,
        scene: &TestKernel,
        method: &str,
        params: &str,
    ) -> Result<Response, Error> {
        scene.router.clone().call(self.request(method, params)).await
    }

    pub(crate) async fn call_tool(
        &self,
        scene: &TestKernel,
        tool: &Arc<ResolvedTool>,
        params: &str,
    ) -> Response {
        let mut request = self.request("tools/call", params);
        request.context.tool = Some(Arc::clone(tool));
        scene.router.clone().call(request).await.unwrap()
    }

    pub(crate) async fn notify(
        &self,
        scene: &TestKernel,
        method: &str,
        params: &str,
    ) -> Result<Response, Error> {
        let notification = Request::notify(Method::new(method), Object::parse(params.to_owned()).unwrap());
        scene.router.clone().call(self.with_context(notification)).await
    }

    /// Returns the next message to the client, within a moment.
    pub(crate) async fn next_message(&self) -> Request {
        let waiting = async {
            loop {
                let next = {
                    let mut messages = self.inbox.messages.lock();
                    (!messages.is_empty()).then(|| messages.remove(0))
                };
                match next {
                    Some(next) => return next,
                    None => tokio::time::sleep(Duration::from_millis(1)).await,
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("it is told something")
    }

    /// Returns whether the client got no message, once everything that runs has had its turn.
    pub(crate) async fn hears_nothing(&self) -> bool {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        self.inbox.messages.lock().is_empty()
    }
}

/// A server without state, which answers each request with this function.
#[derive(Clone, Copy)]
pub(crate) struct AnsweringServer(pub(crate) fn(Request) -> TestAnswer);

/// The outcome of a request.
pub(crate) type TestAnswer = BoxFuture<'static, Result<Response, Error>>;

impl Service<Request> for AnsweringServer {
    type Response = Response;
    type Error = Error;
    type Future = TestAnswer;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.0)(request)
    }
}

/// Waits until `is` holds.
pub(crate) async fn until(is: impl Fn() -> bool) {
    let waiting = async {
        while !is() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), waiting).await.expect("it comes to hold");
}

pub(crate) fn text(response: &Response) -> String {
    String::from_utf8(response.to_raw().as_bytes().to_vec()).unwrap()
}
