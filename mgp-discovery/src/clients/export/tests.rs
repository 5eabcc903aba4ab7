//! Tests of changes to clients' files.

use proptest::prelude::*;

use super::*;
use crate::clients::{LiteralSecrets, ReadOptions, read};

fn mgp() -> ClientEntry {
    ClientEntry::Command { command: "mgp".to_owned(), args: vec!["serve".to_owned()], env: BTreeMap::new() }
}

fn after(kind: ClientKind, file: &str, before: &str, change: &ClientFileChange) -> String {
    plan(kind, file, Some(before), change).unwrap().after().to_owned()
}

#[test]
fn a_new_file_is_written_for_every_client() {
    for kind in ClientKind::ALL {
        let url = ClientEntry::Url { url: "http://127.0.0.1:7400/mcp".to_owned(), headers: BTreeMap::new() };
        for entry in [mgp(), url] {
            let change = ClientFileChange::put(entry.clone()).named("kernel");
            let plan = match plan(kind, "file", None, &change) {
                Err(ExportError::NoUrl { .. }) => continue,
                planned => planned.unwrap(),
            };
            assert!(plan.changes());
            let imported = read(kind, plan.after(), &ReadOptions::default()).unwrap();
            let skipped = imported.skipped.first().map(|skipped| &skipped.name);
            let name = imported.servers.first().map(|server| &server.name).or(skipped);
            assert_eq!(name.map(String::as_str), Some("kernel"), "{kind}: {}", plan.after());
            if matches!(entry, ClientEntry::Url { .. }) {
                let config = &imported.servers[0].config;
                assert_eq!(config.url.as_deref(), Some("http://127.0.0.1:7400/mcp"), "{kind}");
                assert_ne!(config.transport, Some(crate::config::model::TransportKind::Sse), "{kind}");
            } else {
                assert_eq!(imported.skipped[0].why, "the entry is mgp itself", "{kind}");
            }
        }
    }
}

#[test]
fn comments_and_order_of_json_stay() {
    let before = "{\n    // mine\n    \"b\": 1,\n    \"mcpServers\": {\n        // files\n        \"fs\": {\"command\": \"x\"}, // all of them\n        \"z\": {\"command\": \"y\"} // last\n    },\n    \"a\": [1, 2,],\n}\n";
    let put = "{\n    // mine\n    \"b\": 1,\n    \"mcpServers\": {\n        // files\n        \"fs\": {\"command\": \"x\"}, // all of them\n        \"z\": {\"command\": \"y\"}, // last\n        \"mgp\": {\n            \"command\": \"mgp\",\n            \"args\": [\"serve\"]\n        }\n    },\n    \"a\": [1, 2,],\n}\n";
    assert_eq!(after(ClientKind::Cursor, "mcp.json", before, &ClientFileChange::put(mgp())), put);
    let replaced = "{\n    // mine\n    \"b\": 1,\n    \"mcpServers\": {\n        // files\n        \"mgp\": {\n            \"command\": \"mgp\",\n            \"args\": [\"serve\"]\n        }\n    },\n    \"a\": [1, 2,],\n}\n";
    let change = ClientFileChange::put(mgp()).without(["fs".to_owned(), "z".to_owned()]);
    assert_eq!(after(ClientKind::Cursor, "mcp.json", before, &change), replaced);
}

