//! `mgp permissions`: lists and decides the questions and permissions of servers.

use std::io::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use mgp_security::permission::{GrantLifetime, GrantedTo};
use mgp_types::mgp::{AgentId, Decision, Permission, Scope, ServerId, Timestamp};
use mgp_types::shell_word;

use super::access_target::advised_names;
use super::answer::is_person_there;
use super::deciding::answer;
use super::exit::{Exit, Failure};
use super::kernel_location::KernelLocation;
use super::link::{KernelLink, KernelNeed};
use super::moment::{Moment, moment};
use super::output::{Output, printable};
use super::proof;
use crate::operator::known_names::NameMistakes;
use crate::operator::method;
use crate::operator::page::PageRequest;
use crate::operator::permissions::{
    ApproveQuestion, DecisionReset, DenyQuestion, GrantPage, GrantPermission, ListGrants, OpenQuestion,
    PendingDecisions, PermissionDecided, ResetDecision, RevokePermission, ShowQuestion, ShownQuestion,
    WatchQuestions,
};

#[derive(Debug, Subcommand)]
pub(super) enum PermissionsCommand {
    /// List the questions that wait for a decision
    Pending,
    /// Answer questions on this terminal as they come
    Watch,
    /// Show a question with its whole call, the decision that answered it, or the decisions about a server
    Show(PermissionShowArgs),
    /// Approve a question by its id, or the only one that waits; or grant a permission to a server
    Approve(Box<PermissionApproveArgs>),
    /// Deny a question or a permission, or take a grant back
    Deny(PermissionDenyArgs),
    /// Forget an answer, or a decision about a permission of a server, so that it is asked again
    Reset(PermissionResetArgs),
    /// List decisions
    List(PermissionListArgs),
}

#[derive(Debug, Args)]
pub(super) struct PermissionShowArgs {
    /// The id of the question, or the server
    #[arg(value_name = "ID|SERVER")]
    id: String,
}

