//! A small server that keeps every rule of the suites, in both eras.

use std::collections::BTreeSet;

use serde_json::{Value, json};

pub(crate) const STATELESS: &str = "2026-07-28";
const EXTENSION: &str = "io.github.mcp-extension-proposals/";

/// What a server sends because of a message: all but the last are notifications and requests.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) messages: Vec<Value>,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// A server, and what it remembers.
#[derive(Debug, Default)]
pub(crate) struct RightServer {
    /// The capabilities of the client, from initialize or the request itself.
    pub(crate) declared: Value,
    pub(crate) is_discovered: bool,
    keys: BTreeSet<String>,
    transactions: BTreeSet<String>,
}

/// Returns the revision of a message: by its `_meta` or header, or else by whether the connection was initialized.
pub(crate) fn era_of(message: &Value, header: Option<&str>, is_initialized: bool) -> &'static str {
    let meta = message["params"]["_meta"].as_object();
    let is_marked =
        meta.is_some_and(|meta| meta.keys().any(|key| key.starts_with("io.modelcontextprotocol/")));
    let is_stateless = match header {
        _ if is_marked => true,
        Some(version) => version >= "2026",
        None => message["method"] != "initialize" && !is_initialized,
    };
    if is_stateless { STATELESS } else { "2025-11-25" }
}

impl RightServer {
    pub(crate) fn reply(&mut self, message: &Value, era: &str) -> Reply {
        let Some(method) = message["method"].as_str() else {
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            let refusal = || error(&message["id"], -32600, "invalid request");
            let messages = if is_answer { Vec::new() } else { vec![refusal()] };
            return Reply { status: if is_answer { 202 } else { 400 }, messages, ..Reply::default() };
        };
        let id = &message["id"];
        if id.is_null() {
            return Reply { status: 202, ..Reply::default() };
        }
        let params = &message["params"];
        let is_stateless = era == STATELESS;
        if is_stateless {
            if let Some(refused) = refuse_meta(id, &params["_meta"]) {
                return Reply { status: 400, messages: vec![refused], ..Reply::default() };
            }
            self.declared = params["_meta"]["io.modelcontextprotocol/clientCapabilities"].clone();
        }
        let mut messages = self.notices(method, message);
        let answer = match self.outcome(method, params, is_stateless) {
            Ok(mut result) => {
                if is_stateless {
                    result["resultType"] = "complete".into();
                    result["_meta"]["io.modelcontextprotocol/serverInfo"] = info();
                    result["ttlMs"] = 0.into();
                    result["cacheScope"] = "private".into();
                }
                json!({ "jsonrpc": "2.0", "id": id, "result": result })
            }
            Err((code, text)) => {
                let mut refused = error(id, code, text);
                if self.has("structured_errors") {
                    refused["error"]["data"] =
                        json!({ "code": "RESOURCE_NOT_FOUND", "message": text, "category": "permanent" });
                }
                refused
            }
        };
        let status = if is_stateless && answer["error"]["code"] == -32601 { 404 } else { 200 };
        messages.push(answer);
        Reply { status, messages, headers: Vec::new() }
    }

    fn has(&self, extension: &str) -> bool {
        self.declared["extensions"].get(format!("{EXTENSION}{extension}")).is_some()
    }

    /// Returns what goes before the answer.
    fn notices(&self, method: &str, message: &Value) -> Vec<Value> {
        let (id, params) = (&message["id"], &message["params"]);
        let notify =
            |method: &str, params: Value| json!({ "jsonrpc": "2.0", "method": method, "params": params });
        if method == "subscriptions/listen" {
            let meta = json!({ "io.modelcontextprotocol/subscriptionId": id });
            let params = json!({ "notifications": params["notifications"], "_meta": meta });
            return vec![notify("notifications/subscriptions/acknowledged", params)];
        }
        if method != "tools/call" || params["name"] != "look" {
            return Vec::new();
        }
        let token = &params["_meta"]["progressToken"];
        let steps = if token.is_null() { 0 } else { 2 };
        let progress = (0..steps).map(|step| {
            notify("notifications/progress", json!({ "progressToken": token, "progress": step }))
        });
        let is_streamed = params["_mgp"]["stream"] == true && self.declared["mgp"].is_object();
        let chunk = json!({ "request_id": id, "index": 0, "content": { "type": "text", "text": "blue" }, "done": true });
        let chunk = is_streamed.then(|| notify("notifications/mgp.stream.chunk", chunk));
        progress.chain(chunk).collect()
    }

