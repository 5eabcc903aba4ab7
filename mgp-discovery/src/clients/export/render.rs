//! The entry of a server in the form of each client.

use serde_json::{Map, Value, json};

use super::{ClientEntry, ClientFileChange, ClientKind, ExportError};

/// Returns the entry in the form of the client.
pub(super) fn entry(kind: ClientKind, change: &ClientFileChange) -> Result<Value, ExportError> {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| entry.insert(key.to_owned(), value);
    if matches!(kind, ClientKind::Continue | ClientKind::Goose) {
        put("name", json!(change.name));
    }
    let is_program = matches!(change.entry, ClientEntry::Command { .. });
    if let Some(word) = transport(kind, is_program) {
        put("type", json!(word));
    }
    match &change.entry {
        ClientEntry::Command { command, args } if kind == ClientKind::Opencode => {
            put("command", std::iter::once(command).chain(args).cloned().collect());
        }
        ClientEntry::Command { command, args } => {
            put(if kind == ClientKind::Goose { "cmd" } else { "command" }, json!(command));
            put("args", json!(args));
        }
        ClientEntry::Url(_) if kind == ClientKind::ClaudeDesktop => return Err(ExportError::NoUrl { kind }),
        ClientEntry::Url(url) => {
            let name = match kind {
                ClientKind::Windsurf => "serverUrl",
                ClientKind::Gemini => "httpUrl",
                ClientKind::Goose => "uri",
                _ => "url",
            };
            put(name, json!(url));
        }
    }
    match kind {
        ClientKind::Goose | ClientKind::Opencode => put("enabled", json!(true)),
        ClientKind::Zed => put("source", json!("custom")),
        _ => None,
    };
    Ok(Value::Object(entry))
}

/// Returns the client's word for a server that it starts as a program, or reaches over Streamable HTTP, if the client
/// wants one.
fn transport(kind: ClientKind, is_program: bool) -> Option<&'static str> {
    Some(match (kind, is_program) {
        (ClientKind::VsCode | ClientKind::ClaudeCode | ClientKind::Goose | ClientKind::Crush, true) => {
            "stdio"
        }
        (ClientKind::VsCode | ClientKind::ClaudeCode | ClientKind::Crush, false) => "http",
        (ClientKind::Opencode, true) => "local",
        (ClientKind::Opencode, false) => "remote",
        (ClientKind::Cline, false) => "streamableHttp",
        (ClientKind::Continue, false) => "streamable-http",
        (ClientKind::Goose, false) => "streamable_http",
        _ => return None,
    })
}

/// Returns the entry as YAML, with the key under which the client looks for servers. JSON on one line is YAML as well.
pub(super) fn yaml(kind: ClientKind, change: &ClientFileChange, entry: &Value) -> String {
    let home = kind.homes()[0].join(".");
    let item = if kind == ClientKind::Continue { "-".to_owned() } else { format!("{}:", json!(change.name)) };
    format!("{home}:\n  {item} {entry}")
}
