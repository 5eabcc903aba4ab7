//! Secrets that the configuration refers to by name.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::home::Home;

const DESKTOP: &str = ".config/Claude/claude_desktop_config.json";
const USERS: &str = ".config/mgp/servers.toml";
const STORE: &str = ".config/mgp/secrets.toml";
const SECRET: &str = "ghp_9f8a7b6c5d4e3f2a1b0c9d8e7f6a5b4c3d2e";

/// The command of a server that works, and writes the variable `TOKEN` to a file before that.
fn telling(home: &Home, file: &str) -> Value {
    let [program, notes] = home.notes();
    fs::create_dir_all(home.path("told")).unwrap();
    let script =
        format!("printf %s \"$TOKEN\" >'{}'; exec {program} \"$0\"", home.path("told").join(file).display());
    json!({"command": "sh", "args": ["-c", script, notes]})
}

fn with_token(mut server: Value, token: &str) -> Value {
    server["env"] = json!({"TOKEN": token});
    server
}

/// `[[servers]]` with the command of a server and its `TOKEN`.
fn table(id: &str, server: &Value) -> String {
    let (args, token) = (&server["args"], &server["env"]["TOKEN"]);
    format!("[[servers]]\nid = \"{id}\"\ncommand = \"sh\"\nargs = {args}\nenv = {{ TOKEN = {token} }}\n")
}