#[test]
fn json_on_one_line_and_with_other_line_ends_is_changed_as_well() {
    let change = ClientFileChange::put(mgp()).without(["b".to_owned()]);
    let text = after(ClientKind::Cursor, "f", r#"{"mcpServers":{"a":{"command":"x"},"b":{}}}"#, &change);
    assert_eq!(text, r#"{"mcpServers":{"a":{"command":"x"}, "mgp": {"command": "mgp", "args": ["serve"]}}}"#);
    let text = after(ClientKind::Cursor, "f", "\u{feff}{\r\n\t\"x\": 1\r\n}\r\n", &change);
    assert!(text.starts_with("\u{feff}{\r\n\t\"x\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"mgp\""), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let again = after(ClientKind::Cursor, "f", &text, &ClientFileChange::put(mgp()));
    assert_eq!(again, text);
}

#[test]
fn vs_code_has_two_places() {
    let change = ClientFileChange::put(mgp());
    let text = after(ClientKind::VsCode, "settings.json", "{}", &change);
    assert!(text.contains("\"mcp\": {\n    \"servers\": {"), "{text}");
    assert!(after(ClientKind::VsCode, "mcp.json", "{}", &change).starts_with("{\n  \"servers\": {"));
    assert!(after(ClientKind::VsCode, "mcp.json", "{\"servers\": null}", &change).contains("mgp"));
}

#[test]
fn yaml_keeps_what_else_it_says() {
    let change = ClientFileChange::put(mgp()).without(["old".to_owned()]);
    let before = "# top\nname: x\nmcpServers:\n  # first\n  - name: keep # k\n    command: a\n  - name: old\n    command: b\n    args:\n      - c\nmodels: [] # end\n";
    let expected = "# top\nname: x\nmcpServers:\n  # first\n  - name: keep # k\n    command: a\n  - name: mgp\n    command: mgp\n    args: [\"serve\"]\nmodels: [] # end\n";
    assert_eq!(after(ClientKind::Continue, "config.yaml", before, &change), expected);
    let before = "extensions:\n  old:\n    cmd: b\n  dev:\n    type: builtin # here\n\nGOOSE: x\n";
    let expected = "extensions:\n  dev:\n    type: builtin # here\n  mgp:\n    name: mgp\n    enabled: true\n    type: stdio\n    cmd: mgp\n    args: [\"serve\"]\n\nGOOSE: x\n";
    let text = after(ClientKind::Goose, "config.yaml", before, &change);
    assert_eq!(text, expected);
    assert_eq!(after(ClientKind::Goose, "config.yaml", &text, &change), expected);
}

#[test]
fn yaml_in_unusual_forms_is_changed_or_refused() {
    let change = ClientFileChange::put(mgp());
    for before in
        ["extensions: {} # none\nx: 1\n", "extensions:\nx: 1", "x: 1", "---\nextensions: {a: {cmd: b}}\n", ""]
    {
        let text = after(ClientKind::Goose, "config.yaml", before, &change);
        assert!(
            read(ClientKind::Goose, &text, &ReadOptions::default()).unwrap().skipped.len() == 1,
            "{text}"
        );
    }
    let flat = plan(
        ClientKind::Goose,
        "f",
        Some("extensions: {old: {}}"),
        &change.clone().without(["old".to_owned()]),
    );
    assert!(matches!(flat, Err(ExportError::ByHand { .. })));
    assert!(matches!(plan(ClientKind::Goose, "f", Some("{a: 1}"), &change), Err(ExportError::ByHand { .. })));
    let unindented = after(ClientKind::Continue, "f", "mcpServers:\n- name: a\n  command: b\n", &change);
    assert!(unindented.contains("\n- name: mgp\n"), "{unindented}");
}

#[test]
fn toml_keeps_its_comments() {
    let before = "# mine\nmodel = \"m\" # best\n\n[mcp_servers.old]\ncommand = \"b\"\n\n[tui]\nx = 1\n";
    let change = ClientFileChange::put(mgp()).without(["old".to_owned()]);
    let text = after(ClientKind::Codex, "config.toml", before, &change);
    assert!(text.starts_with("# mine\nmodel = \"m\" # best\n"));
    assert!(
        text.contains("[mcp_servers.mgp]\ncommand = \"mgp\"\nargs = [\"serve\"]\n") && !text.contains("old")
    );
    let inline =
        after(ClientKind::Codex, "config.toml", "mcp_servers = { a = { command = 'x' } }\n", &change);
    assert_eq!(read(ClientKind::Codex, &inline, &ReadOptions::default()).unwrap().servers.len(), 1);
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let planned = |text| plan(ClientKind::Cursor, "f", Some(text), &ClientFileChange::put(mgp()));
    assert!(matches!(planned("{\"mcpServers\": []}"), Err(ExportError::Occupied { .. })));
    assert!(matches!(planned("[]"), Err(ExportError::Occupied { .. })));
    assert!(matches!(planned("{\"mcpServers\": {\"a\": 1, \"a\": 2}}"), Err(ExportError::Repeated { .. })));
    assert!(matches!(planned("{"), Err(ExportError::Unreadable(_))));
}

#[test]
fn no_secret_is_shown() {
    let before = "{\n  // \"OLD_TOKEN\": \"hunter2hunter2\"\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\"--api-key\", \"opensesame\"],\n      \"env\": {\"PASSWORD\": \"open\\\"sesame\"}\n    }\n  }\n}\n";
    let change = ClientFileChange::put(mgp()).without(["a".to_owned()]);
    let plan = plan(ClientKind::Cursor, "f", Some(before), &change).unwrap();
    let shown = format!("{}{plan:?}", plan.diff());
    assert!(!shown.contains("sesame") && !shown.contains("hunter2"), "{shown}");
    assert!(shown.contains("-      \"args\": [\"--api-key\", \"***\"],"), "{shown}");
}

#[test]
fn a_file_is_written_with_a_way_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sub").join("mcp.json");
    let planned = |path: &Path| {
        let before = std::fs::read_to_string(path).ok();
        plan(ClientKind::Cursor, path, before.as_deref(), &ClientFileChange::put(mgp())).unwrap()
    };
    planned(&path).apply().unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().contains("mgp"));
    let kept = roll_back(&path).unwrap().unwrap();
    assert!(!path.exists());
    std::fs::remove_file(kept).unwrap();
    assert_eq!(std::fs::read_dir(path.parent().unwrap()).unwrap().count(), 0);

    std::fs::write(&path, "{}").unwrap();
    let plan = planned(&path);
    let backup = plan.apply().unwrap();
    assert_eq!(std::fs::read_to_string(backup).unwrap(), "{}");
    assert!(matches!(plan.apply(), Err(ApplyError::Changed { .. })));
    std::fs::write(&path, "mine").unwrap();
    let kept = roll_back(&path).unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine");
    assert!(matches!(roll_back(&path), Err(ApplyError::NoBackup { .. })));
}

#[cfg(unix)]
#[test]
fn links_and_modes_are_kept() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let directory = tempfile::tempdir().unwrap();
    let (path, link) = (directory.path().join("real.json"), directory.path().join("mcp.json"));
    std::fs::write(&path, "{}").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&path, &link).unwrap();
    let planned = plan(ClientKind::Cursor, &link, Some("{}"), &ClientFileChange::put(mgp())).unwrap();
    let backup = planned.apply().unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    for file in [path, backup] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o640);
    }
    let fresh = directory.path().join("fresh.json");
    plan(ClientKind::Cursor, &fresh, None, &ClientFileChange::put(mgp())).unwrap().apply().unwrap();
    assert_eq!(std::fs::metadata(&fresh).unwrap().permissions().mode() & 0o777, 0o600);
}

