//! Copies of the state, and what they restore.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::doors;
use crate::home::Home;
use crate::kernel::until;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

fn new_key(home: &Home, owner: &str) -> String {
    home.json(["keys", "new", owner])["id"].as_str().unwrap().to_owned()
}

fn keys(home: &Home, state: &str) -> Vec<String> {
    let listed = home.json(["--state", state, "keys", "list"]);
    listed["keys"].as_array().unwrap().iter().map(|key| key["id"].as_str().unwrap().to_owned()).collect()
}

fn restored(home: &Home, state: &str) -> Value {
    let restored = home.json(["--state", state, "restore", "copy"]);
    home.done(["--state", state, "audit", "verify"]);
    restored
}

#[test]
fn a_copy_made_while_calls_run_is_whole_and_gives_back_nothing_that_was_revoked_since() {
    let (home, mut kernel, port) = doors::open("");
    let (kept, stolen) = (new_key(&home, "agent.kept"), new_key(&home, "agent.stolen"));
    let (calls, is_over) = (AtomicU32::new(0), AtomicBool::new(false));
    let copied = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) && calls.load(Ordering::Relaxed) < 50_000 {
                let media = "Content-Type: application/json\r\n";
                let query = r#"{"query":"tea"}"#;
                let status = doors::send(port, "POST", "/tools/context.recall_memory", media, query).0;
                assert_eq!(status, 200);
                calls.fetch_add(1, Ordering::Relaxed);
            }
        });
        until("calls run", || calls.load(Ordering::Relaxed) > 3);
        let copied = home.run(["backup", "copy"]);
        is_over.store(true, Ordering::Relaxed);
        copied
    });
    assert!(copied.code == Some(0) && copied.err.contains("secrets and logins"), "{copied:?}");
    let again = home.run(["backup", "copy"]);
    assert!(again.code == Some(1) && again.err.contains("is there already"), "{again:?}");
    assert_eq!(mode(&home.path("copy")), 0o700);
    let manifest: Value = serde_json::from_str(&home.read("copy/manifest.json")).unwrap();
    for name in manifest["files"].as_object().unwrap().keys() {
        assert_eq!(mode(&home.path("copy").join(name)), 0o600, "{name}");
    }
    for name in ["mgp.db", "audit.db", "registry.db", "operators.json"] {
        assert!(manifest["files"][name].is_string(), "{manifest}");
    }
    assert!(manifest["record"]["seq"].as_u64().unwrap() > 3 && manifest["schemas"]["mgp.db"]["auth"] == 2);

    let issued_later = new_key(&home, "agent.later");
    home.done(["keys", "revoke", &stolen]);
    home.done(["access", "deny", "agent.kept", "context"]);
    let state = home.path("state").display().to_string();
    let running = home.run(["restore", "copy"]);
    assert!(running.code == Some(4) && running.err.contains("mgp stop"), "{running:?}");
    home.done(["stop"]);
    kernel.ended();

    let elsewhere = home.path("elsewhere").display().to_string();
    let told = restored(&home, &elsewhere);
    assert_eq!((&told["carried"], &told["former"]), (&json!([]), &Value::Null), "{told}");
    assert_eq!(told["unknown_since"], manifest["made_at"], "nobody knows there what was revoked since");
    let there = keys(&home, &elsewhere);
    assert!(there.contains(&kept) && there.contains(&stolen) && !there.contains(&issued_later), "{there:?}");

    let told = restored(&home, &state);
    let carried = told["carried"].to_string();
    assert!(
        carried.contains(&stolen) && carried.contains("denied: access of agent.kept to context"),
        "{told}"
    );
    assert_eq!(told["unknown_since"], Value::Null, "{told}");
    assert_eq!(keys(&home, &state), [kept]);
    assert!(Path::new(told["former"].as_str().unwrap()).join("mgp.db").exists(), "{told}");
    // The record was not set back, and tells of both.
    for (kind, count) in [("key_revoked", 1), ("state_restored", 1), ("state_copied", 1)] {
        let kind = format!("dev.cloto.mgp.{kind}");
        let events = home.json(["audit", "query", "--type", &kind]);
        let events = events["events"].as_array().unwrap().len();
        assert_eq!(events, count, "{kind}");
    }
}

