//! `mgp open` and `mgp ask`: the rules of the configuration on which folders calls may touch, and about which calls a person
//! is asked.

use std::io;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use mgp_discovery::config::model::FolderRule;
use mgp_kernel_core::admin::config::{CheckAskRule, UnknownName};
use mgp_kernel_core::admin::operation::Operation as _;
use mgp_kernel_core::terminal::{Exit, Failure, Result, or_dash};
use mgp_security::command::can_begin_a_rule;
use mgp_security::path::usable_folder;
use mgp_types::mgp::{AskRule, Asking, CallEffect, ToolPattern};
use serde_json::json;

use super::context::CommandContext;
use super::input::word;
use super::link::KernelLink;
use super::proof;

#[derive(Debug, Args)]
pub(super) struct OpenArgs {
    /// The folder that is opened, with all that is below it
    folder: PathBuf,
    /// Open it to clients that work in this folder or below it; the current folder if left out
    #[arg(long = "in", value_name = "FOLDER", conflicts_with = "everywhere")]
    within: Option<PathBuf>,
    /// Open it to all clients
    #[arg(long)]
    everywhere: bool,
}

pub(super) async fn open(cx: &CommandContext, open: OpenArgs) -> Result {
    let folder = real(&open.folder)?;
    if usable_folder(Path::new(&folder)).is_none() {
        let why = "the root, the home, what lies above it, and protected places cannot be opened";
        return Err(Failure::file(&open.folder, why).hint("open only the folders that clients need"));
    }
    let within = open.within.as_deref().unwrap_or_else(|| Path::new("."));
    let within = if open.everywhere { None } else { Some(real(within)?) };
    proof::person(cx).await?;
    // The file of a folder opens nothing.
    let path = cx.to_make(false)?;
    let mut rule = FolderRule::default();
    (rule.open, rule.within) = (vec![folder.clone()], within.clone());
    cx.change(&path, |file| Ok(file.open_folders(&rule)?))?;
    let file = path.display().to_string();
    let those = within.as_ref().map(|within| format!("clients that work in {within}"));
    let whom = those.unwrap_or_else(|| "all clients".to_owned());
    let opened = json!({ "folder": folder, "within": within, "file": file });
    cx.output.line(&opened, &format!("{folder} is open to {whom}, by {file}"))?;
    cx.output.note("a kernel in the background follows at once, another one after `mgp reload`");
    Ok(Exit::Done)
}

fn real(folder: &Path) -> Result<String> {
    let real = folder.canonicalize().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::file(folder, "no such folder"),
        _ => Failure::file(folder, error),
    })?;
    if !real.is_dir() {
        return Err(Failure::file(folder, "this is not a folder"));
    }
    real.into_os_string().into_string().map_err(|_| Failure::file(folder, "its name is no UTF-8"))
}

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
    /// Set the rule even if there is no such server, tool or agent yet
    #[arg(long)]
    force: bool,
    /// Only the calls of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<Box<str>>,
    /// Only the calls with this effect
    #[arg(long, value_parser = PossibleValuesParser::new(CallEffect::ALL.iter().copied().map(CallEffect::as_str))
        .try_map(word::<CallEffect>))]
    effect: Option<CallEffect>,
    /// Only the calls of a shell that run a command with this beginning, such as `npm run`
    #[arg(long, value_name = "BEGINNING")]
    command: Option<Box<str>>,
}

pub(super) async fn ask(cx: &CommandContext, ask: AskCommand) -> Result {
    let (calls, asking) = match ask {
        AskCommand::List => return list(cx),
        AskCommand::Never(calls) => (calls, Some(Asking::Never)),
        AskCommand::Once(calls) => (calls, Some(Asking::Once)),
        AskCommand::Always(calls) => (calls, Some(Asking::Always)),
        AskCommand::Refuse(calls) => (calls, Some(Asking::Refuse)),
        AskCommand::Forget(calls) => (calls, None),
    };
    let AskedCalls { tool, force, agent, effect, command } = calls;
    if let Some(begin) = command.as_deref().filter(|begin| asking.is_some() && !can_begin_a_rule(begin)) {
        let none = Failure::usage(format!("no rule can be about the commands that begin with `{begin}`"));
        return Err(none.hint(
            "write a program, or a program and its subcommand, as in `npm run`; shells, interpreters and other \
             programs that run whatever they are given are asked about each time",
        ));
    }
    if asking.is_some() && !force {
        check(cx, CheckAskRule { tool: tool.clone(), agent: agent.as_deref().map(str::to_owned) }).await?;
    }
    proof::person(cx).await?;
    let rule = AskRule { tool, agent, effect, command, ask: asking.unwrap_or(Asking::Always) };
    // The file of a folder frees nothing.
    let path = cx.to_make(false)?;
    cx.change(&path, |file| {
        if asking.is_some() {
            return Ok(file.set_ask(&rule)?);
        }
        let none = || Failure::usage(format!("{} has no rule for exactly these calls", path.display()));
        if file.forget_ask(&rule)? { Ok(()) } else { Err(none().hint("`mgp ask list` shows the rules")) }
    })?;
    let file = path.display().to_string();
    let (rules, text) = match asking {
        Some(ask) => (vec![&rule], format!("{}: {}, by {file}", rule.tool, meaning(ask))),
        None => (Vec::new(), format!("the rule is gone from {file}")),
    };
    cx.output.line(&json!({ "rules": rules, "file": file }), &text)?;
    cx.output.note("a kernel in the background follows at once, another one after `mgp reload`");
    Ok(Exit::Done)
}

/// Checks that the names in a rule exist.
///
/// # Errors
/// One does not, with the name that is probably meant.
async fn check(cx: &CommandContext, rule: CheckAskRule) -> Result<()> {
    let checked = KernelLink::with(cx, rule.need(), async |link| link.ask(&rule).await).await?;
    let Some(UnknownName { what, meant }) = checked.unknown.into_iter().next() else { return Ok(()) };
    let meant = meant.map(|meant| format!("did you mean `{meant}`? ")).unwrap_or_default();
    Err(Failure::usage(what).hint(format!("{meant}`--force` sets the rule as it is written")))
}

fn list(cx: &CommandContext) -> Result {
    let (rules, file) = (cx.read()?.config.ask, cx.to_make(false)?.display().to_string());
    cx.output.show(&json!({ "rules": rules, "file": file }), |_, out| {
        let row = |rule: &AskRule| {
            let effect = or_dash(rule.effect.map(CallEffect::as_str));
            let (agent, command) = (or_dash(rule.agent.as_deref()), or_dash(rule.command.as_deref()));
            [rule.tool.to_string(), agent, effect, command, meaning(rule.ask).to_owned()]
        };
        let none = "no rules: what a call does says whether a person is asked";
        out.table(&["TOOL", "AGENT", "EFFECT", "COMMAND", "RULE"], rules.iter().map(row), none)
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
