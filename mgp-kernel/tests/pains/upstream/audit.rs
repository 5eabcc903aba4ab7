//! Servers that are told what is recorded.

use std::sync::Arc;

use mgp_server_sdk::Server;
use mgp_types::Object;
use mgp_types::mgp::{AuditEvent, EventType, ExtensionSet, Offer, method};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{child, config};
use crate::host::{Host, Served, say, until};
use crate::runner::tests;

tests![
    a_server_that_negotiated_audit_is_told_what_is_recorded_once_and_in_order,
    a_sandboxed_server_is_told_nothing_and_neither_is_one_that_knows_no_audit,
    a_kernel_that_starts_again_tells_what_a_server_missed_and_nothing_else_again,
];

/// A server that keeps what it is told.
struct Collector {
    heard: Arc<Mutex<Vec<Object>>>,
    served: Served,
}

impl Collector {
    async fn serve(id: &str, extensions: &[&str]) -> Self {
        let heard = Arc::<Mutex<Vec<Object>>>::default();
        let events = heard.clone();
        let server = Server::new("collector", "1.0.0")
            .mgp(Offer::new(ExtensionSet::from_names(extensions)))
            .tool(mgp_server_sdk::Tool::new("idle", "Does nothing."), async || "done")
            .notification(method::AUDIT, move |event: Object| {
                events.lock().push(event);
                std::future::ready(())
            });
        Self { heard, served: Served::start(id, server).await }
    }

    /// Returns the numbers of all events that it was told, in the order in which it was.
    fn numbers(&self) -> Vec<u64> {
        let heard = self.heard.lock();
        let numbers = heard.iter().filter_map(|params| {
            let ours: Value = serde_json::from_slice(params.bytes("_mgp")?).unwrap();
            ours["seq"].as_u64()
        });
        numbers.collect()
    }

    fn executed(&self) -> Vec<(u64, String)> {
        let heard = self.heard.lock();
        let events = heard.iter().filter_map(|params| {
            let event: AuditEvent = params.to().unwrap();
            let ours: Value = serde_json::from_slice(params.bytes("_mgp")?).unwrap();
            (event.event_type == EventType::ToolExecuted)
                .then(|| (ours["seq"].as_u64().unwrap(), event.target.tool_name.unwrap().to_string()))
        });
        events.collect()
    }
}

// covers: MGP-6.3-02, MGP-6.3-11
async fn a_server_that_negotiated_audit_is_told_what_is_recorded_once_and_in_order() {
    let collector = Collector::serve("record", &["audit"]).await;
    let host = Host::ready(vec![child("files"), collector.served.config.clone()]).await;
    let client = host.client("one").await;
    for _ in 0..20 {
        say(&client, "files.pid", json!({})).await;
    }
    let executed =
        until("all calls are told", || Some(collector.executed()).filter(|executed| executed.len() >= 20))
            .await;
    assert!(executed.is_sorted_by(|one, next| one.0 < next.0), "{executed:?}");
    assert!(executed.iter().all(|(_, tool)| tool == "pid"), "{executed:?}");
    // What it does itself is told, and telling it makes nothing to tell: what comes next is of the next call.
    let count_after = async |tool: &str| {
        let last = || collector.executed().last().is_some_and(|(_, last)| last == tool).then_some(());
        until("the call is told", last).await;
        collector.heard.lock().len()
    };
    say(&client, "record.idle", json!({})).await;
    let before = count_after("idle").await;
    say(&client, "files.pid", json!({})).await;
    assert_eq!(count_after("pid").await, before + 1);
}

// covers: MGP-2.2-08, MGP-6.3-11
async fn a_sandboxed_server_is_told_nothing_and_neither_is_one_that_knows_no_audit() {
    let mut sandboxed = Collector::serve("curious", &["audit"]).await;
    sandboxed.served.config["security"] = json!({"trust_level": "sandboxed"});
    let other = Collector::serve("other", &["events"]).await;
    let witness = Collector::serve("record", &["audit"]).await;
    let servers = vec![
        child("files"),
        sandboxed.served.config.clone(),
        other.served.config.clone(),
        witness.served.config.clone(),
    ];
    let host = Host::ready(servers).await;
    let client = host.client("one").await;
    // Whoever is told of one call is told of it before the next one.
    for calls in 1..=2 {
        say(&client, "files.pid", json!({})).await;
        until("the call is told", || (witness.executed().len() == calls).then_some(())).await;
    }
    assert!(sandboxed.heard.lock().is_empty() && other.heard.lock().is_empty());
}

// covers: P-4-19
async fn a_kernel_that_starts_again_tells_what_a_server_missed_and_nothing_else_again() {
    let collector = Collector::serve("record", &["audit"]).await;
    let servers = || vec![child("files"), collector.served.config.clone()];
    let host = Host::ready(servers()).await;
    say(&host.client("one").await, "files.pid", json!({})).await;
    until("the call is told", || (collector.executed().len() == 1).then_some(())).await;
    // The next kernel has only the other server, so that nobody is told what it records.
    let alone = host.start_again(config(vec![child("files")])).await;
    alone.up("files").await;
    say(&alone.client("one").await, "files.pid", json!({})).await;
    assert_eq!(collector.executed().len(), 1);
    let host = alone.start_again(config(servers())).await;
    for server in ["files", "record"] {
        host.up(server).await;
    }
    say(&host.client("one").await, "files.pid", json!({})).await;
    until("all calls are told", || (collector.executed().len() == 3).then_some(())).await;
    let numbers = collector.numbers();
    let all: Vec<u64> = (numbers[0]..numbers[0] + numbers.len() as u64).collect();
    assert_eq!(numbers, all, "each once, in order, and none left out");
}
