//! A plain MCP server whose tools are a file, told to clients byte for byte. It is written by hand, and has nothing in
//! common with the library that it is a test of.

use std::fs;
use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tempfile::TempDir;

use crate::host;

/// The argument by which the test binary is this server. The next is the folder with its script.
pub(crate) const SERVE: &str = "--scripted";

/// What a server is to do, in a folder.
pub(crate) struct Script(TempDir);

impl Script {
    /// A server with these tools, written as they are.
    pub(crate) fn new(tools: &str) -> Self {
        let script = Self(tempfile::tempdir().unwrap());
        script.tools(tools);
        script
    }

    /// A server with these tools.
    pub(crate) fn of(tools: impl IntoIterator<Item = Value>) -> Self {
        Self::new(&tools.into_iter().collect::<Value>().to_string())
    }

    /// A server with tools of these names.
    pub(crate) fn named(names: &[&str]) -> Self {
        let tools = names.iter().map(|name| tool(name, "Returns something.")).collect::<Vec<_>>();
        Self::new(&format!("[{}]", tools.join(",")))
    }

    /// Has the server speak MGP with these extensions.
    pub(crate) fn speaking(self, extensions: &[&str]) -> Self {
        let mgp = json!({"version": "0.2.0", "extensions": extensions});
        self.capabilities(&json!({"tools": {}, "mgp": mgp}).to_string())
    }

    /// Changes what the server lists from now on.
    pub(crate) fn tools(&self, tools: &str) {
        fs::write(self.path().join("tools"), tools).unwrap();
    }

    /// Has the server take so long until it answers anything.
    pub(crate) fn slow(self, start: Duration) -> Self {
        fs::write(self.path().join("start"), start.as_millis().to_string()).unwrap();
        self
    }

    /// Has the server say this about itself, in place of its capabilities.
    pub(crate) fn capabilities(self, capabilities: &str) -> Self {
        fs::write(self.path().join("capabilities"), capabilities).unwrap();
        self
    }

    /// Has the server answer requests of a method with this result; methods that nobody mentions do not exist.
    pub(crate) fn answers(self, method: &str, result: &str) -> Self {
        fs::write(self.path().join(method.replace('/', "_")), result).unwrap();
        self
    }

    /// Has the server write this line once it has answered a request of the method, with the id of the last call of `wait` in
    /// place of `"WAITING"`.
    pub(crate) fn then(self, method: &str, line: &str) -> Self {
        fs::write(self.path().join(format!("{}.then", method.replace('/', "_"))), line).unwrap();
        self
    }

    /// Has the server publish events on these channels alone, and know no patterns. Its tool `emit` publishes one on the
    /// channel `a`.
    pub(crate) fn publishes(self, channels: &[&str]) -> Self {
        fs::write(self.path().join("channels"), json!(channels).to_string()).unwrap();
        self
    }

    /// Has the server never answer when it is asked for the rest of its list.
    pub(crate) fn without_end(self) -> Self {
        fs::write(self.path().join("without_end"), "").unwrap();
        self
    }

    /// Has each call of the tool `fail` end in this error.
    pub(crate) fn fails_with(&self, error: &str) {
        fs::write(self.path().join("error"), error).unwrap();
    }

    /// Has the server write its answers from the back to the front, as some do.
    pub(crate) fn id_last(self) -> Self {
        fs::write(self.path().join("id_last"), "").unwrap();
        self
    }

    /// The server in a configuration.
    pub(crate) fn server(&self, id: &str) -> Value {
        host::child(id, [SERVE, self.path().to_str().unwrap()])
    }

