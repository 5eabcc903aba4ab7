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

use super::{ClusterLink, VerifiedChain};
use crate::StartError;
use crate::record::AuditTrail;
use crate::settings::running::RunningConfig;

impl ClusterLink {
    pub(crate) async fn open(_: &Config, _: &Path) -> Result<Option<Arc<Self>>, StartError> {
        Ok(None)
    }

    pub(crate) async fn run<T>(self: Arc<Self>, _: Arc<AuditTrail>, _: Arc<RunningConfig>, _: T) {}

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
