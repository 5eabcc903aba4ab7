//! What is done to the sockets of the kernel: requests of web pages, silent connections, keys that were taken back.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::json;

use crate::home::Home;
use crate::kernel::{Kernel, until};
use crate::runner::tests;
use crate::server;

tests![
    a_request_target_that_names_another_host_is_refused,
    a_web_page_of_another_site_opens_no_stream,
    silent_connections_shut_nobody_out,
    connections_that_send_half_a_request_shut_nobody_out,
    health_answers_though_every_connection_is_at_work,
    a_revoked_key_ends_its_streams_sessions_and_calls,
    calls_of_a_revoked_key_finish_where_the_operator_lets_them,
    an_expired_key_ends_its_streams,
];

/// Sends a request over a connection of its own, and returns the status of the answer and what has come of it by then.
fn send(port: u16, head: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "{}\r\n\r\n", head.replace('\n', "\r\n")).unwrap();
    status(&mut stream)
}

/// Reads what has come, also where a signal ends the wait for it: a socket with a time-out does not wait again by itself.
fn piece(stream: &mut TcpStream) -> Vec<u8> {
    let mut piece = vec![0; 4096];
    loop {
        match stream.read(&mut piece) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => {
                piece.truncate(read.expect("the stream goes on"));
                return piece;
            }
        }
    }
}

/// Reads the head of an answer.
fn status(stream: &mut TcpStream) -> (u16, String) {
    let mut answer = Vec::new();
    while !answer.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let piece = piece(stream);
        if piece.is_empty() {
            break;
        }
        answer.extend(piece);
    }
    let answer = String::from_utf8(answer).unwrap();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), answer)
}

fn serving(args: &[&str]) -> (Home, Kernel, u16) {
    let home = Home::with_state();
    let kernel = Kernel::start(&home, &[&["--http", "127.0.0.1:0", "--no-stdio"], args].concat());
    let port = kernel.port();
    (home, kernel, port)
}

async fn a_request_target_that_names_another_host_is_refused() {
    let (_home, _kernel, port) = serving(&[]);
    for path in ["/mcp", "/sse", "/healthz"] {
        for host in ["evil.example", "evil.example:80", "user@evil.example", "127.0.0.1.evil.example"] {
            let head = format!(
                "GET http://{host}{path} HTTP/1.1\nHost: 127.0.0.1:{port}\nAccept: text/event-stream"
            );
            assert_eq!(send(port, &head).0, 403, "{head}");
        }
        let head = format!(
            "GET http://localhost:{port}{path} HTTP/1.1\nHost: evil.example\nAccept: text/event-stream"
        );
        assert_eq!(send(port, &head).0, 403, "{head}");
    }
    let head = format!("GET http://localhost:{port}/healthz HTTP/1.1\nHost: localhost:{port}");
    assert_eq!(send(port, &head).0, 200);
}

async fn a_web_page_of_another_site_opens_no_stream() {
    let (_home, _kernel, port) = serving(&[]);
    let get = |path: &str, headers: &str| {
        let head = format!("GET {path} HTTP/1.1\nHost: localhost:{port}\nAccept: text/event-stream{headers}");
        send(port, &head).0
    };
    for path in ["/sse", "/mcp"] {
        for site in ["cross-site", "same-site", "something-new"] {
            assert_eq!(
                get(path, &format!("\nSec-Fetch-Site: {site}\nSec-Fetch-Mode: no-cors")),
                403,
                "{path} {site}"
            );
        }
        assert_eq!(get(path, "\nOrigin: https://evil.example"), 403, "{path}");
    }
    assert_eq!(get("/sse", ""), 200);
    assert_eq!(get("/sse", "\nSec-Fetch-Site: same-origin"), 200);
    assert_eq!(get("/sse", "\nSec-Fetch-Site: same-site\nOrigin: http://localhost:6274"), 200);
}

/// A client that keeps its connection.
struct Keeping(TcpStream, u16);

