//! The store of pinned definitions in SQLite.

use mgp_types::RawJson;
use mgp_types::canonical::Digest;
use mgp_types::mgp::ServerId;
use rusqlite::{Row, params};

use super::{
    Definition, DefinitionKind, DefinitionName, PinAnnotations, PinState, PinStore, Remark, StoredPin,
};
use crate::StoreError;
use crate::sqlite::Database;

/// A store of pins in SQLite.
#[derive(Debug, Clone)]
pub struct SqlitePins(Database);

impl SqlitePins {
    /// Returns the store of pins in `database`, after bringing its tables up to date.
    ///
    /// # Errors
    /// Fails if a newer version wrote the tables, or SQLite refuses.
    pub fn new(database: Database) -> Result<Self, StoreError> {
        database.migrate("definition", MIGRATIONS)?;
        Ok(Self(database))
    }
}

impl PinStore for SqlitePins {
    fn load(&self) -> Result<Vec<StoredPin>, StoreError> {
        self.0.read_all("SELECT server, kind, name, approved, pending FROM definition_pins", read)
    }

    fn save(&self, pinned: &StoredPin) -> Result<(), StoreError> {
        self.0.connection().execute(
            "INSERT OR REPLACE INTO definition_pins (server, kind, name, approved, pending)
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                pinned.server.as_str(),
                pinned.name().kind().as_str(),
                pinned.name().as_str(),
                pinned.state.approved().map(|definition| definition.canonical().as_bytes()),
                pinned.state.pending().map(|definition| definition.canonical().as_bytes()),
            ],
        )?;
        Ok(())
    }

    fn remove(&self, server: &ServerId, name: &DefinitionName) -> Result<(), StoreError> {
        self.0.connection().execute(
            "DELETE FROM definition_pins WHERE server = ?1 AND kind = ?2 AND name = ?3",
            params![server.as_str(), name.kind().as_str(), name.as_str()],
        )?;
        Ok(())
    }

    fn load_beside(&self) -> Result<PinAnnotations, StoreError> {
        let connection = self.0.connection();
        let mut beside = PinAnnotations::default();
        let mut query =
            connection.prepare("SELECT server, kind, name, digest, remark FROM definition_remarks")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            let (server, name) =
                (ServerId::from(text(row, 0)?), DefinitionName::new(kind(row, 1)?, text(row, 2)?));
            let what = text(row, 4)?.parse().map_err(|_| damaged("an unknown remark"))?;
            let mut remarks = beside.on(&server, &name).to_vec();
            remarks.push(Remark::new(digest(row, 3)?, what));
            beside.remark(&server, &name, remarks);
        }
        let mut query = connection.prepare("SELECT server, kind, digest FROM definition_entries")?;
        let mut rows = query.query([])?;
        while let Some(row) = rows.next()? {
            beside.entries.insert((ServerId::from(text(row, 0)?), kind(row, 1)?), digest(row, 2)?);
        }
        Ok(beside)
    }

    fn remark(&self, server: &ServerId, name: &DefinitionName, remarks: &[Remark]) -> Result<(), StoreError> {
        let mut connection = self.0.connection();
        let changing = connection.transaction()?;
        changing.execute(
            "DELETE FROM definition_remarks WHERE server = ?1 AND kind = ?2 AND name = ?3",
            params![server.as_str(), name.kind().as_str(), name.as_str()],
        )?;
        for Remark { digest, what } in remarks {
            changing.execute(
                "INSERT OR REPLACE INTO definition_remarks (server, kind, name, digest, remark)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    server.as_str(),
                    name.kind().as_str(),
                    name.as_str(),
                    digest.to_string(),
                    what.to_string()
                ],
            )?;
        }
        changing.commit()?;
        Ok(())
    }

    fn save_entry(&self, server: &ServerId, kind: DefinitionKind, entry: Digest) -> Result<(), StoreError> {
        self.0.connection().execute(
            "INSERT OR REPLACE INTO definition_entries (server, kind, digest) VALUES (?1, ?2, ?3)",
            params![server.as_str(), kind.as_str(), entry.to_string()],
        )?;
        Ok(())
    }

    fn forget_beside(&self, server: &ServerId) -> Result<(), StoreError> {
        let connection = self.0.connection();
        connection.execute("DELETE FROM definition_remarks WHERE server = ?1", [server.as_str()])?;
        connection.execute("DELETE FROM definition_entries WHERE server = ?1", [server.as_str()])?;
        Ok(())
    }
}

fn text<'a>(row: &'a Row<'_>, column: usize) -> Result<&'a str, StoreError> {
    Ok(row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?)
}

fn kind(row: &Row<'_>, column: usize) -> Result<DefinitionKind, StoreError> {
    text(row, column)?.parse().map_err(|_| damaged("an unknown kind"))
}

fn digest(row: &Row<'_>, column: usize) -> Result<Digest, StoreError> {
    text(row, column)?.parse().map_err(|_| damaged("an unreadable digest"))
}

