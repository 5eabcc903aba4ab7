//! The audit trail (MGP §6): a record of all calls and refusals, kept so that no change to it goes unnoticed.
//!
//! | | |
//! |---|---|
//! | [`AuditLayer`] | records passing calls and refusals |
//! | [`AuditLog`] | keeps events in a chain |
//! | [`LogStore`] | keeps, searches and verifies events |
//! | [`LogSubscription`] | forwards events to others |
//! | [`TraceIdGate`], [`trace_of`], [`notification`] | carry trace ids on |
//! | [`redacted`] | takes secrets out of recorded arguments |

mod call;
mod clip;
mod layer;
mod log;
mod redact;
#[cfg(test)]
mod sample;
#[cfg(test)]
mod tests;
mod trace;

pub use self::call::DATA_FLOW;
pub use self::layer::{Audit, AuditLayer};
pub use self::log::{
    AuditLog, AuditLogSettings, Durability, EventFacets, Filter, GAP, KERNEL_LOST, LogEntry, LogFlaw,
    LogHead, LogStore, LogSubscription, Order, PRUNED, Query, Retention, VerifiedLog, VerifyError,
    with_place,
};
pub use self::redact::{ArgumentRecording, DigestKey, redacted};
pub use self::trace::{TraceIdGate, notification, trace_of};
