//! The decision on a call that waits for approval, by the person who started the command.

use std::io::{self, IsTerminal as _, Write as _};

use mgp_security::permission::GrantLifetime;
use mgp_types::{Error, Object};

use super::exit::{Exit, Failure};
use super::link::KernelLink;
use super::output::printable;
use crate::operator::method;
use crate::operator::permissions::{
    ApproveQuestion, DecisionReset, DenyQuestion, OpenQuestion, PermissionDecided, ResetDecision,
    ShowQuestion, ShownQuestion,
};

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
    let shown: ShownQuestion = link.ask(method::PERMISSIONS_SHOW, &ShowQuestion { id }).await?;
    let id = shown.question.id.clone();
    match says(&shown.question).await? {
        PersonDecision::Yes(lasts) => {
            let yes = ApproveQuestion { lasts, ..ApproveQuestion::of(id) };
            link.ask::<PermissionDecided>(method::PERMISSIONS_APPROVE, &yes).await.map(drop)
        }
        // Only this person made the call, so the question is forgotten and no denial is kept for the next call.
        PersonDecision::No => {
            let forgotten = ResetDecision { what: id, permission: None, agent_id: None };
            let _: DecisionReset = link.ask(method::PERMISSIONS_RESET, &forgotten).await?;
            Err(Failure::new(Exit::Auth, "you did not approve the call, so it was not made"))
        }
    }
}

/// Returns whether there is a terminal at which a person can be asked.
pub(super) fn is_person_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the person at the terminal, and sends the answer to the kernel.
pub(super) async fn answer(link: &KernelLink, question: &OpenQuestion) -> Result<PermissionDecided, Failure> {
    let id = question.id.clone();
    match says(question).await? {
        PersonDecision::Yes(lasts) => {
            link.ask(method::PERMISSIONS_APPROVE, &ApproveQuestion { lasts, ..ApproveQuestion::of(id) }).await
        }
        PersonDecision::No => {
            link.ask(method::PERMISSIONS_DENY, &DenyQuestion { id, expires_at: None }).await
        }
    }
}

/// The answer of a person to a question.
enum PersonDecision {
    /// The person approves, for this time, or until the session ends if no time is given.
    Yes(Option<GrantLifetime>),
    No,
}

/// Asks a question on the terminal, and reads the answer.
async fn says(question: &OpenQuestion) -> Result<PersonDecision, Failure> {
    let unanswered = |error: io::Error| Failure::usage(format!("the question cannot be asked: {error}"));
    let choices = if question.permission.is_some() { "[y/N/always]" } else { "[y/N]" };
    let text = format!("{}\n{choices} ", printable(&question.message).trim_end());
    io::stderr().write_all(text.as_bytes()).map_err(unanswered)?;
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = line.await.map_err(io::Error::other).and_then(|line| line).map_err(unanswered)?;
    // Standard input has ended without an answer.
    if line.is_empty() {
        return Err(Failure::new(Exit::Waiting, "the question was not answered and still waits"));
    }
    Ok(match line.trim() {
        "y" | "Y" | "yes" => PersonDecision::Yes(None),
        "always" if question.permission.is_some() => PersonDecision::Yes(Some(GrantLifetime::Always)),
        _ => PersonDecision::No,
    })
}
