//! The record of kernels that share a database of PostgreSQL. The tests are left out where none is installed.

use std::time::Duration;

use serde_json::Value;

use crate::home::{Home, Ran};
use crate::kernel::Kernel;
use crate::server::{COMMON, RUNTIME, execute, programs};

/// Two kernels that share a database of this name, each of which has recorded something.
struct Cluster {
    database: String,
    homes: [Home; 2],
}

impl Cluster {
    fn start() -> Option<Self> {
        if programs().is_none() {
            eprintln!("left out: a test over PostgreSQL, for `initdb` is not installed");
            return None;
        }
        let database = COMMON.new_database();
        let url = COMMON.url(&database, "");
        let homes = ["agent.one", "agent.other"].map(|agent| {
            let home = Home::with_state();
            home.configure(&format!("[store]\nurl = '{url}'\nkey = 'a secret'\n"));
            home.done(["access", "grant", agent, "fs", "--force"]);
            home
        });
        Some(Self { database, homes })
    }

    fn sql(&self, statements: &str) {
        execute(&COMMON.connect(&self.database), statements);
    }

    fn count(&self, query: &str) -> i64 {
        let postgres = COMMON.connect(&self.database);
        let counted = async { postgres.client().await.unwrap().query_one(query, &[]).await.unwrap().get(0) };
        RUNTIME.block_on(counted)
    }

    /// Has it be two days later for the database.
    fn two_days_later(&self) {
        self.sql(&format!(
            "CREATE SCHEMA later;
             CREATE FUNCTION later.now() RETURNS timestamptz LANGUAGE sql
                AS 'SELECT pg_catalog.now() + interval ''2 days''';
             ALTER DATABASE {} SET search_path = later, pg_catalog, public",
            self.database
        ));
    }

    /// Waits until the database has no event of a kernel any more.
    fn until_no_event_of(&self, kernel: usize) {
        let left = format!("SELECT count(*) FROM mgp_event WHERE writer = '{}'", self.id(kernel));
        while self.count(&left) > 0 {
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn id(&self, kernel: usize) -> String {
        serde_json::from_str(&self.homes[kernel].read("state/replica.json")).unwrap()
    }
}

fn rows(page: &Value) -> &Vec<Value> {
    page["events"].as_array().unwrap()
}

fn verify(home: &Home) -> (Ran, Value) {
    let ran = home.run(["audit", "verify", "--json"]);
    let verified = serde_json::from_str(&ran.out).unwrap_or_else(|_| panic!("{ran:?}"));
    (ran, verified)
}

#[test]
fn the_records_of_all_kernels_are_shown_as_one() {
    let Some(cluster) = Cluster::start() else { return };
    let granted = ["audit", "query", "--type", "ACCESS_GRANTED", "--limit"];
    let both = cluster.homes[0].json(granted.into_iter().chain(["9"]));
    let kernels: Vec<_> = rows(&both).iter().map(|row| row["kernel"].as_str().unwrap()).collect();
    assert_eq!(kernels, [cluster.id(1), cluster.id(0)], "the newest comes first");
    let newest = cluster.homes[1].json(granted.into_iter().chain(["1"]));
    let behind = newest["next_behind"].to_string();
    let next = cluster.homes[1].json(granted.into_iter().chain(["1", "--behind", &behind]));
    assert_eq!([&rows(&newest)[0], &rows(&next)[0]], [&rows(&both)[0], &rows(&both)[1]]);
    let line = cluster.homes[0].done(["audit", "query", "--type", "ACCESS_GRANTED"]).out;
    assert!(line.starts_with(&format!("{}:", &cluster.id(1)[..8])), "{line}");
    for (filter, is_met) in [
        (["--result", "success"], true),
        (["--result", "blocked"], false),
        (["--since", "1h"], true),
        (["--until", "1h"], false),
        (["--agent", "nobody"], false),
        (["--server", "none"], false),
        (["--trace", "00000000-0000-0000-0000-000000000007"], false),
    ] {
        let found = cluster.homes[0].json(granted.into_iter().chain(["9"]).chain(filter));
        assert_eq!(rows(&found).len(), if is_met { 2 } else { 0 }, "{filter:?}: {found}");
    }
    let trace = both["events"][0]["event"]["trace_id"].as_str().unwrap();
    let chain = cluster.homes[0].json(["audit", "query", "--oldest-first", "--trace", trace]);
    assert!(!rows(&chain).is_empty(), "{chain}");
    assert!(rows(&chain).iter().all(|row| row["kernel"] == cluster.id(1)), "{chain}");

    let (ran, verified) = verify(&cluster.homes[0]);
    assert_eq!((ran.code, &verified["intact"]), (Some(0), &true.into()), "{verified}");
    let checked = verified["kernels"].as_array().unwrap();
    assert!(checked.len() == 2 && checked.iter().all(|kernel| kernel["events"] != 0), "{verified}");
}

#[test]
fn the_records_of_all_kernels_are_exported_as_one() {
    let Some(cluster) = Cluster::start() else { return };
    let both = [cluster.id(0), cluster.id(1)];
    let granted = ["audit", "export", "--type", "ACCESS_GRANTED"];
    let lines = cluster.homes[0].done(granted).out;
    assert_eq!(lines.lines().map(kernel_of).collect::<Vec<_>>(), both, "the oldest comes first");
    let table = cluster.homes[1].done(granted.into_iter().chain(["--format", "csv"])).out;
    let mut rows = table.lines();
    assert!(rows.next().unwrap().ends_with(",hash,kernel"), "{table}");
    let kernels = rows.map(|row| row.rsplit(',').next().unwrap().trim_matches('"'));
    assert_eq!(kernels.collect::<Vec<_>>(), both, "{table}");

    // Some pages of a third kernel, with events of several lines that are older than those before. 128 of them have one time, so
    // that two have one place, the last of a page as well.
    cluster.sql(
        r#"INSERT INTO mgp_event (writer, seq, body, hash) SELECT 'x', seq,
            '{"timestamp":"2020-01-01T00:00:00.' || lpad((seq / 128)::text, 3, '0') || 'Z","event_type":"X","trace_id":"x",
            "actor":{"type":"agent","id":"a"},"target":{"server_id":"s"},"result":"SUCCESS"}', ''
        FROM generate_series(1, 900) AS seq"#,
    );
    let file = cluster.homes[0].path("record.jsonl");
    let wanted = ["audit", "export", "--type", "X", "--type", "ACCESS_GRANTED", "--out"];
    cluster.homes[0].done(wanted.into_iter().chain([file.to_str().unwrap()]));
    let exported = std::fs::read_to_string(&file).unwrap();
    let of_third = exported.lines().filter(|line| kernel_of(line) == "x");
    let mut numbers: Vec<_> = of_third.map(number_of).collect();
    assert!(numbers.is_sorted_by_key(|number| number / 128));
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=900_u64).collect::<Vec<_>>());
    assert_eq!(exported.lines().skip(900).map(kernel_of).collect::<Vec<_>>(), both);
}

