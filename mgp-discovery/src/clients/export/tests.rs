//! Tests of changes to clients' files.

use proptest::prelude::*;

use super::*;
use crate::clients::{Concealer, read};

fn mgp() -> ClientEntry {
    ClientEntry::Command { command: "mgp".to_owned(), args: vec!["serve".to_owned()] }
}

/// Returns the change that puts mgp in, in place of the servers `without`.
fn put_mgp(without: &[&str]) -> ClientFileChange {
    let without = without.iter().map(|&name| name.to_owned()).collect();
    ClientFileChange { name: "mgp".to_owned(), entry: mgp(), without }
}

fn after(kind: ClientKind, file: &str, before: &str, change: &ClientFileChange) -> String {
    plan(kind, file, Some(before), change).unwrap().after
}

#[test]
fn a_new_file_is_written_for_every_client() {
    for kind in ClientKind::ALL {
        let url = ClientEntry::Url("http://127.0.0.1:7400/mcp".to_owned());
        for entry in [mgp(), url] {
            let change =
                ClientFileChange { name: "kernel".to_owned(), entry: entry.clone(), without: Vec::new() };
            let after = match plan(kind, "file", None, &change) {
                Err(ExportError::NoUrl(_)) => continue,
                Err(ExportError::Yaml { snippet, .. }) => snippet,
                planned => planned.unwrap().after,
            };
            let imported = read(kind, &after, None).unwrap();
            let skipped = imported.skipped.first().map(|skipped| &skipped.name);
            let name = imported.servers.first().map(|server| &server.name).or(skipped);
            assert_eq!(name.map(String::as_str), Some("kernel"), "{kind}: {after}");
            if matches!(entry, ClientEntry::Url(_)) {
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
    assert_eq!(after(ClientKind::Cursor, "mcp.json", before, &put_mgp(&[])), put);
    let replaced = "{\n    // mine\n    \"b\": 1,\n    \"mcpServers\": {\n        // files\n        \"mgp\": {\n            \"command\": \"mgp\",\n            \"args\": [\"serve\"]\n        }\n    },\n    \"a\": [1, 2,],\n}\n";
    let change = put_mgp(&["fs", "z"]);
    assert_eq!(after(ClientKind::Cursor, "mcp.json", before, &change), replaced);
}

#[test]
fn json_on_one_line_and_with_other_line_ends_is_changed_as_well() {
    let change = put_mgp(&["b"]);
    let text = after(ClientKind::Cursor, "f", r#"{"mcpServers":{"a":{"command":"x"},"b":{}}}"#, &change);
    assert_eq!(text, r#"{"mcpServers":{"mgp":{"command":"mgp","args":["serve"]},"a":{"command":"x"}}}"#);
    let text = after(ClientKind::Cursor, "f", "\u{feff}{\r\n\t\"x\": 1\r\n}\r\n", &change);
    assert!(text.starts_with("\u{feff}{\r\n\t\"x\": 1,\r\n\t\"mcpServers\": {\r\n\t\t\"mgp\""), "{text:?}");
    assert_eq!(text.matches('\n').count(), text.matches("\r\n").count());
    let again = after(ClientKind::Cursor, "f", &text, &put_mgp(&[]));
    assert_eq!(again, text);
}

#[test]
fn vs_code_has_two_places() {
    let change = put_mgp(&[]);
    let text = after(ClientKind::VsCode, "settings.json", "{}", &change);
    assert!(text.contains("\"mcp\": {\n    \"servers\": {"), "{text}");
    assert!(after(ClientKind::VsCode, "mcp.json", "{}", &change).starts_with("{\n  \"servers\": {"));
    assert!(after(ClientKind::VsCode, "mcp.json", "{\"servers\": null}", &change).contains("mgp"));
}

#[test]
fn yaml_is_left_to_the_person_with_the_text_to_write() {
    let change = put_mgp(&["old"]);
    for (kind, home) in [(ClientKind::Goose, "extensions"), (ClientKind::Continue, "mcpServers")] {
        let error = plan(kind, "config.yaml", Some("x: 1\n"), &change).unwrap_err();
        assert!(error.to_string().contains("in place of old"), "{error}");
        let ExportError::Yaml { snippet, .. } = error else { panic!("{error}") };
        assert!(snippet.starts_with(&format!("{home}:\n  ")), "{snippet}");
    }
    let occupied = plan(ClientKind::Goose, "config.yaml", Some("extensions: 1\n"), &change);
    assert!(matches!(occupied, Err(ExportError::Occupied { .. })));
}

#[test]
fn toml_keeps_its_comments() {
    let before = "# mine\nmodel = \"m\" # best\n\n[mcp_servers.old]\ncommand = \"b\"\n\n[tui]\nx = 1\n";
    let change = put_mgp(&["old"]);
    let text = after(ClientKind::Codex, "config.toml", before, &change);
    assert!(text.starts_with("# mine\nmodel = \"m\" # best\n"));
    assert!(
        text.contains("[mcp_servers.mgp]\ncommand = \"mgp\"\nargs = [\"serve\"]\n") && !text.contains("old")
    );
    let inline =
        after(ClientKind::Codex, "config.toml", "mcp_servers = { a = { command = 'x' } }\n", &change);
    assert_eq!(read(ClientKind::Codex, &inline, None).unwrap().servers.len(), 1);
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let planned = |text| plan(ClientKind::Cursor, "f", Some(text), &put_mgp(&[]));
    assert!(matches!(planned("{\"mcpServers\": []}"), Err(ExportError::Occupied { .. })));
    assert!(matches!(planned("[]"), Err(ExportError::Occupied { .. })));
    assert!(matches!(planned("{\"mcpServers\": {\"a\": 1, \"a\": 2}}"), Err(ExportError::Repeated { .. })));
    assert!(matches!(planned("{"), Err(ExportError::Unreadable(_))));
}

#[test]
fn no_secret_is_shown() {
    let before = "{\n  // \"OLD_TOKEN\": \"hunter2hunter2\"\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\",\n      \"args\": [\"--api-key\", \"opensesame\"],\n      \"env\": {\"PASSWORD\": \"open\\\"sesame\"}\n    }\n  }\n}\n";
    let change = put_mgp(&["a"]);
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
        plan(ClientKind::Cursor, path, before.as_deref(), &put_mgp(&[])).unwrap()
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
    assert!(matches!(plan.apply(), Err(ApplyError::Changed(_))));
    std::fs::write(&path, "mine").unwrap();
    let kept = roll_back(&path).unwrap().unwrap();
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "mine");
    assert!(matches!(roll_back(&path), Err(ApplyError::NoBackup(_))));
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
    let planned = plan(ClientKind::Cursor, &link, Some("{}"), &put_mgp(&[])).unwrap();
    let backup = planned.apply().unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    for file in [path, backup] {
        assert_eq!(std::fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o640);
    }
    let fresh = directory.path().join("fresh.json");
    plan(ClientKind::Cursor, &fresh, None, &put_mgp(&[])).unwrap().apply().unwrap();
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
            let unset = |_: &str| None;
            for mut server in read(kind, &text, None).into_iter().flat_map(|imported| imported.servers) {
                Concealer::new(&unset).conceal(&mut server.config);
            }
            if let Ok(plan) = plan(kind, "f", Some(&text), &put_mgp(&["a"])) {
                prop_assert!(read(kind, &plan.after, None).is_ok());
            }
        }
    }

    #[test]
    fn what_is_written_is_read_again_the_same(
        name in "[a-zA-Z0-9_.-]{1,12}",
        command in words(),
        args in prop::collection::vec(words(), 0..4),
    ) {
        let plain = args.iter().chain([&command]).all(|text| !text.contains(['$', '{']));
        prop_assume!(plain && name != "mgp");
        for kind in ClientKind::ALL.into_iter().filter(|kind| kind.format() != Format::Yaml) {
            let entry = ClientEntry::Command { command: command.clone(), args: args.clone() };
            let first = plan(kind, "f", None, &ClientFileChange { name: name.clone(), entry, without: Vec::new() }).unwrap();
            let one = read(kind, &first.after, None).unwrap();
            prop_assert_eq!(&one.servers[0].config.command.as_deref(), &Some(command.as_str()));
            prop_assert_eq!(&one.servers[0].config.args, &args);
            // A second server beside it changes nothing else.
            let second = plan(kind, "f", Some(&first.after), &put_mgp(&[])).unwrap();
            let two = read(kind, &second.after, None).unwrap();
            prop_assert_eq!(&two.servers[0].config, &one.servers[0].config);
            let gone = put_mgp(&[&name]);
            let third = plan(kind, "f", Some(&second.after), &gone).unwrap();
            prop_assert!(read(kind, &third.after, None).unwrap().servers.is_empty());
        }
    }
}
