//! Clients that reject a whole list for one bad definition in it, in front of the kernel, whose server lists bad ones
//! beside good ones.

use std::{fs, path::Path, process::Command};

use anyhow::Result;
use serde_json::json;

use super::{
    Report,
    frameworks::{FASTMCP, POLICY},
    leg::{self, Checks},
    peers::{PY1, PY2, TS1},
};
use crate::{node::Node, python, workspace::Workspace};

pub(super) const NAME: &str = "strict-lists";

/// The clients that are scripts of Python, with the releases that are installed from PyPI.
const PYTHON: [(&str, &str); 3] = [("py1", PY1), ("py2", PY2), ("fastmcp", FASTMCP)];
const TYPESCRIPT: &str = "ts1";

/// Runs each client, and adds a row for each run to the report.
pub(super) fn run(workspace: &Workspace, folder: &Path, report: &mut Report) -> Result<()> {
    let mgp = workspace.build_mgp()?;
    let folder = folder.join(NAME);
    fs::create_dir_all(&folder)?;
    let scripts = [
        "strict_lists.json", "strict_lists.py", "strict_lists.mjs", "strict_lists_server.py", "checks.py",
        "checks.mjs",
    ];
    for script in scripts {
        fs::copy(workspace.root.join("xtask/interop").join(script), folder.join(script))?;
    }
    let server = folder.join("strict_lists_server.py");
    let config = format!(
        "{POLICY}[tools]\nlevel = \"L0\"\n\n[[servers]]\nid = \"strict\"\ncommand = \"python3\"\nargs = [{}]\n",
        json!(server)
    );
    fs::write(folder.join("mgp.toml"), config)?;
    for client in PYTHON.map(|(name, _)| name).into_iter().chain([TYPESCRIPT]) {
        let log = folder.join(format!("{client}.log"));
        let checks = checks(&mgp, &folder, client, &log);
        report.row(client, "kernel", "stdio", "strict", checks, Some(&log));
    }
    Ok(())
}

fn checks(mgp: &Path, folder: &Path, client: &str, log: &Path) -> Result<Checks> {
    let mut command = match PYTHON.iter().find(|(name, _)| *name == client) {
        Some((_, package)) => {
            let mut command = Command::new(python::environment(&folder.join(client), &[package])?);
            command.arg(folder.join("strict_lists.py")).arg(client);
            command
        }
        None => Node::install(folder, &[TS1])?.script(&folder.join("strict_lists.mjs")),
    };
    let (config, state) = (folder.join("mgp.toml"), folder.join("state"));
    command.arg(mgp).arg("--config").arg(config).arg("--state").arg(state).arg("serve");
    leg::run(command.env("HOME", folder), log)
}
