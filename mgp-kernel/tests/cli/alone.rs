//! Commands that find no kernel: those that need servers start one in the background, which starts what they need.

use std::fs;
use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};

fn with_servers() -> Home {
    let home = Home::with_state();
    home.json(["add", "shell", "--", env!("CARGO_BIN_EXE_mgp"), "demo-server", "shell"]);
    home.add_server("notes", &home.notes());
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
    home.done(["permissions", "approve", &id, "--always"]);
    home.done(["call"].iter().chain(&call));
}

#[test]
fn a_person_is_the_same_operator_with_and_without_a_kernel_that_runs() {
    let home = with_servers();
    let call = ["shell.run_command", "command=ls"];
    let id = waits(&home, &call);
    home.done(["permissions", "approve", &id, "--always"]);
    // The kernel that runs has another environment than the command.
    let _kernel = Kernel::start_where(
        &home,
        &[("USER", "somebody"), ("LOGNAME", "somebody")],
        &["--http", "127.0.0.1:0", "--no-stdio"],
    );
    until("the server comes", || home.run(["tools"]).out.contains("shell.run_command"));
    home.done(["call"].iter().chain(&call));
    let agents = home.json(["permissions", "list"]);
    assert_eq!(agents["grants"].as_array().unwrap().len(), 1, "{agents}");
}

#[test]
fn what_doctor_says_of_open_decisions_can_be_done() {
    let home = with_servers();
    let found = home.done(["doctor"]);
    assert!(found.out.contains("1 wait for a decision; shell needs shell.execute"), "{found:?}");
    assert!(found.out.contains("`mgp permissions approve shell shell.execute --all-agents`"), "{found:?}");
    home.done(["permissions", "approve", "shell", "shell.execute", "--all-agents"]);
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
    assert!(found.out.contains("every server gets filesystem.write, "), "{found:?}");
    assert!(found.out.contains("shell.execute") && !found.out.contains("camera"), "{found:?}");
    assert!(found.out.contains("remove `never_automatic`"), "{found:?}");
}

#[test]
fn commands_that_need_no_server_start_no_registered_one_either() {
    let home = Home::with_state();
    let config = home.read("mgp.toml");
    home.write("mgp.toml", &format!("{config}\n[registration]\nagents = [\"a\"]\ncommands = [\"touch\"]\n"));
    home.done(["keys", "list"]);
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
    home.run(["servers", "--wait"]);
    assert!(fs::exists(&started).unwrap(), "what needs the servers starts it");
}

/// A user with two servers, each of which notes its start in a file.
fn with_noted_starts() -> Home {
    let home = Home::with_state();
    for (server, [program, file]) in [("clock", home.clock()), ("notes", home.notes())] {
        let script = format!("echo >> {}; exec {program} {file}", home.path(server).display());
        home.json(["add", server, "--", "sh", "-c", &script]);
    }
    home
}

fn starts(home: &Home) -> [usize; 2] {
    ["clock", "notes"].map(|server| fs::read_to_string(home.path(server)).unwrap_or_default().len())
}

#[test]
fn the_configuration_is_shown_the_same_with_and_without_a_kernel_that_runs() {
    let home = with_noted_starts();
    let shown = || home.json(["config", "show"])["config"]["servers"].clone();
    let alone = shown();
    assert_eq!((&alone[0]["enabled"], starts(&home)), (&json!(true), [0, 0]), "{alone}");
    home.done(["call", "clock.now"]);
    assert_eq!(shown(), alone);
}

