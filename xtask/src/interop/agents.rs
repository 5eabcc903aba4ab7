//! Agents in front of the kernel: the loops of other people's frameworks, with scripted models, that find one tool out of
//! 265 and call it.

use std::{fs, path::Path, process::Command};

use anyhow::Result;
use serde_json::json;

use super::{
    Report,
    frameworks::{FASTMCP, POLICY},
    leg::{self, Checks, Target},
    peers::{PY1, Transport},
};
use crate::{
    node::Node,
    process::{self, Background},
    python,
    workspace::Workspace,
};

pub(super) const NAME: &str = "agents";

/// The agents that are scripts of Python, with the releases that are installed from PyPI.
const PYTHON: [(&str, &[&str]); 5] = [
    ("openai-agents", &["openai-agents==0.24.0"]),
    ("langgraph", &["langchain-mcp-adapters==0.3.2", "langgraph==1.2.24"]),
    ("pydantic-ai", &["pydantic-ai-slim[mcp]==2.68.0"]),
    ("fastmcp", &[FASTMCP]),
    ("deferred-lists", &[PY1]),
];
const AI_SDK: &str = "ai-sdk";
const AI_SDK_RELEASES: [&str; 2] = ["ai@6.0.326", "@ai-sdk/mcp@1.0.102"];

/// Runs each agent over each transport, and adds a row for each run to the report.
pub(super) fn run(workspace: &Workspace, folder: &Path, report: &mut Report) -> Result<()> {
    let mgp = workspace.build_mgp()?;
    let folder = folder.join(NAME);
    fs::create_dir_all(&folder)?;
    for script in ["agent_loops.py", "agents.mjs", "many_tools.py", "checks.py", "checks.mjs"] {
        fs::copy(workspace.root.join("xtask/interop").join(script), folder.join(script))?;
    }
    let server = folder.join("many_tools.py");
    let config =
        format!("{POLICY}[[servers]]\nid = \"many\"\ncommand = \"python3\"\nargs = [{}]\n", json!(server));
    fs::write(folder.join("mgp.toml"), config)?;
    for name in PYTHON.map(|(name, _)| name).into_iter().chain([AI_SDK]) {
        for transport in [Transport::Stdio, Transport::Http] {
            let log = folder.join(format!("{name}-{transport}.log"));
            let checks = checks(&mgp, &folder, name, transport, &log);
            report.row(name, "kernel", transport.word(), "agent", checks, Some(&log));
        }
    }
    Ok(())
}

fn checks(mgp: &Path, folder: &Path, name: &str, transport: Transport, log: &Path) -> Result<Checks> {
    let mut serve = Command::new(mgp);
    serve.arg("--config").arg(folder.join("mgp.toml")).arg("--state").arg(folder.join("state")).arg("serve");
    let port = process::free_port()?;
    let (target, _serving) = if transport == Transport::Stdio {
        (Target::command(&serve), None)
    } else {
        serve.args(["--http", &format!("127.0.0.1:{port}")]);
        let kernel = Background::start(&mut serve, port, &log.with_extension("kernel"))?;
        (Target::url(transport, port), Some(kernel))
    };
    let mut command = match PYTHON.iter().find(|(agent, _)| *agent == name) {
        Some((_, packages)) => {
            let mut command = Command::new(python::environment(&folder.join(name), packages)?);
            command.arg(folder.join("agent_loops.py")).arg(name);
            command
        }
        None => Node::install(folder, &AI_SDK_RELEASES)?.script(&folder.join("agents.mjs")),
    };
    leg::run(command.env("HOME", folder).arg(transport.word()).args(target.arguments()), log)
}
