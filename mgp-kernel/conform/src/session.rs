//! The kit as a client: one connection to a server, in one era.

use serde_json::{Map, Value, json};

use crate::link::{Arrival, Headers, Link, LinkError};
use crate::observation::Observation;
use crate::scenario::{Facts, Step, fill};

/// A connection to a server, and what the protocol keeps with it.
#[derive(Debug)]
pub(crate) struct Session {
    link: Link,
    protocol: String,
    /// The capabilities that the kit declares.
    declared: Value,
    /// The headers of every request.
    headers: Headers,
    /// The id of the HTTP session.
    minted_id: Option<String>,
    is_initialized: bool,
    last_id: u64,
    /// The number of HTTP bodies that are not complete.
    open_bodies: usize,
}

/// Why a step was not carried out.
#[derive(Debug)]
pub(crate) enum StepFault {
    /// A placeholder has no value with this subject.
    Missing(String),
    Link(LinkError),
}

impl From<LinkError> for StepFault {
    fn from(error: LinkError) -> Self {
        Self::Link(error)
    }
}

impl Session {
    pub(crate) fn new(link: Link, protocol: &str, declared: &Map<String, Value>, headers: &Headers) -> Self {
        let mut headers = headers.clone();
        for (name, value) in USUAL_HEADERS {
            headers.insert(name.into(), value.into());
        }
        Self {
            link,
            protocol: protocol.into(),
            declared: json!(declared),
            headers,
            minted_id: None,
            is_initialized: false,
            last_id: 0,
            open_bodies: 0,
        }
    }

    pub(crate) fn session_id(&self) -> Option<&str> {
        self.minted_id.as_deref()
    }

    /// Begins as the era has it, and returns the answer to that.
    pub(crate) async fn shake_hands(&mut self) -> Result<Value, LinkError> {
        let mut seen = Observation::default();
        let step = if self.is_stateless() {
            Step { request: Some("server/discover".into()), ..Step::default() }
        } else {
            let params = json!({
                "protocolVersion": self.protocol,
                "capabilities": self.declared,
                "clientInfo": client_info(),
            });
            Step { request: Some("initialize".into()), params: Some(params), ..Step::default() }
        };
        self.known(&step, &mut seen).await?;
        if !self.is_stateless() && seen.answer["result"].is_object() {
            self.is_initialized = true;
            if let Some(version) = seen.answer["result"]["protocolVersion"].as_str() {
                version.clone_into(&mut self.protocol);
            }
            let step = Step { notification: Some("notifications/initialized".into()), ..Step::default() };
            let answer = std::mem::take(&mut seen.answer);
            self.known(&step, &mut seen).await?;
            return Ok(answer);
        }
        Ok(seen.answer)
    }

    /// Carries out a step that has no placeholders.
    pub(crate) async fn known(&mut self, step: &Step, seen: &mut Observation) -> Result<(), LinkError> {
        self.run(step, &Facts::new(), seen).await.map_err(|fault| match fault {
            StepFault::Link(error) => error,
            StepFault::Missing(_) => LinkError::Closed,
        })
    }

    /// Carries out a step, and adds what the server sends to `seen`.
    pub(crate) async fn run(
        &mut self,
        step: &Step,
        facts: &Facts,
        seen: &mut Observation,
    ) -> Result<(), StepFault> {
        let filled = |value: Option<&Value>| match value {
            Some(value) => fill(value, facts).map_err(StepFault::Missing),
            None => Ok(Value::Null),
        };
        let params = filled(step.params.as_ref())?;
        if let Some(method) = &step.list {
            return Ok(self.read_pages(method, seen).await?);
        }
        let meta = fill(&json!(step.meta), facts).map_err(StepFault::Missing)?;
        let headers = fill(&json!(step.headers), facts).map_err(StepFault::Missing)?;
        seen.answer = Value::Null;
        if let Some(text) = &step.raw {
            let headers = self.headers_of(None, &headers);
            self.deliver("POST", text, &headers, seen).await?;
            return Ok(self.wait(None, None, seen).await?);
        }
        if let Some(method) = &step.http {
            let headers = self.headers_of(None, &headers);
            self.deliver(method, "", &headers, seen).await?;
            return Ok(());
        }
        let Some(method) = step.request.as_ref().or(step.notification.as_ref()) else { return Ok(()) };
        let mut message = json!({ "jsonrpc": "2.0", "method": method });
        if let Some(params) = self.params_of(params, &meta) {
            message["params"] = params;
        }
        let id = match &step.id {
            _ if step.request.is_none() => None,
            Some(id) => Some(id.clone()),
            None => {
                self.last_id += 1;
                Some(self.last_id.into())
            }
        };
        if let Some(id) = &id {
            message["id"] = id.clone();
        }
        let headers = self.headers_of(Some(&message), &headers);
        self.deliver("POST", &message.to_string(), &headers, seen).await?;
        if id.is_some() {
            self.wait(id.as_ref(), step.until.as_deref(), seen).await?;
        }
        Ok(())
    }

    /// Reads all pages of a list; the answer has all items in `items`.
    async fn read_pages(&mut self, method: &str, seen: &mut Observation) -> Result<(), LinkError> {
        let (mut items, mut cursors) = (Vec::new(), Vec::new());
        loop {
            let params = cursors.last().map(|cursor| json!({ "cursor": cursor }));
            let step = Step { request: Some(method.into()), params, ..Step::default() };
            Box::pin(self.known(&step, seen)).await?;
            let result = &seen.answer["result"];
            let Some(page) = result.as_object().and_then(|result| result.values().find_map(Value::as_array))
            else {
                return Ok(());
            };
            items.extend(page.iter().cloned());
            let cursor = result["nextCursor"].clone();
            if cursor.is_null() {
                seen.answer["result"]["items"] = items.into();
                return Ok(());
            }
            if cursors.contains(&cursor) || cursors.len() == MAX_PAGES {
                seen.answer = json!({ "endless_cursor": cursor });
                return Ok(());
            }
            cursors.push(cursor);
        }
    }