#[test]
fn what_the_record_says_stays_revoked_where_the_decisions_are_lost() {
    let home = Home::with_state();
    let stolen = new_key(&home, "agent.stolen");
    home.done(["backup", "copy"]);
    home.done(["keys", "revoke", &stolen]);
    home.done(["access", "grant", "agent.a", "fs", "--deny", "--force"]);
    // What SQLite wrote last may lie in the file beside.
    let _ = fs::remove_file(home.path("state/mgp.db-wal"));
    home.write("state/mgp.db", &"x".repeat(8_192));
    assert_ne!(home.run(["keys", "list"]).code, Some(0));
    let state = home.path("state").display().to_string();
    let told = restored(&home, &state);
    assert!(told["carried"].to_string().contains(&stolen) && told["unknown_since"].is_null(), "{told}");
    assert!(keys(&home, &state).is_empty());
    assert!(home.json(["access", "list"]).to_string().contains("deny"));
}

#[test]
fn a_copy_brings_rows_and_no_statements_that_are_carried_out_later() {
    let home = Home::with_state();
    let (kept, revoked) = (new_key(&home, "agent.kept"), new_key(&home, "agent.revoked"));
    home.done(["backup", "copy"]);
    home.done(["keys", "revoke", &revoked]);
    let path = home.path("copy/mgp.db");
    let database = rusqlite::Connection::open(&path).unwrap();
    let evil = "CREATE TRIGGER evil AFTER DELETE ON api_keys
        BEGIN INSERT INTO api_keys SELECT old.id, old.digest, old.owner, old.role, old.permissions, old.rate_limit,
            old.label, old.created_at, old.last_used, old.expires_at, old.member_of; END";
    database.execute_batch(evil).unwrap();
    database.close().unwrap();
    let mut manifest: Value = serde_json::from_str(&home.read("copy/manifest.json")).unwrap();
    let digest: [u8; 64] = mgp_types::hex(&Sha256::digest(fs::read(&path).unwrap()));
    manifest["files"]["mgp.db"] = json!(String::from_utf8_lossy(&digest));
    home.write("copy/manifest.json", &manifest.to_string());
    let state = home.path("state").display().to_string();
    restored(&home, &state);
    assert_eq!(keys(&home, &state), [&*kept]);
    home.done(["keys", "revoke", &kept]);
    assert_eq!(keys(&home, &state), [""; 0]);
}

#[test]
fn a_copy_that_was_changed_restores_nothing() {
    let home = Home::with_state();
    let kept = new_key(&home, "agent.kept");
    home.done(["backup", "copy"]);
    let mut bytes = fs::read(home.path("copy/mgp.db")).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(home.path("copy/mgp.db"), bytes).unwrap();
    let refused = home.run(["restore", "copy"]);
    assert!(refused.code == Some(1) && refused.err.contains("not what was copied"), "{refused:?}");
    assert_eq!(keys(&home, &home.path("state").display().to_string()), [kept]);
}

#[test]
fn a_restoration_takes_the_proof_that_decisions_take() {
    let home = Home::with_state();
    let kept = new_key(&home, "agent.kept");
    home.done(["backup", "copy"]);
    // The token of the tests ends with the passphrase.
    assert_eq!(home.run_with(["operators", "passphrase", "--stdin"], "correct horse\n").code, Some(0));
    let refused = home.run(["restore", "copy"]);
    assert!(refused.code == Some(3) && refused.err.contains("token"), "{refused:?}");
    let issued = home.run_with(["operators", "token", "--stdin", "--json"], "correct horse\n");
    let issued: Value = serde_json::from_str(&issued.out).unwrap();
    let proof = [("MGP_OPERATORS_TOKEN", issued["token"].as_str().unwrap())];
    let told = home.json_where(&proof, ["restore", "copy"]);
    assert!(told["former"].is_string(), "{told}");
    assert_eq!(keys(&home, "state"), [kept]);
}

#[test]
fn an_older_state_is_copied_before_it_is_changed_and_a_newer_one_names_the_copy() {
    let home = Home::with_state();
    home.done(["access", "grant", "agent.a", "fs", "--force"]);
    let database = || rusqlite::Connection::open(home.path("state/mgp.db")).unwrap();
    let set_version = |version: u32| {
        let set = "UPDATE mgp_schema SET version = ?1 WHERE section = 'permission'";
        assert_eq!(database().execute(set, [version]).unwrap(), 1);
    };
    database().execute("ALTER TABLE permission_grants DROP COLUMN question", []).unwrap();
    set_version(2);
    home.done(["access", "list"]);
    let copy = home.path("state/mgp.db.permission-2");
    assert_eq!(mode(&copy), 0o600);
    // As a later version would have left it.
    fs::rename(copy, home.path("state/mgp.db.permission-3")).unwrap();
    set_version(4);
    let refused = home.run(["access", "list"]);
    assert!(refused.code == Some(1) && refused.err.contains("mgp.db.permission-3"), "{refused:?}");
}
