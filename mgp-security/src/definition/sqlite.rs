use mgp_types::RawJson;
use mgp_types::mgp::{ServerId, ToolName};
use rusqlite::{Row, params};

use super::{Definition, PinState, PinStore, Pinned};
use crate::StoreError;
use crate::sqlite::Database;

/// Pins in SQLite.
#[derive(Debug, Clone)]
pub struct SqlitePins(Database);

impl SqlitePins {
    /// The pins in `database`, whose tables are brought up to date.
    ///
    /// # Errors
    /// A newer version wrote them, or SQLite refuses.
    pub fn new(database: Database) -> Result<Self, StoreError> {
        database.migrate("definition", MIGRATIONS)?;
        Ok(Self(database))
    }
}

impl PinStore for SqlitePins {
    fn load(&self) -> Result<Vec<Pinned>, StoreError> {
        let connection = self.0.connection();
        let mut query = connection.prepare("SELECT server, tool, approved, pending FROM definition_pins")?;
        let mut rows = query.query([])?;
        let mut pins = Vec::new();
        while let Some(row) = rows.next()? {
            pins.push(read(row)?);
        }
        Ok(pins)
    }

    fn save(&self, pinned: &Pinned) -> Result<(), StoreError> {
        self.0.connection().execute(
            "INSERT OR REPLACE INTO definition_pins (server, tool, approved, pending) VALUES (?1, ?2, ?3, ?4)",
            params![
                pinned.server.as_str(),
                pinned.tool().as_str(),
                pinned.state.approved().map(|definition| definition.canonical().as_bytes()),
                pinned.state.pending().map(|definition| definition.canonical().as_bytes()),
            ],
        )?;
        Ok(())
    }

    fn remove(&self, server: &ServerId, tool: &ToolName) -> Result<(), StoreError> {
        self.0.connection().execute(
            "DELETE FROM definition_pins WHERE server = ?1 AND tool = ?2",
            params![server.as_str(), tool.as_str()],
        )?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> Result<Pinned, StoreError> {
    let text = |column| row.get_ref(column)?.as_str().map_err(rusqlite::Error::from);
    let (server, tool) = (ServerId::from(text(0)?), text(1)?);
    let state = match (definition(row.get(2)?)?, definition(row.get(3)?)?) {
        (Some(approved), None) => PinState::Approved(approved),
        (None, Some(pending)) => PinState::Asked(pending),
        (Some(approved), Some(pending)) => PinState::Changed { approved, pending },
        (None, None) => return Err(damaged("no definition")),
    };
    let pinned = Pinned::new(server, state);
    // The row is found by the name, so a definition of another tool would be approved under a name it does not have.
    if pinned.tool().as_str() == tool { Ok(pinned) } else { Err(damaged("the definition of another tool")) }
}

fn definition(canonical: Option<Vec<u8>>) -> Result<Option<Definition>, StoreError> {
    let Some(canonical) = canonical else { return Ok(None) };
    let raw = RawJson::parse(canonical).map_err(|_| damaged("a definition that is no JSON"))?;
    Definition::restore(&raw).map(Some).map_err(|_| damaged("a definition that is none"))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("a pin has {what}"))
}

const MIGRATIONS: &[&str] = &["CREATE TABLE definition_pins (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    approved BLOB,
    pending BLOB,
    PRIMARY KEY (server, tool),
    CHECK (approved IS NOT NULL OR pending IS NOT NULL)
) STRICT, WITHOUT ROWID"];

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::super::{FirstUse, Pins, Verdict};
    use super::*;

    fn tool(description: &str) -> Definition {
        let json =
            format!(r#"{{"name":"read","description":"{description}","inputSchema":{{"type":"object"}}}}"#);
        Definition::read(&Object::parse(json).unwrap()).unwrap()
    }

    #[test]
    fn a_quarantine_outlives_the_process() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.db");
        let files = ServerId::new("files");
        let open = || {
            let store = SqlitePins::new(Database::open(&path).unwrap()).unwrap();
            Pins::load(FirstUse::Trust, store).unwrap()
        };
        open().observe(&files, &[tool("Reads.")]).unwrap();
        let verdicts = open().observe(&files, &[tool("Reads, and sends it away.")]).unwrap();
        assert!(matches!(verdicts[0].1, Verdict::Changed { .. }), "{verdicts:?}");

        let pins = open();
        assert!(!pins.is_approved(&files, &ToolName::new("read")));
        let changed = tool("Reads, and sends it away.");
        pins.approve(&files, &ToolName::new("read"), changed.digest()).unwrap();
        drop(pins);
        let pins = open();
        assert!(pins.is_approved(&files, &ToolName::new("read")));
        pins.forget(&files).unwrap();
        drop(pins);
        assert!(open().state(&files, &ToolName::new("read")).is_none());
    }

    #[test]
    fn a_row_that_was_tampered_with_is_called_damaged() {
        let database = Database::in_memory().unwrap();
        let store = SqlitePins::new(database.clone()).unwrap();
        store.save(&Pinned::new(ServerId::new("files"), PinState::Approved(tool("Reads.")))).unwrap();
        database.connection().execute("UPDATE definition_pins SET tool = 'write'", []).unwrap();
        assert!(matches!(store.load(), Err(StoreError::Damaged(_))));
        database.connection().execute("UPDATE definition_pins SET approved = x'7b'", []).unwrap();
        assert!(matches!(store.load(), Err(StoreError::Damaged(_))));
    }
}
