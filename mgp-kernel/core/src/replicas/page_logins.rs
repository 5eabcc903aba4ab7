//! Logins of browsers at the page that all kernels accept: rows among the decisions, sealed by `[store] key`.

use std::io;

use mgp_store::{Database, OrderKey, StoreError, off_the_runtime};
use mgp_types::Principal;
use mgp_types::mgp::Timestamp;
use rusqlite::{OptionalExtension as _, params};
use serde::{Deserialize, Serialize};

use crate::lifecycle::page_door::PageRole;

/// The logins at the pages of all kernels.
#[derive(Debug, Clone)]
pub(crate) struct SharedPageLogins {
    database: Database,
    key: OrderKey,
}

/// A login as the store has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoredPageLogin {
    pub(crate) by: Principal,
    pub(crate) role: PageRole,
    /// The token of a person who signed in at the identity provider.
    pub(crate) token: Option<String>,
    pub(crate) ends_at: Timestamp,
}

impl SharedPageLogins {
    /// Opens the logins in a database, whose tables are brought up to date. `key` seals them.
    ///
    /// # Errors
    /// Fails if a newer version wrote the database.
    pub(crate) fn open(database: Database, key: OrderKey) -> Result<Self, StoreError> {
        Ok(Self { database: database.section("page_logins", &[TABLE])?, key })
    }

    /// Stores the login of the browser whose cookie has this secret, and removes those that have ended by `now`.
    ///
    /// # Errors
    /// Fails if the order that kernels share cannot be reached.
    pub(crate) async fn add(
        &self,
        secret: &str,
        login: StoredPageLogin,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let (logins, name) = (self.clone(), self.name_of(secret));
        let add = move || {
            let sealed = logins.key.seal_row(&name, &serde_json::to_vec(&login).map_err(io::Error::from)?);
            logins.database.change(|changing| {
                changing.execute("DELETE FROM page_logins WHERE ends_at <= ?1", params![now.as_millis()])?;
                let put = "INSERT OR REPLACE INTO page_logins (name, sealed, ends_at) VALUES (?1, ?2, ?3)";
                changing.execute(put, params![name, sealed, login.ends_at.as_millis()])
            })
        };
        off_the_runtime(add).await.map(drop)
    }

    /// Returns the login of the browser whose cookie has this secret, as far as this kernel knows.
    ///
    /// # Errors
    /// Fails if it cannot be read.
    pub(crate) async fn find(&self, secret: &str) -> Result<Option<StoredPageLogin>, StoreError> {
        let (logins, name) = (self.clone(), self.name_of(secret));
        off_the_runtime(move || {
            let query = "SELECT sealed FROM page_logins WHERE name = ?1";
            let row = logins.database.connection().query_row(query, [name], |row| row.get(0)).optional()?;
            let Some(sealed) = row else { return Ok(None) };
            let login = serde_json::from_slice(&logins.key.open_row(&name, sealed)?);
            Ok(Some(login.map_err(io::Error::from)?))
        })
        .await
    }

    /// Ends a login at all kernels.
    ///
    /// # Errors
    /// Fails if the order that kernels share cannot be reached.
    pub(crate) async fn remove(&self, secret: &str) -> Result<(), StoreError> {
        let (logins, name) = (self.clone(), self.name_of(secret));
        off_the_runtime(move || {
            logins.database.execute("DELETE FROM page_logins WHERE name = ?1", params![name])
        })
        .await
    }

    /// Returns the name of a login's row, from which nobody finds the secret.
    fn name_of(&self, secret: &str) -> [u8; 32] {
        self.key.derived(&format!("page login\0{secret}"))
    }
}

const TABLE: &str = "CREATE TABLE page_logins (name BLOB PRIMARY KEY, sealed BLOB NOT NULL, ends_at INTEGER NOT NULL) \
                     STRICT, WITHOUT ROWID";

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use mgp_store::testing::MemoryOrder;

    use super::*;

    #[tokio::test]
    async fn a_login_at_one_kernel_is_one_at_the_others_until_the_browser_signs_out_at_any() {
        let order = Arc::<MemoryOrder>::default();
        let [one, other] = ["a", "a"].map(|secret| {
            let database = Database::in_memory().unwrap();
            database.share(Arc::clone(&order) as _, OrderKey::new(secret)).unwrap();
            SharedPageLogins::open(database, OrderKey::new(secret)).unwrap()
        });
        let now = Timestamp::now();
        let ends_at = now.saturating_add(Duration::from_hours(1));
        let (by, role) = (Principal::operator("ada"), PageRole::Member);
        let login = StoredPageLogin { by, role, token: Some("its token".into()), ends_at };
        one.add("a cookie", login.clone(), now).await.unwrap();
        other.database.catch_up().unwrap();
        assert_eq!(other.find("a cookie").await.unwrap(), Some(login.clone()));
        assert_eq!(other.find("another").await.unwrap(), None);
        let stored: Vec<u8> = {
            let connection = other.database.connection();
            let query = "SELECT name, sealed FROM page_logins";
            let row = |row: &rusqlite::Row<'_>| Ok([row.get::<_, Vec<u8>>(0)?, row.get(1)?].concat());
            connection.query_row(query, [], row).unwrap()
        };
        let text = String::from_utf8_lossy(&stored).into_owned();
        assert!(!text.contains("its token") && !text.contains("cookie") && !text.contains("ada"), "{text}");
        other.remove("a cookie").await.unwrap();
        one.database.catch_up().unwrap();
        assert_eq!(one.find("a cookie").await.unwrap(), None);
        // What has ended goes with the next login.
        one.add("a cookie", login.clone(), now).await.unwrap();
        one.add("another", StoredPageLogin { ends_at, ..login }, ends_at).await.unwrap();
        assert_eq!(one.find("a cookie").await.unwrap(), None);
    }
}