#[derive(Debug, Args)]
pub(super) struct PermissionResetArgs {
    /// The id of the question, or the server
    #[arg(value_name = "ID|SERVER")]
    what: String,
    /// The permission, if a server is named
    permission: Option<String>,
    /// Forget the decision for this agent's calls only, if a server is named
    #[arg(long, value_name = "AGENT", requires = "permission")]
    agent: Option<String>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
pub(super) struct PermissionApproveArgs {
    /// The id of the question or the beginning of it, or the server; the only question that waits if left out
    #[arg(value_name = "ID|SERVER")]
    what: Option<String>,
    /// The permission, if a server is named
    permission: Option<String>,
    /// The scope of the grant, as a JSON object with `paths`, `commands`, `hosts` and so on
    #[arg(long, value_name = "JSON", value_parser = scope, conflicts_with = "scope_file")]
    scope: Option<Scope>,
    /// The scope of the grant, as a JSON file
    #[arg(long, value_name = "FILE")]
    scope_file: Option<PathBuf>,
    /// The end of the grant: a time, or a span such as 2h
    #[arg(long, visible_alias = "for", value_name = "WHEN", value_parser = moment, group = "lasting")]
    until: Option<Moment>,
    /// Grant for the one call of the question
    #[arg(long, group = "lasting", conflicts_with = "permission")]
    once: bool,
    /// Grant until the session of the question ends; this is the default for a question
    #[arg(long, group = "lasting", conflicts_with = "permission")]
    session: bool,
    /// Grant until it is taken back
    #[arg(long, group = "lasting")]
    always: bool,
    /// Confirm N calls of the tool by this agent, for ten minutes or until the end, if the question is about a call
    #[arg(long, value_name = "N", conflicts_with = "permission")]
    uses: Option<u32>,
    /// Grant for the calls of this agent, if a server is named
    #[arg(long, value_name = "AGENT", requires = "permission", conflicts_with = "all_agents")]
    agent: Option<String>,
    /// Grant for the calls of all agents
    #[arg(long)]
    all_agents: bool,
    /// Grant even if there is no such server, or if no server asks for the permission
    #[arg(long, requires = "permission")]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct PermissionDenyArgs {
    /// The id of the question or the beginning of it, or the server; the only question that waits if left out
    #[arg(value_name = "ID|SERVER")]
    what: Option<String>,
    /// The permission, if a server is named
    permission: Option<String>,
    /// The end of the denial of a question: a time, or a span such as 2h
    #[arg(long, visible_alias = "for", value_name = "WHEN", value_parser = moment, conflicts_with = "permission")]
    until: Option<Moment>,
    /// Deny for the calls of this agent only, if a server is named
    #[arg(long, value_name = "AGENT", requires = "permission")]
    agent: Option<String>,
    /// Deny even if there is no such server, or if no server asks for the permission
    #[arg(long, requires = "permission")]
    force: bool,
}

#[derive(Debug, Args)]
pub(super) struct PermissionListArgs {
    /// List the decisions about this server only
    server: Option<String>,
    /// Skip the first N decisions
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: u64,
    /// List at most N decisions
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
}

pub(super) async fn run(
    place: &KernelLocation,
    output: &Output,
    command: PermissionsCommand,
) -> Result<Exit, Failure> {
    let names_server = match &command {
        PermissionsCommand::Approve(yes) => yes.permission.is_some(),
        PermissionsCommand::Deny(no) => no.permission.is_some(),
        _ => false,
    };
    let need = if names_server { KernelNeed::Configured } else { KernelNeed::State };
    let is_watch = matches!(command, PermissionsCommand::Watch);
    let link =
        if is_watch { KernelLink::needed(place).await? } else { KernelLink::open(place, need).await? };
    let outcome = match command {
        PermissionsCommand::Watch => watch(&link, output).await,
        PermissionsCommand::Reset(wanted) => reset(&link, output, wanted).await,
        PermissionsCommand::Pending => pending(&link, output).await,
        PermissionsCommand::Show(wanted) => show(&link, output, wanted).await,
        PermissionsCommand::Approve(yes) => approve(&link, output, *yes).await,
        PermissionsCommand::Deny(no) => deny(&link, output, no).await,
        PermissionsCommand::List(wanted) => list(&link, output, wanted).await,
    };
    link.close().await;
    outcome
}

async fn pending(link: &KernelLink, output: &Output) -> Result<Exit, Failure> {
    let pending: PendingDecisions = link.ask(method::PERMISSIONS_PENDING, &()).await?;
    output.show(&pending, |pending, out| {
        for question in &pending.questions {
            writeln!(out, "{}  {}", question.id, question.asked_at)?;
            for line in printable(&question.message).lines() {
                writeln!(out, "    {line}")?;
            }
        }
        for needed in &pending.undecided {
            let (server, permission) = (printable(needed.server_id.as_str()), needed.permission.as_str());
            writeln!(out, "{server} needs {} ({})", printable(permission), needed.risk)?;
        }
        if pending.questions.is_empty() && pending.undecided.is_empty() {
            writeln!(out, "nothing waits for a decision")?;
        }
        Ok(())
    })?;
    if !link.running && pending.questions.is_empty() {
        output.note("no kernel runs, so no call waits; `mgp doctor` shows what servers need");
    }
    Ok(Exit::Done)
}

async fn show(link: &KernelLink, output: &Output, wanted: PermissionShowArgs) -> Result<Exit, Failure> {
    let found = link.ask(method::PERMISSIONS_SHOW, &ShowQuestion { id: wanted.id.clone() }).await;
    let question: ShownQuestion = match found {
        Ok(question) => question,
        Err(failure) => {
            // The id may be that of a server; decisions about a server have no ids of their own.
            let list = PermissionListArgs { server: Some(wanted.id), offset: 0, limit: None };
            let failure: Failure = failure;
            let decided: GrantPage = decided(link, &list).await?;
            if decided.grants.is_empty() && decided.waiting.is_empty() {
                return Err(failure.hint("`mgp permissions pending` shows the questions"));
            }
            return show_decided(output, &decided);
        }
    };
    output.show(&question, |shown, out| {
        let OpenQuestion { id, asked_at, ends_at, decision, answered_by, .. } = &shown.question;
        writeln!(out, "{id}  {asked_at}")?;
        let until = ends_at.map(|end| format!(" until {end}")).unwrap_or_default();
        match (decision, answered_by) {
            (Some(decision), Some(by)) => {
                let (word, by) = (word(*decision), printable(by));
                writeln!(out, "{word} by {by}{until}; `mgp permissions reset {id}` forgets the answer")?;
            }
            _ => writeln!(out, "waits for an answer{until}")?,
        }
        match &shown.arguments {
            // The first line of the message names the call, and all of its arguments follow.
            Some(arguments) => {
                let about = shown.question.message.lines().next().unwrap_or_default();
                writeln!(out, "{}\n{}", printable(about), printable(arguments))
            }
            None => writeln!(out, "{}", printable(&shown.question.message)),
        }
    })
}

async fn approve(link: &KernelLink, output: &Output, yes: PermissionApproveArgs) -> Result<Exit, Failure> {
    let scope = match &yes.scope_file {
        None => yes.scope,
        Some(path) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
            Some(scope(&text).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?)
        }
    };
    let expires_at = yes.until.map(|until| until.ahead(Timestamp::now()));
    let decided = if let Some(permission) = yes.permission {
        let server = yes.what.unwrap_or_default();
        let grant = GrantPermission {
            server_id: ServerId::from(server.as_str()),
            permission: Permission::read(&permission),
            agent_id: yes.agent.as_deref().map(AgentId::from),
            agent_is_missing: yes.agent.is_none() && !yes.all_agents,
            scope,
            expires_at,
            force: yes.force,
        };
        let granted = link.ask(method::PERMISSIONS_GRANT, &grant).await;
        granted.map_err(|failure| {
            let ending = match (yes.all_agents, grant.agent_is_missing) {
                (true, _) => " --all-agents",
                (_, true) => "`, or `--all-agents",
                _ => "",
            };
            let agent = yes.agent.as_deref();
            let command = |meant: &_| meant_command("approve", &server, &permission, agent, meant) + ending;
            advised_names(failure, command)
        })
    } else {
        let is_unnamed = yes.what.is_none();
        let what = question_id(link, output, yes.what).await?;
        if is_unnamed && is_person_there() {
            let shown: ShownQuestion =
                link.ask(method::PERMISSIONS_SHOW, &ShowQuestion { id: what.clone() }).await?;
            return told(output, &answer(link, &shown.question).await?);
        }
        let lasts = match (yes.once, yes.always) {
            (true, _) => Some(GrantLifetime::Once),
            (_, true) => Some(GrantLifetime::Always),
            _ => None,
        };
        let granted_to = if yes.all_agents { GrantedTo::AllAgents } else { GrantedTo::Asker };
        let (id, max_uses) = (what.clone(), yes.uses);
        let answer = ApproveQuestion { id, scope, expires_at, lasts, granted_to, max_uses };
        let decided = link.ask(method::PERMISSIONS_APPROVE, &answer).await;
        decided.map_err(|failure: Failure| unknown(failure, &what))
    };
    told(output, &decided?)
}

