//! Servers that are told what is recorded.

use serde_json::{Value, json};

use super::{child, config};
use crate::host::{Host, say, until};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    a_server_that_negotiated_audit_is_told_what_is_recorded_once_and_in_order,
    a_sandboxed_server_is_told_nothing_and_neither_is_one_that_knows_no_audit,
    a_kernel_that_starts_again_tells_what_a_server_missed_and_nothing_else_again,
];

/// A server that keeps what it is told.
struct Collector(Script);

impl Collector {
    fn new(extensions: &[&str]) -> Self {
        Self(Script::named(&["idle"]).speaking(extensions))
    }

    /// The server in a configuration, which all clients share.
    fn server(&self, id: &str) -> Value {
        let mut server = self.0.server(id);
        server["sharing"] = json!("shared");
        server
    }

    /// Returns the events that it was told, in the order in which it was.
    fn heard(&self) -> Vec<Value> {
        let frames = self.0.notified("notifications/mgp.audit");
        frames.into_iter().map(|mut frame| frame["params"].take()).collect()
    }

    /// Returns the calls that it was told of: the number of each event, and the tool.
    fn executed(&self) -> Vec<(u64, String)> {
        let heard = self.heard().into_iter().filter(|event| event["event_type"] == "TOOL_EXECUTED");
        heard.map(|event| (seq(&event), event["target"]["tool_name"].as_str().unwrap().to_owned())).collect()
    }
}

fn seq(event: &Value) -> u64 {
    event["_mgp"]["seq"].as_u64().unwrap()
}

// covers: MGP-6.3-02, MGP-6.3-11
async fn a_server_that_negotiated_audit_is_told_what_is_recorded_once_and_in_order() {
    let collector = Collector::new(&["audit"]);
    let host = Host::ready(vec![child("files"), collector.server("record")]).await;
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
        collector.heard().len()
    };
    say(&client, "record.idle", json!({})).await;
    let before = count_after("idle").await;
    say(&client, "files.pid", json!({})).await;
    assert_eq!(count_after("pid").await, before + 1);
}

// covers: MGP-2.2-08, MGP-6.3-11
async fn a_sandboxed_server_is_told_nothing_and_neither_is_one_that_knows_no_audit() {
    let sandboxed = Collector::new(&["audit"]);
    let mut curious = sandboxed.server("curious");
    // It is confined otherwise, and could not note what it is told.
    (curious["security"], curious["confine"]) = (json!({"trust_level": "sandboxed"}), json!(false));
    let other = Collector::new(&["events"]);
    let witness = Collector::new(&["audit"]);
    let host = Host::ready([child("files"), curious, other.server("other"), witness.server("record")]).await;
    let client = host.client("one").await;
    // Whoever is told of one call is told of it before the next one.
    for calls in 1..=2 {
        say(&client, "files.pid", json!({})).await;
        until("the call is told", || (witness.executed().len() == calls).then_some(())).await;
    }
    assert!(sandboxed.heard().is_empty() && other.heard().is_empty());
}

// covers: P-4-19
async fn a_kernel_that_starts_again_tells_what_a_server_missed_and_nothing_else_again() {
    let collector = Collector::new(&["audit"]);
    let servers = || vec![child("files"), collector.server("record")];
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
    let numbers: Vec<u64> = collector.heard().iter().map(seq).collect();
    let all: Vec<u64> = (numbers[0]..numbers[0] + numbers.len() as u64).collect();
    assert_eq!(numbers, all, "each once, in order, and none left out");
}
