//! Servers that come, go, crash and change.

use std::time::Duration;

use mgp_types::Revision;
use serde_json::json;

use super::server::{self, SLOW};
use super::{child, config};
use crate::host::{Host, Served, gone, names, say, until};
use crate::runner::tests;

tests![
    a_server_is_spoken_to_in_a_session_unless_it_has_none_or_the_configuration_says_otherwise,
    what_a_child_writes_to_its_standard_error_is_kept,
    a_storm_of_changed_lists_is_listed_a_few_times,
    a_list_that_could_not_be_had_is_asked_for_again,
    what_changes_before_a_server_is_listened_to_is_listed_all_the_same,
    the_last_of_two_quick_reloads_starts_after_what_was_there_has_ended,
];

async fn a_server_is_spoken_to_in_a_session_unless_it_has_none_or_the_configuration_says_otherwise() {
    let newest_only = Served::start("only", server::server().revisions([Revision::V2026_07_28])).await;
    let with_protocol = |id: &str, protocol: &str| {
        let mut server = child(id);
        server["protocol"] = protocol.into();
        server
    };
    let servers = vec![
        child("both"),
        with_protocol("auto", "auto"),
        with_protocol("newest", "2026-07-28"),
        with_protocol("older", "2025-06-18"),
        newest_only.config.clone(),
    ];
    let host = Host::start(servers).await;
    for (id, revision, reason) in [
        ("both", Revision::V2025_11_25, "has sessions"),
        ("auto", Revision::V2025_11_25, "has sessions"),
        ("newest", Revision::V2026_07_28, "set by `protocol`"),
        ("older", Revision::V2025_06_18, "set by `protocol`"),
        ("only", Revision::V2026_07_28, "refuses sessions"),
    ] {
        let protocol = host.up(id).await.protocol.unwrap();
        assert_eq!(protocol.revision, revision, "{id}");
        assert!(protocol.reason.contains(reason), "{id}: {}", protocol.reason);
    }
}

async fn what_a_child_writes_to_its_standard_error_is_kept() {
    let host = Host::ready(vec![child("files")]).await;
    assert!(host.view("files").uptime.is_some());
    assert_eq!(host.kernel.server_log("files", 10), Ok(vec!["the server has begun".to_owned()]));
    assert_eq!(host.kernel.server_log("flies", 10), Err(vec!["files".into()]));
}

async fn a_storm_of_changed_lists_is_listed_a_few_times() {
    let host = Host::ready(vec![child("files")]).await;
    let client = host.client("one").await;
    let before: u64 = say(&client, "files.lists", json!({})).await.parse().unwrap();
    say(&client, "files.storm", json!({"to": 500})).await;
    // The client's own connection to the server lists for itself.
    while !names(&client).await.contains(&"files.late".to_owned()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(say(&client, "files.late", json!({})).await, "late");
    let after: u64 = say(&client, "files.lists", json!({})).await.parse().unwrap();
    assert!(after - before <= 10, "{before} {after}");
}

async fn a_list_that_could_not_be_had_is_asked_for_again() {
    let host = Host::ready(vec![child("files")]).await;
    let client = host.client("one").await;
    say(&client, "files.stumble", json!({})).await;
    while !names(&client).await.contains(&"files.late".to_owned()) {
        tokio::task::yield_now().await;
    }
    assert_eq!(say(&client, "files.late", json!({})).await, "late");
}

async fn what_changes_before_a_server_is_listened_to_is_listed_all_the_same() {
    let mut server = child("files");
    server["env"] = json!({SLOW: "1"});
    // Only a server without sessions has to be listened to.
    server["protocol"] = json!("2026-07-28");
    let host = Host::start(vec![server]).await;
    let tools = host.up("files").await.tools;
    let client = host.client("one").await;
    say(&client, "files.storm", json!({"to": 1})).await;
    until("the new tools", || (host.view("files").tools > tools).then_some(())).await;
}

async fn the_last_of_two_quick_reloads_starts_after_what_was_there_has_ended() {
    let host = Host::start(vec![child("files")]).await;
    let first = host.up("files").await.pid.unwrap();
    let client = host.client("one").await;
    assert_eq!(say(&client, "files.pid", json!({})).await, first.to_string());
    let reload = async |description: &str| {
        let mut server = child("files");
        server["description"] = json!(description);
        host.kernel.reload(config(vec![server])).await.unwrap();
    };
    let reloads = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        reload("second").await;
        reload("third").await;
    };
    let ends = async {
        // It goes on until this is done.
        let counted = say(&client, "files.count", json!({"to": 1500})).await;
        (counted, host.view("files").pid)
    };
    let ((counted, meanwhile), ()) = tokio::join!(ends, reloads);
    assert_eq!((&*counted, meanwhile), ("1500", None), "nothing starts beside it");
    let last = host.up("files").await.pid.unwrap();
    gone(first).await;
    assert_eq!(say(&client, "files.pid", json!({})).await, last.to_string());
}
