//! The link over PostgreSQL: how it is opened, and what it does beside all calls.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_security::limit::SharedUse;
use mgp_store::{Database, Order, OrderKey, Postgres, StoreError};
use mgp_types::mgp::{Timestamp, TraceId};
use parking_lot::Mutex;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::freshness::Freshness;
use super::peers::Peers;
use super::{ClusterLink, LeasedServers, record};
use crate::StartError;
use crate::lifecycle::or_never;
use crate::record::AuditTrail;
use crate::settings::running::{AcceptedConfig, RunningConfig};
use crate::state::folder::{read_json, write_json};
use crate::terminal::with_causes;

impl ClusterLink {
    /// Opens the link that the configuration names, if it names one, for the kernel with this state.
    pub(crate) async fn open(config: &Config, state: &Path) -> Result<Option<Arc<Self>>, StartError> {
        let accepted = AcceptedConfig::new(state);
        let Some((postgres, key)) = connect(config, &accepted)? else { return Ok(None) };
        match postgres.check().await {
            // Nothing is decided until the database is reached, and the first look tells that.
            Ok(()) | Err(StoreError::Unavailable(_)) => {}
            Err(error) => return Err(unusable(&error)),
        }
        let path = state.join("vouched.db");
        let vouched = Database::open(&path).and_then(|database| {
            database.share(Arc::new(postgres.order(record::ORDER)), key.clone())?;
            database.section("record", &[include_str!("record/vouched.sql")])
        });
        let (orders, peers) = (postgres.clone(), Peers::of(config, &accepted, &key)?);
        Ok(Some(Arc::new(Self {
            id: id_of(state)?,
            seen: peers.as_ref().map(|peers| peers.seen.clone()).unwrap_or_default(),
            peers,
            postgres,
            freshness: Arc::new(Freshness::new()),
            vouched: vouched.map_err(|error| StartError::Kept { path, error })?,
            orders: Box::new(move |name| -> Arc<dyn Order> { Arc::new(orders.order(name)) }),
            key,
            followed: Mutex::default(),
        })))
    }

    /// Follows the other kernels, tells them of this one, copies its record to them, and has one of them run each of `servers`,
    /// for as long as it is polled. Events of all kernels are kept for as long as the configuration says.
    pub(crate) async fn run(
        self: Arc<Self>,
        audit: Arc<AuditTrail>,
        config: Arc<RunningConfig>,
        servers: Arc<dyn LeasedServers>,
    ) {
        // What an earlier process said under this id holds no more.
        let _ = self.postgres.forget(&self.id).await;
        let (this, servers) = (&*self, &*servers);
        let leasing = or_never(self.peers.as_ref().map(|peers| async move {
            tokio::join!(this.keep_leasing(peers, servers), peers.leases.keep_to(servers));
        }));
        let (following, telling) = (self.keep_following(), self.keep_telling(&audit));
        let warning = self.warn_of_pooler();
        let (copying, removing) = (self.keep_copying(&audit), self.keep_removing(&config));
        tokio::join!(self.postgres.listen(), following, telling, copying, removing, leasing, warning);
    }

    /// Takes this kernel from the list of kernels, once its record is copied.
    pub(crate) async fn leave(&self, audit: &AuditTrail) {
        let head = audit.log.head();
        if !self.freshness.is_stale() {
            audit.until_copied(head.seq).await;
        }
        if *audit.copied.borrow() == head.seq {
            // Else it vouches for its last events when it starts again.
            let _ = self.vouch(head).await;
        }
        // Others see from its age that the row is of a kernel that ended.
        let _ = self.postgres.forget(&self.id).await;
    }

