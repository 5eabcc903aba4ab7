//! `cargo xtask walk --patterns`: does what each page of `docs/patterns` says, with the program.
//!
//! The configuration is that of the page, word for word; clients are connected as `mgp serve`. One file has the steps of one
//! page.

mod audit;
mod context;
mod coordination;
mod federation;

use std::{fs, path::Path, time::Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{Report, home::Home};
use crate::{
    process,
    session::{Era, Session},
    workspace::Workspace,
};

/// The steps of one page.
type Steps = fn(&mut Pattern);

/// The pages of `docs/patterns`, each with its steps.
const PAGES: [(&str, Steps); 4] = [
    ("audit", audit::steps),
    ("context", context::steps),
    ("coordination", coordination::steps),
    ("federation", federation::steps),
];

pub(super) fn run(workspace: &Workspace, mgp: &Path) -> Result<()> {
    let mut report = Report::new();
    for (name, steps) in PAGES {
        let file = workspace.root.join("docs/patterns").join(name).with_extension("md");
        let page = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let home = Home::new(workspace.target.join("walk-patterns").join(name), mgp.to_owned())?;
        let mut pattern = Pattern { name, page, home, report };
        pattern.step("the configuration of the page", Pattern::configure);
        steps(&mut pattern);
        pattern.step("the kernel is stopped", |pattern| {
            // Without a client that started one there is none.
            pattern.home.ended(&mut pattern.home.mgp(&["stop"])).map(|ended| ended.out.trim().to_owned())
        });
        report = pattern.report;
    }
    report.finish()
}

/// A page of `docs/patterns`, and a home in which it is followed.
struct Pattern {
    name: &'static str,
    page: String,
    home: Home,
    report: Report,
}

impl Pattern {
    fn step(&mut self, what: &str, step: impl FnOnce(&Self) -> Result<String>) {
        let began = Instant::now();
        let outcome = step(self);
        self.report.row(&format!("{}: {what}", self.name), began, outcome);
    }

    /// Writes the first TOML block of the page as the configuration of the user.
    fn configure(&self) -> Result<String> {
        let block = self.page.split("```toml\n").nth(1).and_then(|rest| rest.split("```").next());
        let config = block.context("the page has no configuration")?;
        let file = self.home.configuration();
        fs::create_dir_all(file.parent().context("it lies in no folder")?)?;
        fs::write(&file, config)?;
        self.home.run(&["config", "check"])?;
        Ok(format!("{} lines", config.lines().count()))
    }

    /// Connects a client, and waits until it is offered this tool.
    fn client(&self, tool: &str) -> Result<Client> {
        let mut session = Session::start(&mut self.home.mgp(&["serve"]), Era::Legacy)?;
        process::until(tool, || {
            Ok(session.ask("tools/list", json!({}))?.contains(&tool.replace('.', "__")))
        })?;
        Ok(Client(session))
    }
}

/// A client of the kernel, which is a program of its own.
struct Client(Session);

impl Client {
    /// Calls a tool, and returns its structured result.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value> {
        let line = self.0.ask("tools/call", json!({"name": tool, "arguments": arguments}))?;
        let answer: Value = serde_json::from_str(&line)?;
        let result = &answer["result"];
        ensure!(result.is_object() && result["isError"] != true, "{tool} answers {answer}");
        Ok(result["structuredContent"].clone())
    }
}
