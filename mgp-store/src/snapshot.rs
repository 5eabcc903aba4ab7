//! Copies of all tables in one piece.

use rusqlite::{Connection, MAIN_DB, TransactionBehavior};

use crate::{Result, StoreError};

/// Returns a copy of all tables.
pub(crate) fn take(connection: &mut Connection) -> Result<Vec<u8>> {
    let mut copy = connection.serialize(MAIN_DB)?.to_vec();
    // A database that lies in memory has no log beside it.
    if let Some(formats) = copy.get_mut(18..20) {
        formats.fill(NO_LOG);
    }
    Ok(copy)
}

/// Puts the rows of a copy in the place of all rows, and returns the sections that are in it. Columns that only one side has
/// keep their defaults, and a table goes on from the numbers that it gave.
pub(crate) fn restore(connection: &mut Connection, copy: &[u8]) -> Result<Vec<String>> {
    connection.execute_batch("ATTACH ':memory:' AS copy")?;
    let attached = connection.deserialize_read_exact("copy", copy, copy.len(), false);
    let restored = attached.map_err(StoreError::from).and_then(|()| restore_attached(connection));
    connection.execute_batch("DETACH copy")?;
    restored
}

fn restore_attached(connection: &mut Connection) -> Result<Vec<String>> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for table in texts(&transaction, TABLES)? {
        let query = format!(
            "SELECT '\"' || own.name || '\"' FROM pragma_table_info('{table}', 'main') own
                 JOIN pragma_table_info('{table}', 'copy') USING (name)"
        );
        let columns = texts(&transaction, &query)?.join(", ");
        transaction.execute_batch(&format!(
            "DELETE FROM main.{table}; INSERT INTO main.{table} ({columns}) SELECT {columns} FROM copy.{table}"
        ))?;
    }
    let sections = texts(&transaction, "SELECT section FROM copy.mgp_schema")?;
    transaction.commit()?;
    Ok(sections)
}

fn texts(connection: &Connection, query: &str) -> Result<Vec<String>> {
    Ok(connection.prepare(query)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// The byte of a database's header for a journal that is no log.
const NO_LOG: u8 = 1;

/// The tables of the sections that both databases have, and the numbers that tables gave.
const TABLES: &str = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND name NOT IN ('mgp_schema', 'mgp_order')
    AND (name NOT LIKE 'sqlite_%' OR name = 'sqlite_sequence') AND name IN (SELECT name FROM copy.sqlite_schema)";
