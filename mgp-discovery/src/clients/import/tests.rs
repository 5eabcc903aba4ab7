//! Tests of reading clients' files.

use std::fmt::Write as _;

use super::*;
use crate::config::ConfigFile;

#[test]
fn files_of_clients_are_read_with_what_could_not_be_carried_over() {
    for case in include_str!("cases.txt").split("\n=== ").skip(1) {
        let (client, case) = case.split_once('\n').unwrap();
        let (file, expected) = case.split_once("\n==>\n").unwrap();
        let read = read(client.parse().unwrap(), file, &ReadOptions::default()).unwrap();
        let mut mgp = ConfigFile::open("/nonexistent/mgp.toml").unwrap();
        let mut found = String::new();
        for server in &read.servers {
            mgp.add(&server.config).unwrap();
            let elsewhere = server.elsewhere.iter().map(ToString::to_string);
            let secrets = server.secrets.iter().map(|moved| format!("{} is in {}", moved.name, moved.place));
            for further in server.notes.iter().cloned().chain(elsewhere).chain(secrets) {
                writeln!(found, "# {}: {} {further}", server.at.line, server.name).unwrap();
            }
        }
        for skipped in &read.skipped {
            writeln!(found, "# {}: {} is skipped: {}", skipped.at.line, skipped.name, skipped.why).unwrap();
        }
        assert_eq!(format!("{}{found}", mgp.text()), expected, "{client} {file}");
    }
}

#[test]
fn secrets_are_never_shown_and_may_be_kept() {
    let text =
        r#"{"mcpServers": {"git hub": {"command": "x", "env": {"GITHUB_TOKEN": "ghp_abcdefgh12345678"}}}}"#;
    let moved = read(ClientKind::Cursor, text, &ReadOptions::default()).unwrap();
    assert!(!format!("{moved:?}").contains("ghp_"));
    let keep = ReadOptions { secrets: LiteralSecrets::Keep, ..ReadOptions::default() };
    let imported = read(ClientKind::Cursor, text, &keep).unwrap();
    assert_eq!(imported.servers[0].config.env["GITHUB_TOKEN"], "ghp_abcdefgh12345678");
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
