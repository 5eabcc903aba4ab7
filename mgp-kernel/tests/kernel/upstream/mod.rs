//! Servers behind the kernel: connected, kept alive, and heard, as clients in front of it find them.

mod agents;
mod audit;
mod creation;
mod events;
mod fallback;
mod fleet;
mod registration;
pub(crate) mod server;
mod subscribing;

use std::path::Path;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_discovery::Config;
use mgp_types::mgp::ShutdownReason;
use mgp_types::{Error, RpcService};
use serde_json::Value;

use self::server::SERVE;
use crate::host::{self, Host, STATE, quiet, read, start_when_free};
use crate::runner::Test;
use crate::talking;

pub(crate) fn tests() -> Vec<Test> {
    [
        fleet::TESTS,
        agents::TESTS,
        audit::TESTS,
        events::TESTS,
        registration::TESTS,
        fallback::TESTS,
        creation::TESTS,
        subscribing::TESTS,
    ]
    .concat()
}

impl Host {
    /// The next kernel with the same state, after this one has stopped.
    async fn start_again(self, config: Config) -> Self {
        let Self { kernel, folder } = self;
        kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
        drop(kernel);
        let kernel = start_when_free(&config, &folder.path().join(STATE)).await;
        Self { kernel, folder }
    }

    /// A folder that ends with the kernel.
    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// A configuration with these servers, in which nobody is asked.
fn config(servers: Vec<Value>) -> Config {
    read(quiet(servers))
}

/// This binary as a server. What it does to itself is none of the validators' business here.
fn child(id: &str) -> Value {
    talking::spared(host::child(id, [SERVE]))
}

/// Calls a method and reads its result, without what every result of its era has.
async fn ask<S: RpcService>(client: &Client<S>, method: &'static str, params: Value) -> Result<Value, Error> {
    let result = client.request(method, params).await?;
    let mut result: serde_json::Map<_, _> = serde_json::from_slice(result.as_bytes()).unwrap();
    result.retain(|name, _| !matches!(name.as_str(), "resultType" | "_meta"));
    Ok(result.into())
}

/// Returns whether there is a Python to run scripts with, and a system that confines it. A test for which there is none
/// says that it does nothing.
fn has_python() -> bool {
    if let Err(why) = mgp_kernel::check_confinement() {
        println!("skipped: {why}");
        return false;
    }
    let version = std::process::Command::new("python3").arg("--version").output();
    let is_there = version.is_ok_and(|ran| ran.status.success());
    if !is_there {
        println!("skipped: no python3");
    }
    is_there
}
