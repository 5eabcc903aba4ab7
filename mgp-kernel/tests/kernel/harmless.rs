//! Gates that stop what is harmless are turned off.

use serde_json::{Value, json};

use crate::host::{Host, Plain, ask, listed};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    harmless_commands_pass_and_dangerous_ones_do_not,
    harmless_words_pass,
    people_are_asked_about_what_destroys_and_sends_and_about_no_plain_read,
    a_permission_that_is_never_automatic_is_asked_for_before_a_new_file_too,
];

const HARMLESS: &str = include_str!("../../../mgp-security/src/command/tests/harmless_commands.txt");
const DANGEROUS: &str = include_str!("../../../mgp-security/src/command/tests/dangerous_commands.txt");
const WORDS: &str = include_str!("../../../mgp-security/src/command/tests/harmless_words.txt");

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

async fn harmless_commands_pass_and_dangerous_ones_do_not() {
    // All is as it is by default, but for what its operator has said of the server once.
    let script = Script::of([defined("execute_command", &["command"], &json!({}))]);
    let host = Host::ready_with(json!({
        "tools": {"level": "L0"},
        "permissions": {"patience_secs": 1},
        "servers": [script.server("shell")],
    }))
    .await;
    let client = host.plain("one").await;
    listed(&client, "shell.execute_command").await;
    let permission = json!({"server_id": "shell", "permission": "shell.execute"});
    ask(&host.operator().await, "kernel/permissions/grant", permission).await;
    // What is known passes, and a person is asked about everything else.
    let known = [
        "ls -la src | head -n 3",
        "grep -rn main src 2>/dev/null",
        "find . -name '*.rs' -type f | xargs wc -l",
        "cat README.md && wc -l notes.txt",
        "awk '{print $1}' sales.csv | sort | uniq -c",
        "sed -n 1,20p src/main.rs",
        "git -C site status --short",
        "git log --oneline -5",
        "mkdir -p src/new",
        "cargo test --workspace",
        "npm run build",
    ];
    let known_rows = known.iter().map(|command| (*command).to_owned());
    let stopped_known = stopped(&client, "shell.execute_command", "command", known_rows).await;
    assert_eq!(stopped_known, Vec::<String>::new());
    let harmless = stopped(&client, "shell.execute_command", "command", rows(HARMLESS)).await;
    let passed = known.len() + rows(HARMLESS).count() - harmless.len();
    assert_eq!(script.calls().len(), passed);

    // The server is plain MCP and declares nothing; the kernel looks all the same.
    let dangerous = stopped(&client, "shell.execute_command", "command", rows(DANGEROUS)).await;
    assert_eq!(dangerous, rows(DANGEROUS).collect::<Vec<_>>());
    assert_eq!(script.calls().len(), passed);
}

async fn harmless_words_pass() {
    let script = Script::of([defined("search_history", &["pattern"], &json!({}))]);
    let mut server: Value = script.server("notes");
    server["security"] = json!({"validators": ["sandbox"]});
    let host = Host::ready([server]).await;
    let client = host.plain("one").await;
    listed(&client, "notes.search_history").await;
    assert_eq!(stopped(&client, "notes.search_history", "pattern", rows(WORDS)).await, Vec::<String>::new());
    assert_eq!(script.calls().len(), rows(WORDS).count());
}

async fn people_are_asked_about_what_destroys_and_sends_and_about_no_plain_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().canonicalize().unwrap().join(name).display().to_string();
    std::fs::write(path("old.txt"), "kept").unwrap();
    // The hints of a server free no call.
    let read_only = json!({"annotations": {"readOnlyHint": true}});
    let tools = [
        ("list_directory", &["path"][..]),
        ("read_file", &["path"]),
        ("write_file", &["path", "content"]),
        ("execute_sql", &["sql"]),
        ("git_push", &["path"]),
        ("git_branch", &["operation", "name"]),
        ("transfer_money", &["amount"]),
    ];
    let script = Script::of(tools.map(|(name, arguments)| defined(name, arguments, &read_only)));
    let host = Host::ready_with(json!({
        "tools": {"level": "L0"},
        "permissions": {"patience_secs": 0},
        "validators": {"roots": [path("")]},
        "servers": [script.server("office")],
    }))
    .await;
    let client = host.plain("one").await;
    listed(&client, "office.read_file").await;
    // A permission of the server covers none of these calls.
    let permission = json!({"server_id": "office", "permission": "filesystem.write"});
    ask(&host.operator().await, "kernel/permissions/grant", permission).await;

    let (old, new) = (path("old.txt"), path("new.txt"));
    for (tool, arguments, is_asked) in [
        ("list_directory", json!({"path": path("")}), false),
        ("read_file", json!({"path": old}), false),
        ("write_file", json!({"path": new, "content": "a"}), false),
        ("write_file", json!({"path": old, "content": "a"}), true),
        ("execute_sql", json!({"sql": "select * from customers"}), false),
        ("execute_sql", json!({"sql": "drop table customers"}), true),
        ("git_branch", json!({"operation": "list", "name": "old"}), false),
        ("git_branch", json!({"operation": "delete", "name": "old"}), true),
        ("git_push", json!({"path": path("")}), true),
        ("transfer_money", json!({"amount": "5"}), true),
    ] {
        let before = script.calls().len();
        let outcome = client.call_tool(&format!("office.{tool}"), arguments.clone()).await;
        let came = script.calls().len() - before;
        let outcome_text = format!("{outcome:?}");
        assert_eq!(
            (came, outcome_text.contains("waiting for approval")),
            (usize::from(!is_asked), is_asked),
            "{tool} {arguments}: {outcome_text}"
        );
    }
}

async fn a_permission_that_is_never_automatic_is_asked_for_before_a_new_file_too() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let script = Script::of([defined("write_file", &["path"], &json!({}))]);
    let host = Host::ready_with(json!({
        "tools": {"level": "L0"},
        "permissions":
            {"patience_secs": 0, "policy": "auto_approve", "never_automatic": ["filesystem.write"]},
        "validators": {"roots": [folder]},
        "servers": [script.server("office")],
    }))
    .await;
    let client = host.plain("one").await;
    listed(&client, "office.write_file").await;
    let outcome = client.call_tool("office.write_file", json!({"path": folder.join("new.txt")})).await;
    let outcome_text = format!("{outcome:?}");
    assert!(
        outcome_text.contains("waiting for approval") && outcome_text.contains("filesystem.write"),
        "{outcome_text}"
    );
    assert_eq!(script.calls().len(), 0);
}
