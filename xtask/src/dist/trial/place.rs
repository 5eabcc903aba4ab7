//! A place in which `mgp` is installed, and what somebody does there with it.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use crate::{
    process::{self, Background},
    session::{Era, Session},
};

/// A place in which a program runs without what this machine has in its environment.
#[derive(Debug, Clone)]
pub(super) struct Place {
    /// The command that enters the place, in front of the program's own.
    pub(super) entry: Vec<String>,
    /// The command of `mgp` as the place has it.
    pub(super) program: Vec<String>,
    pub(super) variables: BTreeMap<String, String>,
    /// The home of the user, as this machine has it.
    pub(super) home: PathBuf,
    /// The home of the user, as the place has it.
    pub(super) inner_home: String,
    /// The command of `mgp` for the programs in the place.
    pub(super) inner_program: Vec<String>,
}

impl Place {
    /// Returns a place on this machine: a folder with a home of its own.
    pub(super) fn here(home: PathBuf, program: &[&str]) -> Result<Self> {
        fs::create_dir_all(&home)?;
        let home = std::path::absolute(home)?;
        let inner_home = home.display().to_string();
        let program: Vec<_> = program.iter().map(|&word| word.to_owned()).collect();
        let (variables, inner_program) = (variables(&inner_home), program.clone());
        Ok(Self { entry: Vec::new(), program, variables, home, inner_home, inner_program })
    }

    /// Returns the place in a root of a system, entered by a user: with `/proc` and `/dev`, which end with the program.
    pub(super) fn root(root: &Path, user: &str, program: &str) -> Result<Self> {
        // The place may have a search path of its own.
        let chroot = process::installed("chroot").context("`chroot` is not installed")?.display().to_string();
        let script = format!(
            "mkdir -p \"$0/proc\" \"$0/dev\" && mount -t proc proc \"$0/proc\" && mount --rbind /dev \"$0/dev\" && \
             exec {chroot} --userspec={user} \"$0\" \"$@\""
        );
        let shown = root.display().to_string();
        let entry = ["unshare", "--mount", "sh", "-c", &script, &shown].map(str::to_owned).to_vec();
        let home = root.join("srv/somebody");
        fs::create_dir_all(&home)?;
        let inner_home = "/srv/somebody".to_owned();
        let (variables, program) = (variables(&inner_home), vec![program.to_owned()]);
        Ok(Self { entry, variables, home, inner_home, inner_program: program.clone(), program })
    }

    /// Returns a command that runs in the place.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        let mut words = self.entry.iter().map(String::as_str).chain(words.iter().copied());
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).env_clear().envs(&self.variables).current_dir(&self.home).stdin(Stdio::null());
        command
    }

    /// Returns `mgp` with these arguments.
    pub(super) fn mgp(&self, arguments: &[&str]) -> Command {
        let words: Vec<_> =
            self.program.iter().map(String::as_str).chain(arguments.iter().copied()).collect();
        self.command(&words)
    }

    /// Runs `mgp` to its end, and returns what it printed.
    pub(super) fn run(&self, arguments: &[&str]) -> Result<String> {
        let files = ["stdout.txt", "stderr.txt"].map(|name| self.home.join(name));
        let [out, errors] = &files;
        let mut command = self.mgp(arguments);
        command.stdout(fs::File::create(out)?).stderr(fs::File::create(errors)?);
        let ended = process::within(&mut command, LIMIT)?;
        ensure!(ended, "`mgp {}` failed: {}", arguments.join(" "), fs::read_to_string(errors)?.trim());
        Ok(fs::read_to_string(out)?)
    }

    /// Asks `mgp` for the version.
    pub(super) fn says_version(&self, version: &str) -> Result<()> {
        let printed = self.run(&["--version"])?;
        ensure!(printed.trim() == format!("mgp {version}"), "`mgp --version` printed `{}`", printed.trim());
        Ok(())
    }

    /// Asks both programs for the version.
    pub(super) fn starts(&self, version: &str) -> Result<()> {
        self.says_version(version)?;
        let printed = self.run(&["server", "--version"])?;
        ensure!(printed.contains(version), "`mgp server --version` printed `{}`", printed.trim());
        Ok(())
    }

    /// Imports a server from the file of a client.
    pub(super) fn imports(&self) -> Result<()> {
        let mut server = self.inner_program.iter().map(String::as_str).chain(["demo-server", "office"]);
        let command = server.next().unwrap_or_default();
        let entry = json!({ "command": command, "args": server.collect::<Vec<_>>() });
        let file = json!({ "mcpServers": { "office": entry } });
        fs::write(self.home.join("client.json"), file.to_string())?;
        self.run(&["import", &format!("{}/client.json", self.inner_home), "--as", "claude-desktop"])?;
        let servers = self.run(&["servers", "--wait"])?;
        ensure!(servers.contains("connected"), "the imported server is not connected: {servers}");
        Ok(())
    }

    /// Calls a tool of the imported server over standard input and output, and over HTTP.
    pub(super) fn answers(&self) -> Result<()> {
        let mut session = Session::start(&mut self.mgp(&["serve"]), Era::Legacy)?;
        let answer = session.ask("tools/call", json!({ "name": TOOL, "arguments": {} }))?;
        ensure!(answer.contains(ANSWER), "the call over standard input and output has the answer {answer}");
        drop(session);
        let port = process::free_port()?;
        let serve = ["serve", "--no-stdio", "--http", &format!("127.0.0.1:{port}")];
        let kernel = Background::start(&mut self.mgp(&serve), port, &self.home.join("serve.txt"))?;
        let answer = post(port)?;
        ensure!(answer.contains(ANSWER), "the call over HTTP has the answer {answer}");
        self.run(&["status"]).context("the health check fails")?;
        kernel.end()
    }

    /// Does all of it.
    pub(super) fn works(&self, version: &str) -> Result<()> {
        self.starts(version)?;
        self.run(&["demo"])?;
        self.imports()?;
        self.answers()
    }
}

fn variables(home: &str) -> BTreeMap<String, String> {
    let variables =
        [("HOME", home), ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}

/// Calls the tool at a port of this machine, in a request that describes itself, and returns the answer with its head.
fn post(port: u16) -> Result<String> {
    let call = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": TOOL,
            "arguments": {},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": { "name": "xtask", "version": "1" },
            },
        },
    });
    let call = call.to_string();
    let head = [
        "POST /mcp HTTP/1.1",
        &format!("Host: 127.0.0.1:{port}"),
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2026-07-28",
        "Mcp-Method: tools/call",
        &format!("Mcp-Name: {TOOL}"),
        "Connection: close",
        &format!("Content-Length: {}", call.len()),
    ];
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(LIMIT))?;
    stream.write_all(format!("{}\r\n\r\n{call}", head.join("\r\n")).as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).context("the answer over HTTP cannot be read")?;
    Ok(answer)
}

/// A tool of the demo's server, and a part of its answer.
const TOOL: &str = "office.upcoming_events";
const ANSWER: &str = "Review of the release";
const LIMIT: Duration = Duration::from_mins(2);
