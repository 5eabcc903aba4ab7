//! A server in Go, whose `encoding/json` takes `Name` for `name` and lets the last one win: what an attack on it does, and
//! what is left of the attack behind the kernel.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::leg::Checks;
use crate::{
    process,
    workspace::{Profile, Workspace},
};

pub(super) const NAME: &str = "go";

/// Sends the attacks to the server itself, where they have to work, and through the kernel, where they must not.
pub(super) fn checks(workspace: &Workspace, folder: &Path) -> Result<Checks> {
    fs::create_dir_all(folder)?;
    let server = build(workspace, folder)?;
    let kernel = workspace.build_program("mgp-kernel", "mgp", Profile::Release)?;
    let config = folder.join("lenient.toml");
    // A string of JSON is one of TOML.
    fs::write(&config, format!("[[servers]]\nid = \"lenient\"\ncommand = {}\n", json!(server)))?;
    let state = folder.join("lenient-state");
    if state.exists() {
        fs::remove_dir_all(&state)?;
    }
    let mut through = Command::new(kernel);
    through.arg("--config").arg(&config).arg("--state").arg(&state).arg("serve");

    let mut direct = Peer::start(&mut Command::new(&server))?;
    let mut behind = Peer::start(&mut through)?;
    let mut checks = Checks::default();
    let honest = behind.ask("tools/call", r#"{"name":"lenient.echo","arguments":{"text":"a"}}"#)?;
    checks.add("tools/call", said(&honest, "ran echo"));
    let listed = behind.ask("tools/list", "{}")?;
    checks.add("tools/list", said(&listed, "lenient__delete_everything"));
    for attack in ATTACKS {
        let params = |name: &str| attack.params.replace("NAME", name);
        let real = direct.ask(attack.method, &params("echo"))?;
        checks.add(&format!("{} works without the kernel", attack.what), said(&real, attack.does));
        let stopped = behind.ask(attack.method, &params("lenient.echo"))?;
        let verdict = match said(&stopped, attack.does) {
            Err(_) if stopped["error"].is_object() => Ok(()),
            _ => Err(stopped.to_string()),
        };
        checks.add(&format!("{} is refused by the kernel", attack.what), verdict);
    }
    Ok(checks)
}

struct Attack {
    what: &'static str,
    method: &'static str,
    /// With `NAME` for the name of the tool that is asked for.
    params: &'static str,
    /// What the server says when it has done it.
    does: &'static str,
}

const ATTACKS: &[Attack] = &[
    Attack {
        what: "a second `Name`",
        method: "tools/call",
        params: r#"{"name":"NAME","arguments":{},"Name":"delete_everything"}"#,
        does: "ran delete_everything",
    },
    Attack {
        what: "a second `Arguments`",
        method: "tools/call",
        params: r#"{"name":"NAME","arguments":{"text":"a"},"Arguments":{"text":"b"}}"#,
        does: "text:b",
    },
    Attack {
        what: "`argumentſ`",
        method: "tools/call",
        params: r#"{"name":"NAME","arguments":{"text":"a"},"argument\u017f":{"text":"b"}}"#,
        does: "text:b",
    },
];

fn said(answer: &Value, text: &str) -> Result<(), String> {
    let answer = answer.to_string();
    if answer.contains(text) { Ok(()) } else { Err(format!("the answer lacks {text:?}: {answer}")) }
}

fn build(workspace: &Workspace, folder: &Path) -> Result<PathBuf> {
    let is_there = || process::succeeds(Command::new("go").arg("version"));
    if !is_there() {
        // Where this may install what is missing, it does, as on the machines of CI.
        let apt = ["install", "-y", "-qq", "--no-install-recommends", "golang-go"];
        let installed = process::succeeds(Command::new("apt-get").args(apt)) && is_there();
        ensure!(installed, "`go` is missing; install it: {INSTALL}");
    }
    let program = folder.join("lenient");
    let source = workspace.root.join("xtask/interop/lenient.go");
    process::run(Command::new("go").arg("build").arg("-o").arg(&program).arg(source))?;
    Ok(program)
}

/// How to get what the leg needs.
const INSTALL: &str = "Go 1.18 or newer (on Debian: apt install golang-go)";

/// A server on the standard input and output of a process that ends with this value.
struct Peer {
    child: Child,
    input: ChildStdin,
    lines: mpsc::Receiver<String>,
    id: u64,
}

impl Peer {
    /// Starts it and opens a session.
    fn start(command: &mut Command) -> Result<Self> {
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
        let mut peer = Self { child, input, lines, id: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "interop", "version": "1"},
        });
        peer.ask("initialize", &hello.to_string())?;
        writeln!(peer.input, r#"{{"jsonrpc":"2.0","method":"notifications/initialized"}}"#)?;
        Ok(peer)
    }

    /// Sends params as they stand, and returns the answer.
    fn ask(&mut self, method: &str, params: &str) -> Result<Value> {
        self.id += 1;
        let id = self.id;
        writeln!(self.input, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)?;
        loop {
            let line =
                self.lines.recv_timeout(LIMIT).with_context(|| format!("`{method}` is not answered"))?;
            let message: Value = serde_json::from_str(&line)?;
            if message["id"] == id {
                return Ok(message);
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // It may have ended by itself; then there is nothing left to stop.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const LIMIT: Duration = Duration::from_mins(1);
