//! A server in Go, whose `encoding/json` takes `Name` for `name` and lets the last one win: what an attack on it does, and
//! what is left of the attack behind the kernel.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::leg::Checks;
use crate::{
    process,
    session::{Era, Session},
    workspace::Workspace,
};

pub(super) const NAME: &str = "go";

/// Sends the attacks to the server itself, where they have to work, and through the kernel, where they must not.
pub(super) fn checks(workspace: &Workspace, folder: &Path) -> Result<Checks> {
    fs::create_dir_all(folder)?;
    let server = build(workspace, folder)?;
    let kernel = workspace.build_mgp()?;
    let config = folder.join("lenient.toml");
    // A string of JSON is one of TOML.
    fs::write(&config, format!("[[servers]]\nid = \"lenient\"\ncommand = {}\n", json!(server)))?;
    let state = folder.join("lenient-state");
    if state.exists() {
        fs::remove_dir_all(&state)?;
    }
    let mut through = Command::new(kernel);
    through.arg("--config").arg(&config).arg("--state").arg(&state).args(["serve", "--foreground"]);

    let mut direct = Session::start(&mut Command::new(&server), Era::Legacy)?;
    let mut behind = Session::start(&mut through, Era::Legacy)?;
    let mut checks = Checks::default();
    let honest = asked(&mut behind, "tools/call", r#"{"name":"lenient.echo","arguments":{"text":"a"}}"#)?;
    checks.add("tools/call", said(&honest, "ran echo"));
    let listed = asked(&mut behind, "tools/list", "{}")?;
    checks.add("tools/list", said(&listed, "lenient__delete_everything"));
    for attack in ATTACKS {
        let params = |name: &str| attack.params.replace("NAME", name);
        let real = asked(&mut direct, attack.method, &params("echo"))?;
        checks.add(&format!("{} works without the kernel", attack.what), said(&real, attack.does));
        let stopped = asked(&mut behind, attack.method, &params("lenient.echo"))?;
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
    /// The parameters, in which `NAME` stands for the name of the tool that is asked for.
    params: &'static str,
    /// The text by which the server says that it has done what was asked.
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

fn asked(session: &mut Session, method: &str, params: &str) -> Result<Value> {
    Ok(serde_json::from_str(&session.ask_as_written(method, params)?)?)
}

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
