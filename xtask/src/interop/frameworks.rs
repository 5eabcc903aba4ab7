//! Other people's clients in front of the kernel, while its server starts slowly.
//!
//! Each is run twice over each transport: `cold` before a kernel that has never met its server, `warm` before a new one
//! that remembers it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;
use serde_json::json;

use super::{
    Report,
    leg::{self, Checks, Target},
    peers::Transport,
};
use crate::{
    node::Node,
    process::{self, Background},
    python,
    workspace::Workspace,
};

/// A client, and the release of it that is installed from PyPI.
pub(super) struct Framework {
    pub(super) name: &'static str,
    packages: &'static [&'static str],
}

pub(super) const FRAMEWORKS: [Framework; 6] = [
    Framework { name: "fastmcp", packages: &[FASTMCP] },
    Framework { name: "langchain", packages: &["langchain-mcp-adapters==0.3.2"] },
    Framework { name: "mcp-use", packages: &["mcp-use==1.7.1"] },
    Framework { name: "pydantic-ai", packages: &["pydantic-ai-slim[mcp]==2.68.0"] },
    Framework { name: "openai-agents", packages: &["openai-agents==0.24.0"] },
    // A bridge from stdio to HTTP, which another client has to speak to.
    Framework { name: BRIDGE, packages: &[FASTMCP] },
];

const BRIDGE: &str = "mcp-remote";
const BRIDGE_RELEASE: &str = "mcp-remote@0.15.1";
pub(super) const FASTMCP: &str = "fastmcp==4.1.2";

/// Runs these clients, and adds a row for each run to the report.
pub(super) fn run(
    workspace: &Workspace,
    folder: &Path,
    wanted: &[&Framework],
    report: &mut Report,
) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let kernel = Kernel::new(workspace, folder)?;
    for framework in wanted {
        for transport in [Transport::Stdio, Transport::Http] {
            // The bridge is for those who have an address only.
            if framework.name == BRIDGE && transport == Transport::Stdio {
                continue;
            }
            kernel.forget()?;
            for memory in ["cold", "warm"] {
                let log = kernel.folder.join(format!("{}-{transport}-{memory}.log", framework.name));
                let checks = kernel.leg(framework, transport, memory, &log);
                report.row(framework.name, "kernel", transport.word(), memory, checks, Some(&log));
            }
        }
    }
    Ok(())
}

/// A kernel with one server, which takes some seconds to start.
struct Kernel {
    mgp: PathBuf,
    folder: PathBuf,
    config: PathBuf,
}

impl Kernel {
    fn new(workspace: &Workspace, folder: &Path) -> Result<Self> {
        let everything = workspace.example_or(None, "mgp-server-sdk", "everything")?;
        let mgp = workspace.build_mgp()?;
        let folder = folder.join("frameworks");
        fs::create_dir_all(&folder)?;
        for script in ["frameworks.py", "checks.py"] {
            fs::copy(workspace.root.join("xtask/interop").join(script), folder.join(script))?;
        }
        let config = folder.join("mgp.toml");
        let slow = format!("sleep {SLOW_SECONDS}; exec {} stdio", everything.display());
        fs::write(&config, format!("{POLICY}{SERVER}args = {}\n", json!(["-c", slow])))?;
        Ok(Self { mgp, folder, config })
    }

    /// Takes the memory of earlier kernels away.
    fn forget(&self) -> Result<()> {
        let state = self.folder.join("state");
        if state.exists() {
            fs::remove_dir_all(&state)?;
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.mgp);
        command.arg("--config").arg(&self.config).arg("--state").arg(self.folder.join("state")).arg("serve");
        command
    }

    fn leg(&self, framework: &Framework, transport: Transport, memory: &str, log: &Path) -> Result<Checks> {
        let interpreter = python::environment(&self.folder.join(framework.name), framework.packages)?;
        let port = process::free_port()?;
        let (target, _serving) = match transport {
            Transport::Stdio => (Target::command(&self.command()), None),
            Transport::Http | Transport::Sse => {
                let mut serve = self.command();
                serve.args(["--http", &format!("127.0.0.1:{port}")]);
                let kernel = Background::start(&mut serve, port, &log.with_extension("kernel"))?;
                (Target::url(Transport::Http, port), Some(kernel))
            }
        };
        let mut command = Command::new(interpreter);
        command.arg(self.folder.join("frameworks.py"));
        command.env("HOME", &self.folder).env("MCP_USE_ANONYMIZED_TELEMETRY", "false");
        if framework.name == BRIDGE {
            let node = Node::install(&self.folder.join("npm"), &[BRIDGE_RELEASE])?;
            let bridge = node.script(&node.module(BRIDGE).join("dist/proxy.js"));
            let bridge = Target::command(&bridge);
            command.args(["fastmcp", "stdio", memory]).args(bridge.arguments()).args(target.arguments());
        } else {
            command.args([framework.name, transport.word(), memory]).args(target.arguments());
        }
        leg::run(&mut command, log)
    }
}

/// Nobody is there to be asked.
pub(super) const POLICY: &str = "\
[permissions]
policy = \"auto_approve\"
never_automatic = []

[confirmation]
dangerous = false

[access]
default = \"opt-out\"

[kernel]
linger = 0

";

const SERVER: &str = "\
[tools]
pinned = [\"everything.test_simple_text\"]

[[servers]]
id = \"everything\"
command = \"sh\"
";

/// The seconds that the slow server waits before it starts; no client lists tools later than that.
const SLOW_SECONDS: u32 = 5;
