//! Logins at servers that all kernels have: rows among the decisions, sealed by `[store] key`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_client_sdk::oauth::{LoginKey, OAuthError, StoredLogin, TokenStore};
use mgp_store::{Database, OrderKey, StoreError, off_the_runtime};
use mgp_types::{BoxFuture, random_bytes};
use rusqlite::{Connection, OptionalExtension as _, params};
use tokio::time::{Instant, sleep};

use crate::terminal::with_causes;

/// The logins of all kernels.
#[derive(Clone)]
pub struct SharedLogins {
    database: Database,
    key: OrderKey,
    /// The number of changes that this kernel heard of.
    revision: Arc<AtomicU64>,
}

mgp_types::partial_debug!(SharedLogins);

/// A login as text, and the turn to renew it that somebody has.
type LoginRow = (String, Option<i64>);

/// The future of a request to a store of logins.
pub(crate) type LoginFuture<'a, T> = BoxFuture<'a, Result<T, OAuthError>>;

impl SharedLogins {
    /// Opens the logins in a database, whose tables are brought up to date. `key` seals them.
    ///
    /// # Errors
    /// Fails if a newer version wrote the database.
    pub(crate) fn open(database: Database, key: OrderKey) -> Result<Self, StoreError> {
        let database = database.section("logins", &[TABLE])?;
        Ok(Self { database, key, revision: Arc::default() })
    }

    /// Has connections read their logins anew at their next use, because some changed.
    pub(crate) fn note_change(&self) {
        self.revision.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the name of a login's row, which says nothing of the server or the owner.
    fn name_of(&self, key: &LoginKey) -> [u8; 32] {
        self.key.derived(&format!("login\0{}\0{}", key.server, key.owner))
    }

    fn find(&self, connection: &Connection, name: &[u8; 32]) -> Result<Option<LoginRow>, StoreError> {
        let query = "SELECT sealed, turn FROM logins WHERE name = ?1 AND sealed IS NOT NULL";
        let row = connection.query_row(query, [name], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let Some((sealed, turn)) = row else { return Ok(None) };
        Ok(Some((String::from_utf8_lossy(&self.key.open_row(name, sealed)?).into_owned(), turn)))
    }

    /// Returns the row of a login in this kernel's copy.
    async fn row(&self, key: &LoginKey) -> Result<Option<LoginRow>, OAuthError> {
        let (logins, name) = (self.clone(), self.name_of(key));
        let found = off_the_runtime(move || logins.find(&logins.database.connection(), &name)).await;
        found.map_err(|error| unusable(&error))
    }

    /// Has `change` change the newest row of a login, of which connections hear here and at other kernels.
    async fn change<T: Send + 'static>(
        &self,
        key: &LoginKey,
        change: impl FnOnce(&mut Option<LoginRow>) -> T + Send + 'static,
    ) -> Result<T, OAuthError> {
        let (logins, name) = (self.clone(), self.name_of(key));
        let work = move || {
            let mut is_changed = false;
            let done = logins.database.change(|changing| {
                // A row that cannot be read any more has a text that is no login, until somebody signs in or out.
                let before = logins.find(changing.reading(), &name);
                let before = before.unwrap_or_else(|_| Some((String::new(), None)));
                let mut row = before.clone();
                let outcome = change(&mut row);
                is_changed = row != before;
                if is_changed {
                    let put = "INSERT OR REPLACE INTO logins (name, sealed, turn) VALUES (?1, ?2, ?3)";
                    let turn = row.as_ref().and_then(|(_, turn)| *turn);
                    let sealed = row.map(|(login, _)| logins.key.seal_row(&name, login.as_bytes()));
                    changing.execute(put, params![name, sealed, turn])?;
                }
                Ok(outcome)
            });
            // A change that failed may have been made.
            logins.revision.fetch_add(is_changed.into(), Ordering::Relaxed);
            done
        };
        off_the_runtime(work).await.map_err(|error| unusable(&error))
    }
}

impl TokenStore for SharedLogins {
    fn load<'a>(&'a self, key: &'a LoginKey) -> LoginFuture<'a, Option<StoredLogin>> {
        Box::pin(async move { self.row(key).await?.map(|row| StoredLogin::from_json(&row.0)).transpose() })
    }

