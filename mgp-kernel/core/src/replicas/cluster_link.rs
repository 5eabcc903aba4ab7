//! The link of one kernel: the databases that follow an order, and how they follow it.

use std::collections::{BTreeMap, BTreeSet};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mgp_lifecycle::store::EffectStore;
#[cfg(feature = "cluster")]
use mgp_store::Postgres;
use mgp_store::{Database, Order, OrderKey, StoreError, off_the_runtime};
use mgp_types::BoxFuture;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::time::Instant;

use super::freshness::Freshness;
use super::peers::Peers;

/// The link of this kernel to those with which it shares its decisions.
pub(crate) struct ClusterLink {
    /// The id of this kernel among the others, which stays that of its state folder.
    pub(crate) id: String,
    /// The way to the other kernels, if calls are passed on to them.
    pub(crate) peers: Option<Peers>,
    #[cfg(feature = "cluster")]
    pub(crate) postgres: Postgres,
    pub(crate) freshness: Arc<Freshness>,
    /// The events for which each kernel vouches.
    #[cfg(feature = "cluster")]
    pub(super) vouched: Database,
    /// The source of the orders by their names.
    pub(super) orders: Box<dyn Fn(&'static str) -> Arc<dyn Order> + Send + Sync>,
    /// The secret that all kernels have.
    pub(crate) key: OrderKey,
    pub(super) followed: Mutex<Vec<Arc<FollowedDatabase>>>,
    /// The ids and addresses of the other kernels that told of themselves lately.
    pub(super) seen: watch::Sender<BTreeSet<String>>,
}

/// The result of a check of the events that a kernel copied to the shared database.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct VerifiedChain {
    pub(crate) kernel: String,
    /// The number of events that are as they were recorded.
    pub(crate) events: u64,
    /// The number of the last of them.
    pub(crate) through: u64,
    /// The fault that was found behind it.
    pub(crate) flaw: Option<String>,
}

/// A function that reads sections anew, by their names.
type Reload = dyn Fn(BTreeSet<String>) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync;

/// A database that follows an order.
pub(super) struct FollowedDatabase {
    order: &'static str,
    database: Database,
    reload: Box<Reload>,
    /// The sections that others changed, and that were not read anew yet.
    changed: Mutex<BTreeSet<String>>,
}

/// Has a database follow the order of this name, if there is a link, and else no order. Its sections are opened behind that,
/// and [`ClusterLink::follow`] tells how they are read anew.
///
/// # Errors
/// [`StoreError::Apart`] if the database holds what the other kernels do not know.
pub(crate) fn share(
    link: Option<&Arc<ClusterLink>>,
    database: &Database,
    order: &'static str,
) -> Result<(), StoreError> {
    match link {
        Some(_) if database.is_apart()? => Err(StoreError::Apart),
        Some(link) => database.share((link.orders)(order), link.key.clone()),
        None => database.leave_order(),
    }
}

impl ClusterLink {
    /// Follows the order of a database whose sections are open by now: `reload` reads those anew that others changed.
    pub(crate) fn follow(
        &self,
        order: &'static str,
        database: Database,
        reload: impl Fn(BTreeSet<String>) -> BoxFuture<'static, Result<(), StoreError>> + Send + Sync + 'static,
    ) {
        let followed =
            FollowedDatabase { order, database, reload: Box::new(reload), changed: Mutex::default() };
        self.followed.lock().push(Arc::new(followed));
    }

    /// Learns what other kernels changed, in all databases, and notes whether that is known now.
    pub(crate) async fn look(&self) {
        let (asked, followed) = (Instant::now(), self.followed.lock().clone());
        for each in followed {
            let order = each.order;
            if let Err(error) = each.catch_up().await {
                tracing::debug!(order, %error, "an order of changes is not followed");
                return self.freshness.fail(&error);
            }
        }
        self.freshness.confirm(asked);
    }

    /// Returns the number of other kernels that told of themselves lately.
    pub(crate) fn kernels_seen(&self) -> usize {
        // Addresses have a port, and ids no colon.
        self.seen.borrow().iter().filter(|kernel| !kernel.is_empty() && !kernel.contains(':')).count()
    }

    /// Has the keys of calls be those of all kernels, before the calls are read.
    pub(crate) fn share_effects(self: &Arc<Self>, effects: &EffectStore) {
        let (link, missed) = (Arc::clone(self), Mutex::new(BTreeMap::<String, Instant>::new()));
        // In doubt a kernel runs: its calls are waited for, and made by nobody else. One that begins is not in the list at once,
        // and one that ended is not in it for ever.
        let is_alive = move |kernel: &str| {
            let (mut missed, is_seen) = (missed.lock(), link.seen.borrow().contains(kernel));
            if is_seen {
                missed.remove(kernel);
            }
            is_seen || missed.entry(kernel.to_owned()).or_insert_with(Instant::now).elapsed() < IN_DOUBT
        };
        effects.share(&self.id, is_alive);
        // Books look into their own copy.
        self.follow("effects", effects.database().clone(), |_| Box::pin(ready(Ok(()))));
    }

    /// Returns the last entry that this kernel knows of each order.
    #[cfg(any(feature = "cluster", test))]
    pub(super) async fn versions(&self) -> Result<BTreeMap<&'static str, u64>, StoreError> {
        let followed = self.followed.lock().clone();
        let version = |each: &Arc<FollowedDatabase>| Ok((each.order, each.database.version()?));
        off_the_runtime(move || followed.iter().map(version).collect()).await
    }

    /// Has all kernels use the tables of this version of the program from here on.
    ///
    /// # Errors
    /// Fails if the order cannot be reached.
    pub(crate) async fn agree(&self) -> Result<(), StoreError> {
        let followed = self.followed.lock().clone();
        off_the_runtime(move || followed.iter().try_for_each(|each| each.database.agree())).await
    }
}

impl FollowedDatabase {
    async fn catch_up(self: Arc<Self>) -> Result<(), StoreError> {
        let this = Arc::clone(&self);
        off_the_runtime(move || this.carry_out()).await?;
        let changed = self.changed.lock().clone();
        if !changed.is_empty() {
            (self.reload)(changed).await?;
            self.changed.lock().clear();
        }
        Ok(())
    }

    /// Carries out what others changed, until there is nothing new.
    fn carry_out(&self) -> Result<(), StoreError> {
        loop {
            let changed = self.database.catch_up()?;
            if changed.is_empty() {
                return Ok(());
            }
            self.changed.lock().extend(changed);
        }
    }
}

/// The time for which a kernel that is not in the list may be one that has just begun.
const IN_DOUBT: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests;
