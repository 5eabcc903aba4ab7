//! Tests of reading clients' files.

use std::fmt::Write as _;

use super::*;
use crate::config::ConfigFile;

/// Reads a file, and puts references in the place of its secrets, without knowledge of the secrets that are set.
fn concealed(kind: ClientKind, text: &str) -> (Imported, Vec<Vec<MovedSecret>>) {
    let mut imported = read(kind, text, None).unwrap();
    let unset = |_: &str| None;
    let mut concealer = Concealer::new(&unset);
    imported.servers.iter().for_each(|server| concealer.reserve(&server.config));
    let secrets = imported.servers.iter_mut().map(|server| concealer.conceal(&mut server.config)).collect();
    (imported, secrets)
}

#[test]
fn files_of_clients_are_read_with_what_could_not_be_carried_over() {
    for case in include_str!("cases.txt").split("\n=== ").skip(1) {
        let (client, case) = case.split_once('\n').unwrap();
        let (file, expected) = case.split_once("\n==>\n").unwrap();
        let (read, secrets) = concealed(client.parse().unwrap(), file);
        let mut mgp = ConfigFile::open("/nonexistent/mgp.toml").unwrap();
        let mut found = String::new();
        for (server, secrets) in read.servers.iter().zip(secrets) {
            mgp.add(&server.config).unwrap();
            let elsewhere = server.elsewhere.iter().map(ToString::to_string);
            let secrets = secrets.iter().map(|moved| format!("{} is in {}", moved.name, moved.place));
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
    let moved = concealed(ClientKind::Cursor, text);
    assert!(!format!("{moved:?}").contains("ghp_"));
    let imported = read(ClientKind::Cursor, text, None).unwrap();
    assert_eq!(imported.servers[0].config.env["GITHUB_TOKEN"], "ghp_abcdefgh12345678");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_line_and_column() {
    let wrong = |text| read(ClientKind::Cursor, text, None).unwrap_err().to_string();
    assert!(wrong("{\n  \"mcpServers\": [}").starts_with("line 2, column 18"));
    assert!(wrong("{\n\"mcpServers\": 3}").starts_with("line 2, column 15"));
}

#[test]
fn sizes_are_bounded() {
    let long = " ".repeat(MAX_FILE_BYTES + 1);
    assert!(matches!(read(ClientKind::Cursor, &long, None), Err(ImportError::TooLong(_))));
    let many: Vec<String> = (0..=MAX_SERVERS).map(|n| format!("\"{n}\":{{}}")).collect();
    let many = format!("{{\"mcpServers\":{{{}}}}}", many.join(","));
    assert_eq!(read(ClientKind::Cursor, &many, None), Err(ImportError::TooManyServers));
}
