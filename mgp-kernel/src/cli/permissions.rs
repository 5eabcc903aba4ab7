//! `mgp permissions`: lists and decides the questions and permissions of servers.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use mgp_kernel_core::admin::operation::KernelNeed;
use mgp_kernel_core::admin::permissions::{GrantPermission, ListGrants, ResetDecision, RevokePermission};
use mgp_kernel_core::admin::questions::{
    ApproveQuestion, DenyQuestion, ListPending, OpenQuestion, PermissionDecided, ShowQuestion, WatchQuestions,
};
use mgp_kernel_core::terminal::{Exit, Failure, ahead, printable};
use mgp_security::permission::{GrantLifetime, GrantedTo};
use mgp_types::mgp::{AgentId, Permission, RiskLevel, Scope, Timestamp};
use mgp_types::{Error, RawJson};

use super::context::CommandContext;
use super::input::{is_person_there, read_text, typed_answer};
use super::link::{KernelLink, operate};
use super::proof;

#[derive(Debug, Subcommand)]
pub(super) enum PermissionsCommand {
    /// List the questions that wait for a decision
    Pending,
    /// Answer questions on this terminal as they come, like `mgp watch`
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
    permission: Option<Permission>,
    /// The scope of the grant, as a JSON object with `paths`, `commands`, `hosts` and so on
    #[arg(long, value_name = "JSON", value_parser = scope, conflicts_with = "scope_file")]
    scope: Option<Scope>,
    /// The scope of the grant, as a JSON file
    #[arg(long, value_name = "FILE")]
    scope_file: Option<PathBuf>,
    /// The end of the grant: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = ahead, group = "lasting")]
    until: Option<Timestamp>,
    /// How long the grant lasts, such as 2h
    #[arg(long = "for", value_name = "SPAN", value_parser = ahead, group = "lasting")]
    within: Option<Timestamp>,
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
    /// Approve the call of the question with these arguments, a JSON object, in place of its own
    #[arg(long, value_name = "JSON", value_parser = |json: &str| RawJson::parse(json.to_owned()), requires = "what",
        conflicts_with_all = ["permission", "uses"])]
    arguments: Option<RawJson>,
    /// Grant for the calls of this agent, if a server is named
    #[arg(long, value_name = "AGENT", requires = "permission", conflicts_with = "all_agents")]
    agent: Option<AgentId>,
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
    permission: Option<Permission>,
    /// The end of the denial of a question: a time, or a span such as 2h
    #[arg(long, value_name = "WHEN", value_parser = ahead, conflicts_with = "permission")]
    until: Option<Timestamp>,
    /// How long the denial of a question lasts, such as 2h
    #[arg(long = "for", value_name = "SPAN", value_parser = ahead, conflicts_with_all = ["permission", "until"])]
    within: Option<Timestamp>,
    /// The reason for the denial of a question, which the agent is told
    #[arg(long, value_name = "TEXT", conflicts_with = "permission")]
    because: Option<String>,
    /// Deny for the calls of this agent only, if a server is named
    #[arg(long, value_name = "AGENT", requires = "permission")]
    agent: Option<AgentId>,
    /// Deny even if there is no such server, or if no server asks for the permission
    #[arg(long, requires = "permission")]
    force: bool,
}

pub(super) async fn run(cx: &CommandContext, command: PermissionsCommand) -> Result<Exit, Failure> {
    match command {
        PermissionsCommand::Pending => KernelLink::with(cx, KernelNeed::State, pending).await,
        PermissionsCommand::Watch => KernelLink::with(cx, KernelNeed::Running, watch).await,
        PermissionsCommand::Show(wanted) => {
            KernelLink::with(cx, KernelNeed::State, async |link| show(link, wanted).await).await
        }
        PermissionsCommand::Approve(yes) => approve(cx, *yes).await,
        PermissionsCommand::Deny(no) => deny(cx, no).await,
        PermissionsCommand::Reset(reset) => operate(cx, reset).await,
        PermissionsCommand::List(list) => operate(cx, list).await,
    }
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
    let mut failure = match link.ask(&wanted).await {
        Ok(question) => return link.output.result(&question),
        Err(failure) => failure,
    };
    // The id may be that of a server; decisions about a server have no ids of their own.
    let decided = link.ask(&ListGrants { about: Some(wanted.id), ..ListGrants::default() }).await?;
    if decided.grants.is_empty() && decided.waiting.is_empty() && decided.confirmed.is_empty() {
        failure.exit = Exit::Usage;
        return Err(failure.hint("`mgp permissions pending` shows the questions"));
    }
    link.output.result(&decided)
}

async fn approve(cx: &CommandContext, yes: PermissionApproveArgs) -> Result<Exit, Failure> {
    let scope = match &yes.scope_file {
        None => yes.scope,
        Some(path) => Some(scope(&read_text(path)?).map_err(|error| Failure::file(path, error))?),
    };
    if let Some(permission) = yes.permission {
        let grant = GrantPermission {
            server_id: yes.what.unwrap_or_default().as_str().into(),
            permission,
            agent_is_missing: yes.agent.is_none() && !yes.all_agents,
            agent_id: yes.agent,
            scope,
            expires_at: yes.until.or(yes.within),
            force: yes.force,
        };
        return operate(cx, grant).await;
    }
    KernelLink::with(cx, KernelNeed::State, async |link| {
        let is_unnamed = yes.what.is_none();
        let id = question_id(link, yes.what).await?;
        if is_unnamed && is_person_there() {
            let shown = link.ask(&ShowQuestion { id }).await?;
            return link.output.result(&answer(link, &shown.question).await?);
        }
        let always = yes.always.then_some(GrantLifetime::Always);
        let lasts = if yes.once { Some(GrantLifetime::Once) } else { always };
        let granted_to = if yes.all_agents { GrantedTo::AllAgents } else { GrantedTo::Asker };
        let (expires_at, max_uses, arguments) = (yes.until.or(yes.within), yes.uses, yes.arguments);
        link.operate(&ApproveQuestion { id, scope, expires_at, lasts, granted_to, max_uses, arguments }).await
    })
    .await
}

