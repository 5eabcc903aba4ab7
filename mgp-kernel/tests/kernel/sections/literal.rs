//! Each example of the specification, sent as it is printed, by the client and the servers of a kernel.
//!
//! `testdata/literal` has a file for each exchange: the servers with what they answer by themselves, and the steps of the
//! exchange in their order. A frame that a peer gets must have all that is printed; it may have more. Where it differs, the
//! file says why.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_transport::{ConnectionLimits, connect, memory};
use mgp_types::Principal;
use mgp_types::mgp::ServerState;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader};
use tokio::net::UnixListener;
use tokio::sync::{Mutex, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::raw::ALL;
use crate::host::{Host, PATIENCE, quiet, read};
use crate::runner::tests;

tests![every_printed_example_is_answered_as_it_is_printed];

/// One printed exchange.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    /// The section of the specification.
    section: String,
    /// The lines of the document that the frames were copied from.
    #[serde(rename = "lines")]
    _lines: String,
    /// What the kernel is here: the server of the client, the client of a server, or both.
    #[serde(rename = "kernel")]
    _kernel: String,
    /// What the configuration has beyond the servers, by member.
    #[serde(default)]
    config: BTreeMap<String, Value>,
    /// A script that a frame names, which is kept as `script`.
    script: Option<String>,
    /// A configuration as it is printed, and what it is read as.
    toml: Option<PrintedConfig>,
    #[serde(default)]
    client: ClientScript,
    #[serde(default)]
    servers: BTreeMap<String, ServerScript>,
    #[serde(default)]
    steps: Vec<Step>,
}

#[derive(Deserialize)]
struct PrintedConfig {
    text: String,
    reads_as: Value,
}

#[derive(Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ClientScript {
    agent: String,
    capabilities: Value,
    /// False if the exchange itself opens the session.
    is_opened: bool,
}

impl Default for ClientScript {
    fn default() -> Self {
        let capabilities = json!({"mgp": {"version": "0.2.0", "extensions": ALL}});
        Self { agent: "agent.cloto_default".to_owned(), capabilities, is_opened: true }
    }
}

#[derive(Clone, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ServerScript {
    /// What the configuration says of the server beyond its address.
    config: BTreeMap<String, Value>,
    /// What the server declares of MGP.
    mgp: Value,
    tools: Value,
    /// The results of other methods.
    answers: BTreeMap<String, Value>,
    /// False if the exchange begins before the server is connected.
    is_up: bool,
}

impl Default for ServerScript {
    fn default() -> Self {
        let (config, answers) = Default::default();
        Self { config, mgp: Value::Null, tools: json!([]), answers, is_up: true }
    }
}

/// One frame that a peer sends or gets: `client`, `operator`, or a server.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    peer: String,
    sends: Option<Value>,
    gets: Option<Value>,
    /// What is not printed, and why it is asked for.
    #[serde(rename = "unprinted")]
    _unprinted: Option<String>,
    /// Which frame it is, of several with one method: the one that has the printed value here.
    by: Option<String>,
    /// Where a frame is not as printed, by JSON pointer.
    #[serde(default)]
    differs: BTreeMap<String, Difference>,
    /// What a frame is sent with in place of what is printed, by JSON pointer: a value that was kept.
    #[serde(default)]
    with: BTreeMap<String, String>,
}

/// How a value differs from the printed one.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Difference {
    #[serde(rename = "because")]
    _because: String,
    /// The value instead; any, if left out.
    is: Option<Value>,
    /// True if there is no value.
    #[serde(default)]
    is_absent: bool,
    /// The name under which the value is kept.
    keep: Option<String>,
}

