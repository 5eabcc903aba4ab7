//! `cargo xtask walk --patterns`: does what each page of `docs/patterns` says, with the program.
//!
//! The configuration is that of the page, word for word; clients are connected as `mgp serve`. One file has the steps of one
//! page.

mod audit;
mod context;
mod coordination;
mod federation;

use std::{fs, path::Path, process::Command, time::Instant};

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

    /// Writes the first TOML block of the page as the configuration of the user, after all of them were found to be a
    /// valid one together.
    fn configure(&self) -> Result<String> {
        let blocks = self.blocks("toml");
        self.home.configure(&blocks.concat())?;
        self.home.run(&["config", "check"])?;
        self.home.configure(blocks.first().context("the page has no configuration")?)?;
        Ok(format!("{} blocks", blocks.len()))
    }

    /// The commands of the page, without the name of the program.
    fn commands(&self) -> Vec<Vec<&str>> {
        let lines = self.blocks("console").into_iter().flat_map(str::lines);
        lines.filter_map(|line| Some(line.strip_prefix("$ mgp ")?.split(' ').collect())).collect()
    }

    /// The blocks of the page in a language.
    fn blocks(&self, language: &str) -> Vec<&str> {
        let begins = format!("```{language}\n");
        let rests = self.page.split(begins.as_str()).skip(1);
        rests.filter_map(|rest| rest.split("```").next()).collect()
    }

    /// Connects a client, and waits until it is offered this tool.
    fn client(&self, tool: &str) -> Result<Client> {
        // A client is a program of its own, which ends. If this one were it, the kernel would take all commands that it runs
        // for those of an agent.
        let serve = self.home.mgp(&["serve"]);
        let mut program = Command::new("sh");
        program.args(["-c", "cat | \"$@\"", "sh"]).arg(serve.get_program()).args(serve.get_args());
        program.current_dir(self.home.folder());
        for (name, value) in serve.get_envs() {
            match value {
                Some(value) => program.env(name, value),
                None => program.env_remove(name),
            };
        }
        let mut session = Session::start(&mut program, Era::Legacy)?;
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
