//! The trace of a request over HTTP.

use http::HeaderMap;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::TraceId;

/// Returns the trace of a request over HTTP: that of `traceparent`, or a new one.
pub(super) fn request_trace(headers: &HeaderMap) -> TraceId {
    let carried = headers.get(key::TRACEPARENT).and_then(|parent| parent.to_str().ok());
    carried.and_then(TraceId::from_traceparent).unwrap_or_else(TraceId::random)
}