// covers: MGP-1.5-01
async fn every_printed_example_is_answered_as_it_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/literal");
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|it| it == "json")).collect();
    files.sort();
    let mut plays = JoinSet::new();
    for file in &files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(file).unwrap();
        let exchange: Exchange =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        plays.spawn(async move {
            let played = exchange.play().await;
            played.map_err(|fault| format!("§{} ({name}): {fault}", exchange.section))
        });
    }
    let mut faults: Vec<_> = plays.join_all().await.into_iter().filter_map(Result::err).collect();
    faults.sort();
    assert!(files.len() > 25 && faults.is_empty(), "{} files\n{}", files.len(), faults.join("\n"));
}

impl Exchange {
    async fn play(&self) -> Result<(), String> {
        if let Some(PrintedConfig { text, reads_as }) = &self.toml {
            let (config, warnings) =
                Config::parse("mgp.toml".as_ref(), text).map_err(|error| error.to_string())?;
            assert!(warnings.is_empty(), "{warnings:?}");
            let read = serde_json::to_value(config).unwrap();
            return same(reads_as, &read, "", &BTreeMap::new());
        }
        let folder = tempfile::tempdir().unwrap();
        let mut peers = HashMap::new();
        let mut servers = Vec::new();
        for (id, script) in &self.servers {
            let socket = folder.path().join(id);
            let mut config = json!({"id": id, "socket": socket, "sharing": "shared"});
            script.config.iter().for_each(|(name, value)| config[name] = value.clone());
            servers.push(config);
            let of_server = self.steps.iter().filter(|step| step.peer == *id);
            let asked = of_server.filter_map(|step| step.gets.as_ref()?["method"].as_str());
            let held = asked.map(str::to_owned).collect();
            peers
                .insert(id.clone(), Peer::server(UnixListener::bind(&socket).unwrap(), script.clone(), held));
        }
        let mut config = quiet(servers);
        self.config.iter().for_each(|(name, value)| config[name] = value.clone());
        let host = Host::start_with(read(config)).await;
        for (id, _) in self.servers.iter().filter(|(_, script)| script.is_up) {
            let is_up = || {
                let servers = host.kernel.servers();
                let view = servers.iter().find(|view| view.id.as_str() == id);
                view.is_some_and(|view| view.state == ServerState::Connected && view.tools > 0)
            };
            let began = Instant::now();
            while !is_up() {
                if began.elapsed() > PATIENCE {
                    return Err(format!("`{id}` does not come up: {:?}", host.view(id)));
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
        let mut kept = HashMap::new();
        if let Some(script) = &self.script {
            let path = folder.path().join("script.py");
            std::fs::write(&path, script).unwrap();
            kept.insert("script".to_owned(), json!(path));
        }
        for (place, step) in self.steps.iter().enumerate() {
            if !peers.contains_key(&step.peer) {
                let peer = Peer::client(&host, &step.peer, &self.client).await?;
                peers.insert(step.peer.clone(), peer);
            }
            let peer = peers.get_mut(&step.peer).unwrap();
            peer.take(step, &mut kept)
                .await
                .map_err(|fault| format!("step {place}, {}: {fault}", step.peer))?;
        }
        Ok(())
    }
}

/// A client or a server of the kernel, which writes and reads frames.
struct Peer {
    incoming: mpsc::UnboundedReceiver<Value>,
    /// The frames that were passed over, the oldest first.
    heard: Vec<Value>,
    outgoing: Outgoing,
    /// The kernel's ids of the requests that a server got, by the printed ids; `None` for a client, whose ids are its own.
    ids: Option<HashMap<String, Value>>,
    _tasks: JoinSet<()>,
}

type Outgoing = Arc<Mutex<Option<Box<dyn AsyncWrite + Send + Unpin>>>>;

async fn write(outgoing: &Outgoing, frame: &Value) {
    let mut outgoing = outgoing.lock().await;
    // A kernel that has ended the connection is found out by what it does not answer.
    let _ = outgoing.as_mut().unwrap().write_all(format!("{frame}\n").as_bytes()).await;
}

/// Passes on the frames of a connection, and answers those that `answer` answers.
async fn pass_frames(
    incoming: impl AsyncRead + Unpin,
    outgoing: &Outgoing,
    frames: &mpsc::UnboundedSender<Value>,
    answer: impl Fn(&Value) -> Option<Value>,
) {
    let mut lines = BufReader::new(incoming).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        let frame: Value = serde_json::from_str(&line).unwrap();
        if let Some(answer) = answer(&frame) {
            write(outgoing, &answer).await;
        }
        if frames.send(frame).is_err() {
            return;
        }
    }
}

impl Peer {
    async fn client(host: &Host, name: &str, script: &ClientScript) -> Result<Self, String> {
        let principal =
            if name == "operator" { Principal::operator("root") } else { Principal::new(&*script.agent) };
        let (near, far) = memory::pair(1 << 16);
        let (_, connection) =
            connect(far.0, far.1, &host.kernel.accept(principal), ConnectionLimits::default());
        let (frames, incoming) = mpsc::unbounded_channel();
        let outgoing: Outgoing = Arc::new(Mutex::new(Some(Box::new(near.1))));
        let mut tasks = JoinSet::new();
        tasks.spawn(async move { drop(connection.await) });
        let writes = Arc::clone(&outgoing);
        tasks.spawn(async move { pass_frames(near.0, &writes, &frames, |_| None).await });
        let mut peer = Self { incoming, heard: Vec::new(), outgoing, ids: None, _tasks: tasks };
        if script.is_opened {
            let hello = json!({
                "protocolVersion": "2025-11-25", "capabilities": script.capabilities,
                "clientInfo": {"name": "literal", "version": "1"},
            });
            let hello = json!({"jsonrpc": "2.0", "id": "open", "method": "initialize", "params": hello});
            write(&peer.outgoing, &hello).await;
            peer.next(|frame| frame["id"] == "open").await?;
            write(&peer.outgoing, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        Ok(peer)
    }

    /// A server that answers by itself what its script says; `held` are the methods that the steps are about.
    fn server(listener: UnixListener, script: ServerScript, held: Vec<String>) -> Self {
        let (frames, incoming) = mpsc::unbounded_channel();
        let outgoing = Outgoing::default();
        let writes = Arc::clone(&outgoing);
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let (reading, writing) = connection.into_split();
                *writes.lock().await = Some(Box::new(writing));
                pass_frames(reading, &writes, &frames, |frame| script.answer(frame, &held)).await;
            }
        });
        Self { incoming, heard: Vec::new(), outgoing, ids: Some(HashMap::new()), _tasks: tasks }
    }

    /// Returns the next frame that is as wanted; others are kept in `heard`.
    async fn next(&mut self, is_it: impl Fn(&Value) -> bool) -> Result<Value, String> {
        if let Some(at) = self.heard.iter().position(&is_it) {
            return Ok(self.heard.remove(at));
        }
        loop {
            match tokio::time::timeout(PATIENCE, self.incoming.recv()).await {
                Ok(Some(frame)) if is_it(&frame) => return Ok(frame),
                Ok(Some(frame)) => self.heard.push(frame),
                Ok(None) => return Err(format!("the connection has ended: {:?}", self.heard)),
                Err(_) => return Err(format!("it does not come; there was {:?}", self.heard)),
            }
        }
    }

    async fn take(&mut self, step: &Step, kept: &mut HashMap<String, Value>) -> Result<(), String> {
        if let Some(printed) = &step.sends {
            let mut frame = printed.clone();
            for (place, name) in &step.with {
                *frame.pointer_mut(place).unwrap() = kept[name].clone();
            }
            self.renumber(&mut frame);
            write(&self.outgoing, &frame).await;
        }
        let Some(printed) = &step.gets else { return Ok(()) };
        let mut wanted = printed.clone();
        let is_it = |frame: &Value| match printed.get("method") {
            Some(method) => {
                let is_same = |place: &String| frame.pointer(place) == printed.pointer(place);
                frame["method"] == *method && step.by.iter().all(is_same)
            }
            None => frame.get("method").is_none() && frame["id"] == printed["id"],
        };
        let frame = self.next(is_it).await?;
        if let (Some(ids), Some(id)) = (&mut self.ids, printed.get("id")) {
            // The kernel numbers its requests itself.
            ids.insert(id.to_string(), frame["id"].clone());
        }
        self.renumber(&mut wanted);
        for (place, Difference { keep, .. }) in &step.differs {
            if let Some(name) = keep {
                let value = frame.pointer(place).ok_or_else(|| format!("{place} is missing: {frame}"))?;
                kept.insert(name.clone(), value.clone());
            }
        }
        same(&wanted, &frame, "", &step.differs).map_err(|fault| format!("{fault}; {frame}"))
    }

    /// Puts the kernel's ids in place of the printed ones, in a frame of a server.
    fn renumber(&self, frame: &mut Value) {
        let Some(ids) = &self.ids else { return };
        for place in ["/id", "/params/request_id"] {
            if let Some(id) = frame.pointer_mut(place)
                && let Some(of_kernel) = ids.get(&id.to_string())
            {
                *id = of_kernel.clone();
            }
        }
    }
}

impl ServerScript {
    /// Returns the answer to a frame that the steps are not about.
    fn answer(&self, frame: &Value, held: &[String]) -> Option<Value> {
        let (id, method) = (frame.get("id")?, frame["method"].as_str()?);
        if held.iter().any(|held| held == method) {
            return None;
        }
        let of_method = || {
            Some(match method {
                "initialize" => {
                    let mut capabilities = json!({"tools": {"listChanged": true}});
                    if !self.mgp.is_null() {
                        capabilities["mgp"] = self.mgp.clone();
                    }
                    json!({
                        "protocolVersion": "2025-11-25", "capabilities": capabilities,
                        "serverInfo": {"name": "literal", "version": "1"},
                    })
                }
                "tools/list" => json!({"tools": self.tools}),
                "ping" => json!({}),
                _ => return None,
            })
        };
        let answer = self.answers.get(method).cloned().or_else(of_method);
        Some(if let Some(result) = answer {
            json!({"jsonrpc": "2.0", "id": id, "result": result})
        } else {
            let error = json!({"code": -32601, "message": "no such method"});
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        })
    }
}

/// Checks that `actual` has all that is printed, but for the differences.
fn same(
    printed: &Value,
    actual: &Value,
    at: &str,
    differs: &BTreeMap<String, Difference>,
) -> Result<(), String> {
    if let Some(difference) = differs.get(at) {
        return match &difference.is {
            Some(value) => same(value, actual, at, &BTreeMap::new()),
            None => Ok(()),
        };
    }
    match (printed, actual) {
        // As in `"inputSchema": { "..." : "..." }`.
        (Value::Object(printed), Value::Object(_)) if printed.contains_key("...") => Ok(()),
        (Value::Object(printed), Value::Object(actual)) => printed.iter().try_for_each(|(name, printed)| {
            let at = format!("{at}/{name}");
            let is_absent = differs.get(&at).is_some_and(|difference| difference.is_absent);
            match actual.get(name) {
                Some(actual) if !is_absent => same(printed, actual, &at, differs),
                None if is_absent => Ok(()),
                Some(_) => Err(format!("{at} is there")),
                None => Err(format!("{at} is missing")),
            }
        }),
        (Value::Array(printed), Value::Array(actual)) if printed.len() == actual.len() => {
            let mut pairs = printed.iter().zip(actual).enumerate();
            pairs.try_for_each(|(place, (printed, actual))| {
                same(printed, actual, &format!("{at}/{place}"), differs)
            })
        }
        _ if printed == actual => Ok(()),
        _ => Err(format!("{at} is {actual}, printed is {printed}")),
    }
}
