//! Databases that share an order of changes over a real PostgreSQL, which the tests start where it is installed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(all(target_os = "linux", feature = "postgres"))]

#[path = "../contract/mod.rs"]
mod contract;
mod faults;
mod server;
mod trust;

use std::sync::Arc;
use std::time::SystemTime;

use mgp_store::{
    Database, Entry, News, Order, OrderKey, Postgres, PostgresOrder, Snapshot, StoreError, Turn,
};
use rusqlite::params;
use serde_json::json;

use server::{COMMON, RUNTIME, Server, execute};

/// An order in a database of its own.
#[derive(Debug)]
pub(crate) struct TestOrder {
    name: String,
    database: Postgres,
    order: PostgresOrder,
}

impl Default for TestOrder {
    fn default() -> Self {
        let name = COMMON.new_database();
        let database = COMMON.connect(&name);
        Self { order: database.order("things"), name, database }
    }
}

impl TestOrder {
    fn set_away(&self, is_away: bool) {
        let server = COMMON.connect("postgres");
        execute(&server, &format!("ALTER DATABASE {} ALLOW_CONNECTIONS {}", self.name, !is_away));
        if is_away {
            cut(&server, &self.name);
        }
    }

    fn tamper(&self, version: u64, change: impl FnOnce(&mut Vec<u8>)) {
        let version = version.cast_signed();
        RUNTIME.block_on(async {
            let client = self.database.client().await.unwrap();
            let read = "SELECT body FROM mgp_entry WHERE version = $1";
            let mut body = client.query_one(read, &[&version]).await.unwrap().get(0);
            change(&mut body);
            let write = "UPDATE mgp_entry SET body = $2 WHERE version = $1";
            client.execute(write, &[&version, &body]).await.unwrap();
        });
    }

