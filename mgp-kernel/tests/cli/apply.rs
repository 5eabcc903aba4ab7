//! Tests of `mgp apply`, and of keys that take the place of others.

use crate::home::Home;
use crate::http;
use crate::kernel::Kernel;

const FILE: &str = r#"
[[access]]
agent = "ada"
server = "clock"
permission = "allow"
[[access]]
agent = "ada"
server = "clock"
tool = "now"
permission = "deny"
until = "2999-01-01T00:00:00Z"
[[permissions]]
server = "clock"
permission = "filesystem.read"
[[permissions]]
server = "clock"
permission = "shell.execute"
agent = "ada"
decision = "denied"
[[keys]]
owner = "ada"
allow = ["list", "call:clock.*"]
label = "laptop"
per_minute = 60
"#;

fn differences(applied: &serde_json::Value) -> Vec<String> {
    let rows = applied["differences"].as_array().unwrap().iter();
    rows.map(|row| format!("{} {}", row["kind"].as_str().unwrap(), row["decision"].as_str().unwrap()))
        .collect()
}

#[test]
fn a_file_of_decisions_is_applied_and_applying_it_again_changes_nothing() {
    let home = Home::with_clock();
    home.write("team.toml", FILE);
    home.done(["access", "grant", "bob", "clock"]);
    home.done(["access", "deny", "ada", "clock"]);
    let file = home.path("team.toml").display().to_string();

    let shown = home.run(["apply", &file, "--diff"]);
    assert_eq!(shown.code, Some(5), "{shown:?}");
    assert!(shown.out.contains("~ access of ada to clock/*: allow\n"), "{shown:?}");
    assert_eq!(home.json(["keys", "list"])["keys"].as_array().unwrap().len(), 0, "nothing is changed");

    let applied = home.json(["apply", &file]);
    let expected = [
        "changed access of ada to clock/*",
        "added access of ada to clock/now",
        "added key of ada \"laptop\" for call:clock.* list, 60 a minute",
        "added permission filesystem.read of clock for all agents",
        "added permission shell.execute of clock for ada",
        "only_in_the_kernel access of bob to clock/*",
    ];
    assert_eq!(differences(&applied), expected);
    assert!(applied["keys"][0]["secret"].as_str().unwrap().starts_with("mgp_"));

    let again = home.json(["apply", &file]);
    assert_eq!(differences(&again), ["only_in_the_kernel access of bob to clock/*"]);
    assert_eq!(again["keys"].as_array().unwrap().len(), 0);
    assert_eq!(differences(&home.json(["apply", &file, "--prune"])), ["removed access of bob to clock/*"]);
    assert_eq!(home.done(["apply", &file, "--diff"]).out, "");
}

#[test]
fn a_denial_by_hand_is_no_difference_and_is_pruned_only_on_demand() {
    let home = Home::with_clock();
    home.write("team.toml", FILE);
    let file = home.path("team.toml").display().to_string();
    home.done(["apply", &file]);
    home.done(["access", "deny", "eve", "clock"]);
    home.done(["access", "grant", "bob", "clock"]);
    let shown = home.done(["apply", &file, "--diff"]);
    assert!(shown.out.contains("? access of eve to clock/*: deny (not in the file)\n"), "{shown:?}");

    let pruned = home.run(["apply", &file, "--diff", "--prune"]);
    assert!(pruned.code == Some(5) && pruned.out.contains("- access of bob"), "{pruned:?}");
    let expected = ["removed access of bob to clock/*", "only_in_the_kernel access of eve to clock/*"];
    assert_eq!(differences(&home.json(["apply", &file, "--prune"])), expected);
    home.done(["apply", &file, "--prune", "--diff"]);
    assert_eq!(
        differences(&home.json(["apply", &file, "--prune=all"])),
        ["removed access of eve to clock/*"]
    );
    let left = home.json(["access", "list"]);
    let of_eve = left["entries"].as_array().unwrap().iter().filter(|entry| entry["agent_id"] == "eve");
    assert_eq!(of_eve.count(), 0, "{left}");
}

#[test]
fn a_file_with_an_unknown_key_or_an_entry_twice_is_refused_whole() {
    let home = Home::with_clock();
    for (text, why) in [
        ("[[access]]\nagnet = \"ada\"\n", "agnet"),
        ("[[keys]]\nowner = \"ada\"\nallow = [\"lits\"]\n", "did you mean list?"),
        (&*format!("{FILE}{FILE}"), "stands twice"),
    ] {
        let ran = home.run_with(["apply", "-"], text);
        assert!(ran.code == Some(1) && ran.err.contains(why), "{ran:?}");
    }
    assert_eq!(home.json(["access", "list"])["entries"].as_array().unwrap().len(), 0);
}

#[test]
fn a_key_that_was_rotated_holds_until_its_end_beside_the_new_one() {
    let home = Home::with_clock();
    home.configure("[listen]\nrequire_keys = true\n");
    let (_kernel, port) = Kernel::on_http(&home);
    let former = home.json(["keys", "new", "ada", "--allow", "list", "--label", "ci"]);
    let id = former["id"].as_str().unwrap();
    let status = |key: &serde_json::Value| {
        let bearer = format!("Authorization: Bearer {}\r\n", key["secret"].as_str().unwrap());
        http::send(port, "POST", "/mcp", &bearer, "{}").status
    };
    let new = home.json(["keys", "rotate", id, "--former-until", "1h"]);
    assert_eq!(new["label"], "ci");
    assert_eq!(new["permissions"], former["permissions"]);
    assert!(status(&former) != 401 && status(&new) != 401, "both hold");
    let last = home.json(["keys", "rotate", id, "--former-until", "2000-01-01T00:00:00Z"]);
    assert_eq!(status(&former), 401, "its end has come");
    assert!(status(&last) != 401 && status(&new) != 401);
    let listed = home.json(["keys", "list"]);
    let ends = listed["keys"].as_array().unwrap().iter().filter(|key| !key["expires_at"].is_null());
    assert_eq!(ends.count(), 2, "the former key, and the last one, which took its end: {listed}");
    let unknown = home.run(["keys", "rotate", "0123456789abcdef"]);
    assert!(unknown.code != Some(0) && unknown.err.contains("there is no key"), "{unknown:?}");
}

#[test]
fn a_key_that_is_rotated_passes_its_terms_on_with_its_end() {
    let home = Home::with_clock();
    let terms = ["--allow", "list", "--label", "ci", "--until", "2h", "--per-minute", "5"];
    let former = home.json(["keys", "new", "ada"].into_iter().chain(terms));
    let rotate = ["keys", "rotate", former["id"].as_str().unwrap()];
    let new = home.json(rotate);
    for term in ["owner", "permissions", "label", "expires_at", "rate_limit"] {
        assert!(!new[term].is_null() && new[term] == former[term], "{term}: {new}");
    }
    let longer = home.json(rotate.into_iter().chain(["--until", "2099-01-01T00:00:00Z"]));
    assert_ne!(longer["expires_at"], former["expires_at"]);
    home.json(rotate.into_iter().chain(["--former-until", "2000-01-01T00:00:00Z"]));
    let over = home.run(rotate);
    assert!(over.code == Some(1) && over.err.contains("--until"), "{over:?}");
}
