//! Commands without a kernel that runs.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::home::Home;
use crate::kernel::Kernel;

fn with_servers() -> Home {
    let home = Home::with_state();
    for server in ["shell", "notes"] {
        home.json(["add", server, "--", env!("CARGO_BIN_EXE_mgp"), "demo-server", server]);
    }
    home
}

/// Runs a call that nobody is there to decide about, and returns what it waits for.
fn waits(home: &Home, arguments: &[&str]) -> String {
    let begun = Instant::now();
    let ran = home.run(["call"].iter().chain(arguments));
    assert_eq!(ran.code, Some(6), "{ran:?}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{ran:?}");
    let (_, rest) = ran.err.split_once("mgp permissions approve ").unwrap_or_else(|| panic!("{ran:?}"));
    rest.chars().take_while(char::is_ascii_alphanumeric).collect()
}

#[test]
fn a_call_that_needs_a_permission_names_the_command_that_gives_it() {
    let home = with_servers();
    let call = ["shell.run_command", "command=ls"];
    let id = waits(&home, &call);
    assert_eq!(home.run(["permissions", "approve", &id, "--always"]).code, Some(0));
    assert_eq!(home.run(["call"].iter().chain(&call)).code, Some(0));
}

#[test]
fn a_person_is_the_same_operator_with_and_without_a_kernel_that_runs() {
    let home = with_servers();
    let call = ["shell.run_command", "command=ls"];
    let id = waits(&home, &call);
    assert_eq!(home.run(["permissions", "approve", &id, "--always"]).code, Some(0));
    // The kernel that runs has another environment than the command.
    let _kernel = Kernel::start_where(
        &home,
        &[("USER", "somebody"), ("LOGNAME", "somebody")],
        &["--http", "127.0.0.1:0", "--no-stdio"],
    );
    let end = Instant::now() + Duration::from_mins(1);
    while !home.run(["tools"]).out.contains("shell.run_command") {
        assert!(Instant::now() < end, "the server does not come");
    }
    let ran = home.run(["call"].iter().chain(&call));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let agents = home.json(["permissions", "list"]);
    assert_eq!(agents["grants"].as_array().unwrap().len(), 1, "{agents}");
}

#[test]
fn what_doctor_says_of_open_decisions_can_be_done() {
    let home = with_servers();
    let found = home.run(["doctor"]);
    assert_eq!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("1 wait for a decision; shell needs shell.execute"), "{found:?}");
    assert!(found.out.contains("`mgp permissions approve shell shell.execute --all-agents`"), "{found:?}");
    assert_eq!(home.run(["permissions", "approve", "shell", "shell.execute", "--all-agents"]).code, Some(0));
    assert!(home.run(["doctor"]).out.contains("0 wait for a decision"));
}

#[test]
fn doctor_warns_of_dangerous_permissions_that_nobody_is_asked_about() {
    let home = Home::with_state();
    let config = home.read("mgp.toml");
    let with = |never: &str| {
        home.write("mgp.toml", &format!("{config}\n[permissions]\npolicy = \"auto_approve\"\n{never}"));
        home.run(["doctor"])
    };
    let found = with("");
    assert_eq!(found.code, Some(0), "{found:?}");
    let found = with("never_automatic = [\"camera\"]\n");
    assert_ne!(found.code, Some(0), "{found:?}");
    assert!(found.out.contains("no  permissions: every server gets filesystem.write, "), "{found:?}");
    assert!(found.out.contains("shell.execute") && !found.out.contains("camera"), "{found:?}");
    assert!(found.out.contains("remove `never_automatic`"), "{found:?}");
}

#[test]
fn commands_that_need_no_server_start_no_registered_one_either() {
    let home = Home::with_state();
    let config = home.read("mgp.toml");
    home.write("mgp.toml", &format!("{config}\n[registration]\nagents = [\"a\"]\ncommands = [\"touch\"]\n"));
    assert_eq!(home.run(["keys", "list"]).code, Some(0));
    let started = home.path("started");
    let record = json!({
        "id": "marker", "launch": {"program": {"command": "touch", "args": [started], "env": []}},
        "extensions": [], "permissions": [], "trust": "standard", "registrant": {"role": "operator", "name": "ada"},
        "label": null, "justification": null, "registered_at": "2026-01-01T00:00:00Z",
        "approval": {"approved": {"by": "ada", "at": "2026-01-01T00:00:00Z"}}, "digest": null,
    });
    let store = rusqlite::Connection::open(home.path("state/registry.db")).unwrap();
    let row = ["marker".to_owned(), record.to_string()];
    store.execute("INSERT INTO registered_servers (id, record) VALUES (?1, ?2)", row).unwrap();
    drop(store);
    let commands =
        [&["keys", "list"][..], &["audit", "tail"], &["servers", "--no-start"], &["config", "show"]];
    for command in commands {
        let ran = home.run(command);
        assert_eq!(ran.code, Some(0), "{command:?}: {ran:?}");
        assert!(!fs::exists(&started).unwrap(), "{command:?}");
    }
    home.run(["servers"]);
    assert!(fs::exists(&started).unwrap(), "what needs the servers starts it");
}
