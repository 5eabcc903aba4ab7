//! No process outlives whoever started it.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use mgp_kernel::Kernel;
use mgp_types::mgp::ShutdownReason;
use serde_json::{Value, json};

use crate::host::{self, Host, gone, is_there, say};
use crate::runner::tests;
use crate::talking;

tests![
    no_process_of_a_servers_tree_outlives_the_kernel,
    no_process_of_a_servers_tree_outlives_a_kernel_that_is_killed,
    a_server_that_is_removed_takes_its_tree_with_it,
];

/// The argument by which the test binary is a kernel. The next are its state and its configuration.
pub(crate) const KERNEL: &str = "--kernel";

/// Runs a kernel whose server `tree` starts a tree of processes, says their numbers, and stays until it is killed.
pub(crate) fn run_kernel(arguments: &[String]) -> ExitCode {
    let config: Value = serde_json::from_str(&arguments[1]).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        let kernel = Kernel::start(host::read(config), PathBuf::from(&arguments[0])).await.unwrap();
        let client = mgp_client_sdk::Client::builder("tests", "1.0.0");
        let client = client.in_process(kernel.accept(mgp_types::Principal::new("one"))).await.unwrap();
        if kernel.servers().is_empty() {
            println!("ready");
        } else {
            host::offers(&kernel, "tree").await;
            let own = say(&client, "tree.pid", json!({})).await;
            println!("{own} {}", say(&client, "tree.spawn", json!({})).await);
        }
        std::future::pending::<()>().await;
    });
    ExitCode::SUCCESS
}

/// A kernel in a process of its own, and the line that it says when it is up.
pub(crate) fn start_kernel(state: &std::path::Path, config: &Value) -> (Child, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([KERNEL, state.to_str().unwrap(), &config.to_string()]);
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

async fn no_process_of_a_servers_tree_outlives_the_kernel() {
    for gently in [true, false] {
        let host = Host::start([talking::server("tree")]).await;
        let own = host.up("tree").await.pid.unwrap();
        let client = host.client("one").await;
        let tree = numbers(&format!("{own} {}", say(&client, "tree.spawn", json!({})).await));
        assert_eq!(tree.iter().filter(|pid| is_there(**pid)).count(), 3, "{tree:?}");
        if gently {
            host.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
        }
        drop(host);
        all_gone(&tree).await;
    }
}

async fn no_process_of_a_servers_tree_outlives_a_kernel_that_is_killed() {
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("state");
    let config = host::quiet([talking::server("tree")]);
    let started = tokio::task::spawn_blocking(move || start_kernel(&path, &config));
    let (mut kernel, line) = started.await.unwrap();
    let tree = numbers(&line);
    assert_eq!(tree.iter().filter(|pid| is_there(**pid)).count(), 3, "{line}");
    // SIGKILL: nothing of the kernel's own runs after it.
    kernel.kill().unwrap();
    kernel.wait().unwrap();
    all_gone(&tree).await;
}

async fn a_server_that_is_removed_takes_its_tree_with_it() {
    let host = Host::start([talking::server("tree")]).await;
    let own = host.up("tree").await.pid.unwrap();
    let client = host.client("one").await;
    let tree = numbers(&format!("{own} {}", say(&client, "tree.spawn", json!({})).await));
    let applied = host.kernel.reload(host::read(host::quiet([]))).await.unwrap();
    assert_eq!(applied.removed, ["tree".into()]);
    all_gone(&tree).await;
}

fn numbers(line: &str) -> Vec<u32> {
    line.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

async fn all_gone(pids: &[u32]) {
    for pid in pids {
        gone(*pid).await;
    }
}
