//! The order of changes on PostgreSQL, and the connections to it.

mod connect;
mod order;
mod replicas;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Object, Pool};
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

pub use self::order::PostgresOrder;
use self::order::given_back;
use crate::{Result, StoreError};

/// A database of PostgreSQL that several kernels share. Clones share the connections.
#[derive(Clone)]
pub struct Postgres(Arc<PostgresInner>);

struct PostgresInner {
    runtime: Handle,
    pool: Pool,
    /// How a connection is made that only listens.
    config: Config,
    tls: MakeRustlsConnect,
    appended: Notify,
}

mgp_types::partial_debug!(Postgres);

impl Postgres {
    /// Returns the database at `url`, `postgres://user:password@host:port/database`, to which connections are made when they
    /// are needed. The file `ca` has the certificates of the authorities that vouch for the database; without it, those of
    /// the web do. The caller has to be within a tokio runtime.
    ///
    /// # Errors
    /// Fails if the address is none, or the file cannot be read.
    pub fn new(url: &str, ca: Option<&Path>) -> Result<Self> {
        let (config, tls) = connect::prepare(url, ca)?;
        let pool = connect::pool(config.clone(), tls.clone())?;
        let appended = Notify::new();
        Ok(Self(Arc::new(PostgresInner { runtime: Handle::current(), pool, config, tls, appended })))
    }

    /// Returns a connection. It is given back when it is dropped.
    ///
    /// # Errors
    /// Fails if none can be made in time.
    pub async fn client(&self) -> Result<Object> {
        self.0.pool.get().await.map_err(unavailable)
    }

    /// Checks that the tables are there, as this version knows them.
    ///
    /// # Errors
    /// [`StoreError::NoTables`] if they are missing, [`StoreError::Newer`] if a newer version made them; other errors if the
    /// database cannot be reached.
    pub async fn check(&self) -> Result<()> {
        let client = self.client().await?;
        let found = in_time(client.query_one("SELECT to_regclass('mgp_tables') IS NOT NULL", &[])).await?;
        if !found.get::<_, bool>(0) {
            return Err(StoreError::NoTables);
        }
        let found: i32 = in_time(client.query_one("SELECT version FROM mgp_tables", &[])).await?.get(0);
        if found <= TABLES_VERSION {
            return Ok(());
        }
        let (found, known) = (found.cast_unsigned(), TABLES_VERSION.cast_unsigned());
        Err(StoreError::Newer { section: "shared".to_owned(), found, known, way_back: String::new() })
    }

    /// Checks that each connection is one of the database for as long as it lasts: kernels listen to each other on one, and
    /// prepare statements on others.
    ///
    /// # Errors
    /// [`StoreError::Pooled`] if a pooler gives the connections of the database to others between transactions; other errors
    /// if the database cannot be reached.
    pub async fn check_connections(&self) -> Result<()> {
        let (client, mut other) = (self.client().await?, self.client().await?);
        for _ in 0..POOLER_ROUNDS {
            let before = backend(client.simple_query(BACKEND)).await?;
            let open = in_time(other.transaction()).await?;
            let others = backend(open.simple_query(BACKEND)).await?;
            let after = backend(client.simple_query(BACKEND)).await?;
            if is_pooled(&before, &others, &after) {
                return Err(StoreError::Pooled);
            }
        }
        Ok(())
    }

    /// Makes the tables, if they are missing.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, the user may make no tables there, or a newer version made them.
    pub async fn init(&self) -> Result<()> {
        match self.check().await {
            Err(StoreError::NoTables) => {
                let client = self.client().await?;
                // Kernels that start at the same time make them once.
                let tables = format!(
                    "BEGIN; SELECT pg_advisory_xact_lock(5066320); DO $$ BEGIN IF to_regclass('mgp_tables') IS NULL THEN {} \
                     END IF; END $$; COMMIT",
                    include_str!("tables.sql")
                );
                let made = in_time(client.batch_execute(&tables)).await;
                given_back(client, made)
            }
            checked => checked,
        }
    }

