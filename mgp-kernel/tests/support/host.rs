//! A kernel with servers that really run, and what is asked of it.

use std::path::Path;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, ClientCore, Handlers};
use mgp_discovery::Config;
use mgp_kernel::{Kernel, ServerView};
use mgp_transport::Wire;
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::ServerState;
use mgp_types::{Principal, RpcService};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

/// A kernel with a state of its own.
pub(crate) struct Host {
    pub(crate) kernel: Kernel,
    /// A folder that ends with the kernel, and has its [state](STATE).
    pub(crate) folder: TempDir,
}

/// A client without handlers or layers.
pub(crate) type Plain = Client<ClientCore<Wire, Handlers>>;

impl Host {
    /// A kernel with these servers, in which nobody is asked.
    pub(crate) async fn start(servers: impl IntoIterator<Item = Value>) -> Self {
        Self::start_with(read(quiet(servers))).await
    }

    pub(crate) async fn start_with(config: Config) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let kernel = Kernel::start(config, folder.path().join(STATE)).await.unwrap();
        Self { kernel, folder }
    }

    /// A client of this agent.
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

/// Where in a [folder](Host::folder) the kernel's state is.
pub(crate) const STATE: &str = "state";

/// A kernel with the state of one that has ended, which lets go of it a moment later.
pub(crate) async fn start_when_free(config: &Config, state: &Path) -> Kernel {
    let began = Instant::now();
    loop {
        match Kernel::start(config.clone(), state.to_owned()).await {
            Ok(kernel) => return kernel,
            Err(error) => assert!(began.elapsed() < PATIENCE, "{error}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
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

/// This binary as a server; the first argument says as which.
pub(crate) fn child<'a>(id: &str, arguments: impl IntoIterator<Item = &'a str>) -> Value {
    json!({
        "id": id,
        "command": std::env::current_exe().unwrap(), "args": arguments.into_iter().collect::<Vec<_>>(),
        "backoff_base_ms": 20, "backoff_max_ms": 50, "definitions": {"grows": true},
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

pub(crate) async fn names<S: RpcService>(client: &Client<S>) -> Vec<String> {
    client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

/// Returns the value that `find` finds, and waits for it a while.
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

/// Waits until a process is gone.
pub(crate) async fn gone(pid: u32) {
    until("a process is gone", || (!is_there(pid)).then_some(())).await;
}

/// Returns whether there is such a process. One that has ended and was nobody's to wait for is not.
pub(crate) fn is_there(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z'))
}

/// How long it is waited for what must come to be.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);
