//! The audit trail (MGP §6): what happened, kept so that no change to it goes unnoticed.
//!
//! | | |
//! |---|---|
//! | [`AuditLayer`] | records calls, and what is refused, as they come by |
//! | [`AuditLog`] | keeps events in a chain, in memory or in SQLite |
//! | [`LogReader`] | searches, counts, writes out and verifies them |
//! | [`LogSubscription`] | tells others of them |
//! | [`TraceIdGate`], [`trace_of`], [`notification`] | carry trace ids on |
//! | [`Redaction`] | takes secrets out of what is recorded |

mod arguments;
mod call;
mod clip;
mod details;
mod future;
mod layer;
mod log;
mod notification;
mod outgoing;
mod redact;
#[cfg(test)]
mod sample;
mod service;
#[cfg(test)]
mod tests;
mod trace;

pub use self::arguments::ArgumentRecording;
pub use self::layer::AuditLayer;
#[cfg(feature = "sqlite")]
pub use self::log::SqliteLogStore;
pub use self::log::{
    AuditLog, AuditLogBuilder, ChainDigest, ChainKey, Checkpoint, Counts, Durability, EventFacets,
    ExportError, Filter, Format, GAP, GroupBy, LogEntry, LogFlaw, LogHead, LogReader, LogStore,
    LogSubscription, MAX_GROUPS, MemoryLogStore, Order, PRUNED, Period, Query, RemovalBound, RemovalReason,
    Retention, Stats, Tail, VerifiedLog, VerifyError,
};
pub use self::notification::notification;
pub use self::outgoing::TraceIdGate;
pub use self::redact::Redaction;
pub use self::service::Audit;
pub use self::trace::trace_of;
