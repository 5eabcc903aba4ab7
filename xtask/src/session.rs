//! A session with a server that runs as a child process and is spoken to over its standard input and output.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::process;

/// A revision with `initialize`, or one in which each request describes itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    Legacy,
    Modern,
}

/// A server in a child process, which is killed when this value is dropped.
#[derive(Debug)]
pub(crate) struct Session {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
    era: Era,
    last_id: u64,
}

/// The members of a line that tell which request it answers.
#[derive(Deserialize)]
struct Head {
    id: Option<Value>,
    method: Option<String>,
}

impl Session {
    /// Starts the server, with its errors thrown away, and shakes hands if the era asks for it.
    pub(crate) fn start(command: &mut Command, era: Era) -> Result<Self> {
        let line = process::line(command);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut child = child.with_context(|| format!("cannot start `{line}`"))?;
        let input = child.stdin.take().context("no standard input")?;
        let output = child.stdout.take().context("no standard output")?;
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut session = Self { child, input, lines, era, last_id: 0 };
        if era == Era::Legacy {
            let hello = json!({
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "xtask", "version": "1"},
            });
            session
                .ask_as_written("initialize", &hello.to_string())
                .with_context(|| format!("`{line}` does not initialize"))?;
            writeln!(session.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        }
        Ok(session)
    }

    /// Sends a request with what its era demands of `_meta`, and returns the line that answers it.
    pub(crate) fn ask(&mut self, method: &str, mut params: Value) -> Result<String> {
        if self.era == Era::Modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": {"name": "xtask", "version": "1"},
            });
        }
        self.ask_as_written(method, &params.to_string())
    }

    /// Sends messages that are not answered, each on a line of its own.
    pub(crate) fn write(&mut self, lines: &str) -> Result<()> {
        Ok(self.input.write_all(lines.as_bytes())?)
    }

    /// Sends params byte for byte as they are given, and returns the line that answers them.
    pub(crate) fn ask_as_written(&mut self, method: &str, params: &str) -> Result<String> {
        self.last_id += 1;
        let id = self.last_id;
        writeln!(self.input, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)?;
        loop {
            let line =
                self.lines.recv_timeout(LIMIT).with_context(|| format!("`{method}` is not answered"))?;
            // Some servers write what is not JSON between their answers.
            let Ok(head) = serde_json::from_str::<Head>(&line) else { continue };
            match (head.method, head.id) {
                (None, Some(of)) if of == id => return Ok(line),
                // A server may ask for what this client does not have, and would wait for the answer.
                (Some(asked), Some(of)) => {
                    let error = json!({"code": -32601, "message": format!("this client has no {asked}")});
                    writeln!(self.input, "{}", json!({"jsonrpc": "2.0", "id": of, "error": error}))?;
                }
                _ => {}
            }
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LIMIT: Duration = Duration::from_mins(2);