    /// Returns the text that a statement selects about the text `$1`.
    ///
    /// # Errors
    /// Fails if the database cannot be reached, or refuses the statement.
    pub async fn ask(&self, statement: &str, about: &str) -> Result<String, StoreError> {
        self.text(statement, &[&about]).await
    }

    /// Returns the text that a statement selects.
    async fn text(&self, statement: &str, values: &[&(dyn ToSql + Sync)]) -> Result<String> {
        let client = self.client().await?;
        let row = in_time(client.query_one(statement, values)).await;
        given_back(client, row.map(|row| row.get(0)))
    }

    /// Waits until another kernel may have appended something, or `time` is over.
    pub async fn appended(&self, time: Duration) {
        let _ = tokio::time::timeout(time, self.0.appended.notified()).await;
    }

    /// Listens to what other kernels append, for as long as the future is polled. After each loss of the connection it
    /// tells that something may have been appended, and connects again.
    pub async fn listen(&self) {
        loop {
            let lost = connect::listen(&self.0.config, self.0.tls.clone(), &self.0.appended).await;
            tracing::debug!(error = %lost, "the connection that listens to other kernels ended");
            self.0.appended.notify_one();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Returns an order of changes by its name.
    pub fn order(&self, name: &'static str) -> PostgresOrder {
        PostgresOrder { database: self.clone(), name }
    }

    /// Does `work` on the runtime of the connections, and waits for it on this thread.
    fn wait<T: Send + 'static>(&self, work: impl Future<Output = Result<T>> + Send + 'static) -> Result<T> {
        let (done, outcome) = std::sync::mpsc::sync_channel(1);
        self.0.runtime.spawn(async move {
            // Somebody who waits no longer needs no outcome.
            let _ = done.send(work.await);
        });
        outcome.recv().unwrap_or_else(|gone| Err(unavailable(gone)))
    }
}

/// Returns the number of the process of the database that answers a connection.
async fn backend(
    query: impl Future<Output = Result<Vec<SimpleQueryMessage>, tokio_postgres::Error>>,
) -> Result<String> {
    let messages = in_time(query).await?;
    let found = messages.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0).map(str::to_owned),
        _ => None,
    });
    found.ok_or_else(|| StoreError::Unavailable("PostgreSQL tells no process".into()))
}

/// Returns whether two connections use processes of the database in turn: one used that of the other while this one had a
/// transaction open, or got another process after it.
fn is_pooled(before: &str, others: &str, after: &str) -> bool {
    before == others || before != after
}

/// The statement about the process. It is not prepared, as a pooler may not find it again.
const BACKEND: &str = "SELECT pg_backend_pid()";

/// The number of times that connections are compared: a pooler may happen to give each its own process.
const POOLER_ROUNDS: u32 = 3;

/// Returns the rows that a statement selects, which the connection prepares once: that saves two of three messages and answers.
/// Its plan must not depend on the values, as it may be made once too.
async fn query_prepared(client: &Object, sql: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>> {
    in_time(async { client.query(&client.prepare_cached(sql).await?, values).await }).await
}

/// Returns the outcome of a query, or an error once it takes too long.
async fn in_time<T>(query: impl Future<Output = Result<T, tokio_postgres::Error>>) -> Result<T> {
    match tokio::time::timeout(PATIENCE, query).await {
        Ok(outcome) => outcome.map_err(|error| match error.as_db_error() {
            Some(error) => StoreError::Unavailable(format!("PostgreSQL: {}", error.message()).into()),
            None => unavailable(error),
        }),
        Err(_) => Err(StoreError::Unavailable("PostgreSQL does not answer".into())),
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable(Box::new(error))
}

/// The version of `tables.sql`.
const TABLES_VERSION: i32 = 1;

/// The time that a query may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// The time until a lost connection is made again.
const PAUSE: Duration = Duration::from_millis(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_that_share_processes_of_the_database_are_those_of_a_pooler() {
        // Directly, and through a pooler in session mode, each connection keeps its own.
        assert!(!is_pooled("41", "42", "41"));
        // The other one got the process that the first one had just used, and that one has another now.
        assert!(is_pooled("41", "41", "42"));
        assert!(is_pooled("41", "42", "43"), "somebody else got it");
    }
}
