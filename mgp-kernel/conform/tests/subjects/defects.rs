//! Deliberately wrong servers: for each rule, the one place where the right server is changed.

use serde_json::{Value, json};

use super::server::{Reply, RightServer, error};

/// The rules of the suite that a server can break over stdio, by the ids of their tests.
pub(crate) const STDIO: &[&str] = &[
    "S25-initialize", "S25-version-unknown", "S25-capability-shapes", "S25-ping", "CONF-005", "CONF-006",
    "CONF-007", "S25-invalid-request", "S25-id-text", "S25-id-number", "S25-jsonrpc", "S25-one-outcome",
    "S25-error-shape", "S25-notification-silent", "S25-cancel-unknown", "S25-only-messages",
    "S25-tools-pages", "S25-tools-undeclared", "S25-tool-unknown", "S25-tool-arguments", "S25-tool-call",
    "S25-tool-structured", "S25-progress", "S25-progress-unasked", "S25-undeclared-requests",
    "S25-resources-list", "S25-templates-list", "S25-resource-read", "S25-resource-unknown",
    "S25-resources-undeclared", "S25-prompts-list", "S25-prompt-get", "S25-prompt-unknown",
    "S25-prompts-undeclared", "S25-cursor-invalid", "S25-log-level", "S25-log-level-invalid",
    "S25-subscribe", "S26-discover", "S26-no-handshake", "S26-removed-method", "S26-version-unsupported",
    "S26-capabilities-missing", "S26-client-info-optional", "S26-result-type", "S26-cache-hints",
    "S26-server-info", "S26-unknown-method", "S26-parse-error", "S26-invalid-request", "S26-id-text",
    "S26-id-number", "S26-jsonrpc", "S26-one-outcome", "S26-error-shape", "S26-notification-silent",
    "S26-tools-list", "S26-tools-pages", "S26-tools-undeclared", "S26-tool-unknown", "S26-tool-arguments",
    "S26-tool-call", "S26-tool-structured", "S26-progress", "S26-progress-unasked", "S26-no-requests",
    "S26-log-unasked", "S26-resources-list", "S26-templates-list", "S26-resource-read",
    "S26-resource-unknown", "S26-resources-undeclared", "S26-prompts-list", "S26-prompt-get",
    "S26-prompt-unknown", "S26-prompts-undeclared", "S26-cursor-invalid", "S26-listen", "S26-cancel-unknown",
    "CONF-001", "CONF-002", "CONF-003", "CONF-004", "EXT-05-replay", "EXT-05-first", "EXT-05-rollback",
    "EXT-05-unknown", "MGP-12-chunks", "MGP-12-complete", "MGP-2-intersection", "MGP-2-silent",
    "EXT-degrade-unknown", "EXT-degrade-meta", "EXT-degrade-silent",
];

/// The rules of the suite that a server can break only over HTTP.
pub(crate) const HTTP: &[&str] = &[
    "S25-http-accepted", "S25-http-content-type", "S25-http-version-invalid", "S25-http-session-visible",
    "S25-http-session-missing", "S25-http-session-ended", "S25-http-get", "S25-http-origin",
    "S26-meta-missing", "S26-http-version-mismatch", "S26-http-method-missing", "S26-http-name-mismatch",
    "S26-http-no-session", "S26-http-get", "S26-http-origin",
];

/// Returns whether a defect is one of this era; those of extensions are of the older one.
pub(crate) fn is_of_era(defect: &str, era: &str) -> bool {
    defect.starts_with("S26") == (era >= "2026")
}

