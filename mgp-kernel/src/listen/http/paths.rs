//! The paths beside the protocol's: `/healthz`, `/readyz`, `/metrics`, the metadata of tokens, and the data that servers read.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use mgp_security::oauth::ResourceServer;
use mgp_transport::http::{HttpBody, HttpConfig};
use mgp_types::json::ObjectWriter;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{ServerState, TraceId};

use super::exposition::exposition;
use crate::data::empty;
use crate::sections::Sections;

/// Returns the answer at a path that takes no key: `/healthz`, which says whether this process answers, and `/readyz`, which
/// says whether it takes calls and, if it does not, why, and how many servers are connected; the document that tells clients who issues the tokens for
/// this kernel; and the data of servers, which their address gives away. Web pages from other origins are refused.
pub(super) fn open(
    kernel: &Sections,
    http: &HttpConfig,
    tokens: Option<&ResourceServer>,
    head: &Parts,
) -> Option<Response<HttpBody>> {
    let path = head.uri.path();
    if kernel.data.serves(path) {
        let is_answered = http.answers_beside(&head.headers, &head.uri);
        return Some(if is_answered { kernel.data.answer(head) } else { empty(StatusCode::FORBIDDEN) });
    }
    let metadata = || Some((StatusCode::OK, tokens?.metadata_at(path)?));
    let get = Some(path).filter(|_| head.method == Method::GET)?;
    let (status, text) = health(kernel, get).or_else(metadata)?;
    Some(unless_foreign(http, head, uncached(status, "application/json", text)))
}

/// Returns the answer at `/metrics`, if the configuration has it served.
pub(super) fn metrics(kernel: &Sections, http: &HttpConfig, head: &Parts) -> Option<Response<HttpBody>> {
    let is_metrics = head.method == Method::GET && head.uri.path() == "/metrics";
    let is_served = is_metrics && kernel.config.load().telemetry.metrics;
    let text = || exposition(kernel, http);
    let metrics = || uncached(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", text());
    is_served.then(|| unless_foreign(http, head, metrics()))
}

fn health(kernel: &Sections, path: &str) -> Option<(StatusCode, String)> {
    match path {
        "/healthz" => Some((StatusCode::OK, r#"{"status":"ok"}"#.to_owned())),
        "/readyz" => {
            let servers = kernel.fleet.all();
            let connected = servers.iter().filter(|server| server.state() == ServerState::Connected).count();
            let fault = kernel.audit.log.fault();
            let (status, word) = if kernel.lifecycle.is_stopping() {
                (StatusCode::SERVICE_UNAVAILABLE, "draining")
            } else if fault.is_some() {
                (StatusCode::SERVICE_UNAVAILABLE, "not_recording")
            } else {
                (StatusCode::OK, "ready")
            };
            let mut body = ObjectWriter::new();
            body.text("status", word);
            if let Some(fault) = &fault {
                body.text("reason", fault.message());
            }
            body.value("servers", &servers.len());
            body.value("connected", &connected);
            Some((status, String::from_utf8_lossy(body.finish().to_raw().as_bytes()).into_owned()))
        }
        _ => None,
    }
}

/// Returns the page, or its refusal where the request is one of a web page from another origin.
fn unless_foreign(http: &HttpConfig, head: &Parts, found: Response<HttpBody>) -> Response<HttpBody> {
    if http.answers_beside(&head.headers, &head.uri) {
        return found;
    }
    let text =
        "this `Host` or `Origin` is not served; `listen.allowed_hosts` and `allowed_origins` name others\n";
    uncached(StatusCode::FORBIDDEN, "text/plain; charset=utf-8", text)
}

/// Returns the trace of a request over HTTP: that of `traceparent`, or a new one.
pub(super) fn request_trace(headers: &HeaderMap) -> TraceId {
    let carried = headers.get(key::TRACEPARENT).and_then(|parent| parent.to_str().ok());
    carried.and_then(TraceId::from_traceparent).unwrap_or_else(TraceId::random)
}

/// Returns a page that nobody keeps.
pub(crate) fn uncached(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Response<HttpBody> {
    let mut response = Response::new(HttpBody::from(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
