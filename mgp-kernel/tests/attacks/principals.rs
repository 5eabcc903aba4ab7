//! Who takes the name of somebody else to be taken for them.

use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;
use crate::runner::tests;
use crate::server;

tests![
    no_key_is_issued_in_the_name_of_somebody_else,
    a_stored_key_with_the_name_of_somebody_else_lets_nobody_in,
    the_holder_of_a_key_is_not_the_client_that_started_the_kernel,
    nobody_speaks_for_the_client_that_started_the_kernel,
    the_mark_of_another_kernel_makes_an_agent_nobody_else,
];

const LISTENS: &[&str] = &["--http", "127.0.0.1:0", "--stdio"];

/// Who else is known by a name like these.
const NAMES: &[&str] = &[
    "local", "Local", "l0cal", "lоcal", "local-http", "operator", "human.local", "HUMAN.ada", "mgp",
    "mgp.toml", "uid 0", "uid-1000", "root", "kernel",
];

async fn no_key_is_issued_in_the_name_of_somebody_else() {
    let home = Home::with_state();
    for name in NAMES {
        for operator in [&[][..], &["--operator"]] {
            let ran = home.run(["keys", "new", name].iter().chain(operator));
            assert_ne!(ran.code, Some(0), "{name}: {ran:?}");
            assert!(ran.err.contains("another name"), "{name}: {ran:?}");
        }
    }
    home.done(["keys", "new", "agent.research"]);
}

/// Issues a key, and gives it the owner that an older version would have let it have.
fn stored_key(home: &Home, owner: &str, options: &[&str]) -> String {
    let key =
        home.run(["keys", "new", "agent.old", "--allow", "list", "--allow", "call:*"].iter().chain(options));
    assert_eq!(key.code, Some(0), "{key:?}");
    let database = rusqlite::Connection::open(home.path("state/mgp.db")).unwrap();
    let changed =
        database.execute("UPDATE api_keys SET owner = ?1 WHERE owner = 'agent.old'", [owner]).unwrap();
    assert_eq!(changed, 1);
    key.out.trim().to_owned()
}

// covers: GGEN-8.5-03
async fn a_stored_key_with_the_name_of_somebody_else_lets_nobody_in() {
    let home = Home::with_state();
    let keys: Vec<_> = ["local", "human.local", "mgp.toml"].map(|owner| stored_key(&home, owner, &[])).into();
    let kernel = Kernel::start(&home, LISTENS);
    for key in &keys {
        let answer = call(kernel.port(), key, "files.echo", &json!({}), &json!({}));
        assert_eq!(answer.status, 401, "{}", answer.body);
    }
    let list = home.json(["keys", "list"]);
    assert!(list["keys"].as_array().unwrap().iter().all(|key| key["reserved"] == true), "{list}");
    let doctor = home.run(["doctor"]);
    assert!(doctor.out.contains("`human.local` has a reserved name"), "{doctor:?}");
}

async fn the_holder_of_a_key_is_not_the_client_that_started_the_kernel() {
    let home = Home::with_state();
    let desk = "\n[[agents]]\nid = \"desk\"\nstdio = true\nhuman = true\n";
    let server = server::configured(&home, "files", "");
    home.configure(&format!("{desk}{server}\n[permissions]\npatience_secs = 1\n"));
    let key = home.run(["keys", "new", "desk", "--allow", "list", "--allow", "call:*"]);
    let kernel = Kernel::start(&home, LISTENS);
    // The client says that somebody in front of it can be asked, and would answer by itself.
    let asked = json!({"elicitation": {"form": {}}});
    let answer = call(kernel.port(), key.out.trim(), "files.delete_everything", &asked, &json!({})).body;
    assert!(!answer.contains("input_required"), "it was asked: {answer}");
    assert!(answer.contains("isError") || answer.contains("error"), "{answer}");
    assert_eq!(server::calls(&home, "files"), Vec::<String>::new());
}

// covers: GGEN-8.5-03
async fn nobody_speaks_for_the_client_that_started_the_kernel() {
    let home = Home::with_state();
    let server = server::configured(&home, "files", "");
    let agents = "\n[[agents]]\nid = \"host\"\nspeaks_for = [\"*\"]\n";
    home.configure(&format!("{agents}{server}"));
    let key = home.run(["keys", "new", "host", "--allow", "list", "--allow", "call:*"]);
    let kernel = Kernel::start(&home, LISTENS);
    let said = |agent: &str| {
        let meta = json!({"dev.cloto/mgp/agent": agent});
        call(kernel.port(), key.out.trim(), "files.echo", &json!({}), &meta).body
    };
    for agent in ["local", "human.local", "mgp"] {
        let answer = said(agent);
        assert!(answer.contains("may not speak for this agent"), "{answer}");
    }
    let answer = said("agent.one");
    assert!(answer.contains("hello"), "{answer}");
}

async fn the_mark_of_another_kernel_makes_an_agent_nobody_else() {
    let home = Home::with_state();
    home.configure(&server::configured(&home, "files", ""));
    let key = home.key("agent.one", &["list", "call:*"]);
    let kernel = Kernel::start(&home, LISTENS);
    for caller in ["agent/agent.two", "key operator/ada", "local client/local"] {
        let headers = format!("Authorization: Bearer {key}\r\nmgp-peer: 1 {caller}\r\n");
        let params = json!({"name": "files.echo", "arguments": {"text": "hello"}});
        let answer = http::ask(kernel.port(), &headers, &json!({}), "tools/call", params).body;
        assert!(answer.contains("hello"), "{caller}: {answer}");
    }
    let events = home.json(["audit", "query", "--type", "TOOL_EXECUTED"]);
    let events = events["events"].as_array().unwrap();
    let is_own = |row: &Value| row["event"]["actor"] == json!({"type": "agent", "id": "agent.one"});
    assert!(events.len() == 3 && events.iter().all(is_own), "{events:?}");
}

/// Calls a tool over HTTP.
fn call(port: u16, key: &str, tool: &str, capabilities: &Value, meta: &Value) -> http::Answer {
    let params = json!({"name": tool, "arguments": {"text": "hello", "what": "all"}, "_meta": meta});
    let authorization = format!("Authorization: Bearer {key}\r\n");
    http::ask(port, &authorization, capabilities, "tools/call", params)
}
