//! The reader of an audit log, by which events are searched and verified.

use std::sync::Arc;

use super::chain::{Chain, ChainKey};
use super::entry::LogEntry;
use super::filter::Query;
use super::store::LogStore;
use crate::StoreError;

/// A reader of a log, for use while the log is written or afterwards.
///
/// All its methods block for as long as the store takes: within a runtime, call them on a thread that may block.
#[derive(Debug, Clone)]
pub struct LogReader {
    pub(super) store: Arc<LogStore>,
    pub(super) chain: Chain,
}

impl LogReader {
    /// Returns a reader of the log in `store`, for a program that does not write the log.
    pub fn of_store(store: LogStore, key: Option<ChainKey>) -> Self {
        Self::new(Arc::new(store), Chain::new(key))
    }

    pub(super) const fn new(store: Arc<LogStore>, chain: Chain) -> Self {
        Self { store, chain }
    }

    /// Returns the events that `query` asks for.
    pub fn query(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError> {
        self.store.read(query)
    }
}
