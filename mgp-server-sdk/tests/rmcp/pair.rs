//! A client of rmcp, connected to a server of ours.

use std::sync::Arc;
use std::time::Duration;

use mgp_server_sdk::mcp::{PromptMessage, Role};
use mgp_server_sdk::{
    Cx, Elicited, HttpConfig, Prompt, Resource, ResourceTemplate, Server, ServerHandle, Tool, ToolError,
};
use mgp_transport::http::serve_until;
use mgp_transport::{ConnectionLimits, connect};
use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ElicitRequestParams,
    ElicitResult, ElicitationAction, Implementation, ProgressNotificationParam, ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext, RunningService};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, UnixSocketHttpClient};
use rmcp::{
    ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, ServiceError, ServiceExt,
};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream, UnixListener};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::task::JoinSet;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Era {
    Session,
    Stateless,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Via {
    Stream,
    Http,
}

/// The ways every test runs unless its name says otherwise.
pub(crate) const WAYS: [(Era, Via); 4] = [
    (Era::Session, Via::Stream),
    (Era::Stateless, Via::Stream),
    (Era::Session, Via::Http),
    (Era::Stateless, Via::Http),
];

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Add {
    a: i64,
    b: i64,
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Name {
    name: String,
}

#[derive(serde::Deserialize)]
struct Item {
    id: u64,
}

/// A guard that reports when it is dropped.
struct Ending(mpsc::UnboundedSender<&'static str>);

impl Drop for Ending {
    fn drop(&mut self) {
        // Nobody may be left to tell.
        let _ = self.0.send("dropped");
    }
}

/// Returns the server, and the reports of the tool that waits. The tool that is held goes on at `release`.
fn server(release: Arc<Notify>) -> (Server, mpsc::UnboundedReceiver<&'static str>) {
    let (tell, events) = mpsc::unbounded_channel();
    let server = Server::new("ours", "1")
        .instructions("Add.")
        .page_size(2)
        .tool(Tool::new("add", "Adds."), async |Add { a, b }: Add| a + b)
        .tool(Tool::new("fail", "Fails."), async || -> Result<(), ToolError> {
            Err(ToolError::new("there is no such city"))
        })
        .tool(Tool::new("count", "Counts."), async |cx: Cx| {
            cx.progress(1.0, Some(2.0), Some("one")).await;
            cx.progress(2.0, Some(2.0), Some("two")).await;
            "counted"
        })
        .tool(Tool::new("hold", "Is held."), move |cx: Cx| {
            let release = release.clone();
            async move {
                cx.progress(1.0, None, None).await;
                release.notified().await;
                "held"
            }
        })
        .tool(Tool::new("name", "Asks."), async |cx: Cx| -> Result<String, ToolError> {
            Ok(match cx.elicit::<Name>("name", "Who?").await? {
                Elicited::Accepted(form) => form.name,
                Elicited::Declined => "declined".into(),
                Elicited::Cancelled => "cancelled".into(),
            })
        })
        .tool(Tool::new("wait", "Waits."), move || {
            let ending = Ending(tell.clone());
            async move {
                ending.0.send("started").unwrap();
                std::future::pending::<()>().await;
            }
        })
        .resource(
            Resource::new("test://greeting", "greeting").media_type("text/plain"),
            async || "Hello, world",
        )
        .resource_template(ResourceTemplate::new("test://item/{id}", "item"), async |Item { id }: Item| {
            format!("item {id}")
        })
        .prompt(Prompt::new("greet", "Greets."), async |Name { name }: Name| {
            PromptMessage::new(Role::User, mgp_server_sdk::mcp::ContentBlock::text(format!("Hello, {name}")))
        });
    (server, events)
}

/// The values that rmcp hands to its user.
pub(crate) struct Host {
    action: ElicitationAction,
    asked: mpsc::UnboundedSender<ElicitRequestParams>,
    progress: mpsc::UnboundedSender<ProgressNotificationParam>,
    changed: mpsc::UnboundedSender<()>,
}

impl ClientHandler for Host {
    fn get_info(&self) -> ClientConfig {
        let capabilities: ClientCapabilities = serde_json::from_value(json!({"elicitation": {}})).unwrap();
        ClientConfig::new(capabilities, Implementation::new("theirs", "1"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.asked.send(request).unwrap();
        Ok(match self.action {
            ElicitationAction::Accept => {
                ElicitResult::new(ElicitationAction::Accept).with_content(json!({"name": "Ada"}))
            }
            ref action => ElicitResult::new(action.clone()),
        })
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.send(params).unwrap();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed.send(()).unwrap();
    }
}

/// A client of rmcp that is connected to a server of ours.
pub(crate) struct Pair {
    pub(crate) client: RunningService<RoleClient, Host>,
    pub(crate) server: ServerHandle,
    pub(crate) asked: mpsc::UnboundedReceiver<ElicitRequestParams>,
    pub(crate) progress: mpsc::UnboundedReceiver<ProgressNotificationParam>,
    pub(crate) changed: mpsc::UnboundedReceiver<()>,
    pub(crate) events: mpsc::UnboundedReceiver<&'static str>,
    /// Lets the tool that is held go on.
    pub(crate) release: Arc<Notify>,
    /// Breaks every connection of HTTP, and tells when it has.
    cut: mpsc::UnboundedSender<oneshot::Sender<()>>,
    _serving: JoinSet<()>,
}

impl Pair {
    pub(crate) async fn connect(way: (Era, Via)) -> Self {
        Self::connect_answering(way, ElicitationAction::Accept).await
    }

    /// Connects a client whose user does `action` with every question.
    pub(crate) async fn connect_answering((era, via): (Era, Via), action: ElicitationAction) -> Self {
        let release = Arc::<Notify>::default();
        let (cut, cuts) = mpsc::unbounded_channel();
        let (server, events) = server(release.clone());
        let handle = server.handle();
        let accept = server.accept().unwrap();
        let (asked, questions) = mpsc::unbounded_channel();
        let (progress, reports) = mpsc::unbounded_channel();
        let (changed, heard) = mpsc::unbounded_channel();
        let host = Host { action, asked, progress, changed };
        let mut serving = JoinSet::new();
        let client = match via {
            Via::Stream => {
                let (near, far) = tokio::io::duplex(1 << 16);
                let (reader, writer) = tokio::io::split(far);
                serving.spawn(async move {
                    let (_, connection) = connect(reader, writer, &accept, ConnectionLimits::default());
                    connection.await.unwrap();
                });
                match era {
                    Era::Session => within(host.serve(near)).await.unwrap(),
                    Era::Stateless => within(host.serve_with_lifecycle(near, auto())).await.unwrap(),
                }
            }
            Via::Http => {
                let socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
                let address = socket.local_addr().unwrap();
                serving.spawn(async move {
                    let config = HttpConfig::default().retry(Duration::ZERO);
                    serve_until(socket, accept, config, std::future::pending()).await.unwrap();
                });
                // The only client of HTTP that rmcp brings without a large one underneath dials Unix sockets.
                let path = gateway(address, cuts, &mut serving);
                let url = format!("http://{address}/mcp");
                let transport = StreamableHttpClientTransport::with_client(
                    UnixSocketHttpClient::new(&path, &url),
                    StreamableHttpClientTransportConfig::with_uri(url),
                );
                match era {
                    Era::Session => within(host.serve(transport)).await.unwrap(),
                    Era::Stateless => within(host.serve_with_lifecycle(transport, auto())).await.unwrap(),
                }
            }
        };
        Self {
            client,
            server: handle,
            asked: questions,
            progress: reports,
            changed: heard,
            events,
            release,
            cut,
            _serving: serving,
        }
    }

    /// Breaks every connection of HTTP.
    pub(crate) async fn cut(&self) {
        let (done, broken) = oneshot::channel();
        self.cut.send(done).unwrap();
        within(broken).await.unwrap();
    }

    pub(crate) async fn call(
        &self,
        tool: &'static str,
        arguments: Value,
    ) -> Result<CallToolResult, ServiceError> {
        within(self.client.call_tool(params(tool, arguments))).await
    }

    pub(crate) async fn text(&self, tool: &'static str, arguments: Value) -> String {
        text(&self.call(tool, arguments).await.unwrap()).to_owned()
    }
}

pub(crate) fn params(tool: &'static str, arguments: Value) -> CallToolRequestParams {
    CallToolRequestParams::new(tool).with_arguments(object(arguments))
}

pub(crate) fn object(value: Value) -> rmcp::model::JsonObject {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn text(result: &CallToolResult) -> &str {
    &result.content[0].as_text().unwrap().text
}

fn auto() -> ClientLifecycleMode {
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::V_2025_11_25),
    }
}

/// Opens a Unix socket that leads to a TCP socket, and returns its path.
fn gateway(
    address: std::net::SocketAddr,
    mut cuts: mpsc::UnboundedReceiver<oneshot::Sender<()>>,
    serving: &mut JoinSet<()>,
) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("gateway.sock");
    let socket = UnixListener::bind(&path).unwrap();
    serving.spawn(async move {
        let _folder = folder;
        let mut open = JoinSet::new();
        loop {
            let (mut near, _) = tokio::select! {
                accepted = socket.accept() => accepted.unwrap(),
                Some(done) = cuts.recv() => {
                    assert!(!open.is_empty());
                    open.shutdown().await;
                    done.send(()).unwrap();
                    continue;
                }
            };
            let mut far = TcpStream::connect(address).await.unwrap();
            open.spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
        }
    });
    path.to_str().unwrap().to_owned()
}

/// Guards against waiting for ever.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(20), future).await.expect("it ends in time")
}

pub(crate) async fn next<T>(received: &mut mpsc::UnboundedReceiver<T>) -> T {
    within(received.recv()).await.unwrap()
}

/// Returns the code of the error that answered a request.
pub(crate) fn code<T: std::fmt::Debug>(outcome: Result<T, ServiceError>) -> i32 {
    match outcome.unwrap_err() {
        ServiceError::McpError(error) => error.code.0,
        other => panic!("{other:?}"),
    }
}
