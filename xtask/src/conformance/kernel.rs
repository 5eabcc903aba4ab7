//! The example `everything` behind `mgp serve`.

use std::{fs, path::Path, process::Command};

use anyhow::Result;
use serde_json::json;

use crate::{
    process::{self, Background},
    workspace::Workspace,
};

/// Starts the kernel in front of the example, for clients of this revision; returns where it listens.
pub(super) fn start(
    workspace: &Workspace,
    folder: &Path,
    revision: &str,
) -> Result<(String, Option<Background>)> {
    let everything = workspace.example_or(None, "mgp-server-sdk", "everything")?;
    let mgp = workspace.build_mgp()?;
    let home = folder.join("kernel");
    if home.exists() {
        fs::remove_dir_all(&home)?;
    }
    fs::create_dir_all(&home)?;
    let config = home.join("mgp.toml");
    fs::write(&config, configuration(&everything, revision))?;
    let port = process::free_port()?;
    let mut command = Command::new(&mgp);
    command.arg("--config").arg(&config).arg("--state").arg(home.join("state"));
    command.args(["serve", "--http", &format!("127.0.0.1:{port}")]);
    let kernel = Background::start(&mut command, port, &folder.join("kernel.log"))?;
    // It listens before its servers are there. A command that looks at tools waits for them.
    let mut look = Command::new(&mgp);
    look.arg("--config").arg(&config).arg("--state").arg(home.join("state")).arg("tools");
    process::until("the kernel to know the tools", || {
        Ok(process::output(&mut look)?.contains("everything.test_simple_text"))
    })?;
    Ok((format!("http://127.0.0.1:{port}/mcp"), Some(kernel)))
}

/// All tools are listed, and nobody is there to be asked: the suite is the only human. The example keeps nothing between calls,
/// which no server can say: without `protocol` it would get a session, which has no tasks as the newest revision has them. The
/// suite names files of the folder that the example runs in.
fn configuration(everything: &Path, revision: &str) -> String {
    format!(
        "[permissions]\npolicy = \"auto_approve\"\nnever_automatic = []\n\n[confirmation]\ndangerous = false\n\n[access]\n\
         default = \"opt-out\"\n\n[tools]\nlevel = \"L0\"\n\n[[servers]]\nid = \"everything\"\ncommand = {}\n\
         args = [\"stdio\"]\nprotocol = \"{revision}\"\n\n[[folders]]\nopen = [{}]\n",
        // A string of JSON is one of TOML.
        json!(everything),
        json!(std::env::current_dir().unwrap_or_default()),
    )
}
