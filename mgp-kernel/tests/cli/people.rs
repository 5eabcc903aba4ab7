//! Clients of a kernel in front of which a person sits, and servers whose calls that person decides about.

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

pub(crate) const PATIENCE: Duration = Duration::from_mins(1);
pub(crate) const ERAS: [Revision; 2] = [Revision::V2025_11_25, Revision::V2026_07_28];

/// A user with a server of notes, of which `remove_note` has to be confirmed, and more lines of configuration.
pub(crate) fn home_with_notes(lines: &str) -> Home {
    let home = Home::with_state();
    home.add_server("notes", &home.notes());
    home.configure(lines);
    home.let_person_decide();
    home
}

/// Returns the home of [`home_with_notes`], in which all calls of the server need a permission.
pub(crate) fn home_that_needs(lines: &str) -> Home {
    let home = home_with_notes(lines);
    let config = home.read("mgp.toml");
    let needs = "id = \"notes\"\nsecurity = { permissions = [\"memory.write\"] }\n";
    home.write("mgp.toml", &config.replace("id = \"notes\"\n", needs));
    assert!(home.read("mgp.toml").contains("memory.write"), "{config}");
    home
}

/// A client of a name that is known for asking its person, without MGP.
pub(crate) fn plain(revision: Revision) -> ClientBuilder {
    Client::builder("claude-code", "1.0.0").revisions([revision]).mgp(None)
}

/// A client whose person gives these answers, one after the other and the last one ever after, and the questions that it
/// was asked.
pub(crate) fn answering(revision: Revision, answers: &[Value]) -> (ClientBuilder, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let (asking, answers) = (Arc::clone(&asked), answers.to_vec());
    let builder = plain(revision).on_elicitation(move |form, _| {
        let mut asked = asking.lock();
        let answer = answers[asked.len().min(answers.len() - 1)].clone();
        asked.push(form.message);
        async { serde_json::from_value::<ElicitResult>(answer).unwrap() }
    });
    (builder, asked)
}

/// The answer of a person who fills in the form with this.
pub(crate) fn accepted(content: &Value) -> Value {
    json!({"action": "accept", "content": content})
}

/// The command by which the test, as a client, reaches the kernel.
pub(crate) fn command(home: &Home, program: &str, args: &[&str]) -> ChildCommand {
    ChildCommand::new(program)
        .args(args.iter().copied())
        .current_dir(home.path(""))
        .env("HOME", home.path(""))
        .env("MGP_CONFIG_PATH", home.path("mgp.toml"))
}

/// A client of a kernel that it starts.
pub(crate) async fn starting(home: &Home, args: &[&str], builder: ClientBuilder) -> Client {
    let started = || command(home, env!("CARGO_BIN_EXE_mgp"), args);
    listing(builder.connect_child(started).await.unwrap().boxed()).await
}

/// Waits until the server of notes is there.
pub(crate) async fn listing(client: Client) -> Client {
    let end = Instant::now() + PATIENCE;
    while !client.list_tools().await.unwrap().iter().any(|tool| tool.name == "notes__remove_note") {
        assert!(Instant::now() < end, "the server does not come");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client
}

/// Lists the notes.
pub(crate) async fn list_notes(client: &Client) -> CallToolResult {
    client.call_tool("notes__list_notes", json!({})).await.unwrap()
}

pub(crate) fn text(result: &CallToolResult) -> String {
    result.content[0].as_text().unwrap_or_default().to_owned()
}
