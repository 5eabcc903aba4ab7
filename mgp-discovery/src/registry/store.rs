//! The store of registered servers.

use std::path::Path;

use mgp_store::{Database, StoreError, text};
use mgp_types::mgp::ServerId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::{RegistrationId, ServerRegistration};

/// Registered servers in a database that this process has for itself.
#[derive(Debug)]
pub struct SqliteRegistryStore(Database);

const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];

impl SqliteRegistryStore {
    /// Opens the file at `path`, and creates it, for its owner only, if there is none.
    ///
    /// # Errors
    /// Another process has it, a newer version wrote it, or SQLite refuses.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Self::of(Database::open(path)?)
    }

    /// Creates a store in memory, which is gone with its handle.
    ///
    /// # Errors
    /// SQLite has no memory.
    #[cfg(test)]
    pub(super) fn in_memory() -> Result<Self, StoreError> {
        Self::of(Database::in_memory()?)
    }

    /// Returns the store in a database, which may follow an order of changes already.
    ///
    /// # Errors
    /// A newer version wrote it, or SQLite refuses.
    pub fn of(database: Database) -> Result<Self, StoreError> {
        database.section("registry", MIGRATIONS).map(Self)
    }

    /// Returns the database.
    #[cfg(test)]
    pub(super) const fn database(&self) -> &Database {
        &self.0
    }
}

// These methods may block; they are called where that is allowed.
impl SqliteRegistryStore {
    /// Returns all servers, in the order of their ids.
    pub(super) fn load(&self) -> Result<Vec<ServerRegistration>, StoreError> {
        self.0.read_all("SELECT record FROM registered_servers ORDER BY id", [], |row| read(text(row, 0)?))
    }

    /// Stores a server in the place of `before`; returns false if another kernel has changed that meanwhile.
    pub(super) fn put(
        &self,
        before: Option<&ServerRegistration>,
        server: &ServerRegistration,
    ) -> Result<bool, StoreError> {
        let record =
            serde_json::to_string(server).map_err(|error| StoreError::Unavailable(Box::new(error)))?;
        self.0.change(|change| {
            if stored(change.reading(), &server.id)?.as_ref() != before {
                return Ok(false);
            }
            let put = "INSERT OR REPLACE INTO registered_servers (id, record) VALUES (?1, ?2)";
            change.execute(put, params![server.id.as_str(), record]).map(|_| true)
        })
    }

    /// Removes a server, if it is stored.
    pub(super) fn remove(&self, id: &ServerId) -> Result<(), StoreError> {
        self.0.execute("DELETE FROM registered_servers WHERE id = ?1", params![id.as_str()])
    }
}

fn stored(connection: &Connection, id: &ServerId) -> Result<Option<ServerRegistration>, StoreError> {
    let query = "SELECT record FROM registered_servers WHERE id = ?1";
    let record: Option<String> = connection.query_row(query, [id.as_str()], |row| row.get(0)).optional()?;
    record.as_deref().map(read).transpose()
}

fn read(record: &str) -> Result<ServerRegistration, StoreError> {
    let mut server: ServerRegistration =
        serde_json::from_str(record).map_err(|error| StoreError::Damaged(error.to_string()))?;
    // Earlier versions knew no such id.
    if server.approval_id == RegistrationId::default() {
        server.approval_id = RegistrationId::of_record(record);
    }
    Ok(server)
}
