use std::fs;

use serde_json::Value;

use crate::home::Home;

#[test]
fn a_server_is_added_and_removed_and_comments_stay() {
    let home = Home::new();
    fs::write(home.path("mgp.toml"), "# mine\n[listen]\nrequire_keys = true # always\n").unwrap();
    let added = home.json(["add", "files", "--env", "ROOT=${HOME}", "--", "fs-server", "--root", "/data"]);
    assert_eq!(added["server_id"], "files");
    let text = fs::read_to_string(home.path("mgp.toml")).unwrap();
    assert!(text.contains("# mine") && text.contains("# always") && text.contains("${HOME}"), "{text}");
    let again = home.run(["add", "files", "--", "x"]);
    assert!(again.code == Some(1) && again.err.contains("already"), "{again:?}");
    let listed = home.json(["servers", "--no-start"]);
    assert_eq!(listed["servers"][0]["id"], "files");
    assert_eq!(home.run(["remove", "files"]).code, Some(0));
    assert!(!fs::read_to_string(home.path("mgp.toml")).unwrap().contains("fs-server"));
    assert_eq!(home.run(["remove", "files"]).code, Some(1));
}

#[test]
fn a_broken_configuration_names_the_place_and_starts_nothing() {
    let home = Home::new();
    fs::write(home.path("mgp.toml"), "[[servers]]\nid = \"a\"\ncommand = \"x\"\ntransport = \"studio\"\n")
        .unwrap();
    let broken = home.run(["config", "check", "--json"]);
    assert_eq!(broken.code, Some(1));
    let error: Value = serde_json::from_str(&broken.err).unwrap();
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("mgp.toml:4:") && message.contains("stdio"), "{message}");
    assert_eq!(home.run(["keys", "list"]).code, Some(1));
    assert!(!home.path(".local/state/mgp").exists());
    assert_eq!(home.run(["doctor"]).code, Some(5));
}

#[test]
fn the_schema_and_the_reference_of_the_configuration_are_printed() {
    let home = Home::new();
    let schema: Value = serde_json::from_str(&home.run(["config", "schema"]).out).unwrap();
    assert!(schema["properties"]["servers"].is_object());
    assert!(home.run(["config", "reference"]).out.starts_with('#'));
}
