use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};
use crate::user;

#[test]
fn a_running_kernel_is_reached_at_a_socket_for_this_user_only() {
    let home = Home::with_state();
    let mut kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let mode = |name: &str| fs::metadata(home.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("state/mgp.sock"), mode("state")), (0o600, 0o700));
    // The kernel holds the stores, so whoever answers is the kernel.
    home.json(["access", "grant", "a", "fs", "--force"]);
    assert_eq!(home.json(["access", "list"])["entries"][0]["granted_by"], user());
    assert_eq!(home.json(["audit", "verify"])["intact"], true);
    assert_eq!(home.json(["permissions", "pending"])["questions"], Value::Array(vec![]));
    let second = home.run(["serve", "--http", "127.0.0.1:0", "--no-stdio"]);
    assert_ne!(second.code, Some(0), "{second:?}");
    let elsewhere = home.run(["--socket", "nowhere.sock", "keys", "list", "--json"]);
    assert_eq!(elsewhere.code, Some(4), "{elsewhere:?}");
    let unknown = home.run(["restart", "files", "--json"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    kernel.signal("TERM");
    assert_eq!(kernel.ended(), Some(0));
    assert!(!home.path("state/mgp.sock").exists());
    assert_eq!(home.run(["restart", "files"]).code, Some(4));
    // What has no kernel to ask does not answer by the state of its caller instead.
    for command in [&["access", "list"][..], &["servers"], &["status"]] {
        let nobody = home.run([&["--socket", "nowhere.sock"][..], command].concat());
        let tells = nobody.err.contains("no kernel answers at nowhere.sock");
        assert!(nobody.code == Some(4) && tells, "{nobody:?}");
    }
}

#[test]
fn standard_output_is_for_the_protocol_and_its_end_ends_the_kernel() {
    let home = Home::with_state();
    let mut kernel = Kernel::start(&home, &["-vv"]);
    // Each line that it reads is a message.
    let mut talk = Talk::open(&mut kernel);
    // It is an agent's client: what operators do does not exist for it.
    assert_eq!(talk.ask("kernel/keys/list", &serde_json::json!({}))["error"]["code"], -32601);
    let Talk { input, lines, .. } = talk;
    drop(input);
    assert_eq!(kernel.ended(), Some(0));
    for line in lines {
        serde_json::from_str::<Value>(&line.unwrap()).unwrap();
    }
}

#[test]
fn a_configuration_that_changes_is_taken_anew() {
    let home = Home::with_state();
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    assert_eq!(home.json(["servers"])["servers"].as_array().unwrap().len(), 0);
    home.json(["add", "late", "--", "no-such-program"]);
    kernel.signal("HUP");
    until("the server is there", || home.json(["servers"])["servers"][0]["id"] == "late");
    let tool = home.run(["call", "late.read", "--json"]);
    assert_eq!(tool.code, Some(4), "{tool:?}");
}

/// Waits until a server is in a state.
fn until_state(home: &Home, server: usize, state: &str) {
    until(state, || home.json(["servers"])["servers"][server]["state"] == state);
}

#[test]
fn a_file_that_is_watched_is_taken_anew_when_it_changes_and_stays_if_it_is_broken() {
    let home = Home::with_state();
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio", "--watch"]);
    home.add_server("clock", &home.clock());
    let right = home.read("mgp.toml");
    until_state(&home, 0, "connected");
    let events = home.json(["audit", "verify"])["events"].as_u64().unwrap();
    assert!(events > 0);
    home.write("mgp.toml", &format!("{right}\n[[servers]]\nid = 1\n"));
    kernel.tells("the configuration stays as it was");
    home.write("mgp.toml", &right);
    let pid = home.json(["servers"])["servers"][0]["pid"].clone();
    home.add_server("late", &home.notes());
    until_state(&home, 1, "connected");
    assert_eq!(home.json(["servers"])["servers"][0]["pid"], pid, "the others are left alone");
}

#[test]
fn a_server_is_stopped_and_started_and_the_configuration_read_anew_by_command() {
    let home = Home::with_state();
    home.add_server("clock", &home.clock());
    for command in [&["stop", "clock"][..], &["start", "clock"], &["reload"]] {
        assert_eq!(home.run(command).code, Some(4), "{command:?} without a kernel");
    }
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    until_state(&home, 0, "connected");
    home.done(["call", "clock.now"]);
    assert_eq!(home.json(["stats"])["calls"][0]["ended"], 1);
    home.json(["stop", "clock"]);
    assert_eq!(home.json(["servers"])["servers"][0]["state"], "disconnected");
    assert_ne!(home.run(["call", "clock.now"]).code, Some(0));
    home.json(["start", "clock"]);
    until_state(&home, 0, "connected");
    home.done(["call", "clock.now"]);
    assert_eq!(home.run(["stop", "clok"]).code, Some(1));
    assert_eq!(home.run(["reload"]).out, "The configuration has not changed.\n");
    home.add_server("notes", &home.notes());
    assert_eq!(home.json(["reload"])["added"], serde_json::json!(["notes"]));
    home.json(["remove", "clock"]);
    assert_eq!(home.json(["reload"])["removed"], serde_json::json!(["clock"]));
    let before = home.read("mgp.toml");
    home.write("mgp.toml", &format!("{before}\n[audit]\narguments = \"omitted\"\n"));
    assert_eq!(home.json(["reload"])["needs_restart"], serde_json::json!(["audit"]));
    assert!(home.run(["reload"]).out.contains("[audit] changed"));
    kernel.tells("these sections changed and take effect when the kernel restarts");
    let recorded = home.run(["audit", "query", "--json"]);
    assert!(
        recorded.out.contains("config_reloaded") && recorded.out.contains("server_stopped"),
        "{recorded:?}"
    );
}

#[test]
fn a_socket_that_a_dead_kernel_left_is_no_kernel() {
    let home = Home::with_state();
    drop(std::os::unix::net::UnixListener::bind(home.path("state/mgp.sock")).unwrap());
    home.done(["keys", "list"]);
    let mut kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    kernel.signal("INT");
    assert_eq!(kernel.ended(), Some(0));
}

#[test]
fn a_message_that_is_too_long_ends_its_call_only_wherever_its_id_stands() {
    let home = Home::with_state();
    home.configure("[limits]\nmax_message_bytes = 100_000\n");
    let (_kernel, mut talk) = Talk::begin(&home);
    let long = "x".repeat(2_000_000);
    for (id, line) in [
        ("first", format!(r#"{{"jsonrpc":"2.0","id":"first","method":"ping","params":{{"x":"{long}"}}}}"#)),
        ("last", format!(r#"{{"method":"ping","params":{{"x":"{long}"}},"jsonrpc":"2.0","id":"last"}}"#)),
    ] {
        writeln!(talk.input, "{line}").unwrap();
        let answer: Value = loop {
            let line: Value = serde_json::from_str(&talk.lines.next().unwrap().unwrap()).unwrap();
            if line["error"].is_object() {
                break line;
            }
        };
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&id.into(), &(-32600).into()), "{answer}");
        let data = &answer["error"]["data"];
        assert_eq!((&data["max_bytes"], &data["retryable"]), (&100_000.into(), &false.into()), "{answer}");
        assert!(data["setting"].as_str().unwrap().contains("max_message_bytes"), "{answer}");
        assert!(talk.ask("ping", &serde_json::json!({}))["result"].is_object());
    }
}