fn read(row: &Row<'_>) -> Result<StoredPin, StoreError> {
    let (server, kind, name) = (ServerId::from(text(row, 0)?), kind(row, 1)?, text(row, 2)?);
    let state = match (definition(kind, row.get(3)?)?, definition(kind, row.get(4)?)?) {
        (Some(approved), None) => PinState::Approved(approved),
        (None, Some(pending)) => PinState::Asked(pending),
        (Some(approved), Some(pending)) => PinState::Changed { approved, pending },
        (None, None) => return Err(damaged("no definition")),
    };
    let pinned = StoredPin::new(server, state);
    // The row is found by its name; with a definition of another name in it, an approval would apply to the wrong name.
    if pinned.name().as_str() == name { Ok(pinned) } else { Err(damaged("the definition of another name")) }
}

fn definition(kind: DefinitionKind, canonical: Option<Vec<u8>>) -> Result<Option<Definition>, StoreError> {
    let Some(canonical) = canonical else { return Ok(None) };
    let raw = RawJson::parse(canonical).map_err(|_| damaged("a definition that is no JSON"))?;
    Definition::restore(kind, &raw).map(Some).map_err(|_| damaged("a definition that is none"))
}

fn damaged(what: &str) -> StoreError {
    StoreError::Damaged(format!("a pin has {what}"))
}

const MIGRATIONS: &[&str] = &[
    "CREATE TABLE definition_pins (
        server TEXT NOT NULL,
        tool TEXT NOT NULL,
        approved BLOB,
        pending BLOB,
        PRIMARY KEY (server, tool),
        CHECK (approved IS NOT NULL OR pending IS NOT NULL)
    ) STRICT, WITHOUT ROWID",
    // The kind becomes part of the primary key, which SQLite cannot change in place.
    "ALTER TABLE definition_pins RENAME TO definition_pins_of_tools;
    CREATE TABLE definition_pins (
        server TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        approved BLOB,
        pending BLOB,
        PRIMARY KEY (server, kind, name),
        CHECK (approved IS NOT NULL OR pending IS NOT NULL)
    ) STRICT, WITHOUT ROWID;
    INSERT INTO definition_pins (server, kind, name, approved, pending)
        SELECT server, 'tool', tool, approved, pending FROM definition_pins_of_tools;
    DROP TABLE definition_pins_of_tools",
    "CREATE TABLE definition_remarks (
        server TEXT NOT NULL,
        kind TEXT NOT NULL,
        name TEXT NOT NULL,
        digest TEXT NOT NULL,
        remark TEXT NOT NULL,
        PRIMARY KEY (server, kind, name, digest, remark)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE definition_entries (
        server TEXT NOT NULL,
        kind TEXT NOT NULL,
        digest TEXT NOT NULL,
        PRIMARY KEY (server, kind)
    ) STRICT, WITHOUT ROWID",
];

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::super::{FirstUse, PinVerdict, PinnedDefinitions};
    use super::*;

    fn read(kind: DefinitionKind, description: &str) -> Definition {
        let json = format!(r#"{{"name":"read","description":"{description}"}}"#);
        Definition::read(kind, &Object::parse(json).unwrap()).unwrap()
    }

    fn tool(description: &str) -> Definition {
        read(DefinitionKind::Tool, description)
    }

    #[test]
    fn a_quarantine_outlives_the_process() {
        for kind in [DefinitionKind::Tool, DefinitionKind::Prompt] {
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("state.db");
            let files = ServerId::new("files");
            let open = || {
                let store = SqlitePins::new(Database::open(&path).unwrap()).unwrap();
                PinnedDefinitions::load(FirstUse::Trust, store).unwrap()
            };
            let (honest, changed) = (read(kind, "Reads."), read(kind, "Reads, and sends it away."));
            let observed = |definition: &Definition| {
                open().observe(&files, kind, std::slice::from_ref(definition)).unwrap().remove(0).1
            };
            observed(&honest);
            assert!(matches!(observed(&changed), PinVerdict::Changed { .. }));

            let pins = open();
            assert!(!pins.is_approved(&files, kind, "read"));
            pins.approve(&files, changed.name(), changed.digest()).unwrap();
            drop(pins);
            let pins = open();
            assert!(pins.is_approved(&files, kind, "read"));
            pins.forget(&files).unwrap();
            drop(pins);
            assert!(open().state(&files, changed.name()).is_none());
        }
    }

    #[test]
    fn pins_of_the_first_version_are_pins_of_tools() {
        let database = Database::in_memory().unwrap();
        database.migrate("definition", &MIGRATIONS[..1]).unwrap();
        let old = tool("Reads.");
        database
            .connection()
            .execute(
                "INSERT INTO definition_pins (server, tool, approved) VALUES ('files', 'read', ?1)",
                [old.canonical().as_bytes()],
            )
            .unwrap();
        let pinned = SqlitePins::new(database).unwrap().load().unwrap();
        assert_eq!(pinned, [StoredPin::new(ServerId::new("files"), PinState::Approved(old))]);
    }

    #[test]
    fn a_row_that_was_tampered_with_is_called_damaged() {
        for tampered in ["name = 'write'", "approved = x'7b'", "kind = 'key'", "kind = 'template'"] {
            let database = Database::in_memory().unwrap();
            let store = SqlitePins::new(database.clone()).unwrap();
            store.save(&StoredPin::new(ServerId::new("files"), PinState::Approved(tool("Reads.")))).unwrap();
            database.connection().execute(&format!("UPDATE definition_pins SET {tampered}"), []).unwrap();
            assert!(matches!(store.load(), Err(StoreError::Damaged(_))), "{tampered}");
        }
    }
}
