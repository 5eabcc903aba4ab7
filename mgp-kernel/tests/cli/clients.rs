use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::home::Home;

const DESKTOP: &str = ".config/Claude/claude_desktop_config.json";
const CURSOR: &str = ".cursor/mcp.json";
const USERS: &str = ".config/mgp/servers.toml";

/// A user with two clients that have a server in common, two of the same name, and a secret.
fn home() -> Home {
    let home = Home::new();
    home.write(
        DESKTOP,
        &json!({"theme": "dark", "mcpServers": {
            "files": {"command": "fs-server", "args": ["/data"]},
            "github": {"command": "gh-server", "env": {"GITHUB_TOKEN": SECRET}},
        }})
        .to_string(),
    );
    home.write(
        CURSOR,
        &json!({"mcpServers": {
            "files": {"command": "fs-server", "args": ["/other"]},
            "github": {"command": "gh-server", "env": {"GITHUB_TOKEN": SECRET}},
            "broken": {"args": []},
            "mgp": {"command": "/usr/bin/mgp", "args": ["serve"]},
        }})
        .to_string(),
    );
    home
}

fn outcomes(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let servers = report["servers"].as_array().unwrap().iter();
    servers.map(|server| (text(&server["server_id"]), text(&server["outcome"]["is"]))).collect()
}

fn pairs(of: &[(&str, &str)]) -> Vec<(String, String)> {
    of.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
}

// covers: MGP-15.1-01
#[test]
fn all_clients_that_are_found_are_taken_over_once() {
    let home = home();
    let shown = home.json(["import", "--dry-run"]);
    assert!(!home.path(USERS).exists());
    assert_eq!(shown["clients"][0]["servers"], 2);
    let ran = home.done(["import", "--json"]);
    assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{ran:?}");
    let report: Value = serde_json::from_str(&ran.out).unwrap();
    let expected = [("files", "added"), ("github", "added"), ("files-2", "added"), ("github", "present")];
    assert_eq!(outcomes(&report), pairs(&expected));
    assert_eq!(report["secrets"][0]["name"], "GITHUB_GITHUB_TOKEN");
    assert_eq!(report["secrets"][0]["kept"], "store");
    let skipped: Vec<_> = report["skipped"].as_array().unwrap().iter().map(|skip| &skip["name"]).collect();
    assert_eq!(skipped, ["broken", "mgp"]);
    let text = home.read(USERS);
    assert!(text.contains("${secret:GITHUB_GITHUB_TOKEN}") && !text.contains(SECRET), "{text}");
    assert_eq!(fs::metadata(home.path(USERS)).unwrap().permissions().mode() & 0o777, 0o600);
    let again = home.json(["import"]);
    assert!(outcomes(&again).iter().all(|(_, outcome)| outcome == "present"), "{again}");
    assert_eq!(home.read(USERS), text);
}

#[test]
fn no_server_gets_the_secret_of_another() {
    let home = Home::new();
    let api = |url: &str, token: &str| {
        json!({"mcpServers": {"api": {"url": url, "headers": {"Authorization": format!("Bearer {token}")}}}})
            .to_string()
    };
    home.write(DESKTOP, &api("https://a.example/mcp", "AAA"));
    home.write(CURSOR, &api("https://b.example/mcp", "BBB"));
    let report = home.json(["import"]);
    assert_eq!(outcomes(&report), pairs(&[("api", "added"), ("api-2", "added")]));
    let names: Vec<_> = report["secrets"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["API_2_AUTHORIZATION", "API_AUTHORIZATION"]);
    // The same address with another secret is another account, and nothing is done twice.
    home.write(CURSOR, &api("https://a.example/mcp", "CCC"));
    assert_eq!(outcomes(&home.json(["import"])), pairs(&[("api", "present"), ("api-3", "added")]));
    let again = home.json(["import"]);
    assert_eq!(outcomes(&again), pairs(&[("api", "present"), ("api-3", "present")]));
    // Nor is it when something else is said of a server.
    let text =
        home.read(USERS).replacen("id = \"api\"", "id = \"api\"\nenabled = false\ndescription = 'mine'", 1);
    home.write(USERS, &text);
    let again = home.json(["import"]);
    assert_eq!(outcomes(&again), pairs(&[("api", "present"), ("api-3", "present")]), "{text}");
}

