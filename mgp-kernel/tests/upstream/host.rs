//! A kernel, its clients, and what they ask of it.

#[path = "../support/host.rs"]
mod shared;

use std::path::Path;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_discovery::Config;
use mgp_types::mgp::ShutdownReason;
use mgp_types::{Error, Principal, RpcService};
use serde_json::{Value, json};

pub(crate) use self::shared::{Host, PATIENCE, Plain, gone, is_there, names, say, until};
use self::shared::{STATE, quiet, read, start_when_free};
use crate::server::SERVE;

impl Host {
    /// The next kernel with the same state, after this one has stopped.
    pub(crate) async fn start_again(self, config: Config) -> Self {
        let Self { kernel, folder } = self;
        kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
        drop(kernel);
        let kernel = start_when_free(&config, &folder.path().join(STATE)).await;
        Self { kernel, folder }
    }

    /// A folder that ends with the kernel.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// An operator's client.
    pub(crate) async fn operator(&self) -> Plain {
        let builder = Client::builder("tests", "1.0.0");
        builder.in_process(self.kernel.accept(Principal::operator("root"))).await.unwrap()
    }

    /// A client of this agent.
    pub(crate) async fn client(&self, agent: &str) -> Plain {
        self.connect(agent, Client::builder("tests", "1.0.0")).await
    }
}

/// A configuration with these servers, in which nobody is asked.
pub(crate) fn config(servers: Vec<Value>) -> Config {
    read(quiet(servers))
}

/// This binary as a server. What it does to itself is none of the validators' business here.
pub(crate) fn child(id: &str) -> Value {
    let mut server = shared::child(id, [SERVE]);
    server["security"] = json!({"spared_validators": ["sandbox", "code_safety", "network_restricted"]});
    server
}

/// A program that never says anything.
pub(crate) fn silent(id: &str) -> Value {
    json!({"id": id, "command": "/bin/sleep", "args": ["1000"]})
}

/// Sends a signal to a process.
pub(crate) fn signal(name: &str, pid: u32) {
    let script = ["-c", "kill -s \"$1\" -- \"$2\"", "sh", name, &pid.to_string()];
    assert!(std::process::Command::new("/bin/sh").args(script).status().unwrap().success());
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

/// Returns whether there is a Python to run scripts with, and a system that confines it. A test for which there is none
/// says that it does nothing.
pub(crate) fn has_python() -> bool {
    if let Err(why) = mgp_kernel::check_confinement() {
        println!("skipped: {why}");
        return false;
    }
    let version = std::process::Command::new("python3").arg("--version").output();
    let is_there = version.is_ok_and(|ran| ran.status.success());
    if !is_there {
        eprintln!("skipped: no python3");
    }
    is_there
}