#[test]
fn a_call_starts_a_kernel_that_stays_and_only_the_server_that_it_is_about() {
    let home = with_noted_starts();
    home.done(["call", "clock.now"]);
    let kernel = home.json(["status"]);
    home.done(["call", "clock.now"]);
    let listed = home.json(["servers", "--no-start"]);
    assert_eq!(listed["servers"][0]["state"], "connected", "{listed}");
    assert_eq!(listed["servers"][1]["state"], "registered", "{listed}");
    assert_eq!((home.json(["status"])["pid"].clone(), starts(&home)), (kernel["pid"].clone(), [1, 0]));
    assert!(home.run(["tools", "notes"]).out.contains("notes."));
    assert_eq!(starts(&home), [1, 1]);
    assert_eq!(home.run(["stop"]).out, format!("stopped (process {})\n", kernel["pid"]));
    // A client has all of them, whoever has started the kernel.
    home.done(["call", "clock.now"]);
    assert_eq!(starts(&home), [2, 1]);
    let mut client = Kernel::in_background(&home);
    let mut talk = Talk::open(&mut client);
    talk.ask("tools/list", &json!({}));
    home.run(["servers", "--wait"]);
    assert_eq!(starts(&home), [2, 2]);
}

#[test]
fn a_call_without_a_proof_starts_only_the_server_that_it_is_about_as_well() {
    let home = with_noted_starts();
    home.run(["servers", "--wait"]);
    home.run(["stop"]);
    let before = starts(&home);
    let called = home.command(["call", "clock.now"]).env_remove("MGP_OPERATORS_TOKEN").output().unwrap();
    assert!(called.status.success(), "{called:?}");
    let listed = home.json(["servers", "--no-start"]);
    assert_eq!(listed["servers"][1]["state"], "registered", "{listed}");
    assert_eq!(starts(&home)[1], before[1]);
}

#[test]
fn tools_and_searches_are_answered_from_what_servers_listed_last() {
    let home = with_noted_starts();
    let first = home.run(["tools"]);
    assert!(
        first.out.contains("clock.now") && first.out.contains("notes."),
        "nothing is known yet: {first:?}"
    );
    assert_eq!(starts(&home), [1, 1]);
    home.done(["stop"]);
    let tools = home.run(["tools"]);
    assert_eq!(tools.out, first.out);
    assert!(tools.err.contains("as listed when they ran last: clock, notes"), "{tools:?}");
    let found = home.run(["search", "the", "current", "time"]);
    assert!(found.out.contains("clock.now"), "{found:?}");
    assert!(home.run(["tools", "clock.now"]).out.contains("inputSchema"));
    assert_eq!(starts(&home), [1, 1]);
    // One of which nothing is known begins, and is waited for briefly.
    home.json(["add", "late", "--", "sh", "-c", "sleep 60"]);
    let tools = home.run(["tools"]);
    assert!(
        tools.out.contains("clock.now") && tools.err.contains("still starting, with unknown tools: late"),
        "{tools:?}"
    );
    assert_eq!(home.json(["servers", "--no-start"])["servers"][1]["starting"], true);
}

#[test]
fn an_edit_without_a_client_leaves_the_kernel_and_its_unchanged_servers_running() {
    let home = with_noted_starts();
    home.run(["servers", "--wait"]);
    let pid = || home.json(["status"])["pid"].clone();
    let kernel = pid();
    let [program, file] = home.clock();
    home.configure(&format!("[[servers]]\nid = \"late\"\ncommand = {program:?}\nargs = [{file:?}]\n"));
    home.done(["call", "late.now"]);
    assert_eq!((pid(), starts(&home)), (kernel.clone(), [1, 1]));
    let reloaded = home.run(["reload"]);
    assert_eq!((reloaded.out.as_str(), reloaded.err.as_str()), ("added late\n", ""));
    assert_eq!(home.run(["reload"]).out, "The configuration has not changed.\n");
    let config =
        home.read("mgp.toml").replace("id = \"late\"\n", "id = \"late\"\ndescription = \"Clocks.\"\n");
    home.write("mgp.toml", &format!("{config}\n[limits]\nagent_calls_per_minute = 900\n"));
    let reloaded = home.run(["reload"]);
    assert_eq!(reloaded.out, "restarted late\nchanged [limits]\n");
    assert_eq!((pid(), starts(&home)), (kernel, [1, 1]), "the kernel goes on");
}

