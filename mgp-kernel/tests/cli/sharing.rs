use serde_json::json;

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};

fn calls_a_tool(talk: &mut Talk) {
    until("the tool is listed", || {
        talk.ask("tools/list", &json!({})).to_string().contains(r#""clock__now""#)
    });
    let called = talk.ask("tools/call", &json!({"name": "clock.now", "arguments": {}}));
    assert!(called["result"]["content"][0]["text"].is_string(), "{called}");
    assert_ne!(called["result"]["isError"], true, "{called}");
}

#[test]
fn a_second_client_shares_the_kernel_of_the_first_and_ends_with_it() {
    let home = Home::with_clock();
    // Clients start what they are given at the same time.
    let mut first = Kernel::spawn(&home, &[]);
    let mut second = Kernel::spawn(&home, &[]);
    let (mut one, mut other) = (Talk::open(&mut first), Talk::open(&mut second));
    calls_a_tool(&mut one);
    calls_a_tool(&mut other);
    for talk in [&mut one, &mut other] {
        // They are agents' clients: what operators do does not exist for them.
        assert_eq!(talk.ask("kernel/keys/list", &json!({}))["error"]["code"], -32601);
    }
    let events = home.run(["audit", "query", "--type", "TOOL_EXECUTED", "--agent", "local", "--json"]);
    let events: serde_json::Value = serde_json::from_str(&events.out).unwrap();
    assert_eq!(events["events"].as_array().unwrap().len(), 2, "{events}");
    let running = home.json(["servers"]);
    assert_eq!(running["servers"].as_array().unwrap().len(), 1, "{running}");
    drop((one, other));
    assert_eq!((first.ended(), second.ended()), (Some(0), Some(0)));
}

#[test]
fn a_client_that_joined_leaves_the_kernel_as_it_is_and_ends_when_it_ends() {
    let home = Home::with_clock();
    let mut first = Kernel::start(&home, &[]);
    let mut one = Talk::open(&mut first);
    let mut second = Kernel::spawn(&home, &[]);
    let other = Talk::open(&mut second);
    assert!(home.read("stderr").contains("joined the running kernel"), "{}", home.read("stderr"));
    drop(other);
    assert_eq!(second.ended(), Some(0));
    calls_a_tool(&mut one);
    let mut third = Kernel::spawn(&home, &[]);
    let still_there = Talk::open(&mut third);
    drop(one);
    assert_eq!(first.ended(), Some(0));
    assert_eq!(third.ended(), Some(0), "with its input open");
    drop(still_there);
}

#[test]
fn who_has_other_files_or_is_another_agent_does_not_join() {
    let home = Home::with_clock();
    home.write("other.toml", "");
    let _first = Kernel::start(&home, &[]);
    let other = home.run(["--config", "other.toml", "--state", "state", "serve"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(other.err.contains("from other files") && other.err.contains("--state"), "{other:?}");
    let text = home.read("mgp.toml");
    home.write("mgp.toml", &format!("{text}\n[[agents]]\nid = \"research\"\nstdio = true\n"));
    let other = home.run(["serve"]);
    assert_eq!(other.code, Some(4), "{other:?}");
    assert!(other.err.contains("for another agent"), "{other:?}");
}

#[test]
fn calls_in_work_are_answered_when_the_kernel_stops() {
    let home = Home::with_clock();
    let mut first = Kernel::start(&home, &[]);
    let mut one = Talk::open(&mut first);
    let mut second = Kernel::spawn(&home, &[]);
    let mut other = Talk::open(&mut second);
    for talk in [&mut one, &mut other] {
        calls_a_tool(talk);
        talk.tell("tools/call", &json!({"name": "clock.wait", "arguments": {"seconds": 4}}));
    }
    // What comes after the calls on the same way is answered when they are in work.
    for talk in [&mut one, &mut other] {
        talk.ask("ping", &json!({}));
    }
    first.signal("TERM");
    for talk in [&mut one, &mut other] {
        let rest: Vec<String> = talk.lines.by_ref().map_while(Result::ok).collect();
        assert!(rest.iter().any(|line| line.contains("done")), "{rest:?}");
    }
    assert_eq!((first.ended(), second.ended()), (Some(0), Some(0)));
}

#[test]
fn who_comes_while_a_kernel_stops_has_the_next_one() {
    let home = Home::with_clock();
    let mut first = Kernel::start(&home, &[]);
    let mut one = Talk::open(&mut first);
    calls_a_tool(&mut one);
    one.tell("tools/call", &json!({"name": "clock.wait", "arguments": {"seconds": 4}}));
    one.ask("ping", &json!({}));
    first.signal("TERM");
    let mut second = Kernel::spawn(&home, &[]);
    let mut other = Talk::open(&mut second);
    calls_a_tool(&mut other);
    assert_eq!(first.ended(), Some(0));
    drop(other);
    assert_eq!(second.ended(), Some(0));
}

#[test]
fn what_is_answered_after_the_input_has_ended_still_arrives() {
    let home = Home::with_clock();
    let _first = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    let hello = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    let ran = home.run_with(["serve"], &format!("{hello}\n"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.out.contains(r#""serverInfo""#), "{ran:?}");
}

#[test]
fn an_address_cannot_be_had_where_a_kernel_runs_already() {
    let home = Home::with_state();
    let _first = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    for arguments in [&["serve", "--http", "127.0.0.1:0"][..], &["serve", "--http", "127.0.0.1:0", "--stdio"]]
    {
        let second = home.run(arguments);
        assert_eq!(second.code, Some(4), "{second:?}");
        assert!(second.err.contains("a kernel runs already") && second.err.contains("--state"), "{second:?}");
    }
}

#[test]
fn where_nobody_answers_for_a_state_that_is_in_use_it_says_what_to_do() {
    let home = Home::with_state();
    let _first = Kernel::start(&home, &["--http", "127.0.0.1:0"]);
    let second = home.run(["serve", "--socket", "elsewhere.sock"]);
    assert_eq!(second.code, Some(4), "{second:?}");
    assert!(second.err.contains("--state"), "{second:?}");
}
