//! A plain MCP server of 2024-11-05 behind HTTP+SSE, written by hand: what it says comes on one stream, what it is told
//! goes to the address that the stream begins with.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::host::{Host, listed, quiet, say, until};
use crate::runner::tests;
use crate::web::{read, written};

tests![a_server_of_http_and_sse_is_spoken_to_in_its_way_from_the_start_and_with_its_headers,];

/// The server, and what it has seen.
struct Legacy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _serving: JoinSet<()>,
}

#[derive(Default)]
struct Shared {
    /// Method, path and `Authorization` of each request.
    seen: Mutex<Vec<String>>,
    /// What takes events to the stream that was opened last.
    events: Mutex<Option<mpsc::UnboundedSender<Value>>>,
}

impl Legacy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::<Shared>::default();
        let (mut serving, of_all) = (JoinSet::new(), Arc::clone(&shared));
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(answer(stream, Arc::clone(&of_all)));
            }
        });
        Self { address, shared, _serving: serving }
    }
}

async fn answer(stream: TcpStream, shared: Arc<Shared>) {
    let mut stream = BufReader::new(stream);
    while let Some(asked) = read(&mut stream).await {
        let authorization = asked.authorization.as_deref().unwrap_or("nobody");
        shared.seen.lock().push(format!("{} {} {authorization}", asked.method, asked.path));
        match (asked.method.as_str(), asked.path.as_str()) {
            ("GET", "/sse") => return events(stream, &shared).await,
            ("POST", "/messages?session=7") => {
                let events = shared.events.lock().clone();
                if let (Some(events), Some(reply)) = (events, reply(&asked.body)) {
                    events.send(reply).unwrap();
                }
                stream.write_all(written("202 Accepted", "", "").as_bytes()).await.unwrap();
            }
            _ => stream.write_all(written("404 Not Found", "", "").as_bytes()).await.unwrap(),
        }
    }
}

async fn events(mut stream: BufReader<TcpStream>, shared: &Shared) {
    let (sender, mut replies) = mpsc::unbounded_channel();
    *shared.events.lock() = Some(sender);
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let endpoint = "event: endpoint\ndata: /messages?session=7\n\n";
    stream.write_all(format!("{head}{endpoint}").as_bytes()).await.unwrap();
    while let Some(reply) = replies.recv().await {
        if stream.write_all(format!("event: message\ndata: {reply}\n\n").as_bytes()).await.is_err() {
            return;
        }
    }
}

fn reply(asked: &Value) -> Option<Value> {
    let id = asked.get("id")?;
    let result = match asked["method"].as_str()? {
        "initialize" => json!({
            "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "legacy", "version": "1"},
        }),
        "tools/list" => json!({
            "tools": [{"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}}],
        }),
        "tools/call" => json!({"content": [{"type": "text", "text": "seen"}]}),
        "ping" => json!({}),
        _ => {
            let error = json!({"code": -32601, "message": "no such method"});
            return Some(json!({"jsonrpc": "2.0", "id": id, "error": error}));
        }
    };
    Some(json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

async fn a_server_of_http_and_sse_is_spoken_to_in_its_way_from_the_start_and_with_its_headers() {
    let legacy = Legacy::start().await;
    let host = Host::ready_with(quiet([json!({
        "id": "old", "url": format!("http://{}/sse", legacy.address), "transport": "sse",
        "headers": {"Authorization": "Bearer secret"},
    })]))
    .await;
    let client = host.client("one").await;
    listed(&client, "old.look").await;
    assert_eq!(say(&client, "old.look", json!({})).await, "seen");
    until("all was seen", || (legacy.shared.seen.lock().len() >= 5).then_some(())).await;
    let seen = legacy.shared.seen.lock().clone();
    assert_eq!(seen[0], "GET /sse Bearer secret", "{seen:?}");
    let rest = &seen[1..];
    assert!(rest.iter().all(|asked| asked == "POST /messages?session=7 Bearer secret"), "{seen:?}");
}