/// Returns texts that look like files of clients, and texts that do not.
fn texts() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "{", "}", "[", "]", ":", ",", "\"", "\\", "\\ud83d", "//", "/*", "*/", "\n", "\r\n", " ", "  ", "- ",
        "#", "'", "\"mcpServers\"", "mcpServers:", "extensions:", "[mcp_servers.a]", "\"command\"",
        "command = ", "\"x\"", "${", "}", "${env:A}", "é", "\u{feff}", "null", "true", "1e9", "&a ", "*a",
        "|", ">", "? ", "---", "...", "=", "\"env\"", "TOKEN", "ghp_abcdefgh12345678",
        "https://u:p@h/?key=v", "\t", "!!str", "@",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..40).prop_map(|pieces| pieces.concat()), ".{0,200}"]
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof!["[a-zA-Z0-9_./ =:-]{1,12}", "[ -~]{1,10}", "[a-zé\"'#\\\\$]{1,8}"]
}

proptest! {
    #[test]
    fn no_text_makes_reading_or_planning_panic(text in texts()) {
        for kind in ClientKind::ALL {
            let _ = read(kind, &text, &ReadOptions::default());
            if let Ok(plan) = plan(kind, "f", Some(&text), &ClientFileChange::put(mgp()).without(["a".to_owned()])) {
                prop_assert!(read(kind, plan.after(), &ReadOptions::default()).is_ok());
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again_the_same(
        name in "[a-zA-Z0-9_.-]{1,12}",
        command in words(),
        args in prop::collection::vec(words(), 0..4),
        env in prop::collection::btree_map("[A-Z_]{1,8}", words(), 0..3),
    ) {
        let plain = args.iter().chain(env.values()).chain([&command]).all(|text| !text.contains(['$', '{']));
        prop_assume!(plain && name != "mgp");
        let options = ReadOptions::default().secrets(LiteralSecrets::Keep);
        for kind in ClientKind::ALL {
            let entry = ClientEntry::Command { command: command.clone(), args: args.clone(), env: env.clone() };
            let first = plan(kind, "f", None, &ClientFileChange::put(entry).named(&name)).unwrap();
            let one = read(kind, first.after(), &options).unwrap();
            prop_assert_eq!(&one.servers[0].config.command.as_deref(), &Some(command.as_str()));
            prop_assert_eq!(&one.servers[0].config.args, &args);
            prop_assert_eq!(&one.servers[0].config.env, &env);
            // A second server beside it changes nothing, and taking it away restores the text.
            let second = plan(kind, "f", Some(first.after()), &ClientFileChange::put(mgp())).unwrap();
            let two = read(kind, second.after(), &options).unwrap();
            prop_assert_eq!(&two.servers[0].config, &one.servers[0].config);
            let gone = ClientFileChange::put(mgp()).without([name.clone()]);
            let third = plan(kind, "f", Some(second.after()), &gone).unwrap();
            prop_assert!(read(kind, third.after(), &options).unwrap().servers.is_empty());
        }
    }
}
