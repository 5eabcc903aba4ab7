//! The store of vectors in SQLite (feature `store`).

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, ErrorCode, Transaction, params};

use super::{PassageHash, VectorStore};

/// Vectors in an SQLite file, which several processes may share.
///
/// A number takes one byte: each vector is scaled by its largest number. Only the vectors that were used last are kept.
/// All vectors can be made anew, so that a file that is damaged, or that a newer version wrote, is put aside under
/// another name and a new one begun.
#[derive(Debug)]
pub struct SqliteVectors {
    connection: Mutex<Connection>,
    most: u32,
    complained: AtomicBool,
}

const FILE: &str = "vectors.db";

impl SqliteVectors {
    /// Opens the store in `folder`, which is created if needed, and keeps at most `most` vectors.
    ///
    /// # Errors
    /// The file can be neither opened nor put aside, as in a folder that cannot be written.
    pub fn open(folder: &Path, most: u32) -> Result<Self, StoreError> {
        fs::create_dir_all(folder)?;
        let path = folder.join(FILE);
        let connection = match prepared(Connection::open(&path)) {
            Err(error) if is_spoilt(&error) => {
                let aside = put_aside(&path)?;
                tracing::warn!(%error, aside = %aside.display(), "vectors are kept in a new file");
                prepared(Connection::open(&path))
            }
            opened => opened,
        };
        Ok(Self { connection: Mutex::new(connection?), most, complained: AtomicBool::new(false) })
    }

    fn get(&self, embedder: &str, of: &[PassageHash]) -> rusqlite::Result<Vec<Option<Vec<f32>>>> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction()?;
        let used = next_use(&transaction)?;
        let mut found = HashMap::with_capacity(of.len());
        {
            let mut select = transaction.prepare(
                "UPDATE vectors SET used = ?3 WHERE embedder = ?1 AND passage = ?2
                 RETURNING scale, numbers",
            )?;
            for hash in of {
                let mut rows = select.query(params![embedder, hash.as_bytes(), used])?;
                // SQLite applies a change when the statement has run to its end.
                while let Some(row) = rows.next()? {
                    let scale: f64 = row.get(0)?;
                    found.insert(*hash, widened(scale, row.get_ref(1)?.as_blob()?));
                }
            }
        }
        transaction.commit()?;
        Ok(of.iter().map(|hash| found.get(hash).cloned().flatten()).collect())
    }

    fn put(&self, embedder: &str, vectors: &[(PassageHash, &[f32])]) -> rusqlite::Result<()> {
        let mut connection = self.connection.lock();
        let transaction = connection.transaction()?;
        let used = next_use(&transaction)?;
        {
            let mut insert = transaction.prepare(
                "INSERT INTO vectors (embedder, passage, used, scale, numbers) VALUES (?1, ?2, ?3, ?4, ?5)
                 ON CONFLICT DO UPDATE
                 SET used = excluded.used, scale = excluded.scale, numbers = excluded.numbers",
            )?;
            for (hash, vector) in vectors {
                let (scale, numbers) = narrowed(vector);
                insert.execute(params![embedder, hash.as_bytes(), used, scale, numbers])?;
            }
        }
        transaction.execute(include_str!("forget.sql"), [self.most])?;
        transaction.commit()
    }

    /// Logs an error once: a broken file stays broken.
    fn complain(&self, error: &rusqlite::Error) {
        if !self.complained.swap(true, Ordering::Relaxed) {
            tracing::warn!(%error, "vectors cannot be stored, and are made anew after a restart");
        }
    }
}

impl VectorStore for SqliteVectors {
    fn get_many(&self, embedder: &str, of: &[PassageHash]) -> Vec<Option<Vec<f32>>> {
        self.get(embedder, of).unwrap_or_else(|error| {
            self.complain(&error);
            vec![None; of.len()]
        })
    }

    fn put_many(&self, embedder: &str, vectors: &[(PassageHash, &[f32])]) {
        if let Err(error) = self.put(embedder, vectors) {
            self.complain(&error);
        }
    }
}

