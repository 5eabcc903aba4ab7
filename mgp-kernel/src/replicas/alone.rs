//! The link of a program that was built without PostgreSQL: there is none.
#![allow(
    clippy::unused_async,
    clippy::unused_self,
    reason = "the link over PostgreSQL has the same functions"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use mgp_discovery::Config;
use mgp_security::audit::LogHead;
use mgp_security::limit::SharedUse;
use mgp_store::StoreError;

use super::{ClusterLink, LeasedServers};
use crate::StartError;

impl ClusterLink {
    pub(crate) async fn open(config: &Config, _: &Path) -> Result<Option<Arc<Self>>, StartError> {
        match config.store.url {
            None => Ok(None),
            Some(_) => {
                Err(StartError::Config("`[store]` needs an mgp that is built with `postgres`".to_owned()))
            }
        }
    }

    pub(crate) async fn run(self: Arc<Self>, _: impl Fn() -> LogHead, _: Arc<dyn LeasedServers>) {}

    pub(crate) async fn leave(&self) {}

    pub(crate) async fn add_uses(&self, _: &[SharedUse]) -> Result<BTreeMap<i64, f64>, StoreError> {
        Err(StoreError::NoTables)
    }

    pub(crate) async fn cluster(&self) -> Result<String, StoreError> {
        Err(StoreError::NoTables)
    }
}
