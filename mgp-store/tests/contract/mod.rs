//! Tests of databases that share an order of changes, over whichever order the test program brings that includes this module.

use std::sync::Arc;

use mgp_store::{Database, Order as _, OrderKey, StoreError};
use rusqlite::params;

use super::TestOrder;

const FIRST: &str =
    "CREATE TABLE things (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, bytes BLOB) STRICT";
const SECOND: &str = "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7";

fn kernel_of(order: &Arc<TestOrder>, migrations: &[&str]) -> Database {
    kernel_with(order, "secret", migrations)
}

fn kernel_with(order: &Arc<TestOrder>, key: &str, migrations: &[&str]) -> Database {
    let database = Database::in_memory().unwrap();
    database.share(Arc::clone(order) as _, OrderKey::new(key)).unwrap();
    database.section("things", migrations).unwrap()
}

fn names(kernel: &Database) -> Vec<String> {
    kernel.read_all("SELECT name FROM things ORDER BY id", [], |row| Ok(row.get(0)?)).unwrap()
}

fn add(kernel: &Database, name: &str) -> Result<(), StoreError> {
    kernel.execute("INSERT INTO things (name) VALUES (?1)", params![name])
}

#[test]
fn what_one_kernel_changes_the_others_find() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| kernel_of(&order, &[FIRST]));
    let row = "INSERT INTO things (name, bytes) VALUES (?1, ?2)";
    one.execute(row, params!["lamp", [0_u8, 1, 255]]).unwrap();
    one.execute(row, params!["no bytes\0", None::<Vec<u8>>]).unwrap();
    assert_eq!(other.catch_up().unwrap().into_iter().collect::<Vec<_>>(), ["things"]);
    assert!(other.catch_up().unwrap().is_empty(), "nothing more was changed");
    let all = |kernel: &Database| {
        let query = "SELECT id, name, bytes FROM things ORDER BY id";
        let read = |row: &rusqlite::Row<'_>| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<Vec<u8>>>(2)?))
        };
        kernel.read_all(query, [], read).unwrap()
    };
    assert_eq!(all(&other), all(&one));
    assert_eq!(all(&other)[0], (1, "lamp".to_owned(), Some(vec![0, 1, 255])));
    assert_eq!([one.version().unwrap(), other.version().unwrap()], [2, 2]);
}

#[test]
fn a_change_is_decided_on_what_the_others_changed_last() {
    let order = Arc::default();
    let [one, other] = [(); 2].map(|()| kernel_of(&order, &[FIRST]));
    let take = |kernel: &Database| {
        kernel.change(|change| {
            Ok(change.execute("INSERT OR IGNORE INTO things (name) VALUES ('won')", &[])? == 1)
        })
    };
    assert_eq!([take(&one).unwrap(), take(&other).unwrap()], [true, false]);
    let at_once = std::thread::scope(|scope| {
        let all = [&one, &other].map(|kernel| {
            scope.spawn(move || {
                let taken = |at: i32| {
                    let name = format!("thing {at}");
                    let put = "INSERT OR IGNORE INTO things (name) VALUES (?1)";
                    kernel.change(|change| change.execute(put, params![name])).unwrap()
                };
                (0..100).map(taken).sum::<usize>()
            })
        });
        all.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
    });
    assert_eq!(at_once, 100, "each was taken once");
    for kernel in [&one, &other] {
        kernel.catch_up().unwrap();
    }
    assert_eq!(names(&one), names(&other));
}

#[test]
fn a_change_that_fails_or_finds_no_order_is_made_nowhere() {
    let order = Arc::<TestOrder>::default();
    let [one, other] = [(); 2].map(|()| kernel_of(&order, &[FIRST]));
    let failed: Result<(), _> = one.change(|change| {
        change.execute("INSERT INTO things (name) VALUES ('half')", &[])?;
        Err(StoreError::Full)
    });
    assert!(matches!(failed, Err(StoreError::Full)));
    order.set_away(true);
    assert!(matches!(add(&one, "lamp"), Err(StoreError::Unavailable(_))));
    assert!(matches!(other.catch_up(), Err(StoreError::Unavailable(_))));
    order.set_away(false);
    assert!(other.catch_up().unwrap().is_empty() && names(&one).is_empty() && order.is_empty());
    add(&one, "lamp").unwrap();
    other.catch_up().unwrap();
    assert_eq!(names(&other), ["lamp"]);
}

#[test]
fn a_check_of_all_entries_finds_one_that_was_changed_after_all_knew_it() {
    let order = Arc::<TestOrder>::default();
    let one = kernel_of(&order, &[FIRST]);
    let check = |key: &str| OrderKey::new(key).check(&*order);
    for name in ["a", "b", "c"] {
        add(&one, name).unwrap();
    }
    check("secret").unwrap();
    assert!(matches!(check("another secret"), Err(StoreError::Damaged(_))));
    one.store_snapshot().unwrap();
    add(&one, "d").unwrap();
    check("secret").unwrap();
    order.tamper(4, |body| body[20] ^= 1);
    assert!(one.catch_up().unwrap().is_empty());
    assert!(matches!(check("secret"), Err(StoreError::Damaged(_))));
}

