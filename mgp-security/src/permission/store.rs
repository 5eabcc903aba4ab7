use std::collections::BTreeMap;
use std::fmt;

use mgp_types::BoxFuture;
use mgp_types::mgp::{Permission, ServerId};
use parking_lot::Mutex;

use super::GrantRecord;
use crate::StoreError;

/// Where the decisions of operators are kept.
pub trait GrantStore: Send + Sync + fmt::Debug + 'static {
    /// All records.
    fn load(&self) -> BoxFuture<'_, Result<Vec<GrantRecord>, StoreError>>;

    /// Keeps a record in place of an older one about the same permission of the same server. It is done when the
    /// record is safe.
    fn put(&self, record: GrantRecord) -> BoxFuture<'_, Result<(), StoreError>>;
}

/// A store that is forgotten with the process.
#[derive(Debug, Default)]
pub struct MemoryGrants(Mutex<BTreeMap<(ServerId, Permission), GrantRecord>>);

impl GrantStore for MemoryGrants {
    fn load(&self) -> BoxFuture<'_, Result<Vec<GrantRecord>, StoreError>> {
        let records = self.0.lock().values().cloned().collect();
        Box::pin(std::future::ready(Ok(records)))
    }

    fn put(&self, record: GrantRecord) -> BoxFuture<'_, Result<(), StoreError>> {
        self.0.lock().insert((record.server.clone(), record.permission.clone()), record);
        Box::pin(std::future::ready(Ok(())))
    }
}
