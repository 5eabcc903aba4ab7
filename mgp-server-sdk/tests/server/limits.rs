//! The time limits of tools and validators.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::peer::{Era, Peer};
use mgp_server_sdk::{
    Constraint, FieldType, InputField, RawJson, Server, Signature, Timeouts, Tool, ToolValidator, Violation,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

/// Tells when it is dropped.
struct Dropped(Arc<AtomicBool>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// A server with a tool that never ends.
fn endless() -> (Server, Arc<AtomicBool>) {
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = dropped.clone();
    let server = Server::new("test", "1").tool(Tool::new("endless", "Never ends."), move || {
        let guard = Dropped(flag.clone());
        async move {
            std::future::pending::<()>().await;
            drop(guard);
        }
    });
    (server, dropped)
}

async fn data_of_late_call(timeouts: Timeouts, era: Era, expected: Duration) -> Value {
    let (server, dropped) = endless();
    let mut peer = Peer::open(server.timeouts(timeouts), era).await;
    let began = Instant::now();
    let call = peer.start("tools/call", json!({"name": "endless", "arguments": {}}));
    let error = call.await.unwrap().unwrap_err();
    let took = began.elapsed();
    assert!(took >= expected && took < expected + Duration::from_secs(1), "{took:?}");
    assert_eq!(error.message(), "Tool execution timeout");
    assert!(dropped.load(Ordering::SeqCst), "the future of the tool is gone");
    error.data().unwrap().to().unwrap()
}

// covers: GGEN-6-01, GGEN-6-05, GGEN-6-07
#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_limit_and_its_future_is_dropped() {
    for era in Era::BOTH {
        let data = data_of_late_call(Timeouts::default(), era, Duration::from_secs(30)).await;
        assert_eq!(
            data,
            json!({
                "error_type": "ToolTimeout", "tool_name": "endless", "timeout_ms": 30_000,
                "reason": "`endless` did not end within 30000 ms",
                "suggestions": [
                    "Increase timeout for long-running analysis",
                    "Check tool server health",
                    "Break request into smaller chunks",
                ],
            })
        );
        let shorter = Timeouts::default().tool_timeout(Duration::from_millis(1500));
        assert_eq!(data_of_late_call(shorter, era, Duration::from_millis(1500)).await["timeout_ms"], 1500);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_without_limits_lets_calls_take_their_time() {
    let (server, dropped) = endless();
    let mut peer = Peer::open(server, Era::Session).await;
    let call = peer.start("tools/call", json!({"name": "endless", "arguments": {}}));
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert!(!call.is_finished() && !dropped.load(Ordering::SeqCst));
}

/// A validator that waits until the test lets it go.
struct Waiting(Mutex<Receiver<()>>);

impl ToolValidator for Waiting {
    fn name(&self) -> &'static str {
        "waiting"
    }

    fn validate(&self, _: &Value) -> Vec<Violation> {
        let _ = self.0.lock().recv();
        Vec::new()
    }
}

// covers: GGEN-6-02
#[tokio::test]
async fn a_slow_validator_ends_at_its_limit() {
    let (let_go, wait) = channel::<()>();
    let field =
        InputField::new("a", FieldType::String, "A text.").constraint(Constraint::Custom("waiting".into()));
    let tool = Tool::from_signature(&Signature::new("one", "One.").input(field));
    let server = Server::new("test", "1")
        .tool(tool, async |arguments: RawJson| arguments.to_string())
        .validator(Waiting(Mutex::new(wait)))
        .offer_validation()
        .timeouts(Timeouts::default().validation_timeout(Duration::from_millis(20)));
    let mut peer = Peer::open(server, Era::Session).await;
    for method in ["tools/validate", "tools/call"] {
        let error = peer.call(method, json!({"name": "one", "arguments": {"a": "x"}})).await.unwrap_err();
        assert_eq!(error.message(), "Validation timeout");
        let data: Value = error.data().unwrap().to().unwrap();
        assert_eq!((&data["error_type"], &data["timeout_ms"]), (&json!("ValidationTimeout"), &json!(20)));
    }
    // The validators that wait keep the runtime from ending.
    drop(let_go);
}