fn kernel_of(line: &str) -> String {
    let event: Value = serde_json::from_str(line).unwrap();
    event["_mgp"]["kernel"].as_str().unwrap().to_owned()
}

fn number_of(line: &str) -> u64 {
    let event: Value = serde_json::from_str(line).unwrap();
    event["_mgp"]["seq"].as_u64().unwrap()
}

#[test]
fn what_is_changed_in_the_shared_record_is_found_and_named() {
    let Some(cluster) = Cluster::start() else { return };
    let (one, watcher) = (cluster.id(0), &cluster.homes[1]);
    let keep = "CREATE TABLE kept AS SELECT writer, seq, body, hash FROM mgp_event";
    cluster.sql(&format!("{keep} WHERE writer = '{one}'"));
    let first = "seq = (SELECT min(seq) FROM kept)";
    let last = "seq = (SELECT max(seq) FROM kept)";
    let changes = [
        format!("UPDATE mgp_event SET body = body || ' ' WHERE {first} AND writer = '{one}'"),
        format!("UPDATE mgp_event SET hash = repeat('0', 64) WHERE {last} AND writer = '{one}'"),
        format!("DELETE FROM mgp_event WHERE {first} AND writer = '{one}'"),
        format!("DELETE FROM mgp_event WHERE {last} AND writer = '{one}'"),
        format!("DELETE FROM mgp_event WHERE writer = '{one}'"),
    ];
    for change in changes {
        cluster.sql(&change);
        let (ran, verified) = verify(watcher);
        assert_eq!((ran.code, &verified["intact"]), (Some(5), &false.into()), "{change}: {verified}");
        let flaw = verified["flaw"].as_str().unwrap();
        assert!(flaw.contains(&one) && flaw.contains("event"), "{change}: {flaw}");
        cluster.sql(&format!("DELETE FROM mgp_event WHERE writer = '{one}'"));
        cluster.sql("INSERT INTO mgp_event (writer, seq, body, hash) SELECT * FROM kept");
        assert_eq!(verify(watcher).0.code, Some(0), "{change}");
    }
    let put = "INSERT INTO mgp_event (writer, seq, body, hash) SELECT";
    cluster.sql(&format!("{put} writer, 0, body, hash FROM kept WHERE {first}"));
    assert_eq!(verify(watcher).0.code, Some(5), "an event before the first");
    cluster.sql("DELETE FROM mgp_event WHERE seq = 0");
    cluster.sql(&format!("{put} 'forged', seq, body, hash FROM kept"));
    let (ran, verified) = verify(watcher);
    let flaw = verified["flaw"].as_str().unwrap();
    assert!(ran.code == Some(5) && flaw.contains("kernel forged"), "{verified}");
}

