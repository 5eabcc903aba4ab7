//! `mgp permissions`: lists and decides the questions and permissions of servers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mgp_security::permission::{GrantLifetime, GrantedTo};
use mgp_types::mgp::{AgentId, Permission, RiskLevel, Scope, ServerId, Timestamp};
use mgp_types::{Error, Object, shell_word};

use super::context::CommandContext;
use super::input::{is_person_there, read_text, typed_answer};
use super::link::KernelLink;
use super::proof;
use crate::admin::operation::KernelNeed;
use crate::admin::permissions::{
    GrantPermission, ListGrants, NameMistakes, ResetDecision, RevokePermission, advised_names,
};
use crate::admin::questions::{
    ApproveQuestion, DenyQuestion, ListPending, OpenQuestion, PermissionDecided, ShowQuestion, WatchQuestions,
};
use crate::terminal::{Exit, Failure, ahead, printable};

#[derive(Debug, Subcommand)]
pub(super) enum PermissionsCommand {
    /// List the questions that wait for a decision
    Pending,
    /// Answer questions on this terminal as they come
    Watch,
    /// Show a question with its whole call, the decision that answered it, or the decisions about a server
    Show(ShowQuestion),
    /// Approve a question by its id, or the only one that waits; or grant a permission to a server
    Approve(Box<PermissionApproveArgs>),
    /// Deny a question or a permission, or take a grant back
    Deny(PermissionDenyArgs),
    /// Forget an answer, or a decision about a permission of a server, so that it is asked again
    Reset(ResetDecision),
    /// List decisions
    List(ListGrants),
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
    #[arg(long, visible_alias = "for", value_name = "WHEN", value_parser = ahead, group = "lasting")]
    until: Option<Timestamp>,
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
    #[arg(long, visible_alias = "for", value_name = "WHEN", value_parser = ahead, conflicts_with = "permission")]
    until: Option<Timestamp>,
    /// Deny for the calls of this agent only, if a server is named
    #[arg(long, value_name = "AGENT", requires = "permission")]
    agent: Option<String>,
    /// Deny even if there is no such server, or if no server asks for the permission
    #[arg(long, requires = "permission")]
    force: bool,
}

pub(super) async fn run(cx: &CommandContext, command: PermissionsCommand) -> Result<Exit, Failure> {
    let need = match &command {
        PermissionsCommand::Watch => KernelNeed::Running,
        PermissionsCommand::Approve(yes) if yes.permission.is_some() => KernelNeed::Configured,
        PermissionsCommand::Deny(no) if no.permission.is_some() => KernelNeed::Configured,
        _ => KernelNeed::State,
    };
    let work = async |link: &KernelLink| match command {
        PermissionsCommand::Watch => watch(link).await,
        PermissionsCommand::Reset(reset) => cx.output.result(&link.ask(&reset).await?),
        PermissionsCommand::Pending => pending(link).await,
        PermissionsCommand::Show(wanted) => show(link, wanted).await,
        PermissionsCommand::Approve(yes) => approve(link, *yes).await,
        PermissionsCommand::Deny(no) => deny(link, no).await,
        PermissionsCommand::List(list) => cx.output.result(&link.ask(&list).await?),
    };
    KernelLink::with(cx, need, work).await
}

async fn pending(link: &KernelLink) -> Result<Exit, Failure> {
    let pending = link.ask(&ListPending {}).await?;
    link.output.result(&pending)?;
    if !link.is_to_running() && pending.questions.is_empty() {
        link.output.note("no kernel runs, so no call waits; `mgp doctor` shows what servers need");
    }
    Ok(Exit::Done)
}

async fn show(link: &KernelLink, wanted: ShowQuestion) -> Result<Exit, Failure> {
    let failure = match link.ask(&wanted).await {
        Ok(question) => return link.output.result(&question),
        Err(failure) => failure,
    };
    // The id may be that of a server; decisions about a server have no ids of their own.
    let decided = link.ask(&ListGrants { about: Some(wanted.id), ..ListGrants::default() }).await?;
    if decided.is_empty() {
        return Err(failure.hint("`mgp permissions pending` shows the questions"));
    }
    link.output.result(&decided)
}