    /// The calls that came to the server: the name of a tool, and its arguments.
    pub(crate) fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.path().join("calls")).unwrap_or_default();
        calls.lines().map(str::to_owned).collect()
    }

    /// The requests that came to the server, as they were written.
    pub(crate) fn asked(&self) -> Vec<Value> {
        lines(&fs::read_to_string(self.path().join("asked")).unwrap_or_default())
    }

    /// The notifications of a method that came to the server, as they were written.
    pub(crate) fn notified(&self, method: &str) -> Vec<Value> {
        lines(&self.notification_lines()).into_iter().filter(|frame| frame["method"] == method).collect()
    }

    /// The notifications that came to the server.
    pub(crate) fn notification_lines(&self) -> String {
        fs::read_to_string(self.path().join("told")).unwrap_or_default()
    }

    /// What the server was told in the beginning.
    pub(crate) fn greeting(&self) -> String {
        fs::read_to_string(self.path().join("greeting")).unwrap_or_default()
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

/// The frames on the lines of a file; the last line may not be there as a whole yet.
fn lines(text: &str) -> Vec<Value> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// A definition.
pub(crate) fn tool(name: &str, description: &str) -> String {
    format!(
        r#"{{"name":"{name}","description":"{description}","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string"}}}}}}}}"#
    )
}

/// A definition with these arguments, which are texts, and with more members.
pub(crate) fn defined(name: &str, arguments: &[&str], more: &Value) -> Value {
    let text = |argument: &&str| ((*argument).to_owned(), json!({"type": "string"}));
    let properties: Map<_, _> = arguments.iter().map(text).collect();
    let mut tool = json!({
        "name": name, "description": "Returns what it is told.",
        "inputSchema": {"type": "object", "properties": properties},
    });
    tool.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    tool
}

/// Serves on this process' standard input and output.
///
/// `tell` says that the list of tools has changed, `crash` ends the process in error and `end` in order, `big` returns so many bytes, `wait` never
/// answers, `fail` ends in the error of the script; whatever else is called returns its arguments.
pub(crate) fn serve() -> ExitCode {
    let folder = PathBuf::from(std::env::args().nth(2).unwrap());
    let file = |name: &str| fs::read_to_string(folder.join(name)).ok();
    if let Some(start) = file("start") {
        std::thread::sleep(Duration::from_millis(start.parse().unwrap()));
    }
    let mut out = std::io::stdout();
    let mut waiting = Value::Null;
    let mut publishing = file("channels").map(|channels| Publishing::new(&channels));
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        let Ok(message) = serde_json::from_str::<Value>(&line) else { continue };
        let (Some(id), Some(method)) = (message.get("id"), message["method"].as_str()) else {
            append(&folder, "told", &line);
            continue;
        };
        append(&folder, "asked", &line);
        let params = &message["params"];
        let result = match method {
            "initialize" => {
                fs::write(folder.join("greeting"), &line).unwrap();
                let capabilities =
                    file("capabilities").unwrap_or_else(|| r#"{"tools":{"listChanged":true}}"#.to_owned());
                format!(
                    r#"{{"protocolVersion":{},"capabilities":{capabilities},"serverInfo":{{"name":"scripted","version":"1"}}}}"#,
                    params["protocolVersion"]
                )
            }
            "ping" => "{}".to_owned(),
            "tools/list" if file("without_end").is_some() => {
                if params["cursor"].is_string() {
                    continue;
                }
                format!(r#"{{"tools":{},"nextCursor":"rest"}}"#, file("tools").unwrap())
            }
            "tools/list" => format!(r#"{{"tools":{}}}"#, file("tools").unwrap()),
            "tools/call" if params["name"] == "wait" => {
                append(&folder, "calls", "wait");
                waiting = id.clone();
                continue;
            }
            "tools/call" if params["name"] == "fail" => {
                append(&folder, "calls", "fail");
                writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"error":{}}}"#, file("error").unwrap()).unwrap();
                continue;
            }
            "tools/call" => {
                if let Some(publishing) = publishing.as_mut().filter(|_| params["name"] == "emit") {
                    publishing.emit(&params["arguments"]["a"], &mut out);
                }
                let done = call(&folder, params, &mut out);
                file("tools_call").unwrap_or(done)
            }
            "mgp/events/subscribe" if let Some(publishing) = &mut publishing => publishing.subscribe(params),
            "mgp/events/unsubscribe" if let Some(publishing) = &mut publishing => {
                publishing.unsubscribe(params)
            }
            _ => {
                let Some(result) = file(&method.replace('/', "_")) else {
                    let error = r#"{"code":-32601,"message":"no such method"}"#;
                    writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).unwrap();
                    continue;
                };
                result
            }
        };
        if file("id_last").is_some() {
            writeln!(out, r#"{{"result":{result},"jsonrpc":"2.0","id":{id}}}"#).unwrap();
        } else {
            writeln!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#).unwrap();
        }
        if let Some(then) = file(&format!("{}.then", method.replace('/', "_"))) {
            writeln!(out, "{}", then.replace(r#""WAITING""#, &waiting.to_string())).unwrap();
        }
    }
    ExitCode::SUCCESS
}

/// The channels of a server, and the subscriptions to them.
struct Publishing {
    channels: Vec<Value>,
    subscriptions: Vec<(Value, Vec<Value>)>,
    given: usize,
    emitted: usize,
}

impl Publishing {
    fn new(channels: &str) -> Self {
        Self {
            channels: serde_json::from_str(channels).unwrap(),
            subscriptions: Vec::new(),
            given: 0,
            emitted: 0,
        }
    }

    fn subscribe(&mut self, params: &Value) -> String {
        let asked = params["channels"].as_array().unwrap().iter().cloned();
        let (subscribed, unsupported): (Vec<_>, Vec<_>) =
            asked.partition(|name| self.channels.contains(name));
        self.given += 1;
        let id = json!(format!("sub-{:03}", self.given));
        self.subscriptions.push((id.clone(), subscribed.clone()));
        json!({"subscribed": subscribed, "unsupported": unsupported, "subscription_id": id}).to_string()
    }

    fn unsubscribe(&mut self, params: &Value) -> String {
        self.subscriptions.retain(|(id, _)| *id != params["subscription_id"]);
        "{}".to_owned()
    }

    fn emit(&mut self, channel: &Value, out: &mut std::io::Stdout) {
        self.emitted += 1;
        for (id, _) in self.subscriptions.iter().filter(|(_, channels)| channels.contains(channel)) {
            let event = json!({
                "subscription_id": id, "channel": channel, "timestamp": "2026-02-27T12:05:00.000Z", "data": {"n": self.emitted},
            });
            let frame = json!({"jsonrpc": "2.0", "method": "notifications/mgp.event", "params": event});
            writeln!(out, "{frame}").unwrap();
        }
    }
}

fn append(folder: &Path, file: &str, line: &str) {
    let file = fs::File::options().append(true).create(true).open(folder.join(file));
    writeln!(file.unwrap(), "{line}").unwrap();
}

fn call(folder: &Path, params: &Value, out: &mut std::io::Stdout) -> String {
    let (name, arguments) = (params["name"].as_str().unwrap(), &params["arguments"]);
    append(folder, "calls", &format!("{name} {arguments}"));
    let said = match name {
        "tell" => {
            writeln!(out, r#"{{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}"#).unwrap();
            "told".to_owned()
        }
        "crash" => std::process::exit(1),
        "end" => std::process::exit(0),
        "pid" => std::process::id().to_string(),
        "big" => "x".repeat(usize::try_from(arguments["bytes"].as_u64().unwrap()).unwrap()),
        _ => arguments.to_string(),
    };
    format!(r#"{{"content":[{{"type":"text","text":{}}}]}}"#, Value::String(said))
}