/// Changes what the right server replies to a message.
#[expect(clippy::too_many_lines, reason = "a table, one arm for each rule")]
pub(crate) fn spoil(defect: &str, server: &RightServer, message: &Value, reply: &mut Reply) {
    let method = message["method"].as_str().unwrap_or_default();
    let (id, params) = (&message["id"], &message["params"]);
    let rule = defect.split_once('-').map_or(defect, |(_, rule)| rule);
    let is_look = method == "tools/call" && params["name"] == "look";
    let is_live = matches!(method, "ping" | "server/discover");
    let message_count = reply.messages.len();
    let Some(answer) = reply.messages.last_mut() else {
        let is_answered = match rule {
            "notification-silent" => method == "notifications/mgp-conform.unknown",
            "cancel-unknown" => method == "notifications/cancelled",
            _ => false,
        };
        if is_answered {
            reply.messages.push(error(&Value::Null, -32601, "method not found"));
        }
        return;
    };
    let number = |text: &Value| text.as_str().and_then(|text| text.parse::<u64>().ok());
    match (rule, method) {
        ("initialize", "initialize") => answer["result"]["serverInfo"] = json!({ "name": "subject" }),
        ("version-unknown", "initialize") => {
            answer["result"]["protocolVersion"] = params["protocolVersion"].clone();
        }
        ("capability-shapes", "initialize") => answer["result"]["capabilities"]["logging"] = true.into(),
        ("ping", "ping") => answer["result"] = json!({ "pong": true }),
        ("discover", "server/discover") => answer["result"]["supportedVersions"] = json!(["2025-11-25"]),
        ("no-handshake", "tools/list") if !server.is_discovered => {
            *answer = error(id, -32600, "not discovered");
        }
        ("removed-method", "ping") => *answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} }),
        ("version-unsupported", _) if answer["error"]["code"] == -32022 => {
            answer["error"]["code"] = (-32602).into();
        }
        ("capabilities-missing" | "meta-missing", "tools/list") if answer["error"]["code"] == -32602 => {
            let is_missing = params["_meta"]["io.modelcontextprotocol/protocolVersion"].is_string();
            if is_missing == (rule == "capabilities-missing") && params["cursor"].is_null() {
                *answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [] } });
            }
        }
        ("client-info-optional", _)
            if params["_meta"].get("io.modelcontextprotocol/clientInfo").is_none() =>
        {
            if params["_meta"].is_object() && answer["result"].is_object() {
                *answer = error(id, -32602, "nameless");
            }
        }
        ("result-type", "tools/list") => answer["result"]["resultType"] = Value::Null,
        ("cache-hints", "tools/list") => answer["result"]["ttlMs"] = (-1).into(),
        ("server-info", "server/discover") => answer["result"]["_meta"] = json!({}),
        ("006" | "unknown-method", "mgp-conform/unknown") => answer["error"]["code"] = (-32600).into(),
        ("007" | "parse-error", "") if answer["error"]["code"] == -32700 => {
            answer["error"]["code"] = (-32603).into();
        }
        ("invalid-request", "") if answer["error"]["code"] == -32600 => {
            answer["error"]["code"] = (-32603).into();
        }
        ("id-text", _) if number(id).is_some() => answer["id"] = json!(number(id)),
        ("id-number", _) if id.is_number() => answer["id"] = id.to_string().into(),
        ("jsonrpc", _) if is_live => answer["jsonrpc"] = "1.0".into(),
        ("one-outcome", "mgp-conform/unknown") => answer["result"] = json!({}),
        ("error-shape", "mgp-conform/unknown") => answer["error"]["message"] = Value::Null,
        ("only-messages", "ping") => reply.messages.insert(0, "ready".into()),
        ("005" | "tools-list", "tools/list") => {
            if answer["result"]["tools"][0]["name"] == "look" {
                answer["result"]["tools"][0]["inputSchema"] = json!({ "type": "array" });
            }
        }
        ("tools-pages", "tools/list") => answer["result"]["nextCursor"] = "page-2".into(),
        (
            "tools-undeclared" | "resources-undeclared" | "prompts-undeclared",
            "initialize" | "server/discover",
        ) => {
            let name = rule.trim_end_matches("-undeclared");
            if let Some(capabilities) = answer["result"]["capabilities"].as_object_mut() {
                capabilities.remove(name);
            }
        }
        ("tool-unknown", "tools/call")
            if answer["error"].is_object() && server.declared["extensions"].is_null() =>
        {
            let content = json!([{ "type": "text", "text": "no such tool" }]);
            *answer =
                json!({ "jsonrpc": "2.0", "id": id, "result": { "content": content, "isError": true } });
        }
        ("tool-arguments", "tools/call") if params["name"] == "add" => {
            answer["result"]["isError"] = false.into();
        }
        ("tool-call", _) if is_look => answer["result"]["content"] = json!([{ "type": "riddle" }]),
        ("tool-structured", _) if is_look => answer["result"]["structuredContent"] = json!({ "color": 7 }),
        ("progress", _) if message_count == 3 => {
            reply.messages[0]["params"]["progressToken"] = "other".into();
        }
        ("progress-unasked", _) if is_look && params["_meta"]["progressToken"].is_null() => {
            let progress = json!({ "progressToken": "none", "progress": 1 });
            reply.messages.insert(
                0,
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": progress }),
            );
        }
        ("undeclared-requests" | "no-requests", _) if is_look => {
            reply.messages.insert(0, json!({ "jsonrpc": "2.0", "id": "subject-1", "method": "roots/list" }));
        }
        ("log-unasked", _) if is_look => {
            let log = json!({ "level": "error", "data": "seen" });
            reply
                .messages
                .insert(0, json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": log }));
        }
        ("resources-list", "resources/list") => answer["result"]["resources"][0]["name"] = Value::Null,
        ("templates-list", "resources/templates/list") => answer["result"]["resourceTemplates"] = json!([{}]),
        ("resource-read", "resources/read") if answer["result"].is_object() => {
            answer["result"]["contents"] = json!([{ "uri": "subject://sky" }]);
        }
        ("resource-unknown", "resources/read") if answer["error"].is_object() => {
            *answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "contents": [] } });
        }
        ("prompts-list", "prompts/list") => answer["result"]["prompts"][1] = json!({}),
        ("prompt-get", "prompts/get") if answer["result"].is_object() => {
            answer["result"]["messages"][0]["role"] = "system".into();
        }
        ("prompt-unknown", "prompts/get") if answer["error"].is_object() => {
            *answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "messages": [] } });
        }
        ("cursor-invalid", "tools/list") if answer["error"].is_object() && params["cursor"].is_string() => {
            *answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "tools": [] } });
        }
        ("log-level", "logging/setLevel") if answer["result"].is_object() => {
            *answer = error(id, -32603, "no");
        }
        ("log-level-invalid", "logging/setLevel") if answer["error"].is_object() => {
            *answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        }
        ("subscribe", "resources/subscribe") => *answer = error(id, -32601, "method not found"),
        ("listen", "subscriptions/listen") => reply.messages[0]["params"]["_meta"] = json!({}),
        _ => spoil_extension(defect, server, message, reply),
    }
}