async fn approve(link: &KernelLink, yes: PermissionApproveArgs) -> Result<Exit, Failure> {
    let scope = match &yes.scope_file {
        None => yes.scope,
        Some(path) => Some(scope(&read_text(path)?).map_err(|error| Failure::file(path, error))?),
    };
    let decided = if let Some(permission) = yes.permission {
        let server = yes.what.unwrap_or_default();
        let grant = GrantPermission {
            server_id: ServerId::from(server.as_str()),
            permission: Permission::read(&permission),
            agent_id: yes.agent.as_deref().map(AgentId::from),
            agent_is_missing: yes.agent.is_none() && !yes.all_agents,
            scope,
            expires_at: yes.until,
            force: yes.force,
        };
        let granted = link.ask(&grant).await;
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
        let what = question_id(link, yes.what).await?;
        if is_unnamed && is_person_there() {
            let shown = link.ask(&ShowQuestion { id: what }).await?;
            return link.output.result(&answer(link, &shown.question).await?);
        }
        let lasts = match (yes.once, yes.always) {
            (true, _) => Some(GrantLifetime::Once),
            (_, true) => Some(GrantLifetime::Always),
            _ => None,
        };
        let granted_to = if yes.all_agents { GrantedTo::AllAgents } else { GrantedTo::Asker };
        let (id, max_uses) = (what.clone(), yes.uses);
        let answer = ApproveQuestion { id, scope, expires_at: yes.until, lasts, granted_to, max_uses };
        link.ask(&answer).await.map_err(|failure| unknown(failure, &what))
    };
    link.output.result(&decided?)
}

async fn deny(link: &KernelLink, no: PermissionDenyArgs) -> Result<Exit, Failure> {
    let decided = if let Some(permission) = no.permission {
        let server = no.what.unwrap_or_default();
        let server_id = ServerId::from(server.as_str());
        let agent_id = no.agent.as_deref().map(AgentId::from);
        let force = no.force;
        let revoke =
            RevokePermission { server_id, permission: Permission::read(&permission), agent_id, force };
        let denied = link.ask(&revoke).await;
        denied.map_err(|failure| {
            let agent = no.agent.as_deref();
            advised_names(failure, |mistakes| meant_command("deny", &server, &permission, agent, mistakes))
        })
    } else {
        let what = question_id(link, no.what).await?;
        let answer = DenyQuestion { id: what.clone(), expires_at: no.until };
        link.ask(&answer).await.map_err(|failure| unknown(failure, &what))
    };
    link.output.result(&decided?)
}

