//! HTTP by hand: a request on a connection of its own, and its answer.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

/// The answer to a request.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers, in small letters.
    pub(crate) head: String,
    /// The status line and the headers, as they came.
    pub(crate) raw: String,
    pub(crate) body: String,
}

impl Answer {
    /// Reads an answer as it came.
    pub(crate) fn read(answer: &str) -> Self {
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Self { status, head: head.to_ascii_lowercase(), raw: head.to_owned(), body: body.to_owned() }
    }

    /// Returns the JSON of the body, or of its last event.
    pub(crate) fn json(&self) -> Value {
        let of_event = || {
            let mut lines = self.body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
            serde_json::from_str(lines.rfind(|line| line.starts_with('{'))?).ok()
        };
        serde_json::from_str(&self.body).ok().or_else(of_event).unwrap_or_default()
    }

    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.raw.lines().filter_map(|line| line.split_once(": "));
        headers.find(|(named, _)| named.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }
}

/// Sends a request to a port of this machine, with further lines in its head, which may name another host.
pub(crate) fn send(port: u16, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let length = body.len();
    let host = if headers.contains("Host: ") { String::new() } else { format!("Host: 127.0.0.1:{port}\r\n") };
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\n{host}Connection: close\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    Answer::read(&answer)
}

/// Sends a message to the kernel, as it is written.
pub(crate) fn post(port: u16, headers: &str, message: &str) -> Answer {
    let media = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n";
    send(port, "POST", "/mcp", &format!("{media}{headers}"), message)
}

/// Sends a request of the era without sessions, as a client with these capabilities.
pub(crate) fn ask(port: u16, headers: &str, capabilities: &Value, method: &str, params: Value) -> Answer {
    let (own, message) = stateless(capabilities, method, params);
    post(port, &format!("{own}{headers}"), &message)
}

/// The headers and the message of a request of the era without sessions, of a client with these capabilities.
pub(crate) fn stateless(capabilities: &Value, method: &str, mut params: Value) -> (String, String) {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "claude-code", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities.clone();
    let name = params["name"].as_str().map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let headers = format!("MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: {method}\r\n{name}");
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    (headers, message.to_string())
}
