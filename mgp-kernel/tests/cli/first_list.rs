//! What clients are listed while servers start. Servers are held by a file that is not there yet, and not by time.

use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Talk, found};

/// A user with so many servers. Each begins when there is a file `go`, and writes what the script of sed in `edit` makes of it.
fn with_held_servers(servers: usize) -> Home {
    let home = Home::with_state();
    home.write("edit", "");
    let [program, file] = home.clock();
    let server = |number: usize| {
        let script = format!(
            "while ! [ -e {0}/go ]; do sleep 0.05; done; {program} {file} | sed -u -f {0}/edit",
            home.path("").display(),
        );
        // Of fewer than thirty tools all are listed.
        format!(
            "[[servers]]\nid = \"clock{number}\"\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n\
             [servers.tools]\nunix_time = {{ enabled = false }}\n\"time_*\" = {{ enabled = false }}\n"
        )
    };
    let servers: String = (0..servers).map(server).collect();
    home.configure(&servers);
    home
}

fn listed(talk: &mut Talk) -> Vec<String> {
    let listed = talk.ask("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}"));
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// The list as soon as it is as it is wanted.
fn until(talk: &mut Talk, is_wanted: impl Fn(&[String]) -> bool) -> Vec<String> {
    found("the list is as wanted", || Some(listed(talk)).filter(|listed| is_wanted(listed)))
}

/// Runs a kernel until it has listed the tools of so many servers.
fn run_once(home: &Home, servers: usize) -> Vec<String> {
    home.write("go", "");
    let (mut kernel, mut talk) = Talk::begin(home);
    let all = until(&mut talk, |listed| count_of_now(listed) == servers);
    drop(talk);
    assert_eq!(kernel.ended(), Some(0));
    std::fs::remove_file(home.path("go")).unwrap();
    all
}

fn count_of_now(listed: &[String]) -> usize {
    listed.iter().filter(|name| name.ends_with("__now")).count()
}

const CHANGED: &str = "notifications/tools/list_changed";

#[test]
fn while_servers_start_for_the_first_time_the_search_is_listed_and_then_all_tools_at_once() {
    let home = with_held_servers(10);
    let (_kernel, mut talk) = Talk::begin(&home);
    let first = listed(&mut talk);
    assert!(first.iter().any(|name| name.contains("discover")), "{first:?}");
    assert_eq!(count_of_now(&first), 0, "{first:?}");
    home.write("go", "");
    crate::kernel::until("the client is told that there are tools", || {
        talk.ask("ping", &json!({}));
        talk.times_heard(CHANGED) > 0
    });
    let all = until(&mut talk, |listed| count_of_now(listed) == 10);
    assert!(!all.iter().any(|name| name.contains("discover")), "{all:?}");
}

#[test]
fn an_operator_who_wants_all_tools_listed_gets_no_empty_list_either() {
    let home = with_held_servers(2);
    home.write("mgp.toml", &format!("[tools]\nlevel = \"L0\"\n{}", home.read("mgp.toml")));
    let (_kernel, mut talk) = Talk::begin(&home);
    let first = listed(&mut talk);
    assert!(first.iter().any(|name| name.contains("discover")), "{first:?}");
    home.write("go", "");
    let all = until(&mut talk, |listed| count_of_now(listed) == 2);
    assert!(!all.iter().any(|name| name.contains("discover")), "{all:?}");
}

#[test]
fn the_tools_of_the_last_start_are_listed_at_once_and_their_calls_wait_for_the_server() {
    let home = with_held_servers(10);
    let before = run_once(&home, 10);
    let (_kernel, mut talk) = Talk::begin(&home);
    assert_eq!(listed(&mut talk), before);
    talk.tell(
        "tools/call",
        &json!({"name": "clock3__now", "arguments": {}, "_meta": {"progressToken": "mine"}}),
    );
    let progress: Value = serde_json::from_str(&talk.lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "mine", "{progress}");
    assert!(progress["params"]["message"].as_str().unwrap().contains("`clock3` is starting"), "{progress}");
    home.write("go", "");
    let called = json!(talk.last_id());
    let answer: Value = serde_json::from_str(&talk.answer_to(&called)).unwrap();
    assert!(answer["result"]["content"][0]["text"].is_string(), "{answer}");
    until(&mut talk, |listed| listed == before);
    // The servers came back as they were, so there is nothing to tell of their tools.
    assert_eq!(talk.times_heard(CHANGED), 0, "{:?}", talk.heard);
}

#[test]
fn a_tool_that_changed_while_the_kernel_was_away_vanishes_and_is_held() {
    let home = with_held_servers(2);
    let before = run_once(&home, 2);
    home.write("edit", r#"s/"name":"now","description":"/&And more: /"#);
    let (_kernel, mut talk) = Talk::begin(&home);
    assert_eq!(listed(&mut talk), before, "as they were approved");
    talk.tell("tools/call", &json!({"name": "clock1__now", "arguments": {}}));
    let called = json!(talk.last_id());
    home.write("go", "");
    let text = talk.answer_to(&called);
    assert!(text.contains("mgp pin approve"), "{text}");
    let after = until(&mut talk, |listed| count_of_now(listed) == 0);
    assert_eq!(after.len() + 2, before.len(), "{after:?}");
    let pins = home.json(["pin", "list", "--waiting"]);
    assert_eq!(pins["pins"].as_array().unwrap().len(), 2, "{pins}");
}

#[test]
fn a_search_finds_the_tools_of_the_last_start_and_says_which_server_is_starting() {
    let home = with_held_servers(2);
    run_once(&home, 2);
    let (_kernel, mut talk) = Talk::begin(&home);
    let mut search = || {
        let asked = json!({"name": "mgp_tools_discover", "arguments": {"query": "the current time"}});
        talk.ask("tools/call", &asked)["result"]["structuredContent"].clone()
    };
    let found = found("the servers are starting", || {
        Some(search()).filter(|found| found["starting"].as_array().is_some_and(|all| all.len() == 2))
    });
    assert_eq!(found["starting"], json!(["clock0", "clock1"]));
    assert!(found["next"].as_str().unwrap().contains("Still starting: `clock0`, `clock1`"), "{found}");
    assert_eq!(found["tools"][0]["name"], "clock0__now", "{found}");
    let searched = home.run(["search", "the", "current", "time"]);
    assert!(searched.out.contains("clock0.now"), "{searched:?}");
    assert!(
        searched.err.contains("still starting, with the tools that they listed last: clock0, clock1"),
        "{searched:?}"
    );
    home.write("go", "");
    crate::kernel::until("all are connected", || search()["starting"].is_null());
}