#[test]
fn what_no_kernel_with_the_key_appended_is_never_carried_out() {
    let order = Arc::<TestOrder>::default();
    let one = kernel_of(&order, &[FIRST]);
    for name in ["a", "b", "c"] {
        add(&one, name).unwrap();
    }
    let refused = |kernel: &Database| {
        let error = kernel.catch_up().unwrap_err();
        assert!(matches!(&error, StoreError::Damaged(what) if what.contains("shared order")), "{error}");
        names(kernel)
    };
    assert!(refused(&kernel_with(&order, "another secret", &[FIRST])).is_empty());
    order.tamper(2, |body| body[20] ^= 1);
    assert_eq!(refused(&kernel_of(&order, &[FIRST])), ["a"]);
    // An entry that is whole, at the place of another one.
    let first = order.since(0).unwrap().entries[0].body.clone();
    order.tamper(2, |body| *body = first);
    assert_eq!(refused(&kernel_of(&order, &[FIRST])), ["a"]);
    order.tamper(2, Vec::clear);
    assert_eq!(refused(&kernel_of(&order, &[FIRST])), ["a"]);
}

#[test]
fn a_kernel_that_comes_late_begins_with_a_copy_of_all_tables() {
    let order = Arc::<TestOrder>::default();
    let one = kernel_of(&order, &[FIRST]);
    for name in ["a", "b"] {
        add(&one, name).unwrap();
    }
    one.execute("DELETE FROM things WHERE name = 'b'", &[]).unwrap();
    one.store_snapshot().unwrap();
    assert!(order.is_empty(), "what the copy contains is forgotten");
    add(&one, "c").unwrap();
    let late = kernel_of(&order, &[FIRST, SECOND]);
    assert_eq!(late.catch_up().unwrap().into_iter().collect::<Vec<_>>(), ["things"]);
    assert_eq!(names(&late), ["a", "c"]);
    let rows = |kernel: &Database| {
        kernel.read_all("SELECT id FROM things ORDER BY id", [], |row| Ok(row.get::<_, i64>(0)?)).unwrap()
    };
    assert_eq!(rows(&late), rows(&one), "numbers are never given twice");
    assert_eq!(late.version().unwrap(), one.version().unwrap());
}

#[test]
fn a_copy_of_all_tables_takes_the_place_of_many_entries() {
    let order = Arc::<TestOrder>::default();
    let [one, other] = [(); 2].map(|()| kernel_of(&order, &[FIRST]));
    for at in 1..=4_100 {
        let kernel = if at % 2 == 0 { &one } else { &other };
        kernel.execute("INSERT INTO things (name) VALUES (?1)", params![at]).unwrap();
    }
    assert_eq!(order.len(), 4);
    let late = kernel_of(&order, &[FIRST]);
    late.catch_up().unwrap();
    assert_eq!(names(&late).len(), 4_100);
}

#[test]
fn kernels_of_two_versions_work_together_until_all_are_new() {
    let order = Arc::<TestOrder>::default();
    let old = kernel_of(&order, &[FIRST]);
    add(&old, "a").unwrap();
    let new = kernel_of(&order, &[FIRST, SECOND]);
    new.catch_up().unwrap();
    assert_eq!(names(&new), ["a"]);
    let error = add(&new, "b").unwrap_err();
    assert!(matches!(error, StoreError::NotAgreed { agreed: 1, known: 2, .. }), "{error}");
    add(&old, "b").unwrap();
    new.agree().unwrap();
    add(&new, "c").unwrap();
    assert_eq!(names(&new), ["a", "b", "c"]);
    let error = old.catch_up().unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
    assert_eq!(names(&old), ["a", "b"]);
}

#[test]
fn a_file_goes_on_from_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let order = Arc::<TestOrder>::default();
    let one = kernel_of(&order, &[FIRST]);
    let open = || {
        let database = Database::open(&folder.path().join("mgp.db")).unwrap();
        database.share(Arc::clone(&order) as _, OrderKey::new("secret")).unwrap();
        database.section("things", &[FIRST]).unwrap()
    };
    add(&one, "a").unwrap();
    open().catch_up().unwrap();
    add(&one, "b").unwrap();
    let again = open();
    assert_eq!(again.version().unwrap(), 1);
    add(&again, "c").unwrap();
    assert_eq!(names(&again), ["a", "b", "c"]);
    again.store_snapshot().unwrap();
    let late = kernel_of(&order, &[FIRST]);
    late.catch_up().unwrap();
    assert_eq!(names(&late), ["a", "b", "c"]);
}

#[test]
fn the_tables_of_one_kernel_begin_the_order_once() {
    let order = Arc::<TestOrder>::default();
    let apart = || {
        let database = Database::in_memory().unwrap().section("things", &[FIRST]).unwrap();
        add(&database, "own").unwrap();
        assert!(database.is_apart().unwrap());
        database.share(Arc::clone(&order) as _, OrderKey::new("secret")).unwrap();
        database
    };
    let (one, second) = (apart(), apart());
    one.begin_order().unwrap();
    one.begin_order().unwrap();
    assert!(matches!(second.begin_order(), Err(StoreError::Begun)));
    assert!(second.is_apart().unwrap(), "nobody else knows what it holds");
    add(&one, "lamp").unwrap();
    let late = kernel_of(&order, &[FIRST]);
    late.catch_up().unwrap();
    assert_eq!(names(&late), ["own", "lamp"]);
}

#[test]
fn a_database_that_left_the_order_holds_what_nobody_knows() {
    let order = Arc::default();
    assert!(!Database::in_memory().unwrap().is_apart().unwrap());
    let kernel = kernel_of(&order, &[FIRST]);
    assert!(!kernel.is_apart().unwrap());
    kernel.leave_order().unwrap();
    assert!(kernel.is_apart().unwrap());
}
