//! One entry of a client's file as a server.
//!
//! The clients differ in names, hardly in meaning; so all names are known in one place, and a name of another client is
//! understood, too.

use super::ImportEntry;
use super::reference::{ReferenceContext, translate};
use crate::clients::ClientKind;
use crate::config::model::{ServerConfig, ToolRule, TransportKind};
use crate::document::{DocumentNode, DocumentValue};
use crate::names;
use crate::registry::table;

/// Reads an entry as a server without an id, with notes about it.
///
/// # Errors
/// The reason why the entry is not usable as a server.
pub(super) fn read(
    context: &ReferenceContext<'_>,
    entry: &ImportEntry<'_>,
) -> Result<(ServerConfig, Vec<String>), String> {
    let DocumentValue::Map(members) = &entry.node.value else {
        return Err(format!("the entry should be a table, but is {}", entry.node.kind()));
    };
    let config = ServerConfig { enabled: true, ..ServerConfig::default() };
    let mut reader = EntryReader { context, config, notes: Vec::new() };
    for member in members {
        reader.member(&member.key, &member.node)?;
    }
    reader.finish()
}

struct EntryReader<'a> {
    context: &'a ReferenceContext<'a>,
    config: ServerConfig,
    notes: Vec<String>,
}

/// The longest timeout, a day in milliseconds.
const MAX_TIMEOUT_MS: f64 = 86_400_000.0;