/// The reason why vectors cannot be stored in a folder.
#[derive(Debug, thiserror::Error)]
#[error("vectors cannot be stored in this folder")]
#[non_exhaustive]
pub enum StoreError {
    /// The database cannot be used.
    Database(#[from] rusqlite::Error),
    /// The folder cannot be used.
    Folder(#[from] std::io::Error),
}

const BUSY: Duration = Duration::from_secs(5);

const VERSION: i64 = 1;

fn prepared(connection: rusqlite::Result<Connection>) -> rusqlite::Result<Connection> {
    let mut connection = connection?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "trusted_schema", "OFF")?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    // Vectors that a loss of power takes are made anew.
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    let transaction = connection.transaction()?;
    match transaction.pragma_query_value(None, "user_version", |row| row.get(0))? {
        0 => {
            transaction.execute_batch(include_str!("schema.sql"))?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        VERSION => {
            // The statement detects a table of another form before it is used.
            transaction.prepare("SELECT embedder, passage, used, scale, numbers FROM vectors")?;
        }
        _ => return Err(rusqlite::Error::InvalidQuery),
    }
    transaction.commit()?;
    Ok(connection)
}

/// Returns whether the file itself is broken, and not the way to it.
fn is_spoilt(error: &rusqlite::Error) -> bool {
    use ErrorCode::{DatabaseCorrupt, NotADatabase, TypeMismatch, Unknown};
    let code = error.sqlite_error_code();
    code.is_none_or(|code| matches!(code, DatabaseCorrupt | NotADatabase | Unknown | TypeMismatch))
}

fn put_aside(path: &Path) -> std::io::Result<PathBuf> {
    // The journals belong to the file that is put aside; SQLite would play them into the new file.
    for journal in ["-wal", "-shm"] {
        let _missing = fs::remove_file(with_suffix(path, journal));
    }
    let aside = with_suffix(path, ".damaged");
    fs::rename(path, &aside)?;
    Ok(aside)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Returns a number that grows with every use of the store: a clock that cannot be set back.
fn next_use(transaction: &Transaction<'_>) -> rusqlite::Result<i64> {
    transaction.execute("UPDATE clock SET uses = uses + 1", [])?;
    transaction.query_row("SELECT uses FROM clock", [], |row| row.get(0))
}

/// Returns the numbers in a byte each, and their factor.
fn narrowed(vector: &[f32]) -> (f64, Vec<u8>) {
    let largest = vector.iter().fold(0.0_f32, |largest, number| largest.max(number.abs()));
    let scale = largest / 127.0;
    if scale == 0.0 {
        return (0.0, vec![0; vector.len()]);
    }
    #[expect(clippy::cast_possible_truncation, reason = "a quotient lies between -127 and 127")]
    let narrow = |number: &f32| ((number / scale).round() as i8).to_le_bytes()[0];
    (f64::from(scale), vector.iter().map(narrow).collect())
}

fn widened(scale: f64, numbers: &[u8]) -> Option<Vec<f32>> {
    #[expect(clippy::cast_possible_truncation, reason = "it was one of 32 bits")]
    let scale = scale as f32;
    scale
        .is_finite()
        .then(|| numbers.iter().map(|byte| f32::from(i8::from_le_bytes([*byte])) * scale).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::Passage;

    fn hash(name: &str) -> PassageHash {
        Passage::of("", name, "").hash()
    }

    fn kept(store: &SqliteVectors, embedder: &str, names: &[&str]) -> Vec<bool> {
        let hashes: Vec<_> = names.iter().map(|name| hash(name)).collect();
        store.get_many(embedder, &hashes).iter().map(Option::is_some).collect()
    }

    #[test]
    fn a_folder_that_is_not_there_is_made() {
        let folder = tempfile::tempdir().unwrap();
        assert!(SqliteVectors::open(&folder.path().join("deeper/still"), 10).is_ok());
    }

    #[test]
    fn vectors_outlive_the_store_nearly_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let vector = [0.6, -0.8, 0.001, 0.0];
        SqliteVectors::open(folder.path(), 10).unwrap().put_many("e", &[(hash("a"), &vector)]);
        let store = SqliteVectors::open(folder.path(), 10).unwrap();
        let again = store.get_many("e", &[hash("b"), hash("a")]);
        assert_eq!(again[0], None);
        for (now, before) in again[1].as_ref().unwrap().iter().zip(vector) {
            assert!((now - before).abs() <= 0.8 / 254.0, "{now} {before}");
        }
        assert_eq!(store.get_many("another", &[hash("a")]), [None]);
    }

    #[test]
    fn what_was_not_used_for_longest_leaves_first() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteVectors::open(folder.path(), 2).unwrap();
        store.put_many("e", &[(hash("a"), &[1.0])]);
        store.put_many("e", &[(hash("b"), &[1.0])]);
        assert_eq!(kept(&store, "e", &["a"]), [true]);
        store.put_many("e", &[(hash("c"), &[1.0])]);
        assert_eq!(kept(&store, "e", &["a", "b", "c"]), [true, false, true]);
    }

    #[test]
    fn what_is_put_again_replaces_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteVectors::open(folder.path(), 5).unwrap();
        store.put_many("e", &[(hash("a"), &[1.0, 0.0]), (hash("a"), &[0.0, 1.0])]);
        assert_eq!(store.get_many("e", &[hash("a"), hash("a")]), vec![Some(vec![0.0, 1.0]); 2]);
    }

    fn begins_anew(spoil: impl FnOnce(&Path)) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        spoil(&path);
        let store = SqliteVectors::open(folder.path(), 10).unwrap();
        store.put_many("e", &[(hash("a"), &[1.0])]);
        assert_eq!(kept(&store, "e", &["a"]), [true]);
        assert!(with_suffix(&path, ".damaged").exists());
    }

    #[test]
    fn a_file_that_is_no_database_is_put_aside() {
        begins_anew(|path| fs::write(path, vec![b'x'; 8192]).unwrap());
    }

    #[test]
    fn a_file_of_a_newer_version_is_put_aside() {
        begins_anew(|path| {
            Connection::open(path).unwrap().pragma_update(None, "user_version", VERSION + 1).unwrap();
        });
    }

    #[test]
    fn a_file_with_tables_of_another_form_is_put_aside() {
        begins_anew(|path| {
            Connection::open(path).unwrap().execute_batch("CREATE TABLE vectors (x)").unwrap();
        });
        begins_anew(|path| {
            let connection = Connection::open(path).unwrap();
            connection.execute_batch("CREATE TABLE vectors (x)").unwrap();
            connection.pragma_update(None, "user_version", VERSION).unwrap();
        });
    }

    #[test]
    fn a_file_that_is_damaged_later_gives_and_takes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteVectors::open(folder.path(), 10).unwrap();
        store.connection.lock().execute_batch("DROP TABLE clock").unwrap();
        store.put_many("e", &[(hash("a"), &[1.0])]);
        assert_eq!(kept(&store, "e", &["a"]), [false]);
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(SqliteVectors::open(&file, 10).is_err());
    }
}