/// Returns the id that a command names or, without one, that of the only question that waits, which is shown.
async fn question_id(link: &KernelLink, named: Option<String>) -> Result<String, Failure> {
    if let Some(named) = named {
        return Ok(named);
    }
    let pending = link.ask(&ListPending {}).await?;
    if let [question] = &pending.questions[..] {
        link.output.note(&printable(&question.message));
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
async fn watch(link: &KernelLink) -> Result<Exit, Failure> {
    if !is_person_there() {
        return Err(Failure::usage("`mgp permissions watch` needs a terminal").hint(
            "`mgp permissions pending` lists the questions, `mgp permissions approve ID` approves one",
        ));
    }
    // An operator who may not decide learns it now, and not from the first answer.
    proof::admitted(link).await?;
    link.output.note("questions appear here as they come; Ctrl-C ends the command");
    let mut known = Vec::new();
    loop {
        let seen = WatchQuestions { known: known.clone() };
        let pending = tokio::select! {
            pending = link.ask(&seen) => pending?,
            _ = tokio::signal::ctrl_c() => return Ok(Exit::Done),
        };
        let is_new = |question: &&OpenQuestion| !known.contains(&question.id);
        let new: Vec<OpenQuestion> = pending.questions.iter().filter(is_new).cloned().collect();
        known = pending.questions.into_iter().map(|question| question.id).collect();
        for question in new {
            match answer(link, &question).await {
                Ok(decided) => drop(link.output.result(&decided)?),
                // Somebody else has answered the question already.
                Err(failure) if failure.exit == Exit::Tool => link.output.note(failure.message()),
                Err(failure) => return Err(failure),
            }
        }
    }
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

/// Returns the id of the question that a call waits for, if the call was refused for that reason.
pub(super) fn awaited(error: &Error) -> Option<String> {
    let details = Object::from_raw(&error.recovery()?.details?).ok()?;
    details.text("approval_id").map(Into::into)
}

/// Asks the person at the terminal whether their call may go on, and approves the question `id` if they agree.
///
/// # Errors
/// The person does not agree; there is no terminal, and `refused` says what else decides; or this operator may not
/// decide.
pub(super) async fn decide(link: &KernelLink, id: String, refused: &Error) -> Result<(), Failure> {
    if !is_person_there() {
        return Err(Failure::new(Exit::Waiting, refused.message().to_owned()));
    }
    let shown = link.ask(&ShowQuestion { id }).await?;
    let id = shown.question.id.clone();
    match says(&shown.question).await? {
        PersonDecision::Yes(lasts) => {
            link.ask(&ApproveQuestion { lasts, ..ApproveQuestion::of(id) }).await.map(drop)
        }
        // Only this person made the call, so the question is forgotten and no denial is kept for the next call.
        PersonDecision::No => {
            link.ask(&ResetDecision { what: id, permission: None, agent_id: None }).await?;
            Err(Failure::new(Exit::Auth, "you did not approve the call, so it was not made"))
        }
    }
}

/// Asks the person at the terminal, and sends the answer to the kernel.
async fn answer(link: &KernelLink, question: &OpenQuestion) -> Result<PermissionDecided, Failure> {
    let id = question.id.clone();
    match says(question).await? {
        PersonDecision::Yes(lasts) => link.ask(&ApproveQuestion { lasts, ..ApproveQuestion::of(id) }).await,
        PersonDecision::No => link.ask(&DenyQuestion { id, expires_at: None }).await,
    }
}

/// The answer of a person to a question.
enum PersonDecision {
    /// The person approves, for this time, or until the session ends if no time is given.
    Yes(Option<GrantLifetime>),
    No,
}

/// Asks a question on the terminal, and reads the answer. What is dangerous takes a word of the question, so that nobody
/// approves it who has not read it.
async fn says(question: &OpenQuestion) -> Result<PersonDecision, Failure> {
    let yes = yes(question);
    let always = question.permission.as_ref().map(|_| format!("always {yes}"));
    let text = printable(&question.message);
    let choices = match (&*yes, &always) {
        ("y", None) => "[y/N]".to_owned(),
        ("y", Some(_)) => "[y/N/always]".to_owned(),
        (word, None) => format!("type {word} to approve this, or press Enter to refuse it:"),
        (word, Some(always)) => {
            format!("type {word} or {always} to approve this, or press Enter to refuse it:")
        }
    };
    // Standard input may end without an answer.
    let Some(answer) = typed_answer(format!("{}\n{choices} ", text.trim_end())).await? else {
        return Err(Failure::new(Exit::Waiting, "the question was not answered and still waits"));
    };
    let is_always = |always: &String| answer == *always || yes == "y" && answer == "always";
    Ok(if answer == yes || yes == "y" && matches!(&*answer, "Y" | "yes") {
        PersonDecision::Yes(None)
    } else if always.as_ref().is_some_and(is_always) {
        PersonDecision::Yes(Some(GrantLifetime::Always))
    } else {
        PersonDecision::No
    })
}

/// Returns the word that approves what a question is about: the name of the tool or permission, if it is dangerous.
fn yes(question: &OpenQuestion) -> String {
    let tool = question.tool_name.as_ref().map(ToString::to_string);
    let permission = question.permission.as_ref().map(|permission| permission.as_str().to_owned());
    match permission.or(tool).filter(|_| question.risk == RiskLevel::Dangerous) {
        Some(word) => printable(&word),
        None => "y".to_owned(),
    }
}