    fn outcome(
        &mut self,
        method: &str,
        params: &Value,
        is_stateless: bool,
    ) -> Result<Value, (i32, &'static str)> {
        let name = params["name"].as_str().unwrap_or_default();
        Ok(match method {
            "initialize" if !is_stateless => {
                self.declared = params["capabilities"].clone();
                let asked = params["protocolVersion"].as_str().unwrap_or_default();
                let version = if asked == "2025-06-18" { asked } else { "2025-11-25" };
                let mut capabilities = capabilities(is_stateless);
                if self.declared["mgp"].is_object() {
                    capabilities["mgp"] = json!({ "version": "0.3.0", "extensions": [] });
                }
                json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": info() })
            }
            "server/discover" if is_stateless => {
                self.is_discovered = true;
                json!({ "supportedVersions": [STATELESS], "capabilities": capabilities(is_stateless) })
            }
            "ping" | "resources/subscribe" if !is_stateless => json!({}),
            "tools/list" => match params["cursor"].as_str() {
                None => json!({ "tools": [look()], "nextCursor": "page-2" }),
                Some("page-2") => json!({ "tools": [add()] }),
                Some(_) => return Err((-32602, "invalid cursor")),
            },
            "tools/call" => self.call(name, params)?,
            "resources/list" => json!({ "resources": [{ "uri": "subject://sky", "name": "sky" }] }),
            "resources/templates/list" => {
                json!({ "resourceTemplates": [{ "uriTemplate": "subject://{name}", "name": "all" }] })
            }
            "resources/read" if params["uri"] == "subject://sky" => {
                json!({ "contents": [{ "uri": "subject://sky", "text": "blue" }] })
            }
            "resources/read" => return Err((if is_stateless { -32602 } else { -32002 }, "no such resource")),
            "subscriptions/listen" if is_stateless => json!({}),
            "prompts/list" => json!({ "prompts": [{ "name": "greet" }, { "name": "part" }] }),
            "prompts/get" if name == "greet" => {
                json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "hello" } }] })
            }
            "prompts/get" => return Err((-32602, "no such prompt")),
            "logging/setLevel" if !is_stateless && params["level"] == "error" => json!({}),
            "logging/setLevel" if !is_stateless => return Err((-32602, "no such level")),
            "mgp/manifest/get" if self.has("service_manifest") => manifest(),
            "mgp/permission/check" if self.has("scoped_auth") => {
                let is_held =
                    params["scopes_held"].as_array().is_some_and(|held| held.contains(&json!("read:sky")));
                let missing = if is_held { json!([]) } else { json!(["read:sky"]) };
                json!({ "allowed": is_held, "missing_scopes": missing })
            }
            "transaction/begin" if self.has("transactions") => {
                self.transactions.insert(params["transaction_id"].to_string());
                json!({ "transaction_id": params["transaction_id"], "status": "begun" })
            }
            "transaction/rollback" | "transaction/commit" if self.has("transactions") => {
                if !self.transactions.remove(&params["transaction_id"].to_string()) {
                    return Err((2020, "no such transaction"));
                }
                json!({ "transaction_id": params["transaction_id"], "steps_compensated": [] })
            }
            _ => return Err((-32601, "method not found")),
        })
    }

    fn call(&mut self, name: &str, params: &Value) -> Result<Value, (i32, &'static str)> {
        let say = |text: &str| json!([{ "type": "text", "text": text }]);
        match name {
            "look" => {
                let mut result = json!({ "content": say("blue"), "structuredContent": { "color": "blue" } });
                if let Some(key) = params["_meta"]["idempotency_key"].as_str()
                    && self.has("idempotency")
                {
                    let was_replay = !self.keys.insert(key.to_owned());
                    result["_meta"] = json!({ "idempotency_key": key, "was_replay": was_replay });
                }
                Ok(result)
            }
            "add" if params["arguments"]["a"].is_number() => Ok(json!({ "content": say("done") })),
            "add" => Ok(json!({ "content": say("`a` is missing"), "isError": true })),
            _ => Err((-32602, "no such tool")),
        }
    }
}

fn info() -> Value {
    json!({ "name": "subject", "version": "1.0.0" })
}

fn capabilities(is_stateless: bool) -> Value {
    let names = ["service_manifest", "scoped_auth", "structured_errors", "idempotency", "transactions"];
    let extensions = names.map(|name| (format!("{EXTENSION}{name}"), json!({})));
    let mut capabilities = json!({
        "tools": { "listChanged": true },
        "resources": {},
        "prompts": {},
        "extensions": extensions.into_iter().collect::<serde_json::Map<_, _>>(),
    });
    if !is_stateless {
        capabilities["logging"] = json!({});
        capabilities["resources"]["subscribe"] = true.into();
    }
    capabilities
}

fn look() -> Value {
    json!({
        "name": "look",
        "description": "Tells the color of the sky.",
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object", "required": ["color"], "properties": { "color": { "type": "string" } } },
        "annotations": { "readOnlyHint": true },
    })
}

fn add() -> Value {
    let schema = json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "number" } } });
    json!({ "name": "add", "description": "Adds.", "inputSchema": schema })
}

fn manifest() -> Value {
    let tool = json!({
        "name": "look",
        "description": "Tells the color of the sky.",
        "input_schema": { "type": "object" },
        "required_scopes": ["read:sky"],
    });
    json!({ "manifest_version": "0.1.0", "server": { "name": "subject", "version": "1.0.0" }, "tools": [tool] })
}

/// Refuses what the stateless era does not allow in `_meta`.
fn refuse_meta(id: &Value, meta: &Value) -> Option<Value> {
    let version = &meta["io.modelcontextprotocol/protocolVersion"];
    if !version.is_string() || !meta["io.modelcontextprotocol/clientCapabilities"].is_object() {
        return Some(error(id, -32602, "`_meta` lacks a member"));
    }
    (version != STATELESS).then(|| {
        let mut refused = error(id, -32022, "unsupported protocol version");
        refused["error"]["data"] = json!({ "supported": [STATELESS], "requested": version });
        refused
    })
}

pub(crate) fn error(id: &Value, code: i32, message: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
}
