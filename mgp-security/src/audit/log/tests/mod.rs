mod chain;
mod questions;
mod retention;
#[cfg(feature = "sqlite")]
mod sql;
mod writing;

use std::sync::Arc;

use mgp_types::RawJson;
use mgp_types::mgp::AuditPort;

use super::chain::Chain;
use super::*;
use crate::audit::sample;

/// Entries of so many events, linked.
fn entries(chain: &Chain, count: u32) -> Vec<LogEntry> {
    let mut head = chain.start();
    (1..=count)
        .map(|number| {
            let event = sample::event(number);
            let json = RawJson::from_value(&event).unwrap();
            LogEntry::behind(&mut head, chain, json, EventFacets::of(&event))
        })
        .collect()
}

async fn record(log: &AuditLog, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        log.record(sample::event(number)).await.unwrap();
    }
}

/// A log in each kind of store.
fn logs() -> Vec<AuditLog> {
    vec![
        AuditLog::open(MemoryLogStore::new(1_000_000)).unwrap(),
        #[cfg(feature = "sqlite")]
        AuditLog::open(SqliteLogStore::new(crate::sqlite::Database::in_memory().unwrap()).unwrap()).unwrap(),
    ]
}

fn numbers(log: &AuditLog, query: &Query) -> Vec<u64> {
    log.reader().query(query).unwrap().iter().map(|entry| entry.seq).collect()
}

/// A store to hand out twice, as if a log were opened again.
#[derive(Debug, Clone)]
struct Shared(Arc<MemoryLogStore>);

impl LogStore for Shared {
    fn tail(&self) -> Result<Tail, StoreError> {
        self.0.tail()
    }
    fn append(&self, entries: &[LogEntry]) -> Result<(), StoreError> {
        self.0.append(entries)
    }
    fn read(&self, query: &Query) -> Result<Vec<LogEntry>, StoreError> {
        self.0.read(query)
    }
    fn beyond(&self, bound: RemovalBound, at_most: u64) -> Result<Option<(LogHead, u64)>, StoreError> {
        self.0.beyond(bound, at_most)
    }
    fn forget(&self, checkpoint: &Checkpoint, note: &LogEntry) -> Result<(), StoreError> {
        self.0.forget(checkpoint, note)
    }
}