    fn len(&self) -> i64 {
        count(&self.database, "SELECT count(*) FROM mgp_entry")
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Order for TestOrder {
    fn since(&self, version: u64) -> Result<News, StoreError> {
        self.order.since(version)
    }

    fn take_turn(&self, version: u64) -> Result<(News, Box<dyn Turn + '_>), StoreError> {
        self.order.take_turn(version)
    }

    /// Stores a copy, and forgets the entries too that would stay for kernels which are a little behind.
    fn store_snapshot(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        let version = snapshot.version;
        self.order.store_snapshot(snapshot)?;
        execute(&self.database, &format!("DELETE FROM mgp_entry WHERE version <= {version}"));
        Ok(())
    }
}

/// Returns a kernel with connections of its own to a database.
pub(crate) fn kernel_at(server: &Server, name: &str) -> Database {
    let kernel = Database::in_memory().unwrap();
    kernel.share(Arc::new(server.connect(name).order("things")), OrderKey::new("secret")).unwrap();
    kernel.section("things", &["CREATE TABLE things (name TEXT UNIQUE) STRICT"]).unwrap()
}

pub(crate) fn names(kernel: &Database) -> Vec<String> {
    kernel.read_all("SELECT name FROM things ORDER BY rowid", [], |row| Ok(row.get(0)?)).unwrap()
}

pub(crate) fn add(kernel: &Database, name: &str) -> Result<(), StoreError> {
    kernel.execute("INSERT INTO things (name) VALUES (?1)", params![name])
}

/// Ends all connections to a database.
pub(crate) fn cut(server: &Postgres, name: &str) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname =";
    execute(server, &format!("{end} '{name}' AND pid <> pg_backend_pid()"));
}

pub(crate) fn count(postgres: &Postgres, query: &str) -> i64 {
    RUNTIME.block_on(async { postgres.client().await.unwrap().query_one(query, &[]).await.unwrap().get(0) })
}

#[test]
fn each_of_two_kernels_that_change_at_once_finds_what_the_other_changed_last() {
    let name = COMMON.new_database();
    let kernels = [(); 2].map(|()| kernel_at(&COMMON, &name));
    std::thread::scope(|scope| {
        for kernel in &kernels {
            scope.spawn(|| {
                for _ in 0..200 {
                    // Two that counted the same rows would give one name twice, which is refused.
                    let next = "INSERT INTO things (name) SELECT 'thing ' || count(*) FROM things";
                    kernel.execute(next, &[]).unwrap();
                }
            });
        }
    });
    let expected: Vec<_> = (0..400).map(|at| format!("thing {at}")).collect();
    for kernel in &kernels {
        kernel.catch_up().unwrap();
        assert_eq!((names(kernel), kernel.version().unwrap()), (expected.clone(), 400));
    }
}

#[test]
fn kernels_that_start_at_once_make_the_tables_once() {
    let server = COMMON.connect("postgres");
    execute(&server, "CREATE DATABASE begun_at_once");
    let all = [(); 8].map(|()| COMMON.connect("begun_at_once"));
    let done = RUNTIME.block_on(async {
        let begun = all.clone().map(|postgres| tokio::spawn(async move { postgres.init().await }));
        let mut done = Vec::new();
        for each in begun {
            done.push(each.await.unwrap().is_ok());
        }
        done
    });
    assert_eq!(done, [true; 8]);
    assert_eq!(count(&all[0], "SELECT count(*) FROM mgp_tables"), 1);
}

#[test]
fn a_kernel_that_is_a_little_behind_needs_no_copy_of_all_tables() {
    let name = COMMON.new_database();
    let (one, late) = (kernel_at(&COMMON, &name), kernel_at(&COMMON, &name));
    for at in 0..3 {
        add(&one, &at.to_string()).unwrap();
    }
    one.store_snapshot().unwrap();
    late.catch_up().unwrap();
    assert_eq!(names(&late), names(&one));
    let postgres = COMMON.connect(&name);
    // As if there were entries enough for these to be forgotten.
    execute(&postgres, "UPDATE mgp_entry SET version = version + 1000; UPDATE mgp_order SET version = 1003");
    let entry = Entry { version: 1004, body: Vec::new() };
    let order = postgres.order("things");
    order.take_turn(1003).unwrap().1.append(&entry).unwrap();
    assert_eq!(order.since(1003).unwrap().entries, [entry]);
    let behind = order.since(1000).unwrap();
    assert_eq!((behind.snapshot, behind.entries.len()), (None, 4));
    let far_behind = order.since(1).unwrap();
    assert_eq!(far_behind.snapshot.unwrap().version, 3);
}

#[test]
fn an_older_database_in_the_place_of_the_newest_is_refused() {
    let name = COMMON.new_database();
    let kernel = kernel_at(&COMMON, &name);
    add(&kernel, "a").unwrap();
    add(&kernel, "b").unwrap();
    execute(
        &COMMON.connect(&name),
        "DELETE FROM mgp_entry WHERE version = 2; UPDATE mgp_order SET version = 1",
    );
    for refused in [kernel.catch_up().map(drop), add(&kernel, "c")] {
        let error = refused.unwrap_err();
        assert!(matches!(&error, StoreError::Damaged(what) if what.contains("older database")), "{error}");
    }
    assert_eq!(names(&kernel), ["a", "b"]);
}

#[test]
fn of_two_kernels_that_begin_an_order_at_once_one_does() {
    let name = COMMON.new_database();
    let kernels = ["a", "b"].map(|thing| {
        let kernel = Database::in_memory().unwrap();
        let kernel = kernel.section("things", &["CREATE TABLE things (name TEXT UNIQUE) STRICT"]).unwrap();
        add(&kernel, thing).unwrap();
        kernel.share(Arc::new(COMMON.connect(&name).order("things")), OrderKey::new("secret")).unwrap();
        kernel
    });
    let begun = std::thread::scope(|scope| {
        let all = kernels.each_ref().map(|kernel| scope.spawn(|| kernel.begin_order()));
        all.map(|thread| thread.join().unwrap())
    });
    let first = begun.iter().position(Result::is_ok).unwrap();
    assert!(matches!(begun[1 - first], Err(StoreError::Begun)), "{begun:?}");
    let late = kernel_at(&COMMON, &name);
    late.catch_up().unwrap();
    assert_eq!(names(&late), names(&kernels[first]));
}

#[test]
fn what_kernels_use_of_limits_adds_up_and_returns_with_time() {
    let postgres = COMMON.connect(&COMMON.new_database());
    let add = |uses: &[(i64, f64, f64)]| RUNTIME.block_on(postgres.add_uses(uses)).unwrap();
    assert_eq!(add(&[(7, 2.0, 0.0), (-7, 100.0, 1.0)]), [(-7, 100.0), (7, 2.0)].into());
    execute(&postgres, "UPDATE mgp_limit SET used_at = used_at - interval '60 seconds'");
    let used = add(&[(-7, 0.5, 1.0), (7, -0.5, 0.0), (-7, 0.5, 1.0)]);
    assert!((20.0..=41.0).contains(&used[&-7]) && (1.4..1.6).contains(&used[&7]), "{used:?}");
    execute(&postgres, "UPDATE mgp_limit SET used_at = used_at - interval '40 days' WHERE id = 7");
    RUNTIME.block_on(postgres.tell_of("one", "", "{}")).unwrap();
    assert_eq!(count(&postgres, "SELECT count(*) FROM mgp_limit"), 1);
}

#[test]
fn events_of_a_record_are_added_as_they_are_and_all_or_none() {
    let postgres = COMMON.connect(&COMMON.new_database());
    let body =
        r#"{"timestamp":"2026-01-02T03:04:05.678Z","actor":{"type":"agent","id":"\\ \"\u0000\" {é}"}}"#;
    let link: &[u8] = &[0xab; 32];
    let add = |events: &[(i64, &str, &[u8])]| RUNTIME.block_on(postgres.add_events("one", events));
    add(&[(1, body, link), (2, body, link)]).unwrap();
    let read = "SELECT writer, body, hash FROM mgp_event WHERE seq = 1";
    let added = async { postgres.client().await.unwrap().query_one(read, &[]).await.unwrap() };
    let added = RUNTIME.block_on(added);
    let text = |column: usize| added.get::<_, String>(column);
    assert_eq!([0, 1, 2].map(text), ["one", body, &"ab".repeat(32)]);
    add(&[(3, body, link), (2, body, link)]).unwrap_err();
    assert_eq!(count(&postgres, "SELECT count(*) FROM mgp_event"), 2);
    add(&[(3, body, link)]).unwrap();
}

#[test]
fn a_kernel_is_listed_with_what_it_says_of_itself_until_it_leaves() {
    let postgres = COMMON.connect(&COMMON.new_database());
    let kernels = || {
        let told = RUNTIME.block_on(postgres.cluster()).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        told["kernels"].as_array().unwrap().clone()
    };
    assert!(kernels().is_empty());
    let ahead = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis() + 30_000;
    let state = format!(r#"{{"version": "1.2.3", "now": {ahead}}}"#);
    for id in ["one", "other"] {
        RUNTIME.block_on(postgres.tell_of(id, "10.0.0.5:7334", &state)).unwrap();
    }
    let listed = kernels();
    assert_eq!((&listed[0]["id"], &listed[0]["version"]), (&"one".into(), &"1.2.3".into()), "{listed:?}");
    let clock = listed[0]["clock_ms"].as_i64().unwrap();
    assert!((20_000..=30_000).contains(&clock), "{listed:?}");
    let seen = RUNTIME.block_on(postgres.tell_of("one", "10.0.0.5:7334", &state)).unwrap();
    assert_eq!(Vec::from_iter(seen), ["10.0.0.5:7334", "other"]);
    RUNTIME.block_on(postgres.forget("one")).unwrap();
    assert_eq!(kernels().len(), 1);
    execute(&postgres, "UPDATE mgp_replica SET seen_at = now() - interval '2 days', id = 'long gone'");
    let seen = RUNTIME.block_on(postgres.tell_of("one", "", "{}")).unwrap();
    assert!(seen.is_empty(), "{seen:?}");
    assert_eq!(kernels()[0]["id"], "one");
    assert_eq!(kernels().len(), 1);
}

#[test]
fn a_lease_has_one_owner_at_a_time_and_each_has_a_larger_number() {
    let postgres = COMMON.connect(&COMMON.new_database());
    let leases = |id: &str| {
        let told = RUNTIME.block_on(postgres.leases(id, &["files".to_owned()])).unwrap();
        serde_json::from_str::<serde_json::Value>(&told).unwrap()["files"].clone()
    };
    for id in ["one", "other"] {
        RUNTIME.block_on(postgres.tell_of(id, &format!("{id}:7334"), "{}")).unwrap();
    }
    assert_eq!(leases("one"), json!([null, 1, 7_000]));
    let seen = leases("other");
    assert_eq!((&seen[0], &seen[1]), (&json!("one:7334"), &json!(1)));
    execute(&postgres, "UPDATE mgp_lease SET until = now() + interval '5 seconds'");
    assert!(leases("other")[2].as_i64().unwrap() <= 5_000);
    assert_eq!(leases("one")[2], 7_000, "an owner renews");
    execute(&postgres, "UPDATE mgp_lease SET until = now()");
    assert_eq!(leases("other"), json!([null, 2, 7_000]), "what ended is free");
    assert_eq!(leases("one")[0], "other:7334");
    execute(&postgres, "UPDATE mgp_lease SET owner = 'nobody'");
    assert_eq!(leases("one"), json!(null), "nobody knows the way to the owner");
    execute(&postgres, "UPDATE mgp_lease SET owner = 'other'");
    RUNTIME.block_on(postgres.forget("other")).unwrap();
    assert_eq!(leases("one"), json!([null, 3, 7_000]), "who leaves gives its leases back");
}

#[test]
fn a_kernel_takes_its_part_of_the_leases() {
    let postgres = COMMON.connect(&COMMON.new_database());
    for id in ["one", "other"] {
        RUNTIME.block_on(postgres.tell_of(id, &format!("{id}:7334"), "{}")).unwrap();
    }
    let own = |id: &str| {
        let told = RUNTIME.block_on(postgres.leases(id, &["a", "b", "c"].map(str::to_owned))).unwrap();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        told.as_object().unwrap().values().filter(|lease| lease[0].is_null()).count()
    };
    assert_eq!((own("one"), own("one")), (2, 2));
    assert_eq!((own("other"), own("one")), (1, 2));
    // One that was lost told of itself after it had renewed its leases.
    execute(&postgres, "UPDATE mgp_replica SET seen_at = now() - interval '7 seconds' WHERE id = 'other'");
    execute(&postgres, "UPDATE mgp_lease SET until = now() WHERE owner = 'other'");
    assert_eq!(own("one"), 3, "the part of a lost kernel is taken as soon as its leases end");
}