impl Keeping {
    fn connect(port: u16) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        Self(stream, port)
    }

    /// Asks for the health, and expects an answer on the same connection.
    fn health(&mut self) {
        write!(self.0, "GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n", self.1).unwrap();
        let (status, head) = status(&mut self.0);
        assert_eq!(status, 200, "{head}");
        if !head.contains(r#""status""#) {
            assert!(!piece(&mut self.0).is_empty());
        }
    }

    fn is_open(&mut self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let is_open = !matches!(self.0.read(&mut [0]), Ok(0));
        self.0.set_nonblocking(false).unwrap();
        is_open
    }
}

/// Opens many connections on which `begun` is all that is ever sent, and looks what the others get of it.
fn flood(begun: &str) {
    let (_home, _kernel, port) = serving(&[]);
    let mut working = Keeping::connect(port);
    working.health();
    let mut silent = Vec::new();
    for number in 0..1_100 {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(begun.as_bytes()).unwrap();
        silent.push(stream);
        if number % 100 == 99 {
            working.health();
            let head = format!("GET /healthz HTTP/1.1\nHost: 127.0.0.1:{port}");
            assert_eq!(send(port, &head).0, 200, "after {number} connections");
        }
    }
    // Whoever comes later works as well.
    let sse = format!("GET /sse HTTP/1.1\nHost: 127.0.0.1:{port}\nAccept: text/event-stream");
    assert_eq!(send(port, &sse).0, 200);
    working.health();
    drop(silent);
}

async fn silent_connections_shut_nobody_out() {
    flood("");
}

async fn connections_that_send_half_a_request_shut_nobody_out() {
    flood("POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    flood(concat!(
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n",
        "Accept: application/json, text/event-stream\r\n\r\n{\"jsonrpc\"",
    ));
}

async fn health_answers_though_every_connection_is_at_work() {
    let home = Home::with_state();
    home.configure("[listen]\nmax_connections = 8\n");
    let (_kernel, port) = Kernel::on_http(&home);
    let sse = format!("GET /sse HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n");
    // Half of them may be of one address.
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = Keeping::connect(port);
        stream.0.write_all(sse.as_bytes()).unwrap();
        assert_eq!(status(&mut stream.0).0, 200);
        streams.push(stream);
    }
    let health = format!("GET /healthz HTTP/1.1\nHost: 127.0.0.1:{port}");
    assert_eq!(send(port, &health).0, 200);
    assert_eq!(send(port, sse.trim_end().replace("\r\n", "\n").as_str()).0, 503);
    // Silence in the reserve does not use it up.
    let silent: Vec<_> = (0..64).map(|_| Keeping::connect(port)).collect();
    assert_eq!(send(port, &health).0, 200);
    assert!(streams.iter_mut().all(Keeping::is_open), "none that worked was ended");
    drop(silent);
    drop(streams.pop());
    // There is room as soon as one has left, which the kernel learns a moment later.
    until("a connection that ended leaves room", || {
        send(port, sse.trim_end().replace("\r\n", "\n").as_str()).0 == 200
    });
}

/// A kernel that lets in only those with a key, and a key of the agent `agent.lab`: its secret and its number.
fn with_key(until: &[&str]) -> (Home, Kernel, u16, String, String) {
    let home = Home::with_state();
    let settings = format!("[listen]\nrequire_keys = true\n{}", server::UNASKED);
    server::configure(&home, &settings, &[("box", "")]);
    let (kernel, port) = Kernel::on_http(&home);
    let new = ["keys", "new", "agent.lab", "--allow", "list", "--allow", "call:*"];
    let key = home.json(new.into_iter().chain(until.iter().copied()));
    home.json(["access", "grant", "agent.lab", "box"]);
    let text = |name: &str| key[name].as_str().unwrap().to_owned();
    (home, kernel, port, text("secret"), text("id"))
}

/// A connection on which one request was sent with a key, and the head of its answer is in.
struct Asked {
    stream: TcpStream,
    head: String,
}

impl Asked {
    fn send(port: u16, secret: &str, method: &str, headers: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!(
            "{method} HTTP/1.1\nHost: 127.0.0.1:{port}\nAuthorization: Bearer {secret}\n\
             Accept: application/json, text/event-stream\nContent-Type: application/json\n\
             Content-Length: {}\n{headers}\n",
            body.len()
        );
        write!(stream, "{}{body}", head.replace('\n', "\r\n")).unwrap();
        stream
    }