    fn save<'a>(&'a self, key: &'a LoginKey, login: &'a StoredLogin) -> LoginFuture<'a, ()> {
        let login = login.to_json();
        Box::pin(self.change(key, |row| *row = Some((login, None))))
    }

    fn remove<'a>(&'a self, key: &'a LoginKey) -> LoginFuture<'a, bool> {
        Box::pin(self.change(key, |row| row.take().is_some()))
    }

    fn renew<'a>(
        &'a self,
        key: &'a LoginKey,
        before: &'a StoredLogin,
        renewal: LoginFuture<'a, StoredLogin>,
    ) -> LoginFuture<'a, Option<StoredLogin>> {
        Box::pin(async move {
            let (before, own) = (before.to_json(), i64::from_be_bytes(random_bytes()));
            // Clocks of kernels differ, so this one measures by its own for how long it sees one turn taken.
            let (mut seen, mut since) = (None, Instant::now());
            loop {
                let lost = seen.filter(|_| since.elapsed() >= LONGEST_TURN);
                let held = before.clone();
                let take = move |row: &mut Option<LoginRow>| {
                    let (_, turn) = row.as_mut().filter(|(login, _)| is_same(login, &held))?;
                    if turn.is_none() || *turn == lost {
                        *turn = Some(own);
                    }
                    *turn
                };
                // The order is asked only for a turn that seems to be free: this kernel's copy follows what others have.
                let mut turn = take(&mut self.row(key).await?);
                if turn == Some(own) {
                    turn = self.change(key, take).await?;
                }
                match turn {
                    None => return self.load(key).await,
                    Some(turn) if turn == own => break,
                    turn if turn != seen => (seen, since) = (turn, Instant::now()),
                    _ => {}
                }
                sleep(LOOK_EVERY).await;
            }
            let renewed = renewal.await;
            let is_new = renewed.is_ok();
            let login = renewed.as_ref().ok().map(StoredLogin::to_json);
            let end = move |row: &mut Option<LoginRow>| {
                // A login that was replaced or ended meanwhile stays what it is, and so does the turn of another kernel.
                let is_own =
                    |(was, turn): &mut LoginRow| is_same(was, &before) && (is_new || *turn == Some(own));
                if let Some((was, _)) = row.take_if(is_own) {
                    *row = Some((login.unwrap_or(was), None));
                }
            };
            // The refresh token before is used up, so a new one is not given up because the order is away for a while.
            while let Err(error) = self.change(key, end.clone()).await {
                if !is_new || since.elapsed() >= 10 * LONGEST_TURN {
                    return Err(error);
                }
                sleep(5 * LOOK_EVERY).await;
            }
            renewed?;
            self.load(key).await
        })
    }

    fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }
}

/// Returns whether a stored text is this login, as far as this version of the program knows what is in it.
fn is_same(stored: &str, login: &str) -> bool {
    StoredLogin::from_json(stored).is_ok_and(|stored| stored.to_json() == login)
}

/// Returns the error that callers get, agents among them, and tells the operator the cause.
fn unusable(error: &StoreError) -> OAuthError {
    let reason = with_causes(&error.to_string(), error);
    tracing::warn!(%reason, "a login that kernels share cannot be read or written");
    let is_damaged = matches!(error, StoreError::Damaged(_));
    OAuthError::Store(if is_damaged { DAMAGED.into() } else { error.to_string().into() })
}

const DAMAGED: &str = "run `mgp store check` and, if that finds no fault, `mgp login SERVER`";

/// The table of the logins. A login whose `sealed` is NULL was ended.
const TABLE: &str =
    "CREATE TABLE logins (name BLOB PRIMARY KEY, sealed BLOB, turn INTEGER) STRICT, WITHOUT ROWID";

/// The time after which the kernel that has the turn to renew a login is taken for dead: longer than an issuer may take.
const LONGEST_TURN: Duration = Duration::from_secs(30);

/// The time between two looks at a turn that another kernel has.
const LOOK_EVERY: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests;
