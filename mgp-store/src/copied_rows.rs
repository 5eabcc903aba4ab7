//! The rows of a copy of a database, which somebody else may have changed.

use std::collections::BTreeSet;
use std::path::Path;

use parking_lot::Mutex;
use rusqlite::config::DbConfig;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _, Transaction, params_from_iter};

use crate::Result;

/// A copy of which only rows are read: its triggers, views and indexes are left behind.
#[derive(Debug)]
pub(crate) struct CopiedRows(Mutex<Connection>);

impl CopiedRows {
    pub(crate) fn open(copy: &Path) -> Result<Self> {
        let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        connection.pragma_update(None, "trusted_schema", "OFF")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
        Ok(Self(Mutex::new(connection)))
    }

    /// Returns the version of the tables of `section`; 0 if the copy has none.
    pub(crate) fn version(&self, section: &str) -> Result<u32> {
        let connection = self.0.lock();
        if !connection.table_exists(None, "mgp_schema")? {
            return Ok(0);
        }
        let query = "SELECT version FROM mgp_schema WHERE section = ?1";
        Ok(connection.query_row(query, [section], |row| row.get(0)).optional()?.unwrap_or(0))
    }

    /// Makes tables as the copy has them, by the migrations that led there, and fills them with the rows of the copy.
    pub(crate) fn take(&self, transaction: &Transaction<'_>, migrations: &[&str]) -> Result<()> {
        let before = tables(transaction)?;
        migrations.iter().try_for_each(|migration| transaction.execute_batch(migration))?;
        let copy = self.0.lock();
        for table in tables(transaction)?.difference(&before) {
            let columns = format!("SELECT name FROM pragma_table_info('{table}')");
            let columns: Vec<String> = names(transaction, &columns)?.collect();
            let (listed, marks) = (columns.join(", "), vec!["?"; columns.len()].join(", "));
            let mut found = copy.prepare(&format!("SELECT {listed} FROM {table}"))?;
            let mut put = transaction.prepare(&format!("INSERT INTO {table} ({listed}) VALUES ({marks})"))?;
            let mut rows = found.query([])?;
            while let Some(row) = rows.next()? {
                let values: Result<Vec<Value>, _> = (0..columns.len()).map(|at| row.get(at)).collect();
                put.execute(params_from_iter(values?))?;
            }
        }
        Ok(())
    }
}

/// Returns the names of the tables of a database.
fn tables(connection: &Connection) -> Result<BTreeSet<String>> {
    let all = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    names(connection, all).map(Iterator::collect)
}

fn names(connection: &Connection, query: &str) -> Result<impl Iterator<Item = String>> {
    let mut query = connection.prepare(query)?;
    let names: Vec<String> = query.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    Ok(names.into_iter())
}
