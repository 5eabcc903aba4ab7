//! `mgp ask`: the rules for which calls a person is asked about, in the configuration.

use std::io::Write as _;
use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use mgp_discovery::FileReaders;
use mgp_discovery::config::ConfigFile;
use mgp_types::mgp::{AskRule, Asking, CallEffect, ToolPattern};
use serde::Serialize;
use serde_json::Value;

use super::context::CommandContext;
use super::proof;
use crate::terminal::{Exit, Failure, or_dash};

#[derive(Debug, Subcommand)]
pub(super) enum AskCommand {
    /// Let these calls pass without a question
    Never(AskedCalls),
    /// Ask once a day for each tool and effect
    Once(AskedCalls),
    /// Ask about each of these calls
    Always(AskedCalls),
    /// Refuse these calls, without a question
    Refuse(AskedCalls),
    /// Remove the rule for exactly these calls
    Forget(AskedCalls),
    /// List the rules
    List,
}

/// The calls that a rule is about.
#[derive(Debug, Args)]
pub(super) struct AskedCalls {
    /// The tools: `server.tool`, `server.*`, `*.tool` or `*`
    tool: ToolPattern,
    /// Only the calls of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<Box<str>>,
    /// Only the calls with this effect
    #[arg(long, value_parser = PossibleValuesParser::new(CallEffect::WORDS).try_map(effect))]
    effect: Option<CallEffect>,
}

/// The rules, and the file that has them.
#[derive(Debug, Serialize)]
struct ShownRules {
    rules: Vec<AskRule>,
    file: PathBuf,
}

pub(super) async fn run(cx: &CommandContext, ask: AskCommand) -> Result<Exit, Failure> {
    let (calls, asking) = match ask {
        AskCommand::List => return list(cx),
        AskCommand::Never(calls) => (calls, Some(Asking::Never)),
        AskCommand::Once(calls) => (calls, Some(Asking::Once)),
        AskCommand::Always(calls) => (calls, Some(Asking::Always)),
        AskCommand::Refuse(calls) => (calls, Some(Asking::Refuse)),
        AskCommand::Forget(calls) => (calls, None),
    };
    proof::person(cx).await?;
    let AskedCalls { tool, agent, effect } = calls;
    let rule = AskRule { tool, agent, effect, ask: asking.unwrap_or(Asking::Always) };
    // The file of a folder frees nothing.
    let path = cx.to_make(false)?;
    let mut file = ConfigFile::open(&path)?;
    if asking.is_some() {
        file.set_ask(&rule)?;
    } else if !file.forget_ask(&rule)? {
        let hint = "`mgp ask list` shows the rules";
        return Err(
            Failure::usage(format!("{} has no rule for exactly these calls", path.display())).hint(hint)
        );
    }
    file.save(FileReaders::Kept)?;
    let rules = if asking.is_some() { vec![rule] } else { Vec::new() };
    cx.output.show(&ShownRules { rules, file: path }, |shown, out| match shown.rules.first() {
        Some(rule) => writeln!(out, "{}: {}, by {}", rule.tool, meaning(rule.ask), shown.file.display()),
        None => writeln!(out, "the rule is gone from {}", shown.file.display()),
    })?;
    cx.output.note("a kernel in the background follows at once, another one after `mgp reload`");
    Ok(Exit::Done)
}

fn list(cx: &CommandContext) -> Result<Exit, Failure> {
    let shown = ShownRules { rules: cx.read()?.config.ask, file: cx.to_make(false)? };
    cx.output.show(&shown, |shown, out| {
        let row = |rule: &AskRule| {
            let effect = rule.effect.map(CallEffect::as_str);
            [
                rule.tool.to_string(),
                or_dash(rule.agent.as_deref()),
                or_dash(effect),
                meaning(rule.ask).to_owned(),
            ]
        };
        out.table(
            &["TOOL", "AGENT", "EFFECT", "RULE"],
            shown.rules.iter().map(row),
            "no rules: what a call does says whether a person is asked",
        )
    })
}

const fn meaning(ask: Asking) -> &'static str {
    match ask {
        Asking::Never => "nobody is asked",
        Asking::Once => "a person is asked once a day",
        Asking::Always => "a person is asked about each call",
        Asking::Refuse => "calls are refused",
    }
}

fn effect(word: String) -> Result<CallEffect, serde_json::Error> {
    serde_json::from_value(Value::String(word))
}
