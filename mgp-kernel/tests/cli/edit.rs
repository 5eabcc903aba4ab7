use std::fs;

use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Kernel, Talk};

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
    home.done(["remove", "files"]);
    assert!(!fs::read_to_string(home.path("mgp.toml")).unwrap().contains("fs-server"));
    assert_eq!(home.run(["remove", "files"]).code, Some(1));
}

#[test]
fn what_is_proposed_stays_above_the_first_server_that_is_added() {
    let home = Home::new();
    home.done(["init", "--project"]);
    let proposed = fs::read_to_string(home.path("mgp.toml")).unwrap();
    home.json(["add", "files", "--", "fs-server"]);
    home.json(["add", "mail", "--", "mail-server"]);
    let text = fs::read_to_string(home.path("mgp.toml")).unwrap();
    let added = text.strip_prefix(&proposed).unwrap_or_else(|| panic!("{text}"));
    assert!(added.find("fs-server") < added.find("mail-server") && !added.contains('#'), "{added}");
    assert_eq!((home.run(["remove", "files"]).code, home.run(["remove", "mail"]).code), (Some(0), Some(0)));
    assert_eq!(fs::read_to_string(home.path("mgp.toml")).unwrap(), proposed);
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
    assert!(!home.path(".local/state/mgp/mgp.db").exists());
    assert_eq!(home.run(["doctor"]).code, Some(5));
}

#[test]
fn a_broken_configuration_keeps_nobody_from_the_kernel_that_runs() {
    let home = Home::new();
    home.add_server("clock", &home.clock());
    home.done(["call", "clock.now"]);
    let text = home.read(".config/mgp/servers.toml");
    home.write(".config/mgp/servers.toml", &format!("{text}\n[[servers]\n"));
    let socket = home.path(".local/state/mgp/mgp.sock").display().to_string();
    for args in [
        &["status"][..],
        &["--socket", socket.as_str(), "status"],
        &["permissions", "pending"],
        &["access", "deny", "agent.ada", "clock", "--force"],
        &["audit", "tail"],
        &["servers", "--no-start"],
    ] {
        let ran = home.done(args);
        assert_eq!(ran.err.matches("unclosed array table").count(), 1, "{args:?}: {ran:?}");
    }
    let mut client = Kernel::in_background(&home);
    let listed = Talk::open(&mut client).ask("tools/list", &json!({}));
    assert!(listed.to_string().contains("Tells the current date"), "{listed}");
    home.done(["stop"]);
    let ran = home.run(["servers", "--wait"]);
    assert!(ran.code == Some(1) && ran.err.contains("unclosed array table"), "{ran:?}");
}

#[test]
fn the_schema_and_the_reference_of_the_configuration_are_printed() {
    let home = Home::new();
    let schema: Value = serde_json::from_str(&home.run(["config", "schema"]).out).unwrap();
    assert!(schema["properties"]["servers"].is_object());
    assert!(home.run(["config", "reference"]).out.starts_with('#'));
}

#[test]
fn a_faulty_server_is_shown_with_the_reason_and_stops_no_other() {
    let home = Home::new();
    home.json(["add", "bad", "--env", "TOKEN=${NO_SUCH_VARIABLE}", "--", "x"]);
    home.add_server("clock", &home.clock());
    let configured = home.json(["servers", "--no-start"]);
    assert!(configured["servers"][0]["fault"].as_str().unwrap().contains("NO_SUCH_VARIABLE"), "{configured}");
    assert_eq!(configured["servers"][1]["enabled"], true);
    let waited = home.run(["servers", "--wait", "--json"]);
    assert_eq!(waited.code, Some(4), "one is not connected: {waited:?}");
    let servers: serde_json::Value = serde_json::from_str(&waited.out).unwrap();
    assert!(servers["servers"][0]["fault"].as_str().unwrap().contains("NO_SUCH_VARIABLE"), "{servers}");
    assert_eq!(servers["servers"][1]["state"], "connected");
    let plain = home.run(["servers", "--wait"]);
    assert!(plain.out.contains("faulty") && plain.err.contains("NO_SUCH_VARIABLE"), "{plain:?}");
    let doctor = home.run(["doctor"]);
    assert!(doctor.code == Some(5) && doctor.out.contains("NO_SUCH_VARIABLE"), "{doctor:?}");
    home.done(["call", "clock.now"]);
}

#[test]
fn what_lists_save_is_counted() {
    let home = Home::new();
    home.add_server("clock", &home.clock());
    let few = home.json(["stats"]);
    assert_eq!((&few["level"], &few["saved_tokens"]), (&json!("L0"), &json!(0)));
    assert!(few["tool_tokens"].as_u64().unwrap() > 0 && few["listed_tokens"] == few["tool_tokens"], "{few}");
    assert_eq!((&few["calls"][0]["server_id"], &few["calls"][0]["ended"]), (&json!("clock"), &json!(0)));
    home.json(["add", "office", "--", env!("CARGO_BIN_EXE_mgp"), "demo-server", "office"]);
    let number = |stats: &Value, name: &str| stats[name].as_u64().unwrap();
    let text = home.read(".config/mgp/servers.toml");
    let with = |tools: &str| {
        home.write(".config/mgp/servers.toml", &format!("{text}\n{tools}\n"));
        home.json(["stats"])
    };
    let many = with("[tools.budget]\nmax_tokens = 1500");
    assert_eq!(many["level"], "L3", "{many}");
    let (all, listed) = (number(&many, "tool_tokens"), number(&many, "listed_tokens"));
    assert!(listed < all && number(&many, "saved_tokens") == all - listed, "{many}");
    assert!((700..=1500).contains(&listed), "tools are listed in a part of the room: {many}");
    let bare = number(&with("[tools]\nlevel = \"L3\""), "listed_tokens");
    let pinned = number(&with("[tools]\nlevel = \"L3\"\npinned = [\"clock.now\"]"), "listed_tokens");
    assert!(bare < pinned && pinned < listed, "{bare} {pinned} {listed}");
    assert!(home.run(["stats"]).out.contains("P95"));
}