#[test]
fn a_section_that_takes_effect_at_a_start_has_the_next_command_start_another_kernel() {
    let home = with_noted_starts();
    home.done(["call", "clock.now"]);
    let pid = || home.json(["status"])["pid"].clone();
    let kernel = pid();
    home.configure("[tools]\nlevel = \"L0\"\n");
    let reloaded = home.run(["reload"]);
    assert_eq!(reloaded.out, "[tools] changed; takes effect when the kernel restarts: mgp restart\n");
    assert_eq!(pid(), kernel);
    home.done(["call", "clock.now"]);
    assert_ne!(pid(), kernel);
}

#[test]
fn what_waits_for_the_passphrase_is_listed_with_the_command_that_applies_it() {
    let home = with_noted_starts();
    crate::page::with_passphrase(&home);
    let issued = home.run_with(["operators", "token", "--stdin"], "correct horse\n");
    let token = issued.out.trim();
    let run = |args: &[&str], token: Option<&str>| {
        let mut command = home.command(args);
        command.env("MGP_OPERATORS_TOKEN", token.unwrap_or_default());
        Home::ran(command, "")
    };
    let json = |args: &[&str]| home.json_where(&[("MGP_OPERATORS_TOKEN", "")], args.iter().copied());
    assert_eq!(run(&["call", "clock.now"], None).code, Some(0));
    let kernel = json(&["status"])["pid"].clone();
    let [program, file] = home.clock();
    let config = home.read("mgp.toml");
    home.write(
        "mgp.toml",
        &format!(
            "{config}\n[[servers]]\nid = \"late\"\ncommand = {program:?}\nargs = [{file:?}]\n\
         [limits]\nagent_calls_per_minute = 900\n"
        ),
    );
    let listed = run(&["servers"], None);
    let row = listed.out.lines().find(|line| line.starts_with("late ")).unwrap_or_default();
    assert!(row.contains(" waiting "), "{listed:?}");
    let notice = "Changes that wait for your operator passphrase: limits.agent_calls_per_minute, servers.late. Apply them: mgp reload";
    assert!(listed.err.contains(notice), "{listed:?}");
    let listed = json(&["servers"]);
    let keys = json!(["limits.agent_calls_per_minute", "servers.late"]);
    assert_eq!(listed["waiting"], json!({"keys": keys, "command": "mgp reload"}));
    let rows = listed["servers"].as_array().unwrap();
    assert!(rows.iter().any(|row| row["id"] == "late" && row["waiting"] == "server"), "{listed}");
    let refused = run(&["reload"], None);
    assert!(refused.code == Some(3) && refused.err.contains(notice), "{refused:?}");
    let reloaded = run(&["reload"], Some(token));
    assert_eq!(reloaded.out, "added late\nchanged [limits]\n", "{reloaded:?}");
    assert_eq!(run(&["call", "late.now"], None).code, Some(0));
    assert_eq!(json(&["status"])["pid"], kernel);
    assert_eq!(json(&["servers"])["waiting"], json!(null));
}

#[test]
fn a_kernel_that_only_commands_used_makes_way_for_another_one() {
    let home = Home::with_state();
    let [program, file] = home.clock();
    let clock = ["--", &program, &file];
    home.json(["add", "clock", "--env", "ZONE=${ZONE:-utc}"].into_iter().chain(clock));
    home.done(["call", "clock.now"]);
    let pid = || home.json(["status"])["pid"].clone();
    let first = pid();
    // What was added a moment ago is there.
    home.json(["add", "other"].into_iter().chain(clock));
    home.done(["call", "other.now"]);
    let second = pid();
    assert_eq!(first, second, "it follows its configuration");
    let mut call = home.command(["call", "clock.now"]);
    call.env("ZONE", "cet");
    assert_eq!(Home::ran(call, "").code, Some(0));
    let third = pid();
    assert_ne!(second, third, "the variable is another one");
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    assert!(kernel.port() > 0);
    assert_eq!(pid(), kernel.child.id());
    // This one does not end for a command.
    let mut call = home.command(["call", "clock.now"]);
    call.env("ZONE", "est");
    assert_eq!(Home::ran(call, "").code, Some(0));
    assert_eq!(pid(), kernel.child.id());
}
