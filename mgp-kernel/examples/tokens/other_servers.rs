//! Further servers, which have nothing but tools.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;
use serde_json::{Value, json};

/// A server with tools of a file.
pub(super) struct OtherServer {
    pub(super) file: PathBuf,
    pub(super) server: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolRow {
    server: String,
    name: String,
    #[serde(default)]
    description: String,
    input_schema: Option<Value>,
}

/// Returns the servers of a file.
pub(super) fn of(file: &Path) -> Result<Vec<OtherServer>> {
    let file = std::path::absolute(file)?;
    let servers: BTreeSet<String> = rows(&file)?.into_iter().map(|row| row.server).collect();
    Ok(servers.into_iter().map(|server| OtherServer { file: file.clone(), server }).collect())
}

/// Serves the tools that a file has of one server, over standard input and output.
pub(super) fn serve(file: &Path, server: &str) -> Result<()> {
    let tools: Vec<_> = rows(file)?
        .into_iter()
        .filter(|row| row.server == server)
        .map(|row| {
            let schema = row.input_schema.unwrap_or_else(|| json!({"type": "object"}));
            json!({"name": row.name, "description": row.description, "inputSchema": schema})
        })
        .collect();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let Some(id) = message.get("id") else { continue };
        let answer = match message["method"].as_str() {
            Some("initialize") => json!({"jsonrpc": "2.0", "id": id, "result": {
                "protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                "serverInfo": {"name": server, "version": "1"},
            }}),
            Some("tools/list") => json!({"jsonrpc": "2.0", "id": id, "result": {"tools": tools}}),
            Some("ping") => json!({"jsonrpc": "2.0", "id": id, "result": {}}),
            _ => {
                json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "there is no such method"}})
            }
        };
        writeln!(std::io::stdout(), "{answer}")?;
    }
    Ok(())
}

fn rows(file: &Path) -> Result<Vec<ToolRow>> {
    let lines = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    lines.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
}
