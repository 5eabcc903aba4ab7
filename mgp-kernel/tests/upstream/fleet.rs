//! Servers that come, go, crash and change.

use std::time::Duration;

use mgp_types::Revision;
use mgp_types::mgp::{ServerState, ShutdownReason};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::host::{Host, child, config, gone, is_there, names, say, signal, silent, until};
use crate::runner::tests;
use crate::server::{self, SLOW};

tests![
    a_child_and_an_http_server_are_listed_and_answer,
    a_server_is_spoken_to_in_a_session_unless_it_has_none_or_the_configuration_says_otherwise,
    what_a_child_writes_to_its_standard_error_is_kept,
    one_bad_server_of_five_delays_no_other,
    twenty_servers_that_never_answer_do_not_delay_the_start,
    a_server_that_crashed_comes_back_with_its_tools,
    no_process_outlives_the_kernel,
    a_storm_of_changed_lists_is_listed_a_few_times,
    a_list_that_could_not_be_had_is_asked_for_again,
    what_changes_before_a_server_is_listened_to_is_listed_all_the_same,
    a_reload_touches_only_what_changed,
    the_last_of_two_quick_reloads_starts_after_what_was_there_has_ended,
    a_program_finds_what_is_configured_in_its_environment_and_no_more,
];

async fn a_child_and_an_http_server_are_listed_and_answer() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let serving = tokio::spawn(server::server().serve_http(listener));
    let host = Host::start(vec![child("near"), json!({"id": "far", "url": url})]).await;
    let client = host.client("one").await;
    let (near, far) = (host.up("near").await, host.up("far").await);
    let listed = names(&client).await;
    assert!(listed.contains(&"near.pid".to_owned()) && listed.contains(&"far.pid".to_owned()), "{listed:?}");
    let pid = say(&client, "near.pid", json!({})).await;
    assert_eq!(near.pid.unwrap().to_string(), pid);
    assert_eq!(say(&client, "far.pid", json!({})).await, std::process::id().to_string());
    assert_eq!((far.pid, far.last_error, far.restarts), (None, None, 0));
    assert!(near.uptime.is_some());
    serving.abort();
}

async fn a_server_is_spoken_to_in_a_session_unless_it_has_none_or_the_configuration_says_otherwise() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let newest_only = server::server().revisions([Revision::V2026_07_28]);
    let serving = tokio::spawn(newest_only.serve_http(listener));
    let told = |id: &str, protocol: &str| {
        let mut server = child(id);
        server["protocol"] = protocol.into();
        server
    };
    let servers = vec![
        child("both"),
        told("auto", "auto"),
        told("newest", "2026-07-28"),
        told("older", "2025-06-18"),
        json!({"id": "only", "url": url}),
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
    serving.abort();
}

async fn what_a_child_writes_to_its_standard_error_is_kept() {
    let host = Host::start(vec![child("files")]).await;
    host.up("files").await;
    assert_eq!(host.kernel.server_log("files", 10), Ok(vec!["the server has begun".to_owned()]));
    assert_eq!(host.kernel.server_log("flies", 10), Err(vec!["files".into()]));
}

async fn one_bad_server_of_five_delays_no_other() {
    let mut servers: Vec<_> = ["a", "b", "d", "e"].map(child).into();
    servers.insert(2, silent("c"));
    let host = Host::start(servers).await;
    for server in ["a", "b", "d", "e"] {
        host.up(server).await;
    }
    assert_eq!(host.view("c").state, ServerState::Connecting);
    let client = host.client("one").await;
    assert!(!say(&client, "e.pid", json!({})).await.is_empty());
}

async fn twenty_servers_that_never_answer_do_not_delay_the_start() {
    let began = Instant::now();
    let host = Host::start((0..20).map(|number| silent(&format!("s{number}")))).await;
    // Each of them would be waited for half a minute.
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert_eq!(host.kernel.servers().len(), 20);
}

async fn a_server_that_crashed_comes_back_with_its_tools() {
    let host = Host::start(vec![child("files")]).await;
    let before = host.up("files").await.pid.unwrap();
    let client = host.client("one").await;
    signal("KILL", before);
    let after = until("another process runs", || host.view("files").pid.filter(|pid| *pid != before)).await;
    gone(before).await;
    host.up("files").await;
    assert_eq!(say(&client, "files.pid", json!({})).await, after.to_string());
    assert_eq!(host.view("files").restarts, 1);
    assert!(names(&client).await.contains(&"files.pid".to_owned()));
}

async fn no_process_outlives_the_kernel() {
    for gently in [true, false] {
        let host = Host::start(vec![child("files")]).await;
        let own = host.up("files").await.pid.unwrap();
        let client = host.client("one").await;
        let spawned: u32 = say(&client, "files.spawn", json!({})).await.parse().unwrap();
        assert!(is_there(own) && is_there(spawned));
        if gently {
            host.kernel.shutdown(ShutdownReason::KernelShutdown, Duration::from_secs(5)).await;
            assert!(host.kernel.servers().is_empty());
        }
        drop(host);
        gone(own).await;
        gone(spawned).await;
    }
}

async fn a_storm_of_changed_lists_is_listed_a_few_times() {
    let host = Host::start(vec![child("files")]).await;
    host.up("files").await;
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
    let host = Host::start(vec![child("files")]).await;
    host.up("files").await;
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

async fn a_reload_touches_only_what_changed() {
    let host = Host::start(vec![child("stays"), child("changes"), child("goes")]).await;
    let client = host.client("one").await;
    let mut pids = Vec::new();
    for server in ["stays", "changes", "goes"] {
        pids.push(host.up(server).await.pid.unwrap());
    }
    let mut other = child("changes");
    other["description"] = json!("another one");
    let applied = host.kernel.reload(config(vec![child("stays"), other, child("comes")])).await.unwrap();
    assert_eq!(applied.added, ["comes".into()]);
    assert_eq!(applied.changed, ["changes".into()]);
    assert_eq!(applied.removed, ["goes".into()]);
    // A call that comes meanwhile waits.
    let anew = say(&client, "changes.pid", json!({})).await;
    assert_ne!(anew, pids[1].to_string());
    host.up("comes").await;
    assert_eq!(host.view("stays").pid, Some(pids[0]));
    gone(pids[1]).await;
    gone(pids[2]).await;
    let listed = names(&client).await;
    assert!(
        !listed.contains(&"goes.pid".to_owned()) && listed.contains(&"comes.pid".to_owned()),
        "{listed:?}"
    );
}

async fn the_last_of_two_quick_reloads_starts_after_what_was_there_has_ended() {
    let host = Host::start(vec![child("files")]).await;
    let first = host.up("files").await.pid.unwrap();
    let client = host.client("one").await;
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

async fn a_program_finds_what_is_configured_in_its_environment_and_no_more() {
    assert!(std::env::var("CARGO_MANIFEST_DIR").is_ok());
    let mut server = child("files");
    server["env"] = json!({"TOKEN": "secret"});
    let host = Host::start(vec![server]).await;
    host.up("files").await;
    let client = host.client("one").await;
    let variable = async |name: &str| say(&client, "files.variable", json!({"name": name})).await;
    assert_eq!(variable("TOKEN").await, "secret");
    assert_eq!(variable("PATH").await, std::env::var("PATH").unwrap());
    assert_eq!(variable("CARGO_MANIFEST_DIR").await, "");
}