/// The file, and all files below the folder, that have the secret.
fn who_knows(home: &Home, folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![home.path(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().map(Result::unwrap) {
            match entry.file_type().unwrap() {
                kind if kind.is_dir() => folders.push(entry.path()),
                kind if kind.is_file() => {
                    let bytes = fs::read(entry.path()).unwrap();
                    if bytes.windows(SECRET.len()).any(|part| part == SECRET.as_bytes()) {
                        found.push(entry.file_name().into_string().unwrap());
                    }
                }
                _ => {}
            }
        }
    }
    found.sort();
    found
}

#[test]
fn an_imported_secret_works_at_once_and_is_shown_nowhere() {
    let home = Home::new();
    let server = with_token(telling(&home, "token"), SECRET);
    home.write(DESKTOP, &json!({"mcpServers": {"notes": server}}).to_string());
    let shown = home.run(["import", "--dry-run"]);
    assert!(shown.code == Some(0) && !home.path(STORE).exists(), "{shown:?}");
    let ran = home.run(["import"]);
    assert!(ran.code == Some(0) && ran.out.contains("secret NOTES_TOKEN: kept"), "{ran:?}");
    assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{ran:?}");
    assert!(home.read(USERS).contains("${secret:NOTES_TOKEN}"), "{}", home.read(USERS));
    assert_eq!(fs::metadata(home.path(STORE)).unwrap().permissions().mode() & 0o777, 0o600);

    let listed = home.json(["tools"]);
    assert!(listed["tools"].as_array().unwrap().len() > 1, "{listed}");
    assert_eq!(home.read("told/token"), SECRET);
    fs::remove_file(home.path("told/token")).unwrap();
    for args in [
        &["servers", "-vv"][..],
        &["config", "show"],
        &["--json", "config", "show"],
        &["config", "check"],
        &["doctor"],
        &["secrets", "list"],
        &["--json", "secrets", "list"],
        &["audit", "list"],
        &["logs", "notes"],
    ] {
        let ran = home.run(args);
        assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{args:?}: {ran:?}");
    }
    assert_eq!(who_knows(&home, ""), ["claude_desktop_config.json", "secrets.toml"]);
    let secrets = home.json(["secrets", "list"]);
    assert_eq!(
        secrets["secrets"][0]["used_by"],
        json!([{"server_id": "notes", "key": "env.TOKEN", "in_command_line": false}])
    );
}

#[test]
fn a_server_without_its_secret_is_not_started_and_says_the_command_that_sets_it() {
    let home = Home::with_state();
    let server = with_token(telling(&home, "token"), "${secret:HUB}");
    let [program, file] = home.clock();
    let clock = format!("[[servers]]\nid = \"clock\"\ncommand = {program:?}\nargs = [{file:?}]\n");
    home.configure(&format!("{}{clock}", table("hub", &server)));
    let servers = home.run(["servers", "--wait"]);
    assert!(servers.code == Some(4) && servers.err.contains("`mgp secrets set HUB`"), "{servers:?}");
    assert!(servers.out.contains("faulty") && servers.out.contains("connected"), "{servers:?}");
    assert!(!home.path("told/token").exists());
    let missing = home.run(["secrets", "list"]);
    assert!(missing.out.contains("not set") && missing.out.contains("hub (env.TOKEN)"), "{missing:?}");

    let set = home.run_with(["secrets", "set", "HUB"], &format!("{SECRET}\n"));
    assert!(set.code == Some(0) && set.err.contains("hub"), "{set:?}");
    assert!(!set.out.contains(SECRET) && !set.err.contains(SECRET), "{set:?}");
    home.done(["restart", "hub"]);
    let servers = home.json(["servers", "--wait"]);
    assert!(
        servers["servers"].as_array().unwrap().iter().all(|one| one["state"] == "connected"),
        "{servers}"
    );
    assert_eq!(home.read("told/token"), SECRET);
    let removed = home.run(["secrets", "remove", "HUB"]);
    assert!(removed.code == Some(0) && removed.err.contains("hub cannot be started"), "{removed:?}");
}

#[test]
fn a_value_is_taken_from_no_argument_and_not_repeated() {
    let home = Home::new();
    for args in [&["secrets", "set", "HUB", SECRET][..], &["secrets", "set", &format!("HUB={SECRET}")]] {
        for json in [&[][..], &["--json"]] {
            let ran = home.run(args.iter().chain(json));
            assert!(ran.code == Some(1) && ran.err.contains("mgp secrets set HUB"), "{ran:?}");
            assert!(!ran.out.contains(SECRET) && !ran.err.contains(SECRET), "{ran:?}");
        }
    }
    assert!(!home.path(STORE).exists());
    let odd = home.run_with(["secrets", "set", "a b"], SECRET);
    assert!(odd.code == Some(1) && odd.err.contains("GITHUB_TOKEN"), "{odd:?}");
    let empty = home.run_with(["secrets", "set", "HUB"], "\n");
    assert!(empty.code == Some(1) && empty.err.contains("empty"), "{empty:?}");
    home.run_with(["secrets", "set", "HUB"], SECRET);
    let missed = home.run(["secrets", "remove", "HBU"]);
    assert!(missed.code == Some(1) && missed.err.contains("did you mean HUB?"), "{missed:?}");
}

#[test]
fn secrets_that_others_could_read_are_used_for_nothing_until_that_is_mended() {
    let home = Home::with_state();
    let server = with_token(telling(&home, "token"), "${secret:HUB}");
    home.configure(&table("hub", &server));
    home.run_with(["secrets", "set", "HUB"], SECRET);
    let mode = |mode| fs::set_permissions(home.path(STORE), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    for args in [&["secrets", "list"][..], &["secrets", "set", "HUB"], &["secrets", "remove", "HUB"]] {
        let ran = home.run_with(args, "another");
        assert!(ran.code == Some(1) && ran.err.contains("chmod 600"), "{args:?}: {ran:?}");
    }
    let servers = home.run(["servers", "--wait"]);
    assert!(servers.err.contains("chmod 600") && !home.path("told/token").exists(), "{servers:?}");
    mode(0o600);
    fs::rename(home.path(STORE), home.path("elsewhere")).unwrap();
    symlink(home.path("elsewhere"), home.path(STORE)).unwrap();
    let linked = home.run(["secrets", "list"]);
    assert!(linked.code == Some(1) && linked.err.contains("symbolic link"), "{linked:?}");
}

#[test]
fn a_secret_in_a_command_line_is_told_of() {
    let home = Home::new();
    let server = json!({"command": "x", "args": ["--api-key", SECRET]});
    home.write(DESKTOP, &json!({"mcpServers": {"hub": server}}).to_string());
    let ran = home.run(["import"]);
    assert!(ran.out.contains("the list of processes shows it") && !ran.out.contains(SECRET), "{ran:?}");
    let listed = home.run(["secrets", "list"]);
    assert!(listed.out.contains("hub (args[1], which the list of processes shows)"), "{listed:?}");
}

#[test]
fn no_clients_file_reaches_the_users_secrets() {
    let home = Home::new();
    home.run_with(["secrets", "set", "HUB"], SECRET);
    for (name, text) in [("one", "${secret:HUB}"), ("two", "$${secret:HUB}"), ("three", "${env:secret:HUB}")]
    {
        let server = with_token(telling(&home, name), text);
        home.write(DESKTOP, &json!({"mcpServers": {name: server}}).to_string());
        home.done(["import"]);
        home.run(["servers", "--wait"]);
        assert!(
            home.read(&format!("told/{name}")).ends_with(text.trim_start_matches('$')),
            "{}",
            home.read(&format!("told/{name}"))
        );
    }
}