#[test]
fn only_what_is_named_is_taken_over() {
    let home = home();
    let report = home.json(["import", "cursor", "--project"]);
    assert_eq!(outcomes(&report), pairs(&[("files", "added"), ("github", "added")]));
    assert!(home.path("mgp.toml").exists() && !home.path(USERS).exists());
    home.write("mine.json", r#"{"servers": {"late": {"command": "x"}}}"#);
    let report = home.json(["import", "mine.json"]);
    assert_eq!(report["clients"][0]["client"], "vscode");
    assert_eq!(outcomes(&report), pairs(&[("late", "added")]));
    home.write("odd.json", r#"{"mcpServers": {}}"#);
    let odd = home.run(["import", "odd.json"]);
    assert!(odd.code == Some(1) && odd.err.contains("--as"), "{odd:?}");
    home.done(["import", "odd.json", "--as", "cursor"]);
}

#[test]
fn what_cannot_be_taken_over_is_said_and_changes_nothing() {
    let home = home();
    for (args, word) in [
        (&["import", "zed"][..], "zed/settings.json"),
        (&["import", "emacs"], "claude-desktop"),
        (&["import", "nowhere.json"], "no such file"),
        (&["import", "nowhere.json", "--as", "emacs"], "claude-desktop"),
        (&["import", "--user", "--config", "other.toml"], "other.toml"),
    ] {
        let ran = home.run(args);
        assert!(ran.code == Some(1) && ran.err.contains(word), "{args:?}: {ran:?}");
    }
    home.write(DESKTOP, "{");
    assert_eq!(home.run(["import", "claude-desktop"]).code, Some(1));
    assert!(!home.path(USERS).exists());
    // The others do not suffer.
    let report = home.json(["import"]);
    assert!(report["clients"][0]["problem"].is_string(), "{report}");
    assert_eq!(report["servers"].as_array().unwrap().len(), 2);
}

#[test]
fn secrets_are_copied_only_when_asked_for() {
    let home = home();
    home.write(USERS, "");
    fs::set_permissions(home.path(USERS), fs::Permissions::from_mode(0o644)).unwrap();
    let ran = home.run(["import", "claude-desktop", "--keep-secrets"]);
    assert!(ran.code == Some(0) && !ran.out.contains(SECRET), "{ran:?}");
    assert!(home.read(USERS).contains(SECRET));
    assert_eq!(fs::metadata(home.path(USERS)).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_client_gets_mgp_and_what_mgp_has_goes() {
    let home = home();
    home.json(["import", "claude-desktop"]);
    let before = home.read(DESKTOP);
    let unwatched = home.run(["export", "--to", "claude-desktop"]);
    assert!(unwatched.code == Some(1) && unwatched.err.contains("--yes"), "{unwatched:?}");
    let shown = home.run(["export", "--to", "claude-desktop", "--replace", "--dry-run"]);
    assert!(shown.code == Some(0) && shown.out.contains('+') && !shown.out.contains(SECRET), "{shown:?}");
    assert_eq!(home.read(DESKTOP), before);
    let args = ["export", "--to", "claude-desktop", "--replace", "--yes"];
    let report = home.json(args);
    assert_eq!((&report["written"], &report["removed"]), (&json!(true), &json!(["files", "github"])));
    let after: Value = serde_json::from_str(&home.read(DESKTOP)).unwrap();
    assert_eq!(after["theme"], "dark");
    let servers = after["mcpServers"].as_object().unwrap();
    assert_eq!(servers.len(), 1);
    assert_eq!(servers["mgp"]["args"], json!(["serve"]));
    assert!(servers["mgp"]["command"].as_str().unwrap().starts_with('/'));
    assert_eq!(home.json(["export", "--to", "claude-desktop", "--yes"])["written"], false);
    assert_eq!(home.json(["import", "claude-desktop"])["skipped"][0]["name"], "mgp");
    home.json(["export", "--to", "claude-desktop", "--rollback"]);
    assert_eq!(home.read(DESKTOP), before);
    assert_eq!(home.run(["export", "--to", "claude-desktop", "--rollback"]).code, Some(1));
}

#[test]
fn a_client_keeps_what_mgp_does_not_have() {
    let home = home();
    home.json(["import", "claude-desktop"]);
    let args = ["export", "--to", "cursor", "--replace", "--yes", "--name", "gate"];
    let report = home.json(args);
    assert_eq!(
        (&report["removed"], names(&report["kept"])),
        (&json!(["github"]), vec!["files", "broken", "mgp"])
    );
    let after: Value = serde_json::from_str(&home.read(CURSOR)).unwrap();
    assert_eq!(after["mcpServers"]["gate"]["args"], json!(["serve"]));
}

#[test]
fn a_client_keeps_what_mgp_cannot_start() {
    let home = home();
    home.json(["import", "claude-desktop"]);
    home.json(["secrets", "remove", "GITHUB_GITHUB_TOKEN"]);
    let report = home.json(["export", "--to", "claude-desktop", "--replace", "--yes"]);
    assert_eq!((&report["removed"], names(&report["kept"])), (&json!(["files"]), vec!["github"]));
    assert!(report["kept"][0]["why"].as_str().unwrap().contains("GITHUB_GITHUB_TOKEN"), "{report}");
    assert!(home.read(DESKTOP).contains(SECRET));
}

#[test]
fn an_entry_names_mgp_by_the_link_at_which_it_was_found() {
    let home = Home::new();
    let bin = home.path("bin");
    fs::create_dir(&bin).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_mgp"), bin.join("mgp")).unwrap();
    let mut shell = std::process::Command::new("sh");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    shell.args(["-c", "mgp export --to cursor --yes"]).env("HOME", home.path("")).env("PATH", path);
    let ran = Home::ran(shell, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let written: Value = serde_json::from_str(&home.read(CURSOR)).unwrap();
    assert_eq!(written["mcpServers"]["mgp"]["command"], bin.join("mgp").to_str().unwrap(), "{written}");
}

#[test]
fn what_no_configuration_may_say_is_skipped_and_the_others_are_taken_over() {
    let home = Home::new();
    let servers = json!({"mcpServers": {
        "odd": {"command": "x", "args": ["${keyring:x}"]},
        "mgp_files": {"command": "x"},
        "files": {"command": "x"},
    }});
    home.write(CURSOR, &servers.to_string());
    for args in [&["import", "--dry-run"][..], &["import"]] {
        let report = home.json(args.iter().copied());
        assert_eq!(outcomes(&report), pairs(&[("files", "added")]), "{report}");
        assert_eq!(names(&report["skipped"]), ["odd", "mgp_files"]);
    }
    home.done(["config", "check"]);
}

#[test]
fn only_what_mgp_has_with_the_same_values_goes_and_only_from_where_it_can() {
    let home = Home::new();
    let db = |name: &str| json!({"command": "db", "env": {"DB_NAME": name, "DB_PASSWORD": "s3cret"}});
    home.write(
        ".claude.json",
        &json!({
            "mcpServers": {"db-prod": db("prod"), "db-staging": db("staging")},
            "projects": {"/p": {"mcpServers": {"db-staging": db("staging"), "files": {"command": "fs"}}}},
        })
        .to_string(),
    );
    home.write(
        USERS,
        "[[servers]]\nid = 'db'\ncommand = 'db'\nenv = { DB_NAME = 'staging', DB_PASSWORD = '${DB_PASSWORD}' }\n\
         [[servers]]\nid = 'files'\ncommand = 'fs'\ncwd = '/p'\n",
    );
    let args = ["export", "--to", "claude-code", "--replace", "--yes"];
    let report = home.json_where(&[("DB_PASSWORD", "s3cret")], args);
    assert_eq!(report["removed"], json!(["db-staging"]));
    assert_eq!(names(&report["kept"]), ["db-prod", "db-staging", "files"]);
    assert!(report["kept"][2]["why"].as_str().unwrap().contains("project /p"), "{report}");
    let after: Value = serde_json::from_str(&home.read(".claude.json")).unwrap();
    let left: Vec<_> = after["mcpServers"].as_object().unwrap().keys().collect();
    assert_eq!(left, ["mgp", "db-prod"]);
    assert_eq!(after["projects"]["/p"]["mcpServers"].as_object().unwrap().len(), 2);
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn a_client_is_led_to_the_configuration_that_was_named_or_to_an_address() {
    let home = home();
    home.write("other.toml", "");
    home.json(["--config", "other.toml", "export", "--to", "codex", "--yes"]);
    let text = home.read(".codex/config.toml");
    let whole = home.path("other.toml").canonicalize().unwrap();
    assert!(text.contains("--config") && text.contains(whole.to_str().unwrap()), "{text}");
    home.json(["export", "--to", "cursor", "--url", "http://127.0.0.1:7332/mcp", "--yes"]);
    let after: Value = serde_json::from_str(&home.read(CURSOR)).unwrap();
    assert_eq!(after["mcpServers"]["mgp"]["url"], "http://127.0.0.1:7332/mcp");
    let imported = home.json(["import", "cursor"]);
    assert!(
        imported["servers"].as_array().unwrap().iter().all(|server| server["name"] != "mgp"),
        "{imported}"
    );
    let desktop =
        home.run(["export", "--to", "claude-desktop", "--url", "http://127.0.0.1:7332/mcp", "--yes"]);
    assert_eq!(desktop.code, Some(1), "{desktop:?}");
}

#[test]
fn a_configuration_is_made_once_and_says_what_can_be_taken_over() {
    let home = home();
    let made = home.json(["init"]);
    assert_eq!(made["clients"][0]["client"], "claude-desktop");
    assert_eq!(fs::metadata(home.path(USERS)).unwrap().permissions().mode() & 0o777, 0o600);
    let text = home.read(USERS);
    let again = home.run(["init"]);
    assert!(again.code == Some(1) && again.err.contains("already"), "{again:?}");
    assert_eq!(home.read(USERS), text);
    let ran = home.run(["init", "--project"]);
    assert!(ran.code == Some(0) && ran.err.contains("mgp import"), "{ran:?}");
    home.done(["config", "check"]);
    home.json(["import"]);
    assert!(home.read("mgp.toml").contains("# mgp.toml"), "the comments stay");
}

const SECRET: &str = "ghp_9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e";