async fn deny(link: &KernelLink, output: &Output, no: PermissionDenyArgs) -> Result<Exit, Failure> {
    let decided = if let Some(permission) = no.permission {
        let server = no.what.unwrap_or_default();
        let server_id = ServerId::from(server.as_str());
        let agent_id = no.agent.as_deref().map(AgentId::from);
        let force = no.force;
        let revoke =
            RevokePermission { server_id, permission: Permission::read(&permission), agent_id, force };
        let denied = link.ask(method::PERMISSIONS_REVOKE, &revoke).await;
        denied.map_err(|failure| {
            let agent = no.agent.as_deref();
            advised_names(failure, |mistakes| meant_command("deny", &server, &permission, agent, mistakes))
        })
    } else {
        let what = question_id(link, output, no.what).await?;
        let expires_at = no.until.map(|until| until.ahead(Timestamp::now()));
        let answer = DenyQuestion { id: what.clone(), expires_at };
        let decided = link.ask(method::PERMISSIONS_DENY, &answer).await;
        decided.map_err(|failure: Failure| unknown(failure, &what))
    };
    told(output, &decided?)
}

/// Returns the id that a command names or, without one, that of the only question that waits, which is shown.
async fn question_id(link: &KernelLink, output: &Output, named: Option<String>) -> Result<String, Failure> {
    if let Some(named) = named {
        return Ok(named);
    }
    let pending: PendingDecisions = link.ask(method::PERMISSIONS_PENDING, &()).await?;
    if let [question] = &pending.questions[..] {
        output.note(&printable(&question.message));
        return Ok(question.id.clone());
    }
    let ids: Vec<_> = pending.questions.iter().map(brief).collect();
    Err(match ids.len() {
        0 => Failure::usage("no question waits for an answer"),
        count => Failure::usage(format!("{count} questions wait for an answer: name one of them by its id"))
            .hint(ids.join("\n")),
    })
}

/// Returns the id of a question with the first line of its text.
fn brief(question: &OpenQuestion) -> String {
    format!("{}  {}", question.id, printable(question.message.lines().next().unwrap_or_default()))
}

/// Returns the command that decides about a permission, with the names that are probably meant.
fn meant_command(
    verb: &str,
    server: &str,
    permission: &str,
    agent: Option<&str>,
    mistakes: &NameMistakes,
) -> String {
    let word = |meant: &Option<String>, written: &str| shell_word(meant.as_deref().unwrap_or(written));
    let (server, permission) =
        (word(&mistakes.meant_server, server), word(&mistakes.meant_permission, permission));
    let agent = mistakes.meant_agent.as_deref().or(agent);
    let whose = agent.map(|agent| format!(" --agent {}", shell_word(agent)));
    format!("mgp permissions {verb} {server} {permission}{}", whose.unwrap_or_default())
}

