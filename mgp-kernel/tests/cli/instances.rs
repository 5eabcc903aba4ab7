//! Servers of which each client has an instance of its own.

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, Talk, found, hello};
use crate::shell_servers::shell_server;

/// The tools of a server that keeps the last word that it was told, like many that know nothing of other clients.
const TOOLS: &str = r#"[{"name":"keep","description":"Keeps a word.","inputSchema":{"type":"object","properties":{"word":{"type":"string"}}}},
    {"name":"kept","description":"Reads the word.","inputSchema":{"type":"object"}},
    {"name":"wait","description":"Waits.","inputSchema":{"type":"object"}},
    {"name":"die","description":"Waits, and ends.","inputSchema":{"type":"object"}},
    {"name":"unlock","description":"Adds another tool.","inputSchema":{"type":"object"}}]"#;

/// Each start leaves a line beside it.
const BEGIN: &str = r#"word=nothing; echo started >> "$0.starts""#;

const ANSWER: &str = r#"
      text=ok
      case "$line" in
        *'"name":"keep"'*) word=$(printf '%s' "$line" | sed 's/.*"word":"\([a-z]*\)".*/\1/') ;;
        *'"name":"kept"'*) text=$word ;;
        *'"name":"unlock"'*)
          tools="${tools%]},{\"name\":\"secret\",\"description\":\"Was locked.\",\"inputSchema\":{\"type\":\"object\"}}]"
          printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n' ;;
        *'"name":"wait"'*)
          touch "$0.waits"
          until [ -e "$0.go" ]; do sleep 0.05; done ;;
        *'"name":"die"'*) exit 1 ;;
      esac
      result="{\"content\":[{\"type\":\"text\",\"text\":\"$text\"}]}""#;

/// A user with that server, and with these settings of it.
fn with_keeper(settings: &str) -> Home {
    let script = format!("{BEGIN}\n{}", shell_server(TOOLS, ANSWER));
    let unasked = "[confirmation]\ndangerous = false\n[permissions]\npolicy = \"auto_approve\"\n";
    let lines = format!("backoff_base_ms = 1\n{settings}\n[servers.definitions]\ngrows = true");
    Home::with_script("keeper", &script, unasked, &lines)
}

fn starts(home: &Home) -> usize {
    std::fs::read_to_string(home.path("keeper.sh.starts")).unwrap_or_default().lines().count()
}