#[test]
fn what_is_changed_of_that_for_which_kernels_vouch_is_found() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.homes[1].done(["store", "check"]);
    cluster.sql(
        "UPDATE mgp_entry SET body = set_byte(body, 20, get_byte(body, 20) # 1)
         WHERE name = 'record' AND version = 1",
    );
    let (ran, verified) = verify(&cluster.homes[1]);
    let flaw = verified["flaw"].as_str().unwrap();
    assert!(ran.code == Some(5) && flaw.contains("entry 0 of the shared order"), "{verified}");
    assert_eq!(cluster.homes[1].run(["store", "check"]).code, Some(4));
}

#[test]
fn a_kernel_whose_record_was_replaced_copies_no_more_of_it() {
    let Some(cluster) = Cluster::start() else { return };
    let home = &cluster.homes[0];
    for file in ["audit.db", "audit.db-wal", "audit.db-shm", "audit.end"] {
        let _ = std::fs::remove_file(home.path("state").join(file));
    }
    let granted = home.done(["-v", "access", "grant", "agent.new", "fs", "--force"]);
    assert!(granted.err.contains("replica.json"), "{granted:?}");
    let found = cluster.homes[1].json(["audit", "query", "--type", "ACCESS_GRANTED"]);
    assert_eq!(rows(&found).len(), 2, "{found}");
    // Removed, it goes on as another kernel.
    std::fs::remove_file(home.path("state/replica.json")).unwrap();
    home.done(["access", "grant", "agent.newer", "fs", "--force"]);
    let found = cluster.homes[1].json(["audit", "query", "--type", "ACCESS_GRANTED"]);
    assert_eq!(rows(&found).len(), 4, "{found}");
    assert_eq!(verify(&cluster.homes[1]).0.code, Some(0));
}

#[test]
fn names_with_escapes_that_are_no_text_are_taken_and_the_clients_of_the_user_are_one_agent() {
    let Some(cluster) = Cluster::start() else { return };
    let names = [r"a\u0000", r"a\\u0000", r"\ud83d\ude00", "local/d", "locale"];
    for (seq, name) in names.into_iter().chain([r"\ud800"]).enumerate() {
        let kind = if seq < names.len() { "X" } else { "Y" };
        let event = format!(
            r#"{{"timestamp":"2026-01-01T00:00:00.00{seq}Z","event_type":"{kind}","trace_id":"x","result":"SUCCESS",
                "actor":{{"type":"agent","id":"{name}"}},"target":{{"server_id":"s"}}}}"#
        );
        let put =
            format!("INSERT INTO mgp_event (writer, seq, body, hash) VALUES ('x', {seq}, '{event}', '')");
        cluster.sql(&put);
    }
    let found = cluster.homes[0].json(["audit", "query", "--type", "X", "--oldest-first"]);
    let numbers: Vec<_> = rows(&found).iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4], "{found}");
    assert_eq!(cluster.count("SELECT count(*) FROM mgp_event WHERE event_type = 'Y'"), 1);
    let local = cluster.homes[0].json(["audit", "query", "--agent", "local", "--server", "s"]);
    assert_eq!((rows(&local).len(), &local["events"][0]["seq"]), (1, &3.into()), "{local}");
}

#[test]
fn old_events_of_all_kernels_are_removed_and_what_is_left_is_verified() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.two_days_later();
    cluster.homes[0].configure("[audit]\nkeep_days = 1\n");
    let (_kernel, _) = Kernel::on_http(&cluster.homes[0]);
    cluster.until_no_event_of(1);
    let (ran, verified) = verify(&cluster.homes[1]);
    assert_eq!(ran.code, Some(0), "{verified}");
}

#[test]
fn a_reload_takes_for_how_long_events_of_all_kernels_are_kept() {
    let Some(cluster) = Cluster::start() else { return };
    cluster.two_days_later();
    let (_kernel, _) = Kernel::on_http(&cluster.homes[0]);
    cluster.homes[0].configure("[audit]\nkeep_days = 1\n");
    assert_eq!(cluster.homes[0].json(["reload"])["needs_restart"], serde_json::json!([]));
    cluster.until_no_event_of(1);
}
