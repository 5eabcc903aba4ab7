//! Several kernels, and one after the other.

use std::net::SocketAddr;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_kernel::Kernel;
use mgp_types::Revision;
use mgp_types::mgp::ShutdownReason;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::host::{offers, quiet, read, say, start_when_free};
use crate::http;
use crate::processes;
use crate::runner::tests;
use crate::scripted::Script;

tests![
    any_kernel_answers_any_request_of_a_client_without_sessions,
    a_client_whose_kernel_was_replaced_goes_on,
    the_state_of_a_kernel_that_was_killed_is_taken_over,
];

/// A kernel behind HTTP.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    kernel: Kernel,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

pub(crate) async fn serve(config: &Value, state: &std::path::Path, at: &str) -> Served {
    let kernel = start_when_free(&read(config.clone()), state).await;
    offers(&kernel, "files").await;
    let listener = TcpListener::bind(at).await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let serving = tokio::spawn({
        let kernel = kernel.clone();
        async move {
            let stopped = async { stopped.await.unwrap_or_default() };
            kernel.serve_http(listener, stopped).await.unwrap();
        }
    });
    Served { address, kernel, stop, serving }
}

async fn any_kernel_answers_any_request_of_a_client_without_sessions() {
    let script = Script::named(&["works"]);
    let state = tempfile::tempdir().unwrap();
    let config = quiet([script.server("files")]);
    let mut replicas = Vec::new();
    for name in ["a", "b"] {
        replicas.push(serve(&config, &state.path().join(name), "127.0.0.1:0").await);
    }
    for round in 0..4 {
        // Nothing is agreed on before: each request goes to the other one.
        let params = json!({"name": "files.works", "arguments": {"a": round.to_string()}});
        let at = replicas[round % 2].address.port();
        let answer = http::ask(at, "", &json!({}), "tools/call", params).body;
        assert!(answer.contains(&format!(r#"{{\"a\":\"{round}\"}}"#)), "{answer}");
    }
    assert_eq!(script.calls().len(), 4);
}

async fn a_client_whose_kernel_was_replaced_goes_on() {
    let script = Script::named(&["works"]);
    let state = tempfile::tempdir().unwrap();
    let config = quiet([script.server("files")]);
    let path = state.path().join("state");
    let first = serve(&config, &path, "127.0.0.1:0").await;
    let url = format!("http://{}/mcp", first.address);
    let builder = || Client::builder("tests", "1.0.0");
    let with_session = builder().revisions([Revision::V2025_11_25]).connect_http(url.as_str()).await.unwrap();
    let without = builder().revisions([Revision::V2026_07_28]).connect_http(url.as_str()).await.unwrap();
    assert_eq!(say(&with_session, "files.works", json!({})).await, "{}");
    assert_eq!(say(&without, "files.works", json!({})).await, "{}");

    let at = first.address.to_string();
    first.stop.send(()).unwrap();
    first.serving.await.unwrap();
    first.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
    drop(first.kernel);
    let _second = serve(&config, &state.path().join("other"), &at).await;
    assert_eq!(say(&without, "files.works", json!({"a": "2"})).await, r#"{"a":"2"}"#);
    assert_eq!(say(&with_session, "files.works", json!({"a": "2"})).await, r#"{"a":"2"}"#);
}

async fn the_state_of_a_kernel_that_was_killed_is_taken_over() {
    let state = tempfile::tempdir().unwrap();
    let path = state.path().join("state");
    let config = quiet([]);
    let (mut owner, line) = tokio::task::spawn_blocking({
        let (path, config) = (path.clone(), config.clone());
        move || processes::start_kernel(&path, &config)
    })
    .await
    .unwrap();
    assert_eq!(line, "ready\n");
    let error = Kernel::start(read(config.clone()), path.clone()).await.err().unwrap();
    // The error names the state and the key that gives the second kernel another one.
    for part in ["another mgp", path.to_str().unwrap(), "kernel.state"] {
        assert!(error.to_string().contains(part), "{part}: {error}");
    }
    owner.kill().unwrap();
    owner.wait().unwrap();
    start_when_free(&read(config), &path).await;
}