fn spoil_extension(defect: &str, server: &RightServer, message: &Value, reply: &mut Reply) {
    let method = message["method"].as_str().unwrap_or_default();
    let (id, params) = (&message["id"], &message["params"]);
    let key = params["_meta"]["idempotency_key"].as_str().unwrap_or_default();
    let declares = |name: &str| server.declared["extensions"].get(name).is_some();
    let is_streamed = params["_mgp"]["stream"] == true;
    let Some(answer) = reply.messages.last_mut() else { return };
    match (defect, method) {
        ("CONF-001", "mgp/manifest/get") => answer["result"]["manifest_version"] = Value::Null,
        ("CONF-002", "mgp/permission/check") => answer["result"]["missing_scopes"] = json!(["read:sky"]),
        ("CONF-003", "mgp/permission/check") => answer["result"]["allowed"] = true.into(),
        ("CONF-004", "tools/call") if answer["error"]["data"].is_object() => {
            answer["error"]["data"]["category"] = "sad".into();
        }
        ("EXT-05-replay", "tools/call") if answer["result"]["_meta"]["was_replay"] == true => {
            answer["result"]["_meta"]["was_replay"] = false.into();
        }
        ("EXT-05-first", "tools/call") if key.ends_with("-first") => {
            answer["result"]["_meta"]["was_replay"] = true.into();
        }
        ("EXT-05-rollback", "transaction/rollback") => answer["result"]["steps_compensated"] = Value::Null,
        ("EXT-05-unknown", "transaction/commit") => {
            *answer = json!({ "jsonrpc": "2.0", "id": id, "result": {} });
        }
        ("MGP-12-complete", "tools/call") if is_streamed => answer["result"] = json!({}),
        ("MGP-12-chunks", "tools/call") if is_streamed => {
            reply.messages[0]["params"]["index"] = "first".into();
        }
        ("MGP-2-intersection", "initialize") if server.declared["mgp"].is_object() => {
            answer["result"]["capabilities"]["mgp"]["extensions"] = json!(["audit"]);
        }
        ("MGP-2-silent", "initialize") if server.declared["mgp"].is_null() => {
            answer["result"]["capabilities"]["mgp"] = json!({ "version": "0.3.0", "extensions": [] });
        }
        ("EXT-degrade-unknown", "tools/list") if declares("com.example/unknown") => {
            *answer = error(id, -32603, "unknown extension");
        }
        ("EXT-degrade-meta", "ping") if params["_meta"].get("com.example/unknown").is_some() => {
            *answer = error(id, -32602, "unknown member");
        }
        ("EXT-degrade-silent", "tools/call") if key.ends_with("-silent") => {
            answer["result"]["_meta"] = json!({ "was_replay": false });
        }
        _ => {}
    }
}
