//! The operator passphrase and tokens that all kernels have: a row among the decisions, sealed by `[store] key`. The file in
//! the state is this kernel's copy.

use std::io;
use std::sync::Arc;

use mgp_store::{Database, OrderKey, StoreError};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::secrets::{OperatorSecrets, StoredOperatorSecrets};

#[derive(Debug, Clone)]
pub(super) struct SharedSecrets {
    database: Database,
    key: OrderKey,
    copy: Arc<OperatorSecrets>,
}

impl SharedSecrets {
    /// Opens the secrets in a database, whose tables are brought up to date.
    ///
    /// # Errors
    /// Fails if a newer version wrote the database.
    pub(super) fn open(
        database: Database,
        key: OrderKey,
        copy: Arc<OperatorSecrets>,
    ) -> Result<Self, StoreError> {
        Ok(Self { database: database.section("operators", &[TABLE])?, key, copy })
    }

    /// Brings this kernel's copy up to date. Where nothing is set at any kernel, what is set here is shared.
    pub(super) fn follow(&self) -> Result<(), StoreError> {
        let (shared, own) = (self.find(&self.database.connection())?, self.copy.read()?);
        match shared {
            Some(shared) if shared != own => Ok(self.copy.write(&shared)?),
            None if own != StoredOperatorSecrets::default() => self.change(|_| ()),
            _ => Ok(()),
        }
    }

    /// Has `change` change the newest secrets, here and at all other kernels.
    pub(super) fn change<T>(
        &self,
        change: impl FnOnce(&mut StoredOperatorSecrets) -> T,
    ) -> Result<T, StoreError> {
        let own = self.copy.read()?;
        let (outcome, secrets) = self.database.change(|changing| {
            let mut secrets = self.find(changing.reading())?.unwrap_or(own);
            let outcome = change(&mut secrets);
            let name = self.name();
            let sealed = self.key.seal_row(&name, &serde_json::to_vec(&secrets).map_err(io::Error::from)?);
            changing.execute(PUT, params![name, sealed])?;
            Ok((outcome, secrets))
        })?;
        self.copy.write(&secrets)?;
        Ok(outcome)
    }

    fn name(&self) -> [u8; 32] {
        self.key.derived("operators")
    }

    fn find(&self, connection: &Connection) -> Result<Option<StoredOperatorSecrets>, StoreError> {
        let name = self.name();
        let row = connection.query_row(FIND, [name], |row| row.get(0)).optional()?;
        let Some(sealed) = row else { return Ok(None) };
        let secrets = serde_json::from_slice(&self.key.open_row(&name, sealed)?);
        Ok(Some(secrets.map_err(io::Error::from)?))
    }
}

const TABLE: &str =
    "CREATE TABLE operators (name BLOB PRIMARY KEY, sealed BLOB NOT NULL) STRICT, WITHOUT ROWID";
const FIND: &str = "SELECT sealed FROM operators WHERE name = ?1";
const PUT: &str = "INSERT OR REPLACE INTO operators (name, sealed) VALUES (?1, ?2)";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mgp_store::testing::MemoryOrder;
    use mgp_types::mgp::Timestamp;

    use super::*;

    /// The secrets of a kernel with this state.
    fn kernel(state: &Path, order: &Arc<MemoryOrder>) -> SharedSecrets {
        let database = Database::in_memory().unwrap();
        database.share(Arc::clone(order) as _, OrderKey::new("key")).unwrap();
        let copy = Arc::new(OperatorSecrets::at(state));
        SharedSecrets::open(database, OrderKey::new("key"), copy).unwrap()
    }

    fn follow(secrets: &SharedSecrets) -> StoredOperatorSecrets {
        secrets.database.catch_up().unwrap();
        secrets.follow().unwrap();
        secrets.copy.read().unwrap()
    }

    #[test]
    fn what_is_set_at_one_kernel_is_set_at_all_and_stored_sealed() {
        let (order, states) = (Arc::default(), [(); 3].map(|()| tempfile::tempdir().unwrap()));
        let known = StoredOperatorSecrets::of(Some("correct horse")).unwrap();
        OperatorSecrets::at(states[0].path()).write(&known).unwrap();
        let other = StoredOperatorSecrets::of(Some("another horse")).unwrap();
        OperatorSecrets::at(states[1].path()).write(&other).unwrap();
        let [one, two, three] = [0, 1, 2].map(|number: usize| kernel(states[number].path(), &order));
        // The first kernel that comes shares its passphrase, and the others take it over.
        assert_eq!([follow(&one), follow(&two), follow(&three)], [known.clone(), known.clone(), known]);
        let later = Timestamp::now().saturating_add(std::time::Duration::from_hours(1));
        let token = two.change(|secrets| secrets.new_token(Timestamp::now(), later)).unwrap();
        assert!(follow(&three).is_token(&token, Timestamp::now()));
        three.change(|secrets| *secrets = other.clone()).unwrap();
        assert!(!follow(&one).is_token(&token, Timestamp::now()));
        assert_eq!(follow(&two), other);
        let connection = one.database.connection();
        let sealed: Vec<u8> =
            connection.query_row("SELECT sealed FROM operators", [], |row| row.get(0)).unwrap();
        assert!(!String::from_utf8_lossy(&sealed).contains("argon2"));
    }
}