impl EntryReader<'_> {
    fn member(&mut self, key: &str, node: &DocumentNode) -> Result<(), String> {
        if matches!(node.value, DocumentValue::Null) {
            return Ok(());
        }
        match key {
            "command" | "cmd" => self.command(node)?,
            "args" => {
                let args = self.texts(key, node)?;
                self.config.args.extend(args);
            }
            "env" | "envs" | "environment" => self.env(key, node)?,
            "env_vars" | "env_keys" => self.inherited(node),
            "cwd" | "workingDirectory" | "working_directory" => self.config.cwd = Some(self.text(key, node)?),
            "url" | "uri" | "serverUrl" | "httpUrl" => {
                self.config.url = Some(self.text(key, node)?);
                if key == "httpUrl" {
                    self.config.transport = Some(TransportKind::Http);
                }
            }
            "headers" | "http_headers" => self.headers(key, node)?,
            "requestOptions" => {
                if let Some(headers) = node.get("headers") {
                    self.headers("requestOptions.headers", headers)?;
                }
            }
            "env_http_headers" => {
                for member in node.members() {
                    let name = member.node.scalar().unwrap_or_default();
                    let value = format!("${{{}}}", names::variable(&name));
                    self.config.headers.insert(member.key.clone(), value);
                }
            }
            "bearer_token_env_var" => {
                let name = names::variable(&self.text(key, node)?);
                self.config.headers.insert("Authorization".to_owned(), format!("Bearer ${{{name}}}"));
            }
            "type" | "transport" | "transportType" => self.transport(node)?,
            "disabled" => self.config.enabled &= !is(node),
            "enabled" => self.config.enabled &= is(node),
            "description" => {
                self.config.description = Some(self.text(key, node)?).filter(|text| !text.is_empty());
            }
            "disabledTools" | "disabled_tools" | "excludeTools" | "exclude_tools" => {
                for tool in self.texts(key, node)? {
                    self.config.tools.insert(tool, ToolRule { enabled: false, ..ToolRule::default() });
                }
            }
            _ => self.setting(key, node),
        }
        Ok(())
    }

    fn setting(&mut self, key: &str, node: &DocumentNode) {
        let unit = self.context.kind.timeout_unit_ms();
        match key {
            // opencode applies this timeout to the list of tools only.
            "timeout" if self.context.kind == ClientKind::Opencode => {
                self.config.limits.startup_timeout_ms = self.milliseconds(key, node, 1.0);
            }
            "timeout" => self.config.limits.timeout_ms = self.milliseconds(key, node, unit),
            "tool_timeout_sec" => self.config.limits.timeout_ms = self.milliseconds(key, node, 1000.0),
            "startup_timeout_sec" | "startup_timeout_ms" | "connectionTimeout" => {
                let unit = if key == "startup_timeout_sec" { 1000.0 } else { 1.0 };
                self.config.limits.startup_timeout_ms = self.milliseconds(key, node, unit);
            }
            _ => {
                let [noted, instead] = table(include_str!("left_out.txt"), key).unwrap_or(["always", ""]);
                if noted == "always" || (noted == "filled" && !node.items().is_empty()) {
                    let message = format!("`{key}` is not carried over: {instead}");
                    self.notes.push(message.trim_end_matches(": ").to_owned());
                }
            }
        }
    }

    fn finish(mut self) -> Result<(ServerConfig, Vec<String>), String> {
        let config = &mut self.config;
        if config.command.as_deref().is_some_and(str::is_empty) {
            config.command = None;
        }
        match (&config.command, &config.url) {
            (None, None) => return Err("the entry has neither a command nor a url".to_owned()),
            (Some(_), Some(_)) => {
                self.notes
                    .push("the entry has a command and a url: only the command is carried over".to_owned());
                config.url = None;
                config.headers.clear();
                config.transport = None;
            }
            (Some(_), None) => config.transport = None,
            (None, Some(_)) => {
                if self.context.kind == ClientKind::Gemini && config.transport.is_none() {
                    config.transport = Some(TransportKind::Sse);
                }
                config.args.clear();
                config.transport = config.transport.filter(|kind| *kind != TransportKind::Stdio);
            }
        }
        if is_mgp(config) {
            return Err("the entry is mgp itself".to_owned());
        }
        Ok((self.config, self.notes))
    }

    fn command(&mut self, node: &DocumentNode) -> Result<(), String> {
        match &node.value {
            // opencode has the program and its arguments in one list.
            DocumentValue::List(_) => {
                let mut words = self.texts("command", node)?.into_iter();
                self.config.command = words.next();
                self.config.args.splice(0..0, words);
            }
            // An older form of Zed is `{ path, args, env }`.
            DocumentValue::Map(_) => {
                for member in node.members() {
                    match member.key.as_str() {
                        "path" => self.config.command = Some(self.text("command.path", &member.node)?),
                        "args" | "env" => self.member(&member.key, &member.node)?,
                        other => self.notes.push(format!("`command.{other}` is not carried over")),
                    }
                }
            }
            _ => self.config.command = Some(self.text("command", node)?),
        }
        Ok(())
    }

    fn env(&mut self, key: &str, node: &DocumentNode) -> Result<(), String> {
        for item in node.items() {
            let text = self.text(key, item)?;
            let (name, value) =
                text.split_once('=').ok_or_else(|| format!("`{key}` should hold `NAME=value`"))?;
            self.config.env.insert(name.to_owned(), value.to_owned());
        }
        for member in node.members() {
            if matches!(member.node.value, DocumentValue::Null) {
                continue;
            }
            let value = self.text(&format!("{key}.{}", member.key), &member.node)?;
            self.config.env.insert(member.key.clone(), value);
        }
        Ok(())
    }

    /// Reads the variables that the program gets from its client, or from the client's key ring.
    fn inherited(&mut self, node: &DocumentNode) {
        for name in node.items().iter().filter_map(DocumentNode::text) {
            let value = format!("${{{}}}", names::variable(name));
            self.config.env.entry(name.to_owned()).or_insert(value);
        }
    }

    fn headers(&mut self, key: &str, node: &DocumentNode) -> Result<(), String> {
        for member in node.members() {
            let value = self.text(&format!("{key}.{}", member.key), &member.node)?;
            self.config.headers.insert(member.key.clone(), value);
        }
        Ok(())
    }

    fn transport(&mut self, node: &DocumentNode) -> Result<(), String> {
        let text = node.text().unwrap_or_default().to_lowercase().replace(['-', '_'], "");
        self.config.transport = match text.as_str() {
            "stdio" | "local" => Some(TransportKind::Stdio),
            "http" | "streamablehttp" => Some(TransportKind::Http),
            "remote" => None,
            "sse" => Some(TransportKind::Sse),
            "builtin" | "platform" | "frontend" | "inlinepython" | "sdk" => {
                return Err(format!("the entry is part of the client (`{text}`)"));
            }
            _ => return Err(format!("no transport is called `{}`", node.text().unwrap_or_default())),
        };
        Ok(())
    }

    fn text(&mut self, place: &str, node: &DocumentNode) -> Result<String, String> {
        let text =
            node.scalar().ok_or_else(|| format!("`{place}` should be a text, but is {}", node.kind()))?;
        Ok(translate(self.context, &text, &mut |note| self.notes.push(format!("{place}: {note}"))))
    }

    fn texts(&mut self, place: &str, node: &DocumentNode) -> Result<Vec<String>, String> {
        if !matches!(node.value, DocumentValue::List(_)) {
            return Err(format!("`{place}` should be a list of texts, but is {}", node.kind()));
        }
        node.items().iter().map(|item| self.text(place, item)).collect()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is within the range checked"
    )]
    fn milliseconds(&mut self, key: &str, node: &DocumentNode, unit: f64) -> Option<u64> {
        let number = node.scalar().and_then(|text| text.parse::<f64>().ok()).map(|number| number * unit);
        let fit = number.filter(|ms| (1.0..=MAX_TIMEOUT_MS).contains(ms));
        if fit.is_none() {
            self.notes.push(format!("`{key}` is not a valid time and was left out"));
        }
        fit.map(|ms| ms as u64)
    }
}

fn is(node: &DocumentNode) -> bool {
    node.scalar().is_some_and(|text| text == "true")
}

/// Returns whether the server is this program: it would start itself for ever.
fn is_mgp(config: &ServerConfig) -> bool {
    let program = config.command.as_deref().unwrap_or_default();
    let file = program.rsplit(['/', '\\']).next().unwrap_or_default();
    file.trim_end_matches(".exe") == "mgp" && config.args.iter().any(|argument| argument == "serve")
}
