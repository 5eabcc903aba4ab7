//! `mgp-patterns context` behind a kernel.

use mgp_client_sdk::Client;
use mgp_types::Revision;
use mgp_types::mcp::{CreateMessageResult, Role, SamplingContents};
use mgp_types::mgp::{ExtensionSet, Offer};
use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Kernel, until};
use crate::patterns;
use crate::runner::tests;

tests![
    what_left_the_context_is_found_again_after_the_kernel_was_killed,
    the_model_of_a_client_of_the_kernel_is_asked,
    a_memory_without_its_permission_is_not_written,
    a_memory_that_another_server_has_open_is_refused,
];

/// A home whose kernel has the server `context`, with its memory in a file.
fn home() -> Home {
    let home = Home::with_state();
    let memory = home.path("memory.jsonl").display().to_string();
    let program = patterns(&home);
    home.configure(&format!(
        "[[servers]]\nid = \"context\"\ncommand = {program:?}\n\
         args = [\"context\", \"--memory\", {memory:?}]\n\
         [[permissions.grants]]\nserver = \"context\"\npermission = \"memory.read\"\n\
         [[permissions.grants]]\nserver = \"context\"\npermission = \"memory.write\"\n"
    ));
    home
}

/// Starts the kernel, and returns a client of it that speaks MGP.
async fn started(home: &Home) -> (Kernel, Client) {
    let (kernel, port) = Kernel::on_http(home);
    let url = format!("http://127.0.0.1:{port}/mcp");
    let client = Client::builder("tests", "1.0.0").mgp(Offer::new(ExtensionSet::standard()));
    let client = client.connect_http(url).await.unwrap().boxed();
    (kernel, client)
}

async fn called(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{tool}: {result:?}");
    result.structured_content.map_or(Value::Null, |result| result.to().unwrap())
}

// covers: P-2-07, P-2-08
async fn what_left_the_context_is_found_again_after_the_kernel_was_killed() {
    let home = home();
    let (mut kernel, client) = started(&home).await;
    let message = |text: &str| json!({"role": "user", "content": text.repeat(20)});
    let messages = [message("The password of the printer is on its back. "), message("What is for lunch? ")];
    let fitted =
        called(&client, "context.fit_context", json!({"messages": messages, "budget_tokens": 200})).await;
    assert_eq!(fitted["method"], "extraction", "{fitted}");
    let noted = json!({"content": "Ada prefers tea.", "tags": ["people"]});
    called(&client, "context.store_memory", noted).await;
    kernel.signal("KILL");
    kernel.child.wait().unwrap();
    drop((kernel, client));

    let (_kernel, client) = started(&home).await;
    let recalled =
        called(&client, "context.recall_memory", json!({"query": "the printer", "limit": 1})).await;
    let content = recalled["memories"][0]["content"].as_str().unwrap();
    assert!(content.contains("The password of the printer"), "{recalled}");
    let recalled =
        called(&client, "context.recall_memory", json!({"query": "tea", "tags": ["people"]})).await;
    assert_eq!(recalled["memories"][0]["content"], "Ada prefers tea.");
}

// covers: P-2-06
async fn the_model_of_a_client_of_the_kernel_is_asked() {
    let home = home();
    let (_kernel, port) = Kernel::on_http(&home);
    let url = format!("http://127.0.0.1:{port}/mcp");
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = Client::builder("tests", "1.0.0").revisions([revision]).on_sampling(|_, _| async {
            CreateMessageResult::new(Role::Assistant, SamplingContents::from("It is wet."), "a model")
        });
        let client = client.connect_http(url.clone()).await.unwrap().boxed();
        let made = called(&client, "context.summarize", json!({"text": "It rains.", "max_tokens": 20})).await;
        assert_eq!(
            (&made["method"], &made["summary"]),
            (&json!("model"), &json!("It is wet.")),
            "{revision:?}"
        );
    }
}

async fn a_memory_without_its_permission_is_not_written() {
    let home = home();
    let config = home.read("mgp.toml");
    let (granted, _) = config.rsplit_once("[[permissions.grants]]").unwrap();
    home.write("mgp.toml", &format!("{granted}[permissions]\npolicy = \"config_only\"\n"));
    let (_kernel, client) = started(&home).await;
    let refused = client.call_tool("context.store_memory", json!({"content": "a"})).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(std::fs::read_to_string(home.path("memory.jsonl")).unwrap_or_default(), "");
}

async fn a_memory_that_another_server_has_open_is_refused() {
    let home = Home::with_state();
    let context = || {
        let mut context = std::process::Command::new(patterns(&home));
        context.args(["context", "--memory", "memory.jsonl"]).current_dir(home.path(""));
        context
    };
    let mut first = context();
    let mut first =
        first.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    until("the memory is opened", || home.path("memory.jsonl").exists());
    let second = Home::ran(context(), "");
    assert!(second.code != Some(0) && second.err.contains("--memory"), "{second:?}");
    first.kill().unwrap();
    first.wait().unwrap();
}