fn names(talk: &mut Talk) -> Vec<String> {
    let listed = talk.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn has_tools(talk: &mut Talk) {
    found("the tools are listed", || names(talk).contains(&"keeper__kept".to_owned()).then_some(()));
}

fn answer(talk: &mut Talk, tool: &str, arguments: &Value) -> Value {
    talk.ask("tools/call", &json!({"name": format!("keeper__{tool}"), "arguments": arguments}))
}

fn call(talk: &mut Talk, tool: &str, arguments: &Value) -> String {
    let answer = answer(talk, tool, arguments);
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn instances(home: &Home) -> Vec<Value> {
    let listed = home.json(["servers"]);
    listed["servers"][0]["instances"].as_array().unwrap().clone()
}

fn keeps(talk: &mut Talk, word: &str) {
    assert_eq!(call(talk, "keep", &json!({"word": word})), "ok");
}

fn kept(talk: &mut Talk) -> String {
    call(talk, "kept", &json!({}))
}

/// Returns whether the instance of this client was told nothing yet.
fn knows_nothing(talk: &mut Talk) -> Option<()> {
    (answer(talk, "kept", &json!({}))["result"]["content"][0]["text"] == "nothing").then_some(())
}

/// Calls a tool, and sees the call fail.
fn refused(talk: &mut Talk, tool: &str) {
    let refused = answer(talk, tool, &json!({}));
    assert!(refused["error"].is_object() || refused["result"]["isError"] == true, "{refused}");
}

/// Returns two clients of one kernel, the first of which has the tools.
fn two_clients(home: &Home) -> ([Kernel; 2], Talk, Talk) {
    let mut kernels = [Kernel::start(home, &[]), Kernel::spawn(home, &[])];
    let [mut one, other] = kernels.each_mut().map(Talk::open);
    has_tools(&mut one);
    (kernels, one, other)
}

#[test]
fn no_client_meets_what_another_one_left_at_a_server() {
    let home = with_keeper("");
    let (mut first, mut second) = (Kernel::start(&home, &[]), Kernel::spawn(&home, &[]));
    let mut one = Talk::open_as(&mut first, "Claude Code", &json!({}));
    let mut other = Talk::open_as(&mut second, "cursor", &json!({}));
    has_tools(&mut one);
    has_tools(&mut other);
    assert_eq!(starts(&home), 1, "lists come from one instance");
    keeps(&mut one, "red");
    keeps(&mut other, "blue");
    assert_eq!((kept(&mut one), kept(&mut other)), ("red".to_owned(), "blue".to_owned()));
    assert_eq!(starts(&home), 2);
    let mut shown = instances(&home);
    shown.sort_by_key(|instance| instance["client"].as_str().unwrap().to_owned());
    assert_eq!(shown[0]["client"], "local/claude-code", "{shown:?}");
    assert_eq!(shown[1]["client"], "local/cursor", "{shown:?}");
    assert!(shown.iter().all(|instance| instance["state"] == "connected"), "{shown:?}");
    if cfg!(target_os = "linux") {
        assert!(shown.iter().all(|instance| instance["memory_bytes"].as_u64() > Some(1 << 16)), "{shown:?}");
    }
    // Nobody who comes later finds what a client has left.
    drop(other);
    assert_eq!(second.ended(), Some(0));
    found("the instance of the client that left ends", || (instances(&home).len() == 1).then_some(()));
    let mut third = Kernel::spawn(&home, &[]);
    let mut again = Talk::open_as(&mut third, "cursor", &json!({}));
    assert_eq!((kept(&mut again), kept(&mut one)), ("nothing".to_owned(), "red".to_owned()));
}

#[test]
fn a_client_keeps_its_instance_when_the_one_that_came_first_leaves() {
    let home = with_keeper("");
    let _kernel = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    let (mut first, mut second) = (Kernel::spawn(&home, &[]), Kernel::spawn(&home, &[]));
    let (mut one, mut other) = (Talk::open(&mut first), Talk::open(&mut second));
    has_tools(&mut one);
    keeps(&mut one, "red");
    keeps(&mut other, "blue");
    drop(one);
    assert_eq!(first.ended(), Some(0));
    found("a fresh instance takes the place of the used one", || (starts(&home) == 3).then_some(()));
    assert_eq!(kept(&mut other), "blue");
}

#[test]
fn one_client_alone_has_one_program_and_the_next_one_finds_it_fresh() {
    let home = with_keeper("");
    let _kernel = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    let mut first = Kernel::spawn(&home, &[]);
    let mut one = Talk::open(&mut first);
    has_tools(&mut one);
    keeps(&mut one, "red");
    assert_eq!((kept(&mut one).as_str(), starts(&home)), ("red", 1));
    drop(one);
    assert_eq!(first.ended(), Some(0));
    found("a fresh instance takes the place of the used one", || (starts(&home) == 2).then_some(()));
    let mut second = Kernel::spawn(&home, &[]);
    let mut other = Talk::open(&mut second);
    has_tools(&mut other);
    assert_eq!((kept(&mut other).as_str(), starts(&home)), ("nothing", 2));
    assert_eq!(instances(&home).len(), 1);
}

#[test]
fn a_crash_of_one_clients_instance_touches_no_other() {
    let home = with_keeper("");
    let (_kernels, mut one, mut other) = two_clients(&home);
    keeps(&mut one, "red");
    keeps(&mut other, "blue");
    refused(&mut other, "die");
    assert_eq!(kept(&mut one), "red");
    found("the instance is started again", || knows_nothing(&mut other));
    assert_eq!((kept(&mut one).as_str(), starts(&home)), ("red", 3));
}

#[test]
fn a_server_has_as_many_instances_as_it_may_and_the_one_that_was_unused_longest_ends() {
    let home = with_keeper("max_instances = 2");
    let mut processes = [Kernel::start(&home, &[]), Kernel::spawn(&home, &[]), Kernel::spawn(&home, &[])];
    let mut talks: Vec<_> = processes.iter_mut().map(Talk::open).collect();
    has_tools(&mut talks[0]);
    for (talk, word) in talks.iter_mut().zip(["red", "blue", "green"]) {
        keeps(talk, word);
    }
    found("two are left", || (instances(&home).len() == 2).then_some(()));
    assert_eq!((kept(&mut talks[1]), kept(&mut talks[2])), ("blue".to_owned(), "green".to_owned()));
    // The first client has no instance any more; the next one that it gets knows nothing.
    assert_eq!(kept(&mut talks[0]), "nothing");
}

#[test]
fn an_instance_in_use_is_not_taken_away_and_the_refusal_names_the_key() {
    let home = with_keeper("max_instances = 1");
    let (_kernels, mut one, mut other) = two_clients(&home);
    one.tell("tools/call", &json!({"name": "keeper__wait", "arguments": {}}));
    found("the call is in work", || home.path("keeper.sh.waits").exists().then_some(()));
    let refused = answer(&mut other, "kept", &json!({})).to_string();
    assert!(refused.contains("max_instances") && refused.contains("`keeper`"), "{refused}");
    home.write("keeper.sh.go", "");
    // Once it is done, the place is free.
    found("the other client has its turn", || knows_nothing(&mut other));
}

#[test]
fn a_tool_that_appears_for_one_client_appears_for_no_other() {
    let home = with_keeper("");
    let (_kernels, mut one, mut other) = two_clients(&home);
    keeps(&mut one, "red");
    keeps(&mut other, "blue");
    let secret = "keeper__secret".to_owned();
    call(&mut other, "unlock", &json!({}));
    found("the other client finds its tool", || names(&mut other).contains(&secret).then_some(()));
    assert!(!names(&mut one).contains(&secret));
}

#[test]
fn what_is_shared_is_one_for_all() {
    let home = with_keeper("sharing = \"shared\"");
    let (_kernels, mut one, mut other) = two_clients(&home);
    keeps(&mut one, "red");
    assert_eq!((kept(&mut other).as_str(), starts(&home)), ("red", 1));
}

#[test]
fn stop_and_start_act_on_all_instances() {
    let home = with_keeper("");
    let (_kernels, mut one, mut other) = two_clients(&home);
    keeps(&mut one, "red");
    keeps(&mut other, "blue");
    assert_eq!(home.json(["stop", "keeper"])["state"], "disconnected");
    for talk in [&mut one, &mut other] {
        refused(talk, "kept");
    }
    home.json(["start", "keeper"]);
    for talk in [&mut one, &mut other] {
        found("the server is there again", || knows_nothing(talk));
    }
}

/// Sends a message over HTTP, in a session, and returns the session that is named and the answer.
fn post(port: u16, session: Option<&str>, body: &Value) -> (Option<String>, Value) {
    let session = session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let headers = format!("MCP-Protocol-Version: 2025-11-25\r\n{session}");
    let answer = http::post(port, &headers, &body.to_string());
    (answer.header("mcp-session-id").map(str::to_owned), answer.json())
}

#[test]
fn each_session_over_http_has_an_instance() {
    let home = with_keeper("");
    let (_kernel, port) = Kernel::on_http(&home);
    let hello = hello("web", &json!({}));
    let sessions: Vec<_> = (0..3).map(|_| post(port, None, &hello).0.unwrap()).collect();
    let say = |session: &str, tool: &str, arguments: Value| {
        let params = json!({"name": format!("keeper__{tool}"), "arguments": arguments});
        let call = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params});
        let (_, answer) = post(port, Some(session), &call);
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let words = ["red", "blue", "green"];
    for (session, word) in sessions.iter().zip(words) {
        say(session, "keep", json!({"word": word}));
    }
    for (session, word) in sessions.iter().zip(words) {
        assert_eq!(say(session, "kept", json!({})), word);
    }
    assert_eq!(starts(&home), 3);
}

#[test]
fn rules_for_local_hold_for_its_clients_and_a_rule_for_one_of_them_wins() {
    let home = with_keeper("");
    let (mut first, mut second) = (Kernel::start(&home, &[]), Kernel::spawn(&home, &[]));
    let mut one = Talk::open_as(&mut first, "claude-code", &json!({}));
    let mut other = Talk::open_as(&mut second, "cursor", &json!({}));
    has_tools(&mut one);
    home.json(["access", "deny", "local", "keeper.kept"]);
    for talk in [&mut one, &mut other] {
        refused(talk, "kept");
    }
    home.json(["access", "grant", "local/claude-code", "keeper.kept"]);
    assert_eq!(kept(&mut one), "nothing");
    refused(&mut other, "kept");
    // The record has each client under its name.
    let events = home.json(["audit", "query", "--type", "TOOL_EXECUTED", "--agent", "local/claude-code"]);
    assert_eq!(events["events"].as_array().unwrap().len(), 1, "{events}");
    let events = home.json(["audit", "query", "--type", "TOOL_EXECUTED", "--agent", "local"]);
    assert_eq!(events["events"].as_array().unwrap().len(), 1, "{events}");
}

#[test]
fn a_restart_names_the_clients_whose_state_is_lost() {
    let home = with_keeper("");
    let (_kernel, mut talk) = Talk::begin(&home);
    has_tools(&mut talk);
    let before = home.run(["restart", "keeper"]);
    assert!(before.code == Some(0) && !before.err.contains("lost"), "nobody has used it: {before:?}");
    answer(&mut talk, "keep", &json!({"word": "red"}));
    let restarted = home.run(["restart", "keeper"]);
    assert_eq!((restarted.code, restarted.out.as_str()), (Some(0), "connected\n"), "{restarted:?}");
    assert!(
        restarted.err.contains("What the server kept in memory for its clients is lost: local"),
        "{restarted:?}"
    );
    let restarted = home.json(["restart", "keeper"]);
    assert_eq!(restarted["ended_sessions"].as_array().unwrap().len(), 1, "{restarted}");
}
