//! A small client that keeps every rule of the suites, in both eras.

use std::io::BufRead as _;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::{Request, Response, body::Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::client_defects::{is_of_era, spoil, spoil_headers};
use super::server::STATELESS;

type Http = Client<HttpConnector, Full<Bytes>>;
pub(crate) type Headers = Vec<(&'static str, String)>;

/// A client, and what it has agreed on with its server.
pub(crate) struct RightClient {
    defect: String,
    /// The URL over HTTP; over stdio, none.
    http: Option<(Http, String)>,
    era: &'static str,
    is_initialized: bool,
    session: Option<String>,
    last_id: u64,
}

impl RightClient {
    pub(crate) fn new(url: Option<String>, defect: &str) -> Self {
        let http = url.map(|url| (Client::builder(TokioExecutor::new()).build_http(), url));
        let defect = defect.to_owned();
        Self { defect, http, era: STATELESS, is_initialized: false, session: None, last_id: 0 }
    }

    /// Lists the tools and calls one, in the newest era that the server speaks.
    pub(crate) async fn run(&mut self) {
        let found = self.ask("server/discover", json!({})).await;
        if found["result"].is_object() {
            return self.run_stateless().await;
        }
        self.era = "2025-11-25";
        while self.run_session().await.is_none() {}
    }

    async fn run_stateless(&mut self) {
        if self.breaks("removed-methods") {
            self.tell("notifications/initialized").await;
        }
        self.ask("tools/list", json!({})).await;
        let mut params = json!({ "name": "echo", "arguments": { "text": "hello" } });
        let result = self.ask("tools/call", params.clone()).await["result"].take();
        if result["resultType"] == "input_required" {
            if !self.breaks("input-state") {
                params["requestState"] = result["requestState"].clone();
            }
            params["inputResponses"] = json!({ "kit": { "action": "decline" } });
            self.ask("tools/call", params).await;
        }
    }

    /// Returns none if the server does not know the session any more.
    async fn run_session(&mut self) -> Option<()> {
        (self.is_initialized, self.session) = (false, None);
        let capabilities = json!({});
        let info = json!({ "name": "subject", "version": "1.0.0" });
        if self.breaks("initialize-first") {
            self.ask("ping", json!({})).await;
        }
        let greeting =
            json!({ "protocolVersion": self.era, "capabilities": capabilities, "clientInfo": info });
        let greeted = self.ask("initialize", greeting).await;
        self.is_initialized = true;
        if greeted["result"]["protocolVersion"] != self.era && !self.breaks("version-unknown") {
            return Some(());
        }
        if !self.breaks("initialized") {
            self.tell("notifications/initialized").await;
        }
        let listed = self.ask("tools/list", json!({})).await;
        if listed["lost"] == true {
            return self.breaks("http-session-lost").then_some(());
        }
        self.ask("tools/call", json!({ "name": "echo", "arguments": { "text": "hello" } })).await;
        Some(())
    }

    fn breaks(&self, rule: &str) -> bool {
        self.defect.split_once('-').is_some_and(|(_, name)| name == rule) && is_of_era(&self.defect, self.era)
    }

    async fn ask(&mut self, method: &str, mut params: Value) -> Value {
        self.last_id += 1;
        if self.era == STATELESS {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": STATELESS,
                "io.modelcontextprotocol/clientCapabilities": { "elicitation": {} },
                "io.modelcontextprotocol/clientInfo": { "name": "subject", "version": "1.0.0" },
            });
        }
        let message = json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params });
        self.exchange(message).await
    }

    async fn tell(&mut self, method: &str) {
        self.exchange(json!({ "jsonrpc": "2.0", "method": method })).await;
    }

    /// Sends a message, and returns the answer if it is a request.
    async fn exchange(&mut self, mut message: Value) -> Value {
        if is_of_era(&self.defect, self.era) {
            spoil(&self.defect, &mut message);
        }
        let id = message["id"].clone();
        if self.http.is_some() {
            let mut answer = Value::Null;
            let Some(response) = self.post(&message).await else { return json!({}) };
            if response.status() == 404 && message["method"] == "tools/list" {
                return json!({ "lost": true });
            }
            if let Some(session) = response.headers().get("mcp-session-id") {
                self.session = session.to_str().ok().map(ToOwned::to_owned);
            }
            let is_events = response
                .headers()
                .get("content-type")
                .is_some_and(|kind| kind.as_bytes() == b"text/event-stream");
            let mut body = response.into_body();
            let mut text = String::new();
            while let Some(Ok(frame)) = body.frame().await {
                text.push_str(std::str::from_utf8(frame.data_ref().unwrap()).unwrap());
                while is_events && let Some((event, rest)) = text.split_once("\n\n") {
                    let message = serde_json::from_str(event.split_once("data: ").unwrap().1).unwrap();
                    text = rest.to_owned();
                    answer = self.receive(message, answer).await;
                }
            }
            return if is_events { answer } else { serde_json::from_str(&text).unwrap_or_default() };
        }
        println!("{message}");
        let mut answer = Value::Null;
        while !id.is_null() && answer.is_null() {
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line).unwrap() == 0 {
                std::process::exit(0);
            }
            answer = self.receive(serde_json::from_str(&line).unwrap(), answer).await;
        }
        answer
    }

    /// Answers a request of the server; keeps an answer.
    async fn receive(&mut self, message: Value, answer: Value) -> Value {
        let Some(method) = message["method"].as_str() else { return message };
        let is_told = message["id"].is_null();
        let mut reply = if method == "ping" {
            json!({ "jsonrpc": "2.0", "id": message["id"], "result": {} })
        } else {
            json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32601, "message": "method not found" } })
        };
        let rule = match method {
            "ping" => "ping",
            "roots/list" => "roots-undeclared",
            "sampling/createMessage" => "sampling-undeclared",
            "elicitation/create" => "elicitation-undeclared",
            "mgp-conform/unknown" => "unknown-request",
            _ => "notification-silent",
        };
        if self.breaks(rule) {
            reply = json!({ "jsonrpc": "2.0", "id": message["id"], "result": { "pong": true } });
        } else if is_told {
            return answer;
        }
        if self.http.is_some() {
            self.post(&reply).await;
        } else {
            println!("{reply}");
        }
        answer
    }

    async fn post(&mut self, message: &Value) -> Option<Response<Incoming>> {
        let (http, url) = self.http.clone()?;
        let mut headers: Headers = vec![
            ("accept", "application/json, text/event-stream".into()),
            ("content-type", "application/json".into()),
        ];
        if self.era == STATELESS || self.is_initialized {
            headers.push(("mcp-protocol-version", self.era.into()));
        }
        if self.era == STATELESS {
            headers.extend(message["method"].as_str().map(|method| ("mcp-method", method.into())));
            headers.extend(message["params"]["name"].as_str().map(|name| ("mcp-name", name.into())));
        }
        headers.extend(self.session.clone().map(|session| ("mcp-session-id", session)));
        if is_of_era(&self.defect, self.era) {
            spoil_headers(&self.defect, &mut headers);
        }
        let mut request = Request::post(&url);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        http.request(request.body(Full::new(message.to_string().into())).unwrap()).await.ok()
    }
}
