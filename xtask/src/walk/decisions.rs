//! The decisions of a person: secrets, questions, held tools and addresses, at a terminal and without one.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use super::{Walk, home::Home};

impl Walk {
    /// Runs the steps with decisions that are made before any client is connected.
    pub(super) fn decide(&mut self, scripts: &Path) {
        self.step("a secret of a client's file is moved", |walk| {
            let config = fs::read_to_string(walk.home.configuration())?;
            ensure!(!config.contains(SECRET), "mgp.toml holds it");
            let listed = walk.home.run(&["secrets", "list"])?;
            ensure!(listed.contains("FILES_TOKEN") && !listed.contains(SECRET), "{listed}");
            Ok("its name is listed".into())
        });
        self.step("without a terminal, a question waits", |walk| {
            let file = walk.home.folder().join("asked.txt");
            let call = ["call", "filesystem.write_file", &format!("path={}", file.display()), "content=a"];
            walk.home.run(&call)?;
            fs::write(&file, "to be overwritten")?;
            let refused = walk.home.ended(&mut walk.home.mgp(&call))?;
            ensure!(refused.code == Some(6), "{refused:?}");
            let id = refused.word_after("mgp permissions approve ").context("no command is named")?;
            walk.home.run(&["permissions", "approve", &id])?;
            walk.home.run(&call)?;
            ensure!(fs::read_to_string(&file)? == "a", "the call did nothing");
            Ok("approved by its number".into())
        });
        let terminal = scripts.join("walk/terminal.py");
        for (answer, goes_on) in [("y", false), ("write_file", true)] {
            self.step(&format!("at a terminal, the call asks, and `{answer}` is said"), |walk| {
                let file = walk.home.folder().join("asked-at-terminal.txt");
                fs::write(&file, "to be overwritten")?;
                let call =
                    ["call", "filesystem.write_file", &format!("path={}", file.display()), "content=a"];
                let mut command = walk.home.at_terminal(&terminal, "to deny it:", answer, &call);
                let ended = walk.home.ended(&mut command)?;
                ensure!(ended.out.contains("overwrites"), "it does not say what it asks: {ended:?}");
                let is_overwritten = fs::read_to_string(&file)? == "a";
                ensure!((ended.code == Some(0)) == goes_on && is_overwritten == goes_on, "{ended:?}");
                Ok(if goes_on { "the call was made" } else { "the call was not made" }.into())
            });
        }
        self.step("a misspelled permission is not granted", |walk| {
            let wrong = ["permissions", "approve", "filesystem", "filesystem.wrte", "--all-agents"];
            let ended = walk.home.ended(&mut walk.home.mgp(&wrong))?;
            ensure!(ended.code != Some(0) && ended.errors.contains("filesystem.write"), "{ended:?}");
            Ok("the right one is named".into())
        });
        self.doubtful(scripts);
    }

    /// A server that is not quite honest, and one that opens pages.
    fn doubtful(&mut self, scripts: &Path) {
        let server = scripts.join("walk/doubtful.py");
        self.step("a tool that hides orders is held in the open", |walk| {
            let mut command = Command::new("python3");
            command.arg(&server);
            walk.home.add("doubtful", &command)?;
            let tools = walk.home.run(&["tools"])?;
            let row = tools.lines().find(|line| line.contains("doubtful.notes"));
            ensure!(row.is_some_and(|row| row.contains("held")), "{tools}");
            let waiting = walk.home.run(&["pin", "list", "--waiting"])?;
            ensure!(waiting.contains("invisible-character"), "{waiting}");
            let call = walk.home.ended(&mut walk.home.mgp(&["call", "doubtful.notes", "text=a"]))?;
            ensure!(call.code != Some(0) && call.errors.contains("mgp pin approve doubtful"), "{call:?}");
            Ok("with the rule and the command".into())
        });
        self.step("mgp pin approve SERVER", |walk| {
            walk.home.run(&["pin", "approve", "doubtful", "--yes"])?;
            let said = walk.home.run(&["call", "doubtful.notes", "text=a"])?;
            ensure!(said.contains("did notes"), "{said}");
            Ok("the held tool is called".into())
        });
        self.step("an address of this machine is opened by the line that is named", |walk| {
            let call = ["call", "doubtful.open_page", "url=http://localhost:3000/"];
            let refused = walk.home.ended(&mut walk.home.mgp(&call))?;
            let output = format!("{}{}", refused.out, refused.errors);
            ensure!(refused.code != Some(0) && output.contains(OPENS), "{refused:?}");
            let before = fs::read_to_string(walk.home.configuration())?;
            walk.home.configure(&format!("{before}\n[servers.network]\n{OPENS}\n"))?;
            let mut again = walk.home.mgp(&call);
            let again = walk.home.ended(&mut again)?;
            let asks = again.word_after("mgp permissions approve ");
            let said = match asks {
                // That addresses are called at all is a question of its own.
                Some(id) => {
                    walk.home.run(&["permissions", "approve", &id])?;
                    walk.home.run(&call)?
                }
                None => again.out,
            };
            ensure!(said.contains("did open_page"), "{said}");
            walk.home.run(&["remove", "doubtful"])?;
            Ok(OPENS.into())
        });
        self.step("mgp status without a kernel", |walk| {
            walk.home.run(&["stop"])?;
            let status = walk.home.ended(&mut walk.home.mgp(&["status"]))?;
            ensure!(status.code == Some(4), "{status:?}");
            Ok("ends with 4".into())
        });
    }
}

/// Returns the status of the shared kernel, once clients were connected, as a text.
pub(super) fn status(home: &Home) -> Result<String> {
    #[derive(Deserialize)]
    struct Status {
        pid: u32,
    }
    let status: Status = home.json(&["status"])?;
    Ok(format!("process {}", status.pid))
}

/// A value that no one would take for anything else.
pub(super) const SECRET: &str = "tok-9f8e7d6c5b4a39281706f5e4d3c2b1a0";
const OPENS: &str = "allow = [\"localhost:3000\"]";
