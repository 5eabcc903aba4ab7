//! Gates that stop what is harmless are turned off.

use serde_json::{Value, json};

use crate::host::{Host, Plain, ask, listed};
use crate::runner::tests;
use crate::scripted::Script;

tests![pain_20_harmless_commands_pass_and_dangerous_ones_do_not, pain_20_harmless_words_pass,];

const HARMLESS: &str =
    include_str!("../../../mgp-security/src/validator/sandbox/tests/harmless_commands.txt");
const DANGEROUS: &str =
    include_str!("../../../mgp-security/src/validator/sandbox/tests/dangerous_commands.txt");
const WORDS: &str = include_str!("../../../mgp-security/src/validator/sandbox/tests/harmless_words.txt");

/// A sample of the rows of a table, which the validator itself is tested with as a whole; `⏎` stands for a line end.
fn rows(table: &str) -> impl Iterator<Item = String> + '_ {
    table.lines().step_by(40).map(|line| line.replace('⏎', "\n"))
}

/// Those of the rows that do not come to the server.
async fn stopped(
    client: &Plain,
    tool: &str,
    argument: &str,
    rows: impl Iterator<Item = String>,
) -> Vec<String> {
    let mut stopped = Vec::new();
    for row in rows {
        let result = client.call_tool(tool, json!({argument: row})).await;
        if !result.is_ok_and(|result| result.is_error != Some(true)) {
            stopped.push(row);
        }
    }
    stopped
}

fn with_argument(name: &str, argument: &str) -> String {
    let schema = json!({"type": "object", "properties": {argument: {"type": "string"}}});
    json!([{"name": name, "description": "Does what it is told.", "inputSchema": schema}]).to_string()
}

async fn pain_20_harmless_commands_pass_and_dangerous_ones_do_not() {
    // All is as it is by default, but for what its operator has said of the server once.
    let script = Script::new(&with_argument("execute_command", "command"));
    let host = Host::with(json!({
        "tools": {"level": "L0"},
        "permissions": {"patience_secs": 1},
        "servers": [script.server("shell")],
    }))
    .await;
    host.up("shell").await;
    let client = host.plain("one").await;
    listed(&client, "shell.execute_command").await;
    let permission = json!({"server_id": "shell", "permission": "shell.execute"});
    ask(&host.operator().await, "kernel/permissions/grant", permission).await;
    let harmless = rows(HARMLESS).count();
    assert_eq!(
        stopped(&client, "shell.execute_command", "command", rows(HARMLESS)).await,
        Vec::<String>::new()
    );
    assert_eq!(script.calls().len(), harmless);

    // The server is plain MCP and declares nothing; the kernel looks all the same.
    let dangerous = rows(DANGEROUS).map(|row| row.split_once('\t').unwrap().1.to_owned());
    let stopped = stopped(&client, "shell.execute_command", "command", dangerous).await;
    assert_eq!(stopped.len(), rows(DANGEROUS).count());
    assert_eq!(script.calls().len(), harmless);
}

async fn pain_20_harmless_words_pass() {
    let script = Script::new(&with_argument("search_history", "pattern"));
    let mut server: Value = script.server("notes");
    server["security"] = json!({"validators": ["sandbox"]});
    let host = Host::start([server]).await;
    host.up("notes").await;
    let client = host.plain("one").await;
    listed(&client, "notes.search_history").await;
    assert_eq!(stopped(&client, "notes.search_history", "pattern", rows(WORDS)).await, Vec::<String>::new());
    assert_eq!(script.calls().len(), rows(WORDS).count());
}