    async fn deliver(
        &mut self,
        method: &str,
        text: &str,
        headers: &Headers,
        seen: &mut Observation,
    ) -> Result<(), LinkError> {
        let receipt = self.link.send(method, text, headers).await?;
        if receipt.status.is_some() {
            self.open_bodies += 1;
        }
        // Some servers begin another session for a request that lacks the id of its own.
        if self.minted_id.is_none() {
            self.minted_id = receipt.headers.get("mcp-session-id").cloned();
        }
        seen.receive(&receipt);
        Ok(())
    }

    /// Waits for the answer to the request with this id, or for any answer if there is none; or for the notification `until`.
    async fn wait(
        &mut self,
        id: Option<&Value>,
        until: Option<&str>,
        seen: &mut Observation,
    ) -> Result<(), LinkError> {
        loop {
            let message = match self.link.next().await? {
                Arrival::Message(message) => message,
                Arrival::Unreadable(text) => {
                    seen.unreadable.push(text);
                    continue;
                }
                Arrival::End => {
                    self.open_bodies = self.open_bodies.saturating_sub(1);
                    if self.open_bodies == 0 {
                        return Ok(());
                    }
                    continue;
                }
            };
            let Some(method) = message["method"].as_str() else {
                // What an HTTP server refuses is refused in the answer, even if the id was not read.
                let is_refusal = seen.statuses.last().is_some_and(|status| *status >= 400);
                if is_refusal || is_answer_to(&message, id) {
                    seen.answer = message;
                    return Ok(());
                }
                seen.stray.push(message);
                continue;
            };
            let is_awaited = until == Some(method);
            if message["id"].is_null() {
                seen.notifications.push(message);
            } else {
                let answer = answer_of_client(&message);
                seen.requests.push(message);
                let headers = self.headers_of(None, &Value::Null);
                let receipt = self.link.send("POST", &answer.to_string(), &headers).await?;
                self.open_bodies += usize::from(receipt.status.is_some());
            }
            if is_awaited {
                return Ok(());
            }
        }
    }

    fn is_stateless(&self) -> bool {
        is_stateless(&self.protocol)
    }

    /// Returns parameters with the members of `_meta` that the era requires, except where a step has others.
    fn params_of(&self, params: Value, changed: &Value) -> Option<Value> {
        let mut meta = if self.is_stateless() {
            json!({
                "io.modelcontextprotocol/protocolVersion": self.protocol,
                "io.modelcontextprotocol/clientCapabilities": self.declared,
                "io.modelcontextprotocol/clientInfo": client_info(),
            })
        } else {
            json!({})
        };
        for (name, value) in changed.as_object().into_iter().flatten() {
            meta[name] = value.clone();
        }
        let meta = meta.as_object_mut()?;
        meta.retain(|_, value| !value.is_null());
        if meta.is_empty() {
            return (!params.is_null()).then_some(params);
        }
        let mut params = if params.is_null() { json!({}) } else { params };
        params["_meta"] = json!(meta);
        Some(params)
    }

    /// Returns the headers that the era requires for a message, except where a step has others.
    fn headers_of(&self, message: Option<&Value>, changed: &Value) -> Headers {
        let mut headers = self.headers.clone();
        if self.is_stateless() || self.is_initialized {
            headers.insert("mcp-protocol-version".into(), self.protocol.clone());
        }
        if let Some(message) = message.filter(|_| self.is_stateless()) {
            let name = message["params"]["name"].as_str().or_else(|| message["params"]["uri"].as_str());
            for (header, value) in [("mcp-method", message["method"].as_str()), ("mcp-name", name)] {
                if let Some(value) = value {
                    headers.insert(header.into(), value.into());
                }
            }
        }
        if let Some(session) = &self.minted_id {
            headers.insert("mcp-session-id".into(), session.clone());
        }
        for (name, value) in changed.as_object().into_iter().flatten() {
            match value.as_str() {
                Some(value) => headers.insert(name.clone(), value.into()),
                None => headers.remove(name),
            };
        }
        headers
    }
}

const USUAL_HEADERS: [(&str, &str); 2] =
    [("accept", "application/json, text/event-stream"), ("content-type", "application/json")];

/// The number of pages after which a list counts as endless.
const MAX_PAGES: usize = 200;

/// Returns whether a revision of MCP has no handshake.
pub(crate) fn is_stateless(protocol: &str) -> bool {
    protocol >= "2026"
}

pub(crate) fn client_info() -> Value {
    json!({ "name": "mgp-conform", "version": env!("CARGO_PKG_VERSION") })
}

/// Returns whether a message answers a request. A wrong type of the id is accepted here, because a rule of its own is about
/// ids.
fn is_answer_to(message: &Value, id: Option<&Value>) -> bool {
    let text = |id: &Value| id.as_str().map_or_else(|| id.to_string(), ToOwned::to_owned);
    id.is_none_or(|id| text(&message["id"]) == text(id))
}

/// Returns the answer of a client without capabilities to a request of its server.
fn answer_of_client(request: &Value) -> Value {
    let id = &request["id"];
    if request["method"] == "ping" {
        return json!({ "jsonrpc": "2.0", "id": id, "result": {} });
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "method not found" } })
}