async fn deny(cx: &CommandContext, no: PermissionDenyArgs) -> Result<Exit, Failure> {
    if let Some(permission) = no.permission {
        let server_id = no.what.unwrap_or_default().as_str().into();
        return operate(cx, RevokePermission { server_id, permission, agent_id: no.agent, force: no.force })
            .await;
    }
    KernelLink::with(cx, KernelNeed::State, async |link| {
        let id = question_id(link, no.what).await?;
        link.operate(&DenyQuestion { id, expires_at: no.until.or(no.within), reason: no.because }).await
    })
    .await
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
    let brief = |open: &OpenQuestion| {
        format!("{}  {}", open.id, printable(open.message.lines().next().unwrap_or_default()))
    };
    let ids: Vec<_> = pending.questions.iter().map(brief).collect();
    Err(match ids.len() {
        0 => Failure::usage("no question waits for an answer"),
        count => Failure::usage(format!("{count} questions wait for an answer: name one of them by its id"))
            .hint(ids.join("\n")),
    })
}

/// Asks the person at this terminal about each question as it comes, until the person ends the command.
async fn watch(link: &KernelLink) -> Result<Exit, Failure> {
    if !is_person_there() {
        return Err(Failure::usage("`mgp watch` needs a terminal").hint(
            "`mgp permissions pending` lists the questions, `mgp permissions approve ID` approves one, and `mgp ui` opens a page",
        ));
    }
    proof::warn_if_locked(link).await?;
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
                Err(failure) if matches!(failure.exit, Exit::Tool | Exit::Usage) => {
                    link.output.note(failure.message());
                }
                Err(failure) => return Err(failure),
            }
        }
    }
}

fn scope(json: &str) -> Result<Scope, String> {
    serde_json::from_str(json).map_err(|error| format!("this is not a scope: {error}"))
}

/// Asks the person at the terminal whether to make their call, and answers the question `id`.
///
/// # Errors
/// The person denies the call; there is no terminal, and `refused` says how to approve it; or this operator may not approve
/// it.
pub(super) async fn decide(link: &KernelLink, id: String, refused: &Error) -> Result<(), Failure> {
    if !is_person_there() {
        return Err(Failure::new(Exit::Waiting, refused.message().to_owned()));
    }
    let question = link.ask(&ShowQuestion { id }).await?.question;
    if let Some(yes) = approval(&question).await? {
        return link.ask(&yes).await.map(drop);
    }
    // Only this person made the call, so the denial is not kept for the next one.
    link.ask(&DenyQuestion { id: question.id, expires_at: Some(Timestamp::now()), reason: None }).await?;
    Err(Failure::new(Exit::Auth, "you denied the call, so it was not made"))
}

/// Asks the person at the terminal, and sends the answer to the kernel.
async fn answer(link: &KernelLink, question: &OpenQuestion) -> Result<PermissionDecided, Failure> {
    match approval(question).await? {
        Some(yes) => link.ask(&yes).await,
        None => link.ask(&DenyQuestion { id: question.id.clone(), expires_at: None, reason: None }).await,
    }
}

/// Asks a question on the terminal, and returns the approval; `None` if the person denies it. To approve what is dangerous,
/// the person types a word of the question, which shows that they have read it.
async fn approval(question: &OpenQuestion) -> Result<Option<ApproveQuestion>, Failure> {
    let yes = yes(question);
    let always = question.permission.as_ref().map(|_| format!("always {yes}"));
    let text = printable(&question.message);
    let choices = match (&*yes, &always) {
        ("y", None) => "[y/N]".to_owned(),
        ("y", Some(_)) => "[y/N/always]".to_owned(),
        (word, None) => format!("Type {word} to approve this, or press Enter to deny it:"),
        (word, Some(always)) => {
            format!("Type {word} or {always} to approve this, or press Enter to deny it:")
        }
    };
    // Standard input may end without an answer.
    let Some(answer) = typed_answer(format!("{}\n{choices} ", text.trim_end())).await? else {
        return Err(Failure::new(Exit::Waiting, "the question was not answered and still waits"));
    };
    let is_always = |always: &String| answer == *always || yes == "y" && answer == "always";
    let lasts = if answer == yes || yes == "y" && matches!(&*answer, "Y" | "yes") {
        None
    } else if always.as_ref().is_some_and(is_always) {
        Some(GrantLifetime::Always)
    } else {
        return Ok(None);
    };
    Ok(Some(ApproveQuestion { id: question.id.clone(), lasts, ..ApproveQuestion::default() }))
}

/// Returns the word that approves what a question is about: the name of the tool or permission, if it is dangerous.
fn yes(question: &OpenQuestion) -> String {
    let tool = question.tool_name.as_ref().map(ToString::to_string);
    let permission = question.permission.as_ref().map(|permission| permission.as_str().to_owned());
    let word = permission.or(tool).filter(|_| question.risk == RiskLevel::Dangerous);
    word.map_or_else(|| "y".to_owned(), |word| printable(&word))
}
