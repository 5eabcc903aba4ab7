use super::*;

const FIRST: &str = "CREATE TABLE things (name TEXT PRIMARY KEY) STRICT";
const SECOND: &str = "ALTER TABLE things ADD COLUMN size INTEGER NOT NULL DEFAULT 7";

#[test]
fn each_section_is_migrated_once_and_from_where_it_stands() {
    let database = Database::in_memory().unwrap();
    database.migrate("things", &[FIRST]).unwrap();
    database.connection().execute("INSERT INTO things (name) VALUES ('old')", []).unwrap();
    database.migrate("things", &[FIRST, SECOND]).unwrap();
    database.migrate("things", &[FIRST, SECOND]).unwrap();
    let size: i64 = database.connection().query_row("SELECT size FROM things", [], |row| row.get(0)).unwrap();
    assert_eq!(size, 7);
}

#[test]
fn tables_of_a_newer_version_are_left_alone() {
    let database = Database::in_memory().unwrap();
    database.migrate("things", &[FIRST, SECOND]).unwrap();
    let error = database.migrate("things", &[FIRST]).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 2, known: 1, .. }), "{error}");
}

#[test]
fn tables_are_copied_before_they_are_changed_and_the_older_program_is_told_of_the_copy() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let copies = || {
        let files = std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().file_name());
        files.filter(|name| name.to_string_lossy().starts_with("state.db.things")).count()
    };
    let old = Database::open(&path).unwrap();
    old.migrate("things", &[FIRST]).unwrap();
    assert_eq!(copies(), 0, "there was nothing to lose");
    old.connection().execute("INSERT INTO things (name) VALUES ('old')", []).unwrap();
    drop(old);
    for _ in 0..2 {
        Database::open(&path).unwrap().migrate("things", &[FIRST, SECOND]).unwrap();
        assert_eq!(copies(), 1, "one copy is enough");
    }
    let error = Database::open(&path).unwrap().migrate("things", &[FIRST]).unwrap_err().to_string();
    let copy = path.with_file_name("state.db.things-1");
    assert!(error.contains(copy.to_str().unwrap()), "{error}");
    std::fs::copy(copy, &path).unwrap();
    let back = Database::open(&path).unwrap();
    back.migrate("things", &[FIRST]).unwrap();
    let name: String = back.connection().query_row("SELECT name FROM things", [], |row| row.get(0)).unwrap();
    assert_eq!(name, "old");
}

#[test]
fn a_migration_that_fails_leaves_nothing_behind() {
    let database = Database::in_memory().unwrap();
    assert!(database.migrate("things", &[FIRST, "CREATE NONSENSE"]).is_err());
    database.migrate("things", &[FIRST]).unwrap();
}

#[test]
fn rows_alone_are_taken_from_a_copy() {
    let directory = tempfile::tempdir().unwrap();
    let (copy, path) = (directory.path().join("copy.db"), directory.path().join("state.db"));
    let old = Database::open(&copy).unwrap();
    old.migrate("things", &[FIRST]).unwrap();
    let evil = "INSERT INTO things (name) VALUES ('kept');
        CREATE TRIGGER evil AFTER INSERT ON things BEGIN DELETE FROM things WHERE name = 'kept'; END;
        CREATE TABLE others (name TEXT)";
    old.connection().execute_batch(evil).unwrap();
    drop(old);
    let taken = Database::with_rows_of(&copy, &path).unwrap();
    taken.migrate("things", &[FIRST, SECOND]).unwrap();
    taken.migrate("none", &["CREATE TABLE none (name TEXT) STRICT"]).unwrap();
    drop(taken);
    let database = Database::open(&path).unwrap();
    database.migrate("things", &[FIRST, SECOND]).unwrap();
    database.connection().execute("INSERT INTO things (name) VALUES ('new')", []).unwrap();
    let all = |query: &str| database.read_all(query, [], |row| Ok(row.get::<_, String>(0)?)).unwrap();
    assert_eq!(all("SELECT name || size FROM things ORDER BY 1"), ["kept7", "new7"]);
    assert_eq!(all("SELECT name FROM sqlite_schema WHERE name IN ('evil', 'others')"), [""; 0]);
}

#[test]
fn a_view_in_place_of_a_table_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let (copy, path) = (directory.path().join("copy.db"), directory.path().join("state.db"));
    let old = Database::open(&copy).unwrap();
    old.migrate("things", &[FIRST]).unwrap();
    old.connection().execute_batch("DROP TABLE things; CREATE VIEW things AS SELECT 'x' AS name").unwrap();
    drop(old);
    assert!(Database::with_rows_of(&copy, &path).unwrap().migrate("things", &[FIRST]).is_err());
}

#[test]
fn a_second_writer_is_refused_and_a_reader_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    let writer = Database::open(&path).unwrap();
    writer.migrate("things", &[FIRST]).unwrap();
    assert!(matches!(Database::open(&path), Err(StoreError::InUse)));
    let reader = Database::open_read_only(&path).unwrap();
    let count: i64 =
        reader.connection().query_row("SELECT count(*) FROM things", [], |row| row.get(0)).unwrap();
    assert_eq!(count, 0);
    drop(reader);
    drop(writer);
    Database::open(&path).unwrap();
}

#[cfg(unix)]
#[test]
fn nobody_else_on_the_machine_reads_what_is_stored() {
    use std::os::unix::fs::PermissionsExt as _;

    let directory = tempfile::tempdir().unwrap();
    let database = Database::open(&directory.path().join("state.db")).unwrap();
    database.migrate("things", &[FIRST]).unwrap();
    let files: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(Result::unwrap).collect();
    assert!(files.len() >= 3, "the database, its log and its lock");
    for file in files {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o077, 0, "{:?}", file.file_name());
    }
}

#[cfg(unix)]
#[test]
fn a_link_in_place_of_a_file_is_refused_and_one_in_place_of_its_folder_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let (real, link) = (directory.path().join("real"), directory.path().join("link"));
    std::fs::create_dir(&real).unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    drop(Database::open(&link.join("state.db")).unwrap());
    for suffix in ["", "-wal", ".lock"] {
        let file = with_suffix(&real.join("other.db"), suffix);
        std::os::unix::fs::symlink(real.join("state.db"), &file).unwrap();
        let error = Database::open(&real.join("other.db")).unwrap_err();
        assert!(matches!(&error, StoreError::NotOwn(what) if what.contains("symbolic link")), "{error}");
        std::fs::remove_file(file).unwrap();
    }
}

#[tokio::test]
async fn a_panic_is_told_as_an_error() {
    let outcome = off_the_runtime::<()>(|| panic!("the disk is on fire")).await;
    assert!(matches!(outcome, Err(StoreError::Unavailable(_))));
}

#[test]
fn what_is_no_database_is_called_damaged() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("state.db");
    std::fs::write(&path, vec![b'x'; 8192]).unwrap();
    assert!(matches!(Database::open(&path), Err(StoreError::Damaged(_))));
}
