use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::home::Home;
use crate::user;

fn with_events() -> Home {
    let home = Home::new();
    for agent in ["a", "b", "c"] {
        home.done(["access", "grant", agent, "fs", "--force"]);
    }
    home
}

// covers: MGP-6.4-06
#[test]
fn what_operators_do_is_recorded_and_can_be_searched() {
    let home = with_events();
    let found = home.json(["audit", "query", "--type", "ACCESS_GRANTED", "--limit", "2"]);
    assert_eq!(found["events"].as_array().unwrap().len(), 2);
    assert_eq!(found["events"][0]["event"]["actor"]["id"], user());
    let behind = found["next_behind"].as_u64().unwrap().to_string();
    let rest = home.json(["audit", "query", "--type", "ACCESS_GRANTED", "--behind", &behind]);
    assert_eq!(rest["events"].as_array().unwrap().len(), 1);
    assert_eq!(
        home.json(["audit", "query", "--since", "2020-01-01T00:00:00Z", "--until", "1d"])["events"],
        Value::Array(vec![])
    );
    let tail = home.run(["audit", "tail", "-n", "1"]);
    assert!(tail.out.contains("ACCESS_GRANTED") && tail.out.lines().count() == 1, "{}", tail.out);
}

#[test]
fn an_export_has_every_event_with_its_link() {
    let home = with_events();
    let lines = home.run(["audit", "export"]);
    let last: Value = serde_json::from_str(lines.out.lines().last().unwrap()).unwrap();
    let head = &home.json(["audit", "verify"])["head"];
    assert_eq!((&last["_mgp"]["seq"], &last["_mgp"]["hash"]), (&head["seq"], &head["hash"]));
    let file = home.path("record.csv");
    let run = home.run(["audit", "export", "--format", "csv", "--out", file.to_str().unwrap(), "-q"]);
    assert_eq!((run.code, run.out.as_str(), run.err.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), lines.out.lines().count() + 1);
    assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o777, 0o600, "others need not read it");
}

#[test]
fn a_record_that_was_changed_does_not_verify() {
    let home = with_events();
    let intact = home.json(["audit", "verify"]);
    assert_eq!(intact["intact"], true);
    let end = format!("{}:{}", intact["head"]["seq"], intact["head"]["hash"].as_str().unwrap());
    home.done(["audit", "verify", "--known", &end]);
    let elsewhere = format!("{}:{}", intact["head"]["seq"], "0".repeat(64));
    assert_eq!(home.run(["audit", "verify", "--known", &elsewhere]).code, Some(5));

    // Somebody makes another agent of the first.
    let events = home.json(["audit", "query"]);
    let is_about_it = |row: &&Value| row["event"].to_string().contains(r#""agent_id":"a""#);
    let about_it = events["events"].as_array().unwrap().iter().filter(is_about_it);
    let first = about_it.map(|row| row["seq"].as_u64().unwrap()).min();
    let record = rusqlite::Connection::open(home.path(".local/state/mgp/audit.db")).unwrap();
    record.execute("DROP TRIGGER audit_events_are_not_changed", []).unwrap();
    let change = r#"UPDATE audit_events SET event = replace(event, '"agent_id":"a"', '"agent_id":"z"')"#;
    assert!(record.execute(change, []).unwrap() > 0);
    drop(record);
    let changed = home.run(["audit", "verify", "--json"]);
    assert_eq!(changed.code, Some(5), "{changed:?}");
    let changed: Value = serde_json::from_str(&changed.out).unwrap();
    assert_eq!((&changed["intact"], &changed["changed_at"]), (&false.into(), &json!(first)), "{events}");
    assert_eq!(home.run(["doctor"]).code, Some(5));
}
