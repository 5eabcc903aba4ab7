//! The audit trail (MGP §6): what happened, kept so that no change to it goes unnoticed.
//!
//! | | |
//! |---|---|
//! | [`AuditLayer`] | records calls, and what is refused, as they come by |
//! | [`AuditLog`] | keeps events in a chain, in memory or in SQLite |
//! | [`LogReader`] | searches, counts, writes out and verifies them |
//! | [`Subscription`] | tells others of them |
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

pub use self::arguments::Arguments;
pub use self::layer::AuditLayer;
#[cfg(feature = "sqlite")]
pub use self::log::SqliteStore;
pub use self::log::{
    AuditLog, AuditLogBuilder, Bound, ChainKey, Checkpoint, Counts, Digest, Durability, Entry, ExportError,
    Facets, Filter, Flaw, Format, GAP, GroupBy, Head, LogReader, LogStore, MAX_GROUPS, MemoryStore, Order,
    PRUNED, Period, Query, Reason, Retention, Stats, Subscription, Tail, Verified, VerifyError,
};
pub use self::notification::notification;
pub use self::outgoing::TraceIdGate;
pub use self::redact::Redaction;
pub use self::service::Audit;
pub use self::trace::trace_of;
