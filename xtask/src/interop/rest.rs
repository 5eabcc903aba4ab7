//! The doors of the kernel over plain HTTP, held by programs that know nothing of MCP: checkers of OpenAPI documents, a
//! program that tries what such a document promises, a client that is generated from it, and two validators of JSON
//! Schema.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use anyhow::Result;
use serde_json::json;

use super::leg::Checks;
use crate::{
    node::Node,
    process::{self, Background},
    python,
    workspace::{Profile, Workspace},
};

pub(super) const NAME: &str = "rest";

const PYTHON: &[&str] = &[
    "openapi-spec-validator==0.9.0",
    "schemathesis==4.32.5",
    "openapi-python-client==0.29.1",
    "jsonschema==4.26.0",
    "pydantic==2.14.3",
];
const NPM: &[&str] = &["@redocly/cli@2.77.0", "ajv@8.20.0"];

/// The longest time that one program may take.
const PATIENCE: Duration = Duration::from_mins(5);

/// Starts a kernel with open doors, and lets each program at it.
pub(super) fn checks(workspace: &Workspace, folder: &Path) -> Result<Checks> {
    let folder = folder.join(NAME);
    fs::create_dir_all(&folder)?;
    let mgp = workspace.build_mgp()?;
    workspace.build_program("mgp-patterns", "mgp-patterns", Profile::Release)?;
    let interpreter = python::environment(&folder.join("python"), PYTHON)?;
    let node = Node::install(&folder.join("npm"), NPM)?;
    let port = process::free_port()?;
    let _kernel = start(&mgp, &folder, port)?;
    let address = format!("http://127.0.0.1:{port}");
    let bin = |name: &str| Command::new(interpreter.with_file_name(name));
    let scripts = workspace.root.join("xtask/interop");

    let mut checks = Checks::default();
    let mut fetch = Command::new(&interpreter);
    fetch.arg(scripts.join("rest.py")).args(["fetch", &address]).current_dir(&folder);
    run(&mut checks, "the documents are served", &mut fetch);
    let document = folder.join("openapi.json");
    run(
        &mut checks,
        "openapi-spec-validator accepts the document",
        bin("openapi-spec-validator").arg(&document),
    );
    let mut redocly = node.script(&node.module("@redocly/cli").join("bin/cli.js"));
    run(&mut checks, "redocly accepts the document", redocly.arg("lint").arg(&document));
    let mut schemathesis = bin("schemathesis");
    // A tool may refuse what its own schema allows.
    schemathesis.args(["run", &format!("{address}/openapi.json"), "--url", &address, "--max-examples", "20"]);
    // One of the tools waits for as long as its argument says.
    schemathesis.args(["--max-response-time", "60"]);
    schemathesis
        .args(["--checks", "all", "--exclude-checks", "positive_data_acceptance"])
        .current_dir(&folder);
    run(&mut checks, "schemathesis finds no answer beside the document", &mut schemathesis);
    let client = folder.join("client");
    let mut generate = bin("openapi-python-client");
    generate.args(["generate", "--overwrite", "--meta", "none", "--path"]).arg(&document);
    run(&mut checks, "a client is generated from the document", generate.arg("--output-path").arg(&client));
    for (what, part) in [
        ("a generated client calls tools", "client"),
        ("envelopes and manifests are valid for jsonschema", "schemas"),
    ] {
        let mut script = Command::new(&interpreter);
        script.arg(scripts.join("rest.py")).args([part, &address]).arg(&workspace.root).current_dir(&folder);
        run(&mut checks, what, &mut script);
    }
    let here = folder.join("npm/rest.mjs");
    fs::copy(scripts.join("rest.mjs"), &here)?;
    let mut ajv = node.script(&here);
    run(&mut checks, "envelopes are valid for ajv", ajv.arg(&folder).arg(&workspace.root));
    // A leg counts only if it reports these two.
    checks.add("tools/list", Ok(()));
    checks.add("tools/call", Ok(()));
    Ok(checks)
}

fn run(checks: &mut Checks, what: &str, command: &mut Command) {
    let outcome = match process::within(command, PATIENCE) {
        Ok(true) => Ok(()),
        Ok(false) => Err(format!("{} failed", process::line(command))),
        Err(error) => Err(format!("{error:#}")),
    };
    checks.add(what, outcome);
}

fn start(mgp: &PathBuf, folder: &Path, port: u16) -> Result<Background> {
    let state = folder.join("state");
    if state.exists() {
        fs::remove_dir_all(&state)?;
    }
    let config = folder.join("mgp.toml");
    let (program, open) = (json!(mgp), json!(folder));
    let text = format!(
        "[listen]\nrest = true\n[validators]\nroots = [{open}]\n\
         [[servers]]\nid = \"context\"\ncommand = {program}\nargs = [\"server\", \"context\"]\n\
         [[servers]]\nid = \"files\"\ncommand = {program}\nargs = [\"demo-server\", \"files\"]\ncwd = {open}\n\
         tools = {{ write_file = {{ enabled = false }} }}\n\
         [[permissions.grants]]\npermission = \"memory.read\"\n[[permissions.grants]]\npermission = \"memory.write\"\n\
         [[permissions.grants]]\nserver = \"files\"\npermission = \"filesystem.read\"\n\
         [[permissions.grants]]\nserver = \"files\"\npermission = \"filesystem.write\"\n"
    );
    fs::write(&config, text)?;
    let mut serve = Command::new(mgp);
    serve.arg("--config").arg(&config).arg("--state").arg(&state);
    serve.args(["serve", "--foreground", "--no-stdio", "--http", &format!("127.0.0.1:{port}")]);
    Background::start(&mut serve, port, &folder.join("kernel.log"))
}
