use proptest::prelude::*;
use rusqlite::params;

use super::*;
use mgp_store::Database;

fn filled(count: u32) -> (Database, LogStore, Vec<LogEntry>) {
    let database = Database::in_memory().unwrap();
    let store = LogStore::new(database.clone()).unwrap();
    let entries = entries(count);
    store.append(&entries).unwrap();
    (database, store, entries)
}

fn run(database: &Database, sql: &str) -> Result<usize, rusqlite::Error> {
    database.connection().execute(sql, [])
}

fn drop_triggers(database: &Database) {
    let connection = database.connection();
    let mut names = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").unwrap();
    let names: Vec<String> = names.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(names.len(), 8);
    for name in names {
        connection.execute(&format!("DROP TRIGGER {name}"), []).unwrap();
    }
}

const FORBIDDEN: [&str; 9] = [
    "UPDATE audit_events SET event = '{}' WHERE seq = 2",
    "UPDATE audit_events SET agent = NULL",
    "UPDATE OR REPLACE audit_events SET seq = 3 WHERE seq = 2",
    "DELETE FROM audit_events WHERE seq = 5",
    "DELETE FROM audit_events",
    "INSERT OR REPLACE INTO audit_events SELECT * FROM audit_events WHERE seq = 3",
    "DELETE FROM audit_head",
    "UPDATE audit_head SET seq = 4",
    "INSERT OR REPLACE INTO audit_head SELECT 1, seq, hash FROM audit_events WHERE seq = 4",
];

#[test]
fn what_is_forbidden_holds_for_everybody_who_opens_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("audit.db");
    let store = LogStore::open(&path).unwrap();
    let (first, rest) = (entries(5), entries(7));
    store.append(&first).unwrap();
    let other = rusqlite::Connection::open(&path).unwrap();
    for sql in FORBIDDEN {
        assert!(other.execute(sql, []).is_err(), "{sql}");
    }
    for wrong in [&first[4..], &rest[6..]] {
        assert!(store.append(wrong).is_err(), "the store itself only goes on from the end");
    }
    assert_eq!(store.query(&Query::after(Filter::default(), 0, 50)).unwrap(), first);
    store.append(&rest[5..]).unwrap();
    AuditLog::open(store).unwrap().reader().verify(&[]).unwrap();
}

#[tokio::test]
async fn a_checkpoint_is_neither_changed_nor_removed() {
    let (database, store, _) = filled(50);
    let log = AuditLog::open(store).unwrap();
    log.retain(Retention::SizeBased(1_000), u64::MAX).await.unwrap();
    for sql in ["UPDATE audit_checkpoints SET removed = 1", "DELETE FROM audit_checkpoints"] {
        assert!(run(&database, sql).is_err(), "{sql}");
    }
    assert!(run(&database, "DELETE FROM audit_events").is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_is_done_to_the_table_by_hand_is_found(
        count in 2u32..30,
        at in any::<prop::sample::Index>(),
        how in 0u8..12,
    ) {
        let (database, store, entries) = filled(count);
        drop_triggers(&database);
        let seq = i64::try_from(at.index(count as usize - 1)).unwrap() + 1;
        let is_last = seq == i64::from(count);
        {
            let connection = database.connection();
            let run = |sql: &str| connection.execute(sql, params![seq]).unwrap();
            match how {
                0 => run("UPDATE audit_events SET event = replace(event, 'agent.', 'agent,') WHERE seq = ?1"),
                1 => run("UPDATE audit_events SET agent = 'agent.x' WHERE seq = ?1"),
                2 => run("UPDATE audit_events SET server = NULL WHERE seq = ?1"),
                3 => run("UPDATE audit_events SET result = 'FAILURE' WHERE seq = ?1"),
                4 => run("UPDATE audit_events SET millis = 0 WHERE seq = ?1"),
                5 => run("UPDATE audit_events SET event_type = 'X' WHERE seq = ?1"),
                6 => run("UPDATE audit_events SET hash = prev WHERE seq = ?1"),
                7 => run("UPDATE audit_events SET event = event || ' ' WHERE seq = ?1"),
                8 => run("DELETE FROM audit_events WHERE seq = ?1"),
                9 => {
                    run("UPDATE audit_events SET seq = -1 WHERE seq = ?1");
                    run("UPDATE audit_events SET seq = ?1 WHERE seq = ?1 + 1");
                    run("UPDATE audit_events SET seq = ?1 + 1 WHERE seq = -1")
                }
                10 => run("DELETE FROM audit_events WHERE seq > ?1"),
                _ => run("INSERT INTO audit_events SELECT seq + 1000, millis, bytes, event_type, agent, server, result,
                          trace, event, prev, hash FROM audit_events WHERE seq = ?1"),
            };
        }
        let reader = store;
        prop_assert!(reader.verify(&[]).is_err(), "{how} at {seq} of {count}, last {is_last}");
        // A head that was moved back fits what is left; an end that was kept elsewhere does not.
        if how == 10 {
            let connection = database.connection();
            connection.execute(
                "UPDATE audit_head SET (seq, hash) = (SELECT seq, hash FROM audit_events WHERE seq = ?1)",
                params![seq],
            ).unwrap();
            drop(connection);
            prop_assert!(reader.verify(&[]).is_ok());
            prop_assert!(reader.verify(&[entries[entries.len() - 1].head()]).is_err());
        }
    }
}

#[test]
fn somebody_elses_writing_is_noticed_and_not_built_upon() {
    let (database, store, entries) = filled(3);
    drop_triggers(&database);
    run(&database, "UPDATE audit_head SET seq = 7").unwrap();
    let next = super::entries(4).remove(3);
    assert!(matches!(store.append(&[next]), Err(StoreError::Damaged(_))));
    assert_eq!(store.query(&Query::after(Filter::default(), 0, 50)).unwrap(), entries, "nothing was added");
    assert!(matches!(AuditLog::open(store), Err(StoreError::Damaged(_))));
}

#[test]
fn a_search_reads_the_narrow_index() {
    let (database, store, _) = filled(3);
    let connection = database.connection();
    let mut plan = connection
        .prepare("EXPLAIN QUERY PLAN SELECT seq FROM audit_events INDEXED BY audit_facets WHERE seq > 0 AND agent = 'x' ORDER BY seq LIMIT 5")
        .unwrap();
    let plan: Vec<String> = plan.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
    assert!(plan[0].contains("COVERING INDEX audit_facets (seq>?)") && plan.len() == 1, "{plan:?}");
    drop(store);
}
