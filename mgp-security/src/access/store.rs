//! The store of access entries.

use mgp_types::mgp::{AccessPermission, AgentId, ServerId, Timestamp, ToolName};
use rusqlite::{Row, params};

use super::{AccessEntry, StoredEntry};
use crate::StoreError;
use crate::sqlite::{Database, optional_time, text, time};

/// The store of access entries. It holds at most one entry for each agent, server and tool.
///
/// A policy reads the store once, when it is built, and then only writes it, one change at a time and away from the
/// threads that answer requests.
#[derive(Debug)]
pub(super) struct AccessStore(Database);

impl AccessStore {
    /// Returns the store in `database`, whose tables are brought up to date.
    pub(super) fn new(database: Database) -> Result<Self, StoreError> {
        database.migrate("access", MIGRATIONS).map(|()| Self(database))
    }

    /// Returns all entries, including those that have ended.
    pub(super) fn load(&self) -> Result<Vec<StoredEntry>, StoreError> {
        self.0.read_all(
            "SELECT id, agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at
             FROM access_entries",
            read,
        )
    }

    /// Stores `entry` in place of the one for the same agent, server and tool, and returns its number.
    pub(super) fn put(&self, entry: &AccessEntry) -> Result<u64, StoreError> {
        let connection = self.0.connection();
        // The row is replaced and not updated, because a new entry gets a new number.
        connection.execute(
            "INSERT OR REPLACE INTO access_entries
             (agent, server, tool, permission, granted_by, label, justification, granted_at, expires_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
            params![
                entry.agent_id.as_str(),
                entry.server_id.as_str(),
                tool_column(entry.tool_name.as_ref()),
                if entry.permission == AccessPermission::Allow { "allow" } else { "deny" },
                entry.granted_by,
                entry.label,
                entry.justification,
                entry.granted_at.as_millis(),
                entry.expires_at.map(Timestamp::as_millis),
            ],
        )?;
        u64::try_from(connection.last_insert_rowid()).map_err(|_| damaged("a number below zero"))
    }

    /// Removes the entry for this agent, server and tool, if there is one.
    pub(super) fn remove(
        &self,
        agent: &AgentId,
        server: &ServerId,
        tool: Option<&ToolName>,
    ) -> Result<(), StoreError> {
        self.0.execute(
            "DELETE FROM access_entries WHERE agent = ?1 AND server = ?2 AND tool = ?3",
            params![agent.as_str(), server.as_str(), tool_column(tool)],
        )
    }
}

fn read(row: &Row<'_>) -> Result<StoredEntry, StoreError> {
    let tool = text(row, 3)?;
    let permission = match text(row, 4)? {
        "allow" => AccessPermission::Allow,
        "deny" => AccessPermission::Deny,
        _ => return Err(damaged("a permission that is none")),
    };
    let entry = AccessEntry {
        agent_id: text(row, 1)?.into(),
        server_id: text(row, 2)?.into(),
        tool_name: (!tool.is_empty()).then(|| tool.into()),
        permission,
        granted_by: row.get(5)?,
        label: row.get(6)?,
        justification: row.get(7)?,
        granted_at: time(row, 8)?,
        expires_at: optional_time(row, 9)?,
    };
    let id = u64::try_from(row.get::<_, i64>(0)?).map_err(|_| damaged("a number below zero"))?;
    Ok(StoredEntry { id, entry })
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("an access entry has {what}"))
}

/// Returns the value of the column `tool`. A whole server is the empty name, because `UNIQUE` treats two `NULL`s as
/// different; no tool has that name.
fn tool_column(tool: Option<&ToolName>) -> &str {
    tool.map_or("", ToolName::as_str)
}

const MIGRATIONS: &[&str] = &[include_str!("schema.sql")];
