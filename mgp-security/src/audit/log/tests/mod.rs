mod chain;
mod following;
mod questions;
mod retention;
mod sql;
mod writing;

use mgp_types::RawJson;
use mgp_types::mgp::AuditPort;

use super::*;
use crate::audit::sample;
use crate::doubles::{database, hold};

/// Entries of so many events, linked.
fn entries(count: u32) -> Vec<LogEntry> {
    let mut head = LogHead::start();
    (1..=count)
        .map(|number| {
            let event = sample::event(number);
            let json = RawJson::from_value(&event).unwrap();
            LogEntry::behind(&mut head, json, EventFacets::of(&event))
        })
        .collect()
}

async fn record(log: &AuditLog, numbers: impl IntoIterator<Item = u32>) {
    for number in numbers {
        log.record(sample::event(number)).await.unwrap();
    }
}

fn store() -> LogStore {
    LogStore::new(database()).unwrap()
}

fn log_at(clock: Clock) -> AuditLog {
    AuditLog::with_settings(store(), AuditLogSettings { clock, ..AuditLogSettings::default() }).unwrap()
}

fn log() -> AuditLog {
    AuditLog::open(store()).unwrap()
}

fn numbers(log: &AuditLog, query: &Query) -> Vec<u64> {
    log.reader().query(query).unwrap().iter().map(|entry| entry.seq).collect()
}
