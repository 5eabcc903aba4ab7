//! The values that hold for keys that no file sets, where the types have none of their own.

/// The number of calls that all servers together work on at the same time.
pub const CONCURRENCY: u32 = 1024;
/// `agent_concurrency` of `[limits]`.
pub const AGENT_CONCURRENCY: u32 = 512;
/// `concurrency` of `[servers.limits]`.
pub const SERVER_CONCURRENCY: u32 = 64;
/// `backoff_max_ms` of `[[servers]]` with a URL or a socket.
pub const REMOTE_BACKOFF_MAX_MS: u64 = 7_000;
/// `waiting_calls` of `[limits]`.
pub const WAITING_CALLS: u32 = 1024;
/// `patience_secs` of `[permissions]`.
pub const PATIENCE_SECS: u32 = 300;
/// `timeout_ms` of `[servers.limits]`.
pub const CALL_TIMEOUT_MS: u64 = 300_000;
/// `startup_timeout_ms` of `[limits]`.
pub const STARTUP_TIMEOUT_MS: u64 = 30_000;
/// `embedder` of `[tools]`.
pub const EMBEDDER: &str = "auto";
/// `log` of `[telemetry]`.
pub const LOG: &str = "warn";
/// `drain_secs` of `[kernel]`.
pub const DRAIN_SECS: u64 = 30;
/// `linger` of `[kernel]`.
pub const LINGER_SECS: u64 = 300;

/// Returns the number that holds for a key of a section that may be smaller in a folder's file, if it is bounded.
pub(in crate::config) fn of(key: &str) -> Option<u32> {
    match key {
        "patience_secs" => Some(PATIENCE_SECS),
        "agent_concurrency" => Some(AGENT_CONCURRENCY),
        "waiting_calls" => Some(WAITING_CALLS),
        _ => None,
    }
}
