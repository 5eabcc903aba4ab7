//! A kernel, its clients, and what they ask of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder, Core, Handlers};
use mgp_discovery::Config;
use mgp_kernel::{Kernel, ServerView};
use mgp_transport::Wire;
use mgp_types::mgp::{ServerState, ShutdownReason};
use mgp_types::{Error, Principal, RpcService};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::server::SERVE;

/// A kernel with a state of its own.
pub(crate) struct Host {
    pub(crate) kernel: Kernel,
    state: TempDir,
}

/// A client without handlers or layers.
pub(crate) type Plain = Client<Core<Wire, Handlers>>;

impl Host {
    pub(crate) async fn start(servers: Vec<Value>) -> Self {
        Self::start_with(config(servers)).await
    }

    pub(crate) async fn start_with(config: Config) -> Self {
        let state = tempfile::tempdir().unwrap();
        let kernel = Kernel::start(config, state.path().join("state")).await.unwrap();
        Self { kernel, state }
    }

    /// The next kernel with the same state, after this one has stopped.
    pub(crate) async fn start_again(self, config: Config) -> Self {
        let Self { kernel, state } = self;
        kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
        drop(kernel);
        let began = Instant::now();
        loop {
            // What still writes lets go of its files in a moment.
            match Kernel::start(config.clone(), state.path().join("state")).await {
                Ok(kernel) => return Self { kernel, state },
                Err(error) => assert!(began.elapsed() < Duration::from_secs(10), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// A folder that ends with the kernel.
    pub(crate) fn folder(&self) -> &Path {
        self.state.path()
    }

    /// An operator's client.
    pub(crate) async fn operator(&self) -> Plain {
        let builder = Client::builder("tests", "1.0.0");
        builder.in_process(self.kernel.accept(Principal::operator("root"))).await.unwrap()
    }

    /// A client of this agent.
    pub(crate) async fn client(&self, agent: &'static str) -> Plain {
        self.connect(agent, Client::builder("tests", "1.0.0")).await
    }

    pub(crate) async fn connect(&self, agent: &'static str, builder: ClientBuilder) -> Plain {
        builder.in_process(self.kernel.accept(Principal::new(agent))).await.unwrap()
    }

    pub(crate) fn view(&self, server: &str) -> ServerView {
        self.kernel.servers().into_iter().find(|view| view.id.as_str() == server).unwrap()
    }

    /// Waits until a server is connected and offers its tools.
    pub(crate) async fn up(&self, server: &str) -> ServerView {
        until(|| {
            let view = self.view(server);
            (view.state == ServerState::Connected && view.tools > 0).then_some(view)
        })
        .await
    }
}

/// A configuration with these servers, in which nobody is asked.
pub(crate) fn config(servers: Vec<Value>) -> Config {
    let mut all = json!({
        "tools": {"level": "L0"},
        "confirmation": {"dangerous": false},
        "permissions": {"policy": "auto_approve", "never_automatic": []},
    });
    all["servers"] = Value::Array(servers);
    serde_json::from_value(all).unwrap()
}

/// This binary as a server.
pub(crate) fn child(id: &str) -> Value {
    json!({
        "id": id, "command": std::env::current_exe().unwrap(), "args": [SERVE],
        "backoff_base_ms": 20, "backoff_max_ms": 50,
        "security": {"spared_validators": ["sandbox", "code_safety", "network_restricted"]},
    })
}

/// A program that never says anything.
pub(crate) fn silent(id: &str) -> Value {
    json!({"id": id, "command": "/bin/sleep", "args": ["1000"]})
}

/// Calls a tool and returns its text.
pub(crate) async fn say<S: RpcService>(client: &Client<S>, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert_ne!(result.is_error, Some(true), "{tool}: {result:?}");
    result.content[0].as_text().unwrap().to_owned()
}

pub(crate) async fn names<S: RpcService>(client: &Client<S>) -> Vec<String> {
    client.list_tools().await.unwrap().into_iter().map(|tool| tool.name).collect()
}

/// What `find` finds, within a while.
pub(crate) async fn until<T>(mut find: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(20), "it did not come to be in time");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    let script = ["-c", "kill -s \"$1\" -- \"$2\"", "sh", name, &pid.to_string()];
    assert!(std::process::Command::new("/bin/sh").args(script).status().unwrap().success());
}

/// Waits until a process is gone.
pub(crate) async fn gone(pid: u32) {
    until(|| (!is_there(pid)).then_some(())).await;
}

/// Whether there is such a process. One that has ended and was nobody's to wait for is not.
pub(crate) fn is_there(pid: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{pid}/stat")) else { return false };
    !stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('Z'))
}

/// Calls a method and reads its result, without what every result of its era has.
pub(crate) async fn ask<S: RpcService>(
    client: &Client<S>,
    method: &'static str,
    params: Value,
) -> Result<Value, Error> {
    let result = client.request(method, params).await?;
    let mut result: serde_json::Map<_, _> = serde_json::from_slice(result.as_bytes()).unwrap();
    result.retain(|name, _| !matches!(name.as_str(), "resultType" | "_meta"));
    Ok(result.into())
}

/// Whether there is a Python to run scripts with.
pub(crate) fn has_python() -> bool {
    std::process::Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success())
}
