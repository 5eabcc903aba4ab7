//! Requests one after another, as plainly as they can be made.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};

use super::gateway::Gateway;

/// The page at a path.
pub(super) fn get(port: u16, path: &str) -> Result<String> {
    let mut connection = BufReader::new(TcpStream::connect(("127.0.0.1", port))?);
    write!(connection.get_mut(), "GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n")?;
    answer(&mut connection)
}

/// A client of a gateway, of the revision without sessions.
pub(super) struct Client<'a> {
    connection: BufReader<TcpStream>,
    gateway: &'a Gateway,
    meta: String,
}

impl<'a> Client<'a> {
    pub(super) fn connect(gateway: &'a Gateway) -> Result<Self> {
        let connection = TcpStream::connect(("127.0.0.1", gateway.port))?;
        connection.set_nodelay(true)?;
        Ok(Self { connection: BufReader::new(connection), gateway, meta: meta("", "") })
    }

    /// Has the client declare capabilities, and say more in the `_meta` of its requests: members of objects, without
    /// braces.
    pub(super) fn declaring(self, capabilities: &str, further: &str) -> Self {
        Self { meta: meta(capabilities, further), ..self }
    }

    /// The answer to a request; `params` are members of an object, without its braces.
    pub(super) fn request(&mut self, method: &str, name: Option<&str>, params: &str) -> Result<String> {
        let (comma, meta) = (if params.is_empty() { "" } else { "," }, &self.meta);
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{{meta}}}}}}}"#
        );
        let Gateway { port, path, key, .. } = self.gateway;
        let name = name.map(|name| format!("mcp-name: {name}\r\n")).unwrap_or_default();
        let key = key.as_ref().map(|key| format!("authorization: Bearer {key}\r\n")).unwrap_or_default();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n\
             accept: application/json, text/event-stream\r\nmcp-protocol-version: {REVISION}\r\n\
             mcp-method: {method}\r\n{name}{key}content-length: {}\r\n\r\n",
            body.len()
        );
        self.connection.get_mut().write_all((head + &body).as_bytes())?;
        let answer = answer(&mut self.connection)?;
        ensure!(answer.contains("\"result\":"), "`{method}` failed: {answer}");
        Ok(answer)
    }
}

/// The body of the next answer, which tells its length.
fn answer(connection: &mut BufReader<TcpStream>) -> Result<String> {
    let (mut line, mut length) = (String::new(), None);
    loop {
        line.clear();
        ensure!(connection.read_line(&mut line)? > 0, "the connection was closed");
        if line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = Some(value.trim().parse::<usize>()?);
        }
    }
    let mut body = vec![0; length.context("an answer does not tell its length")?];
    connection.read_exact(&mut body)?;
    Ok(String::from_utf8(body)?)
}

const REVISION: &str = "2026-07-28";

fn meta(capabilities: &str, further: &str) -> String {
    let comma = if further.is_empty() { "" } else { "," };
    format!(
        r#""io.modelcontextprotocol/protocolVersion":"{REVISION}","io.modelcontextprotocol/clientInfo":{{"name":"bench","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{{{capabilities}}}{comma}{further}"#
    )
}
