//! The entry of a server in the form of each client.

use std::collections::BTreeMap;

use super::{
    ClientEntry, ClientFileChange, ClientKind, DocumentMember, DocumentNode, DocumentValue, ExportError,
};

/// Returns the entry in the form of the client.
pub(super) fn entry(kind: ClientKind, change: &ClientFileChange) -> Result<DocumentNode, ExportError> {
    let mut members = Members(Vec::new());
    match kind {
        ClientKind::Continue => members.text("name", &change.name),
        ClientKind::Goose => {
            members.text("name", &change.name);
            members.put("enabled", DocumentValue::Bool(true));
        }
        _ => {}
    }
    match &change.entry {
        ClientEntry::Command { command, args, env } => {
            if let Some(transport) = started(kind) {
                members.text("type", transport);
            }
            match kind {
                ClientKind::Opencode => {
                    members.texts("command", std::iter::once(command).chain(args));
                    members.put("enabled", DocumentValue::Bool(true));
                }
                ClientKind::Goose => {
                    members.text("cmd", command);
                    members.texts("args", args);
                }
                _ => {
                    members.text("command", command);
                    members.texts("args", args);
                }
            }
            let name = match kind {
                ClientKind::Opencode => "environment",
                ClientKind::Goose => "envs",
                _ => "env",
            };
            members.table(name, env);
        }
        ClientEntry::Url { url, headers } => {
            if kind == ClientKind::ClaudeDesktop {
                return Err(ExportError::NoUrl { kind });
            }
            if let Some(transport) = reached(kind) {
                members.text("type", transport);
            }
            let name = match kind {
                ClientKind::Windsurf => "serverUrl",
                ClientKind::Gemini => "httpUrl",
                ClientKind::Goose => "uri",
                _ => "url",
            };
            members.text(name, url);
            match kind {
                ClientKind::Codex => members.table("http_headers", headers),
                ClientKind::Continue if !headers.is_empty() => {
                    let mut options = Members(Vec::new());
                    options.table("headers", headers);
                    members.put("requestOptions", DocumentValue::Map(options.0));
                }
                _ => members.table("headers", headers),
            }
            if kind == ClientKind::Opencode {
                members.put("enabled", DocumentValue::Bool(true));
            }
        }
    }
    if kind == ClientKind::Zed {
        members.text("source", "custom");
    }
    Ok(DocumentNode::made(DocumentValue::Map(members.0)))
}

/// Returns the client's word for a server that it starts, if the client wants one.
fn started(kind: ClientKind) -> Option<&'static str> {
    match kind {
        ClientKind::VsCode | ClientKind::ClaudeCode | ClientKind::Goose | ClientKind::Crush => Some("stdio"),
        ClientKind::Opencode => Some("local"),
        _ => None,
    }
}

/// Returns the client's word for a server over Streamable HTTP, if the client wants one.
fn reached(kind: ClientKind) -> Option<&'static str> {
    match kind {
        ClientKind::VsCode | ClientKind::ClaudeCode | ClientKind::Crush => Some("http"),
        ClientKind::Cline => Some("streamableHttp"),
        ClientKind::Continue => Some("streamable-http"),
        ClientKind::Goose => Some("streamable_http"),
        ClientKind::Opencode => Some("remote"),
        _ => None,
    }
}

struct Members(Vec<DocumentMember>);

impl Members {
    fn put(&mut self, key: &str, value: DocumentValue) {
        self.0.push(DocumentMember::made(key, DocumentNode::made(value)));
    }

    fn text(&mut self, key: &str, text: &str) {
        self.put(key, DocumentValue::Text(text.to_owned()));
    }

    fn texts<'a>(&mut self, key: &str, texts: impl IntoIterator<Item = &'a String>) {
        self.put(
            key,
            DocumentValue::List(texts.into_iter().map(|text| DocumentNode::made_text(text)).collect()),
        );
    }

    fn table(&mut self, key: &str, table: &BTreeMap<String, String>) {
        if !table.is_empty() {
            let members =
                table.iter().map(|(key, value)| DocumentMember::made(key, DocumentNode::made_text(value)));
            self.put(key, DocumentValue::Map(members.collect()));
        }
    }
}
