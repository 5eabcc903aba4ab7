//! The kit as a server: what it answers to a client, what it asks in between, and the record of what the client sent.

use serde_json::{Map, Value, json};

use crate::link::Headers;
use crate::scenario::Step;
use crate::session::is_stateless;

/// A server that follows the steps of a scenario, and else answers as a plain server does.
#[derive(Debug)]
pub(crate) struct KitServer {
    protocol: String,
    /// The steps that nothing has set off yet.
    steps: Vec<Step>,
    /// The ids of the kit's requests that the client has not answered.
    asked: Vec<Value>,
    /// The messages of the client, in the order in which they came.
    messages: Vec<Value>,
    answers: Map<String, Value>,
    /// Answers to what the kit did not ask.
    stray: Vec<Value>,
}

/// The reply of the kit to a message of the client.
#[derive(Debug, Default)]
pub(crate) struct Reaction {
    /// Requests and notifications, which go before the answer.
    pub(crate) first: Vec<Value>,
    pub(crate) answer: Option<Value>,
    /// The status over HTTP.
    pub(crate) status: u16,
    /// True if the answer begins a session.
    pub(crate) begins_session: bool,
}

impl KitServer {
    pub(crate) fn new(protocol: &str, steps: &[Step]) -> Self {
        Self {
            protocol: protocol.into(),
            steps: steps.to_vec(),
            asked: Vec::new(),
            messages: Vec::new(),
            answers: Map::new(),
            stray: Vec::new(),
        }
    }

    /// Returns whether the client has yet to answer a request of the kit.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Stops waiting for answers of the client.
    pub(crate) fn give_up(&mut self) {
        self.asked.clear();
    }

    /// Records a message of the client, and returns what the kit sends because of it.
    pub(crate) fn receive(&mut self, message: Value, headers: &Headers) -> Reaction {
        let Some(method) = message["method"].as_str().map(ToOwned::to_owned) else {
            self.answered(message);
            return Reaction { status: 202, ..Reaction::default() };
        };
        let (first, answer) = self.set_off(&method);
        let mut reaction = Reaction { first, ..Reaction::default() };
        if let Some(id) = message.get("id") {
            let answer = answer.unwrap_or_else(|| self.usual_answer(&method, &message["params"]));
            reaction.begins_session = method == "initialize" && answer["error"].is_null();
            let is_unknown = is_stateless(&self.protocol) && answer["error"]["code"] == -32601;
            let usual = if is_unknown { 404 } else { 200 };
            reaction.status =
                answer["http"].as_u64().and_then(|status| status.try_into().ok()).unwrap_or(usual);
            let mut answer = answer;
            if answer["http"].is_null() {
                answer["jsonrpc"] = "2.0".into();
                answer["id"] = id.clone();
                reaction.answer = Some(answer);
            }
        } else {
            reaction.status = 202;
        }
        self.messages.push(entry(&message, &method, headers));
        reaction
    }

    /// Takes the steps that a method sets off: messages to send first, and perhaps another answer than the usual one.
    fn set_off(&mut self, method: &str) -> (Vec<Value>, Option<Value>) {
        let mut first = Vec::new();
        while let Some(at) = self.steps.iter().position(|step| step.on.as_deref() == Some(method)) {
            let step = self.steps.remove(at);
            if let Some(method) = step.request.as_ref().or(step.notification.as_ref()) {
                let mut message = json!({ "jsonrpc": "2.0", "method": method });
                if let Some(params) = step.params {
                    message["params"] = params;
                }
                if let Some(id) = step.id {
                    message["id"] = id.clone();
                    self.asked.push(id);
                }
                first.push(message);
            }
            if step.answer.is_some() {
                return (first, step.answer);
            }
        }
        (first, None)
    }

    fn answered(&mut self, message: Value) {
        let asked = self.asked.iter().position(|id| *id == message["id"]);
        match (asked, message["id"].as_str()) {
            (Some(at), Some(id)) => {
                self.asked.remove(at);
                self.answers.insert(id.to_owned(), message);
            }
            _ => self.stray.push(message),
        }
    }

