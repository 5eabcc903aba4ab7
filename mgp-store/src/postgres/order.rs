//! An order of changes as rows of PostgreSQL.

use deadpool_postgres::Object;
use tokio_postgres::{GenericClient, Row};

use super::{Postgres, in_time, query_prepared};
use crate::{Entry, News, Order, Result, Snapshot, StoreError, Turn};

/// An order of changes that lies in a database of PostgreSQL.
///
/// The row of the order in `mgp_order` is locked by who has the turn. A kernel that keeps it for too long loses the
/// connection, and with it the turn.
#[derive(Debug)]
pub struct PostgresOrder {
    pub(super) database: Postgres,
    pub(super) name: &'static str,
}

impl Order for PostgresOrder {
    fn since(&self, version: u64) -> Result<News> {
        let (database, name) = (self.database.clone(), self.name);
        self.database.wait(async move {
            let client = database.client().await?;
            let last = "SELECT version FROM mgp_order WHERE name = $1";
            let news = match query_prepared(&client, last, &[&name]).await {
                Ok(last) => news(&**client, name, version, last.first()).await,
                Err(error) => Err(error),
            };
            given_back(client, news)
        })
    }

    fn take_turn(&self, version: u64) -> Result<(News, Box<dyn Turn + '_>)> {
        let (database, name) = (self.database.clone(), self.name);
        let (news, client) = self.database.wait(async move {
            let client = database.client().await?;
            match begin(&client, name, version).await {
                Ok(news) => Ok((news, client)),
                Err(error) => given_back(client, Err(error)),
            }
        })?;
        Ok((news, Box::new(PostgresTurn { order: self, client: Some(client) })))
    }

    fn store_snapshot(&self, snapshot: Snapshot) -> Result<()> {
        let (database, name) = (self.database.clone(), self.name);
        self.database.wait(async move {
            let client = database.client().await?;
            let version = snapshot.version.cast_signed();
            let store = include_str!("store_snapshot.sql");
            let values = (&&snapshot.link[..], &snapshot.body);
            let stored = in_time(client.execute(store, &[&name, &version, values.0, values.1, &KEPT])).await;
            given_back(client, stored.map(drop))
        })
    }
}

async fn begin(client: &Object, name: &str, version: u64) -> Result<News> {
    in_time(client.batch_execute(BEGIN)).await?;
    let take = "SELECT version FROM mgp_order WHERE name = $1 FOR UPDATE";
    let mut last = in_time(client.query_opt(take, &[&name])).await?;
    if last.is_none() {
        let first = "INSERT INTO mgp_order (name, version) VALUES ($1, 0) ON CONFLICT DO NOTHING";
        in_time(client.execute(first, &[&name])).await?;
        last = in_time(client.query_opt(take, &[&name])).await?;
    }
    news(&***client, name, version, last.as_ref()).await
}

/// Returns what was appended behind `version`, up to the entry of which the row `last` tells.
async fn news(client: &impl GenericClient, name: &str, version: u64, last: Option<&Row>) -> Result<News> {
    let version = version.cast_signed();
    let last: i64 = last.map_or(0, |row| row.get(0));
    if last < version {
        let why = format!(
            "the shared order `{name}` ends at entry {last}, and this kernel knows {version}: an older database \
                            was put in its place, which could bring back what was revoked"
        );
        return Err(StoreError::Damaged(why));
    }
    if last == version {
        return Ok(News::default());
    }
    let select =
        "SELECT version, body FROM mgp_entry WHERE name = $1 AND version > $2 ORDER BY version LIMIT $3";
    let mut found = in_time(client.query(select, &[&name, &version, &AT_ONCE])).await?;
    let mut snapshot: Option<Snapshot> = None;
    if found.first().is_none_or(|row| row.get::<_, i64>(0) != version + 1) {
        let copy = "SELECT version, link, body FROM mgp_snapshot WHERE name = $1 AND version > $2";
        let copy = in_time(client.query_opt(copy, &[&name, &version])).await?;
        snapshot = copy.map(|row| read_snapshot(&row)).transpose()?;
        let from = snapshot.as_ref().map_or(version, |copy| copy.version.cast_signed());
        found = in_time(client.query(select, &[&name, &from, &AT_ONCE])).await?;
    }
    let entries =
        found.iter().map(|row| Entry { version: row.get::<_, i64>(0).cast_unsigned(), body: row.get(1) });
    Ok(News { snapshot, entries: entries.collect() })
}

fn read_snapshot(row: &Row) -> Result<Snapshot> {
    let link = row.get::<_, &[u8]>(1).try_into();
    let link =
        link.map_err(|_| StoreError::Damaged("the copy in the shared order has no digest".to_owned()))?;
    Ok(Snapshot { version: row.get::<_, i64>(0).cast_unsigned(), link, body: row.get(2) })
}

/// Gives a connection back after a success, and ends it after an error: something may be under way on it still. Those that
/// wait for work were made before the error too, so they end with it.
pub(super) fn given_back<T>(client: Object, outcome: Result<T>) -> Result<T> {
    if outcome.is_err() {
        if let Some(pool) = Object::pool(&client) {
            pool.retain(|_, _| false);
        }
        drop(Object::take(client));
    }
    outcome
}

struct PostgresTurn<'a> {
    order: &'a PostgresOrder,
    client: Option<Object>,
}

impl Turn for PostgresTurn<'_> {
    fn append(mut self: Box<Self>, entry: &Entry) -> Result<()> {
        let Some(client) = self.client.take() else { unreachable!("a turn ends once") };
        let (name, version, body) = (self.order.name, entry.version.cast_signed(), entry.body.clone());
        self.order.database.wait(async move {
            let append = "WITH entry AS (INSERT INTO mgp_entry (name, version, body) VALUES ($1, $2, $3))
                          UPDATE mgp_order SET version = $2 WHERE name = $1 AND version = $2 - 1";
            let appended = async {
                match in_time(client.execute(append, &[&name, &version, &body])).await? {
                    1 => in_time(client.batch_execute("NOTIFY mgp; COMMIT")).await,
                    _ => Err(StoreError::Unavailable("the shared order went on without this kernel".into())),
                }
            };
            let outcome = appended.await;
            given_back(client, outcome)
        })
    }
}

impl Drop for PostgresTurn<'_> {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            self.order.database.0.runtime.spawn(async move {
                let ended = in_time(client.batch_execute("ROLLBACK")).await;
                let _ = given_back(client, ended);
            });
        }
    }
}

/// Begins a transaction that neither waits for long nor is waited for.
const BEGIN: &str =
    "BEGIN; SET LOCAL lock_timeout = '2s'; SET LOCAL idle_in_transaction_session_timeout = '5s'";

/// The most entries that are read at a time.
const AT_ONCE: i64 = 10_000;

/// The number of entries before a copy that stay, for kernels that are a little behind.
const KEPT: i64 = 1_000;
