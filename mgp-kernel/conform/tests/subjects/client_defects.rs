//! Deliberately wrong clients: for each rule, the one place where the right client is changed.

use serde_json::{Value, json};

use super::client::Headers;

/// The rules that a client can break over stdio, by the ids of their tests.
pub(crate) const STDIO: &[&str] = &[
    "C25-jsonrpc", "C25-ids", "C25-initialize-first", "C25-initialize", "C25-initialized", "C25-ping",
    "C25-unknown-request", "C25-roots-undeclared", "C25-sampling-undeclared", "C25-elicitation-undeclared",
    "C25-notification-silent", "C25-version-unknown", "C26-jsonrpc", "C26-ids", "C26-meta",
    "C26-removed-methods", "C26-input-state",
];

/// The rules that a client can break only over HTTP.
pub(crate) const HTTP: &[&str] = &[
    "C25-http-accept", "C25-http-version", "C25-http-session", "C25-http-session-lost", "C26-http-version",
    "C26-http-method", "C26-http-name", "C26-http-accept", "C26-http-no-session",
];

/// Returns whether a defect is one of this era.
pub(crate) fn is_of_era(defect: &str, era: &str) -> bool {
    defect.starts_with("C26") == (era >= "2026")
}

/// Changes a message that the right client sends.
pub(crate) fn spoil(defect: &str, message: &mut Value) {
    let method = message["method"].as_str().unwrap_or_default();
    match (defect, method) {
        ("C25-jsonrpc" | "C26-jsonrpc", "tools/call") => message["jsonrpc"] = "1.0".into(),
        ("C25-ids" | "C26-ids", "tools/list" | "tools/call") => message["id"] = 77.into(),
        ("C25-initialize", "initialize") => message["params"]["clientInfo"] = json!({ "name": "subject" }),
        ("C26-meta", "tools/call") => {
            message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Value::Null;
        }
        _ => {}
    }
}

/// Changes the headers of a message.
pub(crate) fn spoil_headers(defect: &str, headers: &mut Headers) {
    let name = match defect {
        "C25-http-accept" | "C26-http-accept" => "accept",
        "C25-http-version" | "C26-http-version" => "mcp-protocol-version",
        "C25-http-session" => "mcp-session-id",
        "C26-http-method" => "mcp-method",
        "C26-http-name" => "mcp-name",
        "C26-http-no-session" => return headers.push(("mcp-session-id", "subject".into())),
        _ => return,
    };
    headers.retain(|(header, _)| *header != name);
}
