//! A plain MCP server behind HTTP, of 2025-06-18, written by hand: it knows each of its sessions, and can forget them.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// The server, and what it has seen.
pub(crate) struct Web {
    address: SocketAddr,
    seen: Arc<Mutex<Seen>>,
    _serving: JoinSet<()>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    /// How often a session was begun.
    pub(crate) begun: usize,
    /// How often one was ended by the client.
    pub(crate) ended: usize,
    pub(crate) open: BTreeSet<String>,
    /// How often the tools were listed.
    pub(crate) lists: usize,
    /// The `Authorization` with which tools were called.
    pub(crate) authorizations: Vec<String>,
}

impl Web {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Seen>>::default();
        let mut serving = JoinSet::new();
        let shared = Arc::clone(&seen);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(stream, Arc::clone(&shared)));
            }
        });
        Self { address, seen, _serving: serving }
    }

    /// The server in a configuration.
    pub(crate) fn server(&self, id: &str) -> Value {
        json!({
            "id": id, "url": format!("http://{}/mcp", self.address),
            "backoff_base_ms": 20, "backoff_max_ms": 50,
        })
    }

    pub(crate) fn seen(&self) -> Seen {
        self.seen.lock().clone()
    }

    /// Forgets all sessions, as a server does that was started anew.
    pub(crate) fn forget(&self) {
        self.seen.lock().open.clear();
    }
}

/// A request, as far as it matters.
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    session: Option<String>,
    pub(crate) authorization: Option<String>,
    pub(crate) body: Value,
}

async fn answer(stream: TcpStream, seen: Arc<Mutex<Seen>>) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        let reply = reply(&asked, &mut seen.lock());
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

pub(crate) async fn read(stream: &mut BufReader<TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    stream.read_line(&mut line).await.ok().filter(|read| *read > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, path) = (words.next()?, words.next()?);
    let mut asked = Asked { method, path, session: None, authorization: None, body: Value::Null };
    let mut length = 0;
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match &*name.to_ascii_lowercase() {
            "mcp-session-id" => asked.session = Some(value.to_owned()),
            "authorization" => asked.authorization = Some(value.to_owned()),
            "content-length" => length = value.parse().ok()?,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    asked.body = serde_json::from_slice(&body).unwrap_or_default();
    Some(asked)
}

fn reply(asked: &Asked, seen: &mut Seen) -> String {
    let id = &asked.body["id"];
    let method = asked.body["method"].as_str().unwrap_or_default();
    if asked.method == "GET" {
        return written("405 Method Not Allowed", "", "");
    }
    if asked.method == "POST" && method == "initialize" {
        seen.begun += 1;
        let session = format!("session-{}", seen.begun);
        seen.open.insert(session.clone());
        let result = json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": true}},
            "serverInfo": {"name": "web", "version": "1"},
        });
        let head = format!("Mcp-Session-Id: {session}\r\nContent-Type: application/json\r\n");
        return written("200 OK", &head, &json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string());
    }
    let Some(session) = &asked.session else {
        return written("400 Bad Request", "", "no session");
    };
    if !seen.open.contains(session) {
        return written("404 Not Found", "", "the session is not known");
    }
    if asked.method == "DELETE" {
        seen.ended += 1;
        seen.open.remove(session);
        return written("200 OK", "", "");
    }
    if id.is_null() {
        return written("202 Accepted", "", "");
    }
    let object = |properties: Value| json!({"type": "object", "properties": properties});
    let result = match method {
        "ping" => json!({}),
        "tools/list" => {
            seen.lists += 1;
            json!({"tools": [
                {"name": "look", "description": "Looks.", "inputSchema": object(json!({}))},
                {"name": "tell", "description": "Says that the list changed.", "inputSchema": object(json!({}))},
            ]})
        }
        "tools/call" => {
            seen.authorizations.extend(asked.authorization.clone());
            let said = asked.authorization.as_deref().unwrap_or("nobody");
            json!({"content": [{"type": "text", "text": said}]})
        }
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return ok(&json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    let result = json!({"jsonrpc": "2.0", "id": id, "result": result});
    if method == "tools/call" && asked.body["params"]["name"] == "tell" {
        let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
        let events = format!("data: {changed}\n\ndata: {result}\n\n");
        return written("200 OK", "Content-Type: text/event-stream\r\n", &events);
    }
    ok(&result)
}

fn ok(message: &Value) -> String {
    written("200 OK", "Content-Type: application/json\r\n", &message.to_string())
}

pub(crate) fn written(status: &str, head: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\n{head}Content-Length: {}\r\n\r\n{body}", body.len())
}
