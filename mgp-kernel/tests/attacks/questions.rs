//! What a person is asked, and what a yes comes to.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::Home;
use crate::kernel::{Kernel, Talk};
use crate::runner::tests;
use crate::server;

tests![
    a_confirmation_shows_arguments_whatever_they_are_called,
    a_confirmation_shows_both_ends_of_what_is_long_and_the_whole_on_demand,
    what_cannot_be_shown_cannot_be_confirmed,
];

const PATIENCE: Duration = Duration::from_secs(20);

/// A kernel with a server `files` whose dangerous calls wait for an operator, and a client of it.
fn asking(home: &Home, lines: &str) -> (Kernel, Talk) {
    let server = server::configured(home, "files", "");
    let agent = "\n[[agents]]\nid = \"local\"\nhuman = false\n";
    home.write("mgp.toml", &format!("{}{agent}{server}{lines}", home.read("mgp.toml")));
    let mut kernel = Kernel::start(home, &[]);
    let talk = Talk::open(&mut kernel);
    (kernel, talk)
}

/// The one question that waits, when it does.
fn question(home: &Home) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let pending = home.json(["permissions", "pending"]);
        if let [question] = &pending["questions"].as_array().unwrap()[..] {
            return question.clone();
        }
        assert!(Instant::now() < end, "nobody is asked: {pending}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn delete(talk: &mut Talk, arguments: &Value) {
    talk.tell("tools/call", &json!({"name": "files.delete_everything", "arguments": arguments}));
}

async fn a_confirmation_shows_arguments_whatever_they_are_called() {
    let home = Home::with_state();
    let (_kernel, mut talk) = asking(&home, "");
    delete(
        &mut talk,
        &json!({
            "what": "x", "secret_path": "/home/ada", "token_kind": "root", "password": "x; rm -rf ~", "credentials_file": "/etc/shadow",
            "api_key": "ghp_0123456789abcdefABCDEF0123", "cookie": "all of them", "hidden": "a\u{202e}b\u{1b}[8m",
        }),
    );
    let message = question(&home)["message"].as_str().unwrap().to_owned();
    for seen in ["/home/ada", "root", "x; rm -rf ~", "/etc/shadow", "all of them", "\\u{202e}", "\\u001b[8m"]
    {
        assert!(message.contains(seen), "{seen}: {message}");
    }
    assert!(
        !message.contains("0123456789abcdef") && message.contains("begins `ghp_`, 30 characters"),
        "{message}"
    );
    assert!(!message.contains(['\u{202e}', '\u{1b}']), "{message}");
}

async fn a_confirmation_shows_both_ends_of_what_is_long_and_the_whole_on_demand() {
    let home = Home::with_state();
    let (_kernel, mut talk) = asking(&home, "");
    let padding = "harmless ".repeat(2000);
    delete(&mut talk, &json!({"what": format!("begins {padding}MIDDLE {padding}ends")}));
    let question = question(&home);
    let message = question["message"].as_str().unwrap();
    assert!(message.contains("begins harmless") && message.contains("harmless ends"), "{message}");
    assert!(message.contains("of 36018 characters") && message.contains("left out"), "{message}");
    let id = question["id"].as_str().unwrap();
    assert!(message.contains(&format!("mgp permissions show {id}")), "{message}");
    let shown = home.run(["permissions", "show", id]);
    assert!(shown.out.contains(&format!("begins {padding}MIDDLE {padding}ends")), "{shown:?}");
}

async fn what_cannot_be_shown_cannot_be_confirmed() {
    let home = Home::with_state();
    let (_kernel, mut talk) = asking(&home, "");
    let mut deep = json!("rm -rf /");
    for _ in 0..40 {
        deep = json!([deep]);
    }
    let call = json!({"name": "files.delete_everything", "arguments": {"more": deep}});
    let answer = talk.ask("tools/call", &call).to_string();
    assert!(answer.contains("nested deeper"), "{answer}");
    assert_eq!(server::calls(&home, "files"), Vec::<String>::new());
}