    fn usual_answer(&self, method: &str, params: &Value) -> Value {
        let is_stateless = is_stateless(&self.protocol);
        let tool = json!({
            "name": "echo",
            "description": "Returns the text.",
            "inputSchema": { "type": "object", "properties": { "text": { "type": "string" } } },
            "annotations": { "readOnlyHint": true },
        });
        let capabilities = json!({ "tools": {}, "resources": {}, "prompts": {} });
        let server = json!({ "name": "mgp-conform", "version": env!("CARGO_PKG_VERSION") });
        let (mut result, is_cacheable) = match method {
            "initialize" if !is_stateless => {
                let asked = &params["protocolVersion"];
                let known = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
                let version = known.iter().find(|version| asked == *version).unwrap_or(&"2025-11-25");
                (
                    json!({ "protocolVersion": version, "capabilities": capabilities, "serverInfo": server }),
                    false,
                )
            }
            "initialize" => {
                let data = json!({ "supported": [self.protocol], "requested": params["protocolVersion"] });
                return error(-32022, "unsupported protocol version", &data);
            }
            "server/discover" if is_stateless => {
                (json!({ "supportedVersions": [self.protocol], "capabilities": capabilities }), true)
            }
            "ping" if !is_stateless => (json!({}), false),
            "tools/list" => (json!({ "tools": [tool] }), true),
            "tools/call" => (json!({ "content": [{ "type": "text", "text": "done" }] }), false),
            "resources/list" => (json!({ "resources": [] }), true),
            "resources/templates/list" => (json!({ "resourceTemplates": [] }), true),
            "prompts/list" => (json!({ "prompts": [] }), true),
            _ => return error(-32601, "method not found", &Value::Null),
        };
        if is_stateless {
            result["resultType"] = "complete".into();
            result["_meta"] = json!({ "io.modelcontextprotocol/serverInfo": server });
            if is_cacheable {
                result["ttlMs"] = 0.into();
                result["cacheScope"] = "private".into();
            }
        }
        json!({ "result": result })
    }

    /// Returns the capabilities that the client declares; `None` if the client did not speak this revision.
    pub(crate) fn capabilities(&self) -> Option<Value> {
        if is_stateless(&self.protocol) {
            let has_met = self.messages.iter().any(|sent| {
                let meta = &sent["message"]["params"]["_meta"];
                sent["message"]["method"] == "server/discover"
                    || meta["io.modelcontextprotocol/protocolVersion"] == self.protocol
            });
            let meta = self.messages.iter().rev().map(|sent| &sent["message"]["params"]["_meta"]);
            let mut declared = meta.map(|meta| &meta["io.modelcontextprotocol/clientCapabilities"]);
            return has_met
                .then(|| declared.find(|value| value.is_object()).cloned().unwrap_or_else(|| json!({})));
        }
        let greeting = self.messages.iter().find(|sent| sent["message"]["method"] == "initialize")?;
        Some(greeting["message"]["params"]["capabilities"].clone())
    }

    /// Returns the method that the client never sent, though a step of the scenario needs it.
    pub(crate) fn awaited(&self) -> Option<&str> {
        self.steps.iter().find_map(|step| step.on.as_deref())
    }

    /// Returns the document that scenarios point into. Probes for the other era are left out.
    pub(crate) fn document(&self) -> Value {
        let probe = if is_stateless(&self.protocol) { "initialize" } else { "server/discover" };
        let messages: Vec<_> =
            self.messages.iter().filter(|sent| sent["message"]["method"] != probe).collect();
        let methods: Vec<_> = messages.iter().map(|sent| &sent["message"]["method"]).collect();
        let ids = self.messages.iter().filter_map(|sent| sent["message"].get("id"));
        json!({
            "messages": messages,
            "methods": methods,
            "ids": ids.collect::<Vec<_>>(),
            "answers": self.answers,
            "stray": self.stray,
        })
    }
}

fn error(code: i32, message: &str, data: &Value) -> Value {
    json!({ "error": { "code": code, "message": message, "data": data } })
}

/// Returns a message with its headers, and whether those that repeat a part of the message do so.
fn entry(message: &Value, method: &str, headers: &Headers) -> Value {
    let params = &message["params"];
    let name = match method {
        "tools/call" | "prompts/get" => params["name"].as_str(),
        "resources/read" => params["uri"].as_str(),
        _ => None,
    };
    let is_name = |header: &String| header.starts_with("=?base64?") || Some(header.as_str()) == name;
    let repeats_name = name.is_none() || headers.get("mcp-name").is_some_and(is_name);
    let repeats_method = headers.get("mcp-method").is_some_and(|header| header == method);
    let version = &params["_meta"]["io.modelcontextprotocol/protocolVersion"];
    let repeats_version =
        headers.get("mcp-protocol-version").is_some_and(|header| version == header.as_str());
    json!({
        "message": message,
        "headers": headers,
        "repeats_name": repeats_name,
        "repeats_method": repeats_method,
        "repeats_version": repeats_version,
    })
}
