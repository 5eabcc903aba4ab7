//! Tests of reading clients' files.

use super::*;
use crate::config::model::TransportKind;

fn one(kind: ClientKind, text: &str) -> ImportedServer {
    let mut imported = read(kind, text, &ReadOptions::default()).unwrap();
    assert_eq!((imported.servers.len(), imported.skipped.len()), (1, 0), "{imported:?}");
    imported.servers.remove(0)
}

#[test]
fn a_plain_entry_is_carried_over_whole() {
    let text = "\u{feff}{\"mcpServers\": {\"fs\": {\"command\": \"npx\", \"args\": [\"-y\", \"x\"], \"env\": {\"A\": 1}}}}";
    for kind in [ClientKind::ClaudeDesktop, ClientKind::ClaudeCode, ClientKind::Cursor, ClientKind::Sema4] {
        let server = one(kind, text);
        assert_eq!(server.config.id, "fs");
        assert_eq!(server.config.command.as_deref(), Some("npx"));
        assert_eq!(server.config.args, ["-y", "x"]);
        assert_eq!(server.config.env["A"], "1");
        assert!(server.notes.is_empty() && server.config.enabled);
    }
}

#[test]
fn inputs_of_vs_code_become_variables() {
    let text = r#"{
        // asked once
        "inputs": [{"type": "promptString", "id": "gh", "description": "GitHub token", "password": true}],
        "servers": {"gh": {"type": "http", "url": "https://h/mcp", "headers": {"Authorization": "Bearer ${input:gh}"}}},
    }"#;
    let server = one(ClientKind::VsCode, text);
    assert_eq!(server.config.headers["Authorization"], "Bearer ${GH}");
    assert_eq!(server.config.transport, Some(TransportKind::Http));
    assert!(server.notes[0].contains("GitHub token"), "{:?}", server.notes);
    assert!(server.secrets.is_empty());
}

#[test]
fn old_settings_of_vs_code_are_read() {
    let text = r#"{"editor.tabSize": 2, "mcp": {"servers": {"a": {"command": "x", "envFile": ".env"}}}}"#;
    assert_eq!(one(ClientKind::VsCode, text).notes.len(), 1);
    let text = r#"{"servers": {"a": {"command": "x"}}, "mcp": {"servers": {"b": {"command": "y"}}}}"#;
    let imported = read(ClientKind::VsCode, text, &ReadOptions::default()).unwrap();
    let elsewhere: Vec<_> = imported.servers.into_iter().map(|server| server.elsewhere).collect();
    assert_eq!(elsewhere, [None, Some(OtherSection::Table("mcp.servers".to_owned()))]);
}

#[test]
fn projects_of_claude_code_count() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}}, "projects": {"/p": {"mcpServers": {"a": {"type": "sse", "url": "http://h"}}}}}"#;
    let imported = read(ClientKind::ClaudeCode, text, &ReadOptions::default()).unwrap();
    assert_eq!(imported.servers[1].config.id, "a-2");
    assert_eq!(imported.servers[1].config.cwd.as_deref(), Some("/p"));
    assert_eq!(imported.servers[0].elsewhere, None);
    assert_eq!(imported.servers[1].elsewhere, Some(OtherSection::Project("/p".to_owned())));
}

#[test]
fn zed_has_programs_in_two_ways() {
    let text = r#"{"context_servers": {
        "a": {"source": "custom", "command": "x", "args": ["1"]},
        "b": {"command": {"path": "y", "args": ["2"], "env": {"E": "f"}}},
        "c": {"source": "extension", "settings": {}}}}"#;
    let imported = read(ClientKind::Zed, text, &ReadOptions::default()).unwrap();
    assert_eq!(imported.servers[0].config.args, ["1"]);
    assert_eq!(imported.servers[1].config.command.as_deref(), Some("y"));
    assert_eq!(imported.servers[1].config.env["E"], "f");
    assert_eq!(imported.skipped[0].name, "c");
}

#[test]
fn windsurf_gemini_and_cline_have_names_of_their_own() {
    let text = r#"{"mcpServers": {"w": {"serverUrl": "https://h/mcp", "disabledTools": ["rm"]}}}"#;
    let server = one(ClientKind::Windsurf, text);
    assert_eq!(server.config.url.as_deref(), Some("https://h/mcp"));
    assert!(!server.config.tools["rm"].enabled);

    let text = r#"{"mcpServers": {"g": {"httpUrl": "https://h/mcp", "timeout": 5000, "trust": true}}}"#;
    let server = one(ClientKind::Gemini, text);
    assert_eq!(server.config.transport, Some(TransportKind::Http));
    assert_eq!(server.config.limits.timeout_ms, Some(5000));
    assert_eq!(server.notes.len(), 1);
    let text = r#"{"mcpServers": {"g": {"url": "https://h/sse"}}}"#;
    assert_eq!(one(ClientKind::Gemini, text).config.transport, Some(TransportKind::Sse));

    let text =
        r#"{"mcpServers": {"c": {"command": "x", "disabled": true, "timeout": 60, "alwaysAllow": ["a"]}}}"#;
    let server = one(ClientKind::Cline, text);
    assert!(!server.config.enabled);
    assert_eq!(server.config.limits.timeout_ms, Some(60_000));
    assert!(server.notes[0].contains("alwaysAllow"));
}

