//! A kernel, its clients, and what they ask of it.

use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, Core, Handlers};
use mgp_discovery::Config;
use mgp_kernel::{Kernel, ServerView};
use mgp_transport::Wire;
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{ExtensionSet, Offer, ServerState};
use mgp_types::{Error, Object, Principal, RawJson, RpcService};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

/// A kernel with a state of its own.
pub(crate) struct Host {
    pub(crate) kernel: Kernel,
    _state: TempDir,
}

/// A client without handlers or layers.
pub(crate) type Plain = Client<Core<Wire, Handlers>>;

impl Host {
    /// A kernel with these servers, in which nobody is asked.
    pub(crate) async fn start(servers: impl IntoIterator<Item = Value>) -> Self {
        Self::with(quiet(servers)).await
    }

    pub(crate) async fn with(config: Value) -> Self {
        let state = tempfile::tempdir().unwrap();
        let kernel = Kernel::start(read(config), state.path().join("state")).await.unwrap();
        Self { kernel, _state: state }
    }

    /// A client of this agent that speaks all of MGP.
    pub(crate) async fn client(&self, agent: &str) -> Plain {
        self.connect(agent, speaking()).await
    }

    /// A client of this agent that knows nothing of MGP.
    pub(crate) async fn plain(&self, agent: &str) -> Plain {
        self.connect(agent, Client::builder("tests", "1.0.0").mgp(None)).await
    }

    pub(crate) async fn operator(&self) -> Plain {
        speaking().in_process(self.kernel.accept(Principal::operator("root"))).await.unwrap()
    }

    pub(crate) async fn connect(&self, agent: &str, builder: ClientBuilder) -> Plain {
        builder.in_process(self.kernel.accept(Principal::new(agent))).await.unwrap()
    }

    pub(crate) fn view(&self, server: &str) -> ServerView {
        self.kernel.servers().into_iter().find(|view| view.id.as_str() == server).unwrap()
    }

    /// Waits until a server is connected and offers its tools.
    pub(crate) async fn up(&self, server: &str) -> ServerView {
        until(&format!("`{server}` is up"), || {
            let view = self.view(server);
            (view.state == ServerState::Connected && view.tools > 0).then_some(view)
        })
        .await
    }
}

fn speaking() -> ClientBuilder {
    Client::builder("tests", "1.0.0").mgp(Offer::new(ExtensionSet::standard()))
}

/// Waits until a kernel offers tools of a server.
pub(crate) async fn offers(kernel: &Kernel, server: &str) {
    let is_it = |view: &ServerView| view.id.as_str() == server && view.tools > 0;
    until("tools are offered", || kernel.servers().iter().any(is_it).then_some(())).await;
}

/// A configuration with these servers, in which nobody is asked and tools are listed as they are.
pub(crate) fn quiet(servers: impl IntoIterator<Item = Value>) -> Value {
    json!({
        "tools": {"level": "L0"},
        "confirmation": {"dangerous": false},
        "permissions": {"policy": "auto_approve", "never_automatic": []},
        "servers": servers.into_iter().collect::<Vec<_>>(),
    })
}

pub(crate) fn read(config: Value) -> Config {
    serde_json::from_value(config).unwrap()
}

/// This binary as a server; `mode` says as which.
pub(crate) fn child<'a>(id: &str, mode: &'a str, arguments: impl IntoIterator<Item = &'a str>) -> Value {
    let arguments: Vec<_> = std::iter::once(mode).chain(arguments).collect();
    json!({
        "id": id, "command": std::env::current_exe().unwrap(), "args": arguments,
        "backoff_base_ms": 20, "backoff_max_ms": 50,
    })
}

/// Calls a tool and returns its text.
pub(crate) async fn say<S: RpcService>(client: &Client<S>, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    text(&result)
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap_or_default().to_owned()
}

/// Why a call was refused, however the refusal came.
pub(crate) fn refused(outcome: Result<CallToolResult, Error>) -> String {
    match outcome {
        Err(error) => error.message().to_owned(),
        Ok(result) => {
            assert_eq!(result.is_error, Some(true), "{result:?}");
            text(&result)
        }
    }
}

pub(crate) async fn names<S: RpcService>(client: &Client<S>) -> Vec<String> {
    client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

/// What a method answers.
pub(crate) async fn ask<S: RpcService>(client: &Client<S>, method: &'static str, params: Value) -> Value {
    client.request(method, params).await.unwrap_or_else(|error| panic!("{method}: {error:?}")).to().unwrap()
}

/// What a search finds as soon as this tool is among it: tools are searched a moment after they are listed.
pub(crate) async fn found<S: RpcService>(client: &Client<S>, query: &str, tool: &str) -> Vec<RawJson> {
    let began = Instant::now();
    loop {
        let params = json!({"query": query, "max_results": 10});
        let found = client.request("mgp/tools/discover", params).await.unwrap();
        let found: Vec<RawJson> = Object::from_raw(&found).unwrap().get("tools").unwrap().to().unwrap();
        let is_it = |found: &RawJson| Object::from_raw(found).unwrap().text("name").as_deref() == Some(tool);
        if found.iter().any(is_it) {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "nothing was found in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What `find` finds, within a while.
pub(crate) async fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "it did not come to be in time that {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Waits until a client has a tool of this name in its list.
pub(crate) async fn listed<S: RpcService>(client: &Client<S>, tool: &str) {
    until_listed(client, |names| names.iter().any(|name| name == tool)).await;
}

/// Waits until a client's list is as it should be.
pub(crate) async fn until_listed<S: RpcService>(
    client: &Client<S>,
    is_it: impl Fn(&[String]) -> bool,
) -> Vec<String> {
    let began = Instant::now();
    loop {
        // Not what the client kept of an earlier list.
        client.clear_cache();
        let names = names(client).await;
        if is_it(&names) {
            return names;
        }
        assert!(began.elapsed() < PATIENCE, "the list was not the right one in time: {names:?}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

const PATIENCE: Duration = Duration::from_secs(30);
