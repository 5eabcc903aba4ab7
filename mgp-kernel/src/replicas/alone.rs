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
use mgp_security::audit::AuditLog;
use mgp_security::limit::SharedUse;
use mgp_store::StoreError;
use serde_json::Value;

use super::{ClusterLink, LeasedServers, VerifiedChain};
use crate::StartError;
use crate::record::AuditTrail;
use crate::running::RunningConfig;

impl ClusterLink {
    pub(crate) async fn open(config: &Config, _: &Path) -> Result<Option<Arc<Self>>, StartError> {
        match config.store.url {
            None => Ok(None),
            Some(_) => {
                Err(StartError::Config("`[store]` needs an mgp that is built with `postgres`".to_owned()))
            }
        }
    }

    pub(crate) async fn run(
        self: Arc<Self>,
        _: Arc<AuditTrail>,
        _: Arc<RunningConfig>,
        _: Arc<dyn LeasedServers>,
    ) {
    }

    pub(crate) async fn leave(&self, _: &AuditTrail) {}

    pub(crate) async fn add_uses(&self, _: &[SharedUse]) -> Result<BTreeMap<i64, f64>, StoreError> {
        Err(StoreError::NoTables)
    }

    pub(crate) async fn cluster(&self) -> Result<String, StoreError> {
        Err(StoreError::NoTables)
    }

    pub(crate) async fn events<T>(&self, _: &Value) -> Result<T, StoreError> {
        Err(StoreError::NoTables)
    }

    pub(crate) async fn verify_record(&self, _: &AuditLog) -> Result<Vec<VerifiedChain>, StoreError> {
        Err(StoreError::NoTables)
    }
}