#[test]
fn yaml_of_continue_and_goose_is_read() {
    let text = "name: x\nmcpServers:\n- name: My SQL\n  command: uvx\n  args: [mcp-sql]\n  env:\n    KEY: ${{ secrets.SQL_KEY }}\n";
    let server = one(ClientKind::Continue, text);
    assert_eq!((server.config.id.as_str(), server.at.line), ("My-SQL", 3));
    assert_eq!(server.config.env["KEY"], "${SQL_KEY}");

    let text = "extensions:\n  dev:\n    type: builtin\n    enabled: true\n  gh:\n    type: stdio\n    cmd: npx\n    args: ['-y', gh]\n    env_keys: [GH_TOKEN]\n    timeout: 300\n    enabled: false\n";
    let imported = read(ClientKind::Goose, text, &ReadOptions::default()).unwrap();
    assert_eq!(imported.skipped[0].name, "dev");
    let server = &imported.servers[0].config;
    assert_eq!(server.env["GH_TOKEN"], "${GH_TOKEN}");
    assert_eq!(server.limits.timeout_ms, Some(300_000));
    assert!(!server.enabled);
}

#[test]
fn toml_of_codex_is_read() {
    let text = "model = \"m\"\n[mcp_servers.docs]\nurl = \"https://h/mcp\"\nbearer_token_env_var = \"DOCS\"\nstartup_timeout_sec = 20\nhttp_headers = { X = \"1\" }\n";
    let server = one(ClientKind::Codex, text);
    assert_eq!(server.config.headers["Authorization"], "Bearer ${DOCS}");
    assert_eq!(server.config.headers["X"], "1");
    assert_eq!(server.config.limits.startup_timeout_ms, Some(20_000));
}

#[test]
fn opencode_and_crush_are_read() {
    let text = r#"{"mcp": {"a": {"type": "local", "command": ["bun", "x", "y"], "environment": {"K": "{env:K}"}, "enabled": true}}}"#;
    let server = one(ClientKind::Opencode, text);
    assert_eq!(server.config.command.as_deref(), Some("bun"));
    assert_eq!(server.config.args, ["x", "y"]);
    assert_eq!(server.config.env["K"], "${K}");
    let text =
        r#"{"mcp": {"a": {"type": "http", "url": "https://h", "headers": {"Authorization": "Bearer $K"}}}}"#;
    assert_eq!(one(ClientKind::Crush, text).config.headers["Authorization"], "Bearer ${K}");
}

#[test]
fn secrets_are_reported_by_name_and_never_shown() {
    let text =
        r#"{"mcpServers": {"git hub": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_abcdefgh12345678"}}}}"#;
    let server = one(ClientKind::Cursor, text);
    assert_eq!(server.config.env["GITHUB_TOKEN"], "${secret:GIT_HUB_GITHUB_TOKEN}");
    assert_eq!(server.secrets[0].name, "GIT_HUB_GITHUB_TOKEN");
    assert_eq!(server.secrets[0].place, "env.GITHUB_TOKEN");
    assert!(!format!("{server:?}").contains("ghp_"));

    let keep = ReadOptions { secrets: LiteralSecrets::Keep, ..ReadOptions::default() };
    let imported = read(ClientKind::Cursor, text, &keep).unwrap();
    assert_eq!(imported.servers[0].config.env["GITHUB_TOKEN"], "ghp_abcdefgh12345678");
}

#[test]
fn mgp_itself_and_broken_entries_are_skipped_without_losing_the_rest() {
    let text = r#"{"mcpServers": {
        "mgp": {"command": "/usr/bin/mgp", "args": ["serve"]}, "list": [], "args": {"command": "x", "args": "y"},
        "none": {}, "type": {"type": "carrier-pigeon", "command": "x"}, "good": {"command": "x"}}}"#;
    let imported = read(ClientKind::Cursor, text, &ReadOptions::default()).unwrap();
    assert_eq!(imported.servers.len(), 1);
    let why: Vec<&str> = imported.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
    assert_eq!(why.len(), 5);
    assert!(why[0].contains("mgp itself") && why[2].contains("`args` should be a list"));
    assert_eq!(imported.skipped[1].at.line, 2);
}

#[test]
fn of_repeated_names_the_last_one_counts() {
    let text = r#"{"mcpServers": {"a": {"command": "x"}, "a": {"command": "y"}}}"#;
    let server = one(ClientKind::Cursor, text);
    assert_eq!(server.config.command.as_deref(), Some("y"));
    assert!(server.notes[0].contains("is repeated"));
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_line_and_column() {
    let wrong = |text| read(ClientKind::Cursor, text, &ReadOptions::default()).unwrap_err().to_string();
    assert!(wrong("{\n  \"mcpServers\": [}").starts_with("line 2, column 18"));
    assert!(wrong("{\n\"mcpServers\": 3}").starts_with("line 2, column 15"));
}

#[test]
fn sizes_are_bounded() {
    let options = ReadOptions::default();
    let long = " ".repeat(MAX_FILE_BYTES + 1);
    assert!(matches!(read(ClientKind::Cursor, &long, &options), Err(ImportError::TooLong { .. })));
    let many: Vec<String> = (0..=MAX_SERVERS).map(|n| format!("\"{n}\":{{}}")).collect();
    let many = format!("{{\"mcpServers\":{{{}}}}}", many.join(","));
    assert_eq!(read(ClientKind::Cursor, &many, &options), Err(ImportError::TooManyServers));
}