    fn open(port: u16, secret: &str, method: &str, headers: &str, body: &str) -> Self {
        let mut stream = Self::send(port, secret, method, headers, body);
        let (status, head) = status(&mut stream);
        assert_eq!(status, 200, "{head}");
        Self { stream, head }
    }

    /// Reads until the answer ends, and returns the rest of it.
    fn ended(mut self) -> String {
        let mut rest = String::new();
        // The last chunk ends the answer; the connection may stay.
        while !rest.ends_with("0\r\n\r\n") {
            let piece = piece(&mut self.stream);
            if piece.is_empty() {
                break;
            }
            rest.push_str(&String::from_utf8_lossy(&piece));
        }
        rest
    }
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// Opens a session, and returns the header that names it.
fn session(port: u16, secret: &str) -> String {
    let asked = Asked::open(port, secret, "POST /mcp", "", HELLO);
    let named = asked.head.lines().find(|line| line.to_ascii_lowercase().starts_with("mcp-session-id"));
    let session = format!("{}\n", named.expect("a session"));
    let initialized = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let mut answer = Asked::send(port, secret, "POST /mcp", &session, initialized);
    assert_eq!(status(&mut answer).0, 202);
    session
}

/// A call that waits until the file `go` is there, begun when this returns.
fn waiting_call(home: &Home, port: u16, secret: &str, session: &str) -> TcpStream {
    let folder = home.path("").display().to_string();
    let command =
        format!("cd '{folder}'; touch begun; while [ ! -e go ]; do sleep 0.05; done; echo finished");
    let call = json!({
        "jsonrpc": "2.0", "id": 2, "method": "tools/call",
        "params": {"name": "box.wait_for", "arguments": {"script": command}},
    });
    let stream = Asked::send(port, secret, "POST /mcp", session, &call.to_string());
    until("the call begins", || home.path("begun").exists());
    stream
}

async fn a_revoked_key_ends_its_streams_sessions_and_calls() {
    let (home, _kernel, port, secret, id) = with_key(&[]);
    let session = session(port, &secret);
    let get = Asked::open(port, &secret, "GET /mcp", &session, "");
    let sse = Asked::open(port, &secret, "GET /sse", "", "");
    let listen = json!({
        "jsonrpc": "2.0", "id": 3, "method": "subscriptions/listen", "params": {
            "notifications": {"toolsListChanged": true},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    });
    let modern = "MCP-Protocol-Version: 2026-07-28\nMcp-Method: subscriptions/listen\n";
    let listening = Asked::open(port, &secret, "POST /mcp", modern, &listen.to_string());
    let mut call = waiting_call(&home, port, &secret, &session);
    home.json(["keys", "revoke", &id]);
    for stream in [get, sse, listening] {
        stream.ended();
    }
    let (_, answer) = status(&mut call);
    assert!(!answer.contains("finished"), "{answer}");
    let mut again = Asked::send(port, &secret, "POST /mcp", &session, HELLO);
    assert_eq!(status(&mut again).0, 401);
    home.write("go", "");
}

async fn calls_of_a_revoked_key_finish_where_the_operator_lets_them() {
    let (home, _kernel, port, secret, id) = with_key(&[]);
    let session = session(port, &secret);
    let get = Asked::open(port, &secret, "GET /mcp", &session, "");
    let call = waiting_call(&home, port, &secret, &session);
    home.json(["keys", "revoke", &id, "--let-calls-finish"]);
    get.ended();
    home.write("go", "");
    let mut call = call;
    let mut answer = String::new();
    while !answer.contains("finished") {
        let piece = piece(&mut call);
        assert!(!piece.is_empty(), "{answer}");
        answer.push_str(&String::from_utf8_lossy(&piece));
    }
}

async fn an_expired_key_ends_its_streams() {
    let (_home, _kernel, port, secret, _) = with_key(&["--until", "8s"]);
    let session = session(port, &secret);
    let get = Asked::open(port, &secret, "GET /mcp", &session, "");
    let sse = Asked::open(port, &secret, "GET /sse", "", "");
    get.ended();
    sse.ended();
}

/// How long an answer may take on a machine that has other work.
const PATIENCE: Duration = Duration::from_mins(1);
