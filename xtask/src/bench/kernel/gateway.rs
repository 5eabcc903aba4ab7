//! The gateways that are compared, and the server behind them.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Result, ensure};
use serde_json::Value;

use super::programs::{KernelProgram, Programs};
use crate::process;

/// How the server behind a gateway is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Upstream {
    Http,
    Stdio,
}

impl Upstream {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Http => "HTTP",
            Self::Stdio => "stdio",
        }
    }
}

/// A gateway, and how clients reach the tools behind it.
#[derive(Debug, Clone)]
pub(super) struct Gateway {
    pub(super) command: Vec<String>,
    pub(super) port: u16,
    pub(super) path: &'static str,
    /// The prefix of the names of the tools.
    pub(super) prefix: &'static str,
    pub(super) key: Option<String>,
}

impl Gateway {
    /// The floor: a frame is parsed as far as it has to be, and passed on.
    pub(super) fn floor(programs: &Programs, upstream: Upstream, server: u16) -> Result<Self> {
        let port = process::free_port()?;
        let words = match upstream {
            Upstream::Http => vec!["gw-http".into(), port.to_string(), format!("127.0.0.1:{server}/mcp")],
            Upstream::Stdio => {
                let mut words = vec!["gw-stdio".to_owned(), port.to_string()];
                words.extend(programs.peer("rmcp-echo", STDIO));
                words
            }
        };
        let words: Vec<_> = words.iter().map(String::as_str).collect();
        Ok(Self { command: programs.peer("floor", &words), port, path: "/mcp", prefix: "g_", key: None })
    }

    /// `mcp-proxy` with nothing but its way to the server.
    pub(super) fn proxy(programs: &Programs, program: &Path, server: u16) -> Result<Self> {
        let port = process::free_port()?;
        let file = programs.kernel.folder.join(format!("proxy-{port}.toml"));
        let config = format!(
            "[proxy]\nname = \"bench\"\nseparator = \"/\"\n[proxy.listen]\nhost = \"127.0.0.1\"\nport = {port}\n\
             [[backends]]\nname = \"g\"\ntransport = \"http\"\nurl = \"http://127.0.0.1:{server}/mcp\"\n"
        );
        fs::write(&file, config)?;
        let command = vec![program.display().to_string(), "--config".to_owned(), file.display().to_string()];
        Ok(Self { command, port, path: "/", prefix: "g/", key: None })
    }

    /// The kernel with everything on: a key is asked for, access is decided, permissions are, arguments are validated, and
    /// all is recorded.
    pub(super) fn kernel(programs: &Programs, upstream: Upstream, server: u16) -> Result<Self> {
        let servers = match upstream {
            Upstream::Http => {
                format!("[[servers]]\nid = \"g\"\nurl = \"http://127.0.0.1:{server}/mcp\"\n")
            }
            Upstream::Stdio => child("g", &programs.peer("rmcp-echo", STDIO), ""),
        };
        Self::kernel_of(&programs.kernel, &servers)
    }

    /// The same kernel for clients of this machine that show no key: whose each connection is has to be looked up.
    pub(super) fn kernel_without_keys(programs: &Programs, server: u16) -> Result<Self> {
        let servers = format!("[[servers]]\nid = \"g\"\nurl = \"http://127.0.0.1:{server}/mcp\"\n");
        let everything = EVERYTHING.replace("require_keys = true", "require_keys = false");
        Self::configured(&programs.kernel, &format!("{everything}{servers}"))
    }

    /// The kernel with everything on in front of servers as they stand in its configuration.
    pub(super) fn kernel_of(kernel: &KernelProgram, servers: &str) -> Result<Self> {
        Self::configured(kernel, &format!("{EVERYTHING}{servers}"))
    }

    fn configured(kernel: &KernelProgram, config: &str) -> Result<Self> {
        let port = process::free_port()?;
        let state = kernel.folder.join(format!("kernel-{port}"));
        fs::create_dir_all(&state)?;
        let file = state.join("mgp.toml");
        fs::write(&file, config)?;
        let [program, state, file] = [&kernel.program, &state, &file].map(|path| path.display().to_string());
        // A key is made by a kernel without servers.
        let empty = kernel.folder.join("empty.toml");
        fs::write(&empty, "")?;
        let empty = empty.display().to_string();
        let at_state = ["--config", &empty, "--state", &state, "--quiet"];
        let mut decide = Command::new(&program);
        drop(process::output(decide.args(at_state).args(["operators", "passphrase", "--without-proof"]))?);
        let mut make = Command::new(&program);
        let key = process::output(make.args(at_state).args(["keys", "new", AGENT]).args(PERMITTED))?;
        let key = Some(key.trim().to_owned());
        let address = format!("127.0.0.1:{port}");
        let words = [&program, "--config", &file, "--state", &state, "serve", "--http", &address];
        let command = words.map(String::from).into();
        Ok(Self { command, port, path: "/mcp", prefix: "g.", key })
    }

    /// Waits until a kernel has the tools of so many servers. The others have nothing to wait for.
    ///
    /// The kernel's own command is asked: it makes no list of tools, of which the first is measured.
    pub(super) fn wait_for(&self, servers: usize) -> Result<()> {
        if self.key.is_none() {
            return Ok(());
        }
        let mut look = Command::new(&self.command[0]);
        look.args(&self.command[1..5]).args(["servers", "--json"]);
        let began = Instant::now();
        while !process::output(&mut look).is_ok_and(|output| with_tools(&output) == servers) {
            ensure!(began.elapsed() < PATIENCE, "the kernel has not the tools of {servers} servers");
            thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

/// How many servers have tools, by what `mgp servers --json` tells.
fn with_tools(output: &str) -> usize {
    let parsed: Value = serde_json::from_str(output).unwrap_or_default();
    let servers = parsed["servers"].as_array().into_iter().flatten();
    servers.filter(|server| server["tools"].as_u64().is_some_and(|tools| tools > 0)).count()
}

/// A server that is started, as it stands in a configuration.
pub(super) fn child(id: &str, command: &[String], env: &str) -> String {
    let (program, arguments) = (&command[0], &command[1..]);
    format!("[[servers]]\nid = \"{id}\"\ncommand = {program:?}\nargs = {arguments:?}\nenv = {{ {env} }}\n")
}

/// How the server behind a gateway is started where it is one of its child processes.
const STDIO: &[&str] = &["stdio-pipes"];

const AGENT: &str = "bench";

/// The options of `mgp keys new` that permit the calls of the benchmark, of servers that the kernel that is asked does not know.
const PERMITTED: [&str; 7] =
    ["--allow", "list", "--allow", "call:g.echo", "--allow", "call:mgp.tools.discover", "--force"];

const EVERYTHING: &str = r#"
[listen]
require_keys = true
[access]
default = "opt-out"
[permissions]
policy = "auto_approve"
never_automatic = []
[tools]
level = "L0"
[audit]
durability = "async"
arguments = "digest"
"#;

const PATIENCE: Duration = Duration::from_mins(1);
