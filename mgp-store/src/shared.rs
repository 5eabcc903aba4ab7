//! The part of a database that it shares with other kernels.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};
use serde::{Deserialize, Serialize};

use crate::change::Statement;
use crate::order::Position;
use crate::{Entry, News, Order, OrderKey, Result, StoreError, snapshot};

/// The order of changes that a database follows.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) order: Arc<dyn Order>,
    key: OrderKey,
    /// The sections whose tables were changed by other kernels since [`Shared::take_changed`].
    changed: Mutex<BTreeSet<String>>,
}

/// The content of an entry.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Content {
    /// Statements of a section, for tables of this version.
    Change { section: String, schema: u32, statements: Vec<Statement> },
    /// The version of the tables of a section for which all kernels write statements from here on.
    Agreed { section: String, schema: u32 },
}

impl Shared {
    /// Returns the part of a database, whose tables for it are made, that follows `order`.
    pub(crate) fn new(connection: &Connection, order: Arc<dyn Order>, key: OrderKey) -> Result<Self> {
        connection.execute_batch(TABLES)?;
        Ok(Self { order, key, changed: Mutex::default() })
    }

    /// Carries out what other kernels changed.
    pub(crate) fn take_in(&self, connection: &mut Connection, news: News) -> Result<()> {
        if let Some(copy) = news.snapshot {
            let at = Position { version: copy.version, link: copy.link };
            let tables = self.key.open(&at, copy.body)?;
            self.changed.lock().extend(snapshot::restore(connection, &tables)?);
            set_position(connection, &at)?;
        }
        for entry in news.entries {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let mut at = position(&transaction)?;
            let content = self.key.open_next(&mut at, entry)?;
            let content = serde_json::from_slice(&content)
                .map_err(|error| StoreError::Damaged(format!("entry {}: {error}", at.version)))?;
            let section = carry_out(&transaction, content)?;
            set_position(&transaction, &at)?;
            transaction.commit()?;
            self.changed.lock().extend(section);
        }
        Ok(())
    }

    /// Returns the entry for `statements` of a section at the end of what this database knows, and goes on to behind it.
    pub(crate) fn entry(
        &self,
        transaction: &Transaction<'_>,
        section: &str,
        schema: u32,
        statements: Vec<Statement>,
    ) -> Result<Entry> {
        match agreed(transaction, section)? {
            Some(agreed) if agreed < schema => {
                return Err(StoreError::NotAgreed { section: section.to_owned(), agreed, known: schema });
            }
            Some(_) => {}
            None => agree(transaction, section, schema)?,
        }
        self.append(transaction, &Content::Change { section: section.to_owned(), schema, statements })
    }

    /// Returns the entry by which all kernels agree on a newer version of the tables of a section, if this one has a newer.
    pub(crate) fn agreement(
        &self,
        transaction: &Transaction<'_>,
        section: &str,
        schema: u32,
    ) -> Result<Option<Entry>> {
        if agreed(transaction, section)?.is_none_or(|agreed| agreed >= schema) {
            return Ok(None);
        }
        agree(transaction, section, schema)?;
        self.append(transaction, &Content::Agreed { section: section.to_owned(), schema }).map(Some)
    }

    fn append(&self, transaction: &Transaction<'_>, content: &Content) -> Result<Entry> {
        let at = position(transaction)?;
        let content =
            serde_json::to_vec(content).map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        let body = self.key.sealed(&at.bytes(), &content);
        set_position(transaction, &at.behind(&body))?;
        Ok(Entry { version: at.version + 1, body })
    }

    /// Returns a sealed copy of all tables.
    pub(crate) fn copy(&self, connection: &mut Connection) -> Result<crate::Snapshot> {
        let at = position(connection)?;
        let body = self.key.sealed(&at.bytes(), &snapshot::take(connection)?);
        Ok(crate::Snapshot { version: at.version, link: at.link, body })
    }

    /// Returns the sections whose tables other kernels have changed since the last time.
    pub(crate) fn take_changed(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.changed.lock())
    }
}

/// Returns the place in the order up to which a database knows it.
pub(crate) fn position(connection: &Connection) -> Result<Position> {
    let query = "SELECT version, link FROM mgp_order";
    let found = connection.prepare_cached(query)?.query_row([], |row| {
        Ok(Position { version: row.get::<_, i64>(0)?.cast_unsigned(), link: row.get(1)? })
    });
    Ok(found.optional()?.unwrap_or_default())
}

pub(crate) fn set_position(connection: &Connection, at: &Position) -> Result<()> {
    let put = "INSERT OR REPLACE INTO mgp_order (id, version, link) VALUES (1, ?1, ?2)";
    connection.execute(put, params![at.version.cast_signed(), at.link])?;
    Ok(())
}

/// Carries out the content of an entry, and returns the section whose rows it changed.
fn carry_out(transaction: &Transaction<'_>, content: Content) -> Result<Option<String>> {
    match content {
        Content::Change { section, schema, statements } => {
            let known = "SELECT version FROM mgp_schema WHERE section = ?1";
            let known: u32 =
                transaction.query_row(known, [&section], |row| row.get(0)).optional()?.unwrap_or(0);
            if schema > known {
                return Err(StoreError::Newer { section, found: schema, known, way_back: String::new() });
            }
            statements.into_iter().try_for_each(|statement| statement.repeat(transaction))?;
            if agreed(transaction, &section)?.is_none() {
                agree(transaction, &section, schema)?;
            }
            Ok(Some(section))
        }
        Content::Agreed { section, schema } => agree(transaction, &section, schema).map(|()| None),
    }
}

fn agreed(connection: &Connection, section: &str) -> Result<Option<u32>> {
    let query = "SELECT version FROM mgp_agreed WHERE section = ?1";
    Ok(connection.query_row(query, [section], |row| row.get(0)).optional()?)
}

fn agree(connection: &Connection, section: &str, schema: u32) -> Result<()> {
    let put = "INSERT OR REPLACE INTO mgp_agreed (section, version) VALUES (?1, ?2)";
    connection.execute(put, params![section, schema])?;
    Ok(())
}

const TABLES: &str = "
    CREATE TABLE IF NOT EXISTS mgp_order (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, link BLOB NOT NULL) STRICT;
    CREATE TABLE IF NOT EXISTS mgp_agreed (section TEXT PRIMARY KEY, version INTEGER NOT NULL) STRICT, WITHOUT ROWID;
";
