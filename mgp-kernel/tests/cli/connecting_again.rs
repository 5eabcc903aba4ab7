//! Tests of questions to the person in front of a client that connects again, and of answers to other clients.

use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_transport::child::ChildCommand;
use mgp_types::Revision;
use mgp_types::mcp::{CallToolResult, ElicitResult};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::home::Home;

const PATIENCE: Duration = Duration::from_mins(1);
const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A user with a server whose calls need a permission.
fn home() -> Home {
    let home = Home::with_state();
    home.add_server("notes", &home.notes());
    let needs = "id = \"notes\"\nsecurity = { permissions = [\"memory.write\"] }\n";
    home.write("mgp.toml", &home.read("mgp.toml").replace("id = \"notes\"\n", needs));
    home.let_person_decide();
    home
}

/// The command by which the test, as a client, reaches the kernel in the background.
fn command(home: &Home, program: &str, args: &[&str]) -> ChildCommand {
    ChildCommand::new(program)
        .args(args.iter().copied())
        .current_dir(home.path(""))
        .env("HOME", home.path(""))
        .env("MGP_CONFIG_PATH", home.path("mgp.toml"))
}

/// A client whose person answers with `content`, and the questions that it was asked.
fn answering(revision: Revision, content: &Value) -> (ClientBuilder, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let (asking, content) = (Arc::clone(&asked), content.clone());
    let builder = Client::builder("claude-code", "1.0.0").revisions([revision]).mgp(None).on_elicitation(
        move |form, _| {
            asking.lock().push(form.message);
            let answer = json!({"action": "accept", "content": content});
            async move { serde_json::from_value::<ElicitResult>(answer).unwrap() }
        },
    );
    (builder, asked)
}

async fn connect(home: &Home, builder: ClientBuilder) -> Client {
    let started = || command(home, env!("CARGO_BIN_EXE_mgp"), &["serve"]);
    listing(builder.connect_child(started).await.unwrap().boxed()).await
}

async fn listing(client: Client) -> Client {
    let end = Instant::now() + PATIENCE;
    while !client.list_tools().await.unwrap().iter().any(|tool| tool.name == "notes__list_notes") {
        assert!(Instant::now() < end, "the server does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client
}

async fn call(client: &Client) -> CallToolResult {
    client.call_tool("notes__list_notes", json!({})).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_counts_in_both_eras_although_it_says_not_for_how_long() {
    for order in [[ERAS[0], ERAS[1]], [ERAS[1], ERAS[0]]] {
        let home = home();
        let mut clients = Vec::new();
        for revision in order {
            let (builder, _) = answering(revision, &json!({"decision": "approve"}));
            let client = connect(&home, builder).await;
            for _ in 0..2 {
                let result = call(&client).await;
                assert_ne!(result.is_error, Some(true), "{order:?} {revision:?}: {result:?}");
            }
            clients.push(client);
        }
        let listed = home.json(["permissions", "list"]);
        assert_eq!(listed["grants"].as_array().unwrap().len(), 1, "{listed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_connects_again_is_asked_again() {
    for revision in ERAS {
        let home = home();
        for connection in 1..=3 {
            let (builder, asked) = answering(revision, &json!({"decision": "approve", "lasts": "once"}));
            let client = connect(&home, builder).await;
            let result = call(&client).await;
            assert_ne!(result.is_error, Some(true), "{revision:?}, connection {connection}: {result:?}");
            assert_eq!(asked.lock().len(), 1, "{revision:?}, connection {connection}");
            client.close().await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_a_shell_of_the_first_has_started_hears_at_once_why_nobody_is_asked_there() {
    for revision in ERAS {
        let home = home();
        let (builder, _) = answering(revision, &json!({"decision": "approve", "lasts": "once"}));
        let first = connect(&home, builder).await;
        // As an agent writes it to the shell that its client gives it, and a person never does.
        let line = format!("cat | {} serve | cat", env!("CARGO_BIN_EXE_mgp"));
        let (builder, asked) = answering(revision, &json!({"decision": "approve"}));
        let started = || command(&home, "sh", &["-c", &line]).env("PATH", std::env::var_os("PATH").unwrap());
        let second = listing(builder.connect_child(started).await.unwrap().boxed()).await;
        let result = call(&second).await;
        let text = result.content[0].as_text().unwrap_or_default();
        assert_eq!(result.is_error, Some(true), "{result:?}");
        assert!(text.contains("mgp permissions approve ") && text.contains("nobody is asked"), "{text}");
        assert_eq!(asked.lock().len(), 0, "{revision:?}");
        // The first client is asked as before.
        assert_ne!(call(&first).await.is_error, Some(true));
    }
}