    /// Returns what all kernels say, as JSON.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub(crate) async fn cluster(&self) -> Result<String, StoreError> {
        self.postgres.cluster().await
    }

    /// Adds what this kernel used of limits to what the others did, and returns how much that is of each.
    ///
    /// # Errors
    /// Fails if the database cannot be reached.
    pub(crate) async fn add_uses(&self, uses: &[SharedUse]) -> Result<BTreeMap<i64, f64>, StoreError> {
        self.postgres.add_uses(uses).await
    }

    /// Logs once if connections to the database are not kept, as soon as it is reached.
    async fn warn_of_pooler(&self) {
        while let Err(error) = self.postgres.check_connections().await {
            if matches!(error, StoreError::Pooled) {
                return tracing::error!(%error, "decisions of other kernels come late, and statements fail");
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    async fn keep_following(&self) {
        loop {
            self.look().await;
            self.postgres.appended(LOOK_EVERY).await;
        }
    }

    async fn keep_telling(&self, audit: &AuditTrail) {
        loop {
            sleep(TELL_EVERY).await;
            if let Err(error) = self.tell(audit).await {
                tracing::debug!(%error, "other kernels are not told of this one");
            }
        }
    }

    /// Keeps the leases of this kernel, and takes its part of those that are free.
    async fn keep_leasing(&self, peers: &Peers, servers: &dyn LeasedServers) {
        loop {
            let asked = Instant::now();
            let leases = self.postgres.leases(&self.id, &servers.ids()).await;
            if let Err(error) = leases.and_then(|leases| peers.leases.note(asked, &leases)) {
                tracing::debug!(%error, "the leases of servers are not renewed");
            }
            sleep(LEASE_EVERY).await;
        }
    }

    /// Tells the others the version of this kernel, what it knows, its record and its clock.
    async fn tell(&self, audit: &AuditTrail) -> Result<(), StoreError> {
        let (status, knows, record) = (self.freshness.status(), self.versions().await?, audit.log.head());
        // Who does not listen, such as a command that has the state open, runs no servers for others.
        let peers = self.peers.as_ref().filter(|peers| peers.is_open.load(Relaxed));
        let address = peers.map_or("", |peers| peers.address.as_str());
        let state = json!({
            "version": env!("CARGO_PKG_VERSION"), "knows": knows, "record": format!("{}:{}", record.seq, record.hash), "lag_ms": status.lag_ms,
            "fault": status.fault, "now": Timestamp::now().as_millis(),
        });
        self.seen.send_replace(self.postgres.tell_of(&self.id, address, &state.to_string()).await?);
        Ok(())
    }
}

/// Returns the database of `[store]` and the key of the orders in it; `None` if the configuration names none.
pub fn connect(
    config: &Config,
    accepted: &AcceptedConfig,
) -> Result<Option<(Postgres, OrderKey)>, StartError> {
    let expanded = config.store.expanded(accepted);
    let Some((url, key)) = expanded.map_err(|fault| StartError::Config(fault.to_string()))? else {
        return Ok(None);
    };
    let postgres = Postgres::new(url.expose(), config.store.ca.as_deref().map(Path::new));
    Ok(Some((postgres.map_err(|error| unusable(&error))?, OrderKey::new(key.expose()))))
}

fn unusable(error: &StoreError) -> StartError {
    StartError::Config(with_causes(&format!("`[store]` in mgp.toml: {error}"), error))
}

/// Returns the id of the kernel with this state, made when it is first needed.
fn id_of(state: &Path) -> Result<String, StartError> {
    let path = state.join("replica.json");
    let make = || {
        let id = TraceId::random().to_string();
        write_json(&path, &id).map(|()| id)
    };
    let id = read_json(&path).and_then(|id: Option<String>| id.map_or_else(make, Ok));
    id.map_err(|error| StartError::State { path, error })
}

/// The longest time between two looks at what others changed.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The time between two attempts to reach a database that is away, to find out how it is reached.
const LOOK_AGAIN: Duration = Duration::from_secs(10);

/// The time between two looks at the leases of servers.
const LEASE_EVERY: Duration = Duration::from_secs(1);

/// The time between two statements of a kernel about itself.
const TELL_EVERY: Duration = Duration::from_secs(1);
