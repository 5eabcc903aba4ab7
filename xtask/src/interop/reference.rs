//! The servers that are published as examples of the extensions, behind our kernel: they speak the extensions in forms of
//! their own, which `dialect = "ext-reference"` reads.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::leg::Checks;
use crate::{node::Node, process, python, workspace::Workspace};

pub(super) const NAME: &str = "ext-reference";

const REPOSITORY: &str = "https://github.com/davioe/mcp-extension-proposals";
const COMMIT: &str = "5a9142e";

const CONFIG: &str = "[tools]\nlevel = \"L0\"\n[permissions]\npolicy = \"auto_approve\"\n";

/// Fetches the two servers, and calls their tools through a kernel.
pub(super) fn checks(workspace: &Workspace, folder: &Path) -> Result<Checks> {
    let folder = folder.join(NAME);
    fs::create_dir_all(&folder)?;
    let source = source(&folder)?;
    let mgp = workspace.build_mgp()?;
    let interpreter = python::environment(&folder.join("python"), &[])?;
    let node = Node::install(&folder.join("npm"), &[])?;
    let scripts = workspace.root.join("xtask/interop");
    let served = folder.join("reference.mjs");
    fs::copy(scripts.join("reference.mjs"), &served)?;
    let servers = [
        ("python", interpreter, scripts.join("reference.py"), source.join("examples/python/server.py")),
        ("typescript", node.binary(), served, source.join("examples/typescript/server.ts")),
    ];

    let tables = servers.iter().map(|(id, program, script, example)| {
        let (program, arguments) = (json!(program), json!([script, example]));
        format!("[[servers]]\nid = \"{id}\"\ncommand = {program}\nargs = {arguments}\ndialect = \"ext-reference\"\n")
    });
    let config = CONFIG.to_owned() + &tables.collect::<String>();
    let kernel = Kernel { mgp, folder };
    fs::write(kernel.config(), config)?;

    let mut checks = Checks::default();
    let listed = kernel.ask(&["tools", "--json"])?;
    for (id, ..) in &servers {
        checks.add(&format!("{id}: tools/list"), lists(&listed, id));
        checks.add(&format!("{id}: tools/call"), kernel.searches(id));
        checks.add(&format!("{id}: what a tool does not take is refused"), kernel.refuses(id));
        checks.add(&format!("{id}: a call that has to be confirmed waits"), kernel.waits(id));
    }
    // A leg counts only if it reports these two.
    checks.add("tools/list", Ok(()));
    checks.add("tools/call", Ok(()));
    Ok(checks)
}

/// Returns the folder with the published sources, fetched unless they are there.
fn source(folder: &Path) -> Result<PathBuf> {
    let source = folder.join("source");
    if !source.join("examples").is_dir() {
        process::require("git", "https://git-scm.com, or the package `git` of your system")?;
        if source.exists() {
            fs::remove_dir_all(&source)?;
        }
        process::run(Command::new("git").args(["clone", "--quiet", REPOSITORY]).arg(&source))?;
        process::run(Command::new("git").arg("-C").arg(&source).args(["checkout", "--quiet", COMMIT]))?;
    }
    Ok(source)
}

fn lists(listed: &Value, server: &str) -> Result<(), String> {
    let tools = listed["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    let name = format!("{server}.search_tickets");
    match tools.iter().find(|tool| tool["name"] == name.as_str()) {
        Some(tool) if tool["definition"]["inputSchema"]["type"] == "object" => Ok(()),
        Some(tool) => Err(format!("the tool has no schema: {tool}")),
        None => Err(format!("{name} is not listed")),
    }
}

/// A kernel with both servers, started anew for each command.
struct Kernel {
    mgp: PathBuf,
    folder: PathBuf,
}

impl Kernel {
    fn config(&self) -> PathBuf {
        self.folder.join("mgp.toml")
    }

    fn ask(&self, arguments: &[&str]) -> Result<Value> {
        let mut command = Command::new(&self.mgp);
        command.arg("--config").arg(self.config()).arg("--state").arg(self.folder.join("state"));
        command.args(arguments);
        // A refused call ends in an error, and says so in JSON as well.
        let out = command.output().with_context(|| format!("cannot run {}", process::line(&command)))?;
        serde_json::from_slice(if out.stdout.is_empty() { &out.stderr } else { &out.stdout }).with_context(
            || format!("{} printed {}", process::line(&command), String::from_utf8_lossy(&out.stderr)),
        )
    }

    fn call(&self, tool: &str, arguments: &[&str]) -> Result<Value, String> {
        self.ask(&[&["call", "--json", tool], arguments].concat()).map_err(|error| format!("{error:#}"))
    }

    /// The data are the structured result, and what stood beside them is metadata. The state of a session is not for a
    /// client that did not ask for it.
    fn searches(&self, server: &str) -> Result<(), String> {
        let result = self.call(&format!("{server}.search_tickets"), &["query=login"])?;
        let (data, meta) = (&result["structuredContent"], &result["_meta"]);
        if data["total_count"] == 1 && meta["provenance"].is_object() && meta["session_state"].is_null() {
            Ok(())
        } else {
            Err(format!("the result has another form: {result}"))
        }
    }

    fn refuses(&self, server: &str) -> Result<(), String> {
        let answer = self.call(&format!("{server}.create_ticket"), &[])?;
        if answer["error"]["code"] == 4000 { Ok(()) } else { Err(format!("not refused: {answer}")) }
    }

    /// The server declares that a person has to confirm the tool.
    fn waits(&self, server: &str) -> Result<(), String> {
        let answer = self.call(&format!("{server}.delete_ticket"), &["ticket_id=PROJ-1"])?;
        if answer["error"]["code"] == "waiting" { Ok(()) } else { Err(format!("nobody is asked: {answer}")) }
    }
}
