//! The names of the members of MGP's messages, and the members that this version does not know.

use crate::Object;
use crate::json::ObjectWriter;

/// The members of `_mgp`, and of the params and results of MGP's methods.
///
/// One list serves all messages: no two names in it differ by capitals only.
pub(crate) const NAMES: &[&str] = &[
    "accepted", "actor", "after_seq", "agent_id", "allow_sudo", "allowed_imports", "approved_by", "args",
    "available", "blocked_imports", "blocked_patterns", "cached", "callback_id", "callback_type",
    "cancelled", "capabilities", "capability", "categories", "category", "chain", "channel", "channels",
    "checks", "chunks_sent", "code_safety", "command", "commands", "confirmation_required", "content",
    "context", "context_tokens_added", "created_by", "data", "deadline_ms", "decision", "delegation",
    "deny_commands", "deny_hosts", "deny_paths", "description", "details", "done", "duration_ms", "embedder",
    "embedding", "entry_type", "env", "error_type", "estimated_drain_ms", "estimated_remaining_ms",
    "event_type", "events", "evicted", "expires_at", "extensions", "fallback_strategy", "fallback_tool",
    "filter", "gap", "granted_at", "granted_by", "grants", "hints", "hosts", "id", "index", "input_schema",
    "input_types", "justification", "keywords", "languages", "last_seq", "limit", "locations",
    "max_chunks_per_second", "max_code_size_bytes", "max_execution_time_ms", "max_results", "max_retries",
    "max_tokens", "message", "mgp", "mgp_version", "min_severity", "missing_indices", "name", "near_misses",
    "new_state", "not_found", "omitted", "options", "output_types", "partial_result", "paths",
    "pending_requests", "permission", "permissions", "permissions_missing", "permissions_required", "pinned",
    "policy", "ports", "preferred_risk_level", "previous_state", "progress", "query", "query_time_ms",
    "reason", "recovery", "relevance_score", "request_id", "requirements", "resources", "response", "result",
    "retry_after_ms", "retry_strategy", "retryable", "reversible", "risk_level", "risk_level_max",
    "schema_shortened", "scope", "search_strategy", "security", "seq", "server_id", "servers",
    "session_tools_count", "severity", "side_effects", "source", "status", "strategy", "stream", "streamed",
    "subscribed", "subscription_id", "target", "task_trace_id", "timeout_ms", "timestamp", "tool_id",
    "tool_name", "tools", "tools_available", "tools_loaded", "tools_pending", "tools_total",
    "tools_unavailable", "total_available", "total_tokens", "trace_id", "transport", "truncated",
    "trust_level", "type", "unsubscribed", "unsupported", "uptime_secs", "url", "validator", "version",
    "violation", "violations",
];

/// Returns the members of `object` that are not among `known`, in order, in bytes of their own.
///
/// A copy is needed because a value that outlives its request must not keep the frame alive.
pub(crate) fn leftover(object: &Object, known: &[&str]) -> Object {
    let mut out = ObjectWriter::new();
    out.others(object, known);
    if out.is_empty() { Object::new() } else { out.finish() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_members_stay_in_order() {
        let object = Object::parse(r#"{ "z": {"b": 1}, "known": 1, "a\n": [2] }"#).unwrap();
        assert_eq!(leftover(&object, &["known"]).to_raw().as_bytes(), br#"{"z":{"b": 1},"a\n":[2]}"#);
        assert!(leftover(&object, &["z", "known", "a\n"]).is_empty());
    }
}