/// Asks the person at this terminal about each question as it comes, until the person ends the command.
async fn watch(link: &KernelLink, output: &Output) -> Result<Exit, Failure> {
    if !is_person_there() {
        return Err(Failure::usage("`mgp permissions watch` needs a terminal").hint(
            "`mgp permissions pending` lists the questions, `mgp permissions approve ID` approves one",
        ));
    }
    // An operator who may not decide learns it now, and not from the first answer.
    proof::admitted(link).await?;
    output.note("questions appear here as they come; Ctrl-C ends the command");
    let mut known = Vec::new();
    loop {
        let seen = WatchQuestions { known: known.clone() };
        let pending: PendingDecisions = tokio::select! {
            pending = link.ask(method::PERMISSIONS_WATCH, &seen) => pending?,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
        };
        let is_new = |question: &&OpenQuestion| !known.contains(&question.id);
        let new: Vec<OpenQuestion> = pending.questions.iter().filter(is_new).cloned().collect();
        known = pending.questions.into_iter().map(|question| question.id).collect();
        for question in new {
            match answer(link, &question).await {
                Ok(decided) => drop(told(output, &decided)?),
                // Somebody else has answered the question already.
                Err(failure) if failure.exit == Exit::Tool => output.note(failure.message()),
                Err(failure) => return Err(failure),
            }
        }
    }
}

async fn reset(link: &KernelLink, output: &Output, wanted: PermissionResetArgs) -> Result<Exit, Failure> {
    let permission = wanted.permission.as_deref().map(Permission::read);
    let agent_id = wanted.agent.as_deref().map(AgentId::from);
    let reset = ResetDecision { what: wanted.what, permission, agent_id };
    let was_reset: DecisionReset = link.ask(method::PERMISSIONS_RESET, &reset).await?;
    output.show(&was_reset, |was_reset, out| {
        writeln!(out, "{}", if was_reset.reset { "reset" } else { "there was no decision to forget" })
    })
}

async fn list(link: &KernelLink, output: &Output, wanted: PermissionListArgs) -> Result<Exit, Failure> {
    let list = decided(link, &wanted).await?;
    show_decided(output, &list)
}

async fn decided(link: &KernelLink, wanted: &PermissionListArgs) -> Result<GrantPage, Failure> {
    let page = PageRequest { offset: wanted.offset, limit: wanted.limit };
    let asked = ListGrants { about: wanted.server.clone(), page };
    link.ask(method::PERMISSIONS_LIST, &asked).await
}

fn show_decided(output: &Output, list: &GrantPage) -> Result<Exit, Failure> {
    output.table(list, "nothing was decided", |list, table| {
        table.headings(&["SERVER", "PERMISSION", "AGENT", "DECISION", "BY", "UNTIL", "SCOPE"]);
        for row in &list.grants {
            let scope = row.scope.as_ref().and_then(|scope| serde_json::to_string(scope).ok());
            table.row([
                row.server_id.to_string(),
                row.permission.as_str().to_owned(),
                row.agent_id.as_ref().map_or_else(|| "all".to_owned(), ToString::to_string),
                word(row.decision).to_owned(),
                row.approved_by.clone(),
                match (row.lasts, row.expires_at) {
                    (GrantLifetime::Session, None) => "the session or the kernel ends".to_owned(),
                    (_, end) => end.map_or_else(|| "-".to_owned(), |end| end.to_string()),
                },
                scope.unwrap_or_else(|| "-".to_owned()),
            ]);
        }
        for answered in &list.waiting {
            let call = answered.tool_name.as_ref().map(|tool| format!("one call of {tool}"));
            let permission = answered.permission.as_ref().map(|permission| permission.as_str().to_owned());
            let end = answered.ends_at.map(|end| format!("{end}, or its call")).unwrap_or_default();
            table.row([
                answered.server_id.to_string(),
                permission.or(call).unwrap_or_default(),
                answered.agent_id.clone().unwrap_or_else(|| "all".to_owned()),
                answered.decision.map_or("-", word).to_owned(),
                answered.answered_by.clone().unwrap_or_default(),
                end,
                format!("question {}", answered.id),
            ]);
        }
    })
}

fn told(output: &Output, decided: &PermissionDecided) -> Result<Exit, Failure> {
    output.show(decided, |decided, out| writeln!(out, "{}", word(decided.decision)))
}

fn unknown(failure: Failure, what: &str) -> Failure {
    failure.hint(format!(
        "`mgp permissions pending` shows the questions; `mgp permissions approve {what} PERMISSION --agent AGENT` \
         grants a permission to a server"
    ))
}

fn scope(json: &str) -> Result<Scope, String> {
    serde_json::from_str(json).map_err(|error| format!("this is not a scope: {error}"))
}

const fn word(decision: Decision) -> &'static str {
    match decision {
        Decision::Approved => "approved",
        Decision::Denied => "denied",
        Decision::Deferred => "deferred",
    }
}
