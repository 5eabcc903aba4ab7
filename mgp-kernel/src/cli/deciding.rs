//! The person who started a command decides what its call waits for.

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

/// Returns the id of the question that a call waits for, if that is why it was refused.
pub(super) fn awaited(error: &Error) -> Option<String> {
    let details = Object::from_raw(&error.recovery()?.details?).ok()?;
    details.text("approval_id").map(Into::into)
}

/// Asks the person at the terminal whether their call may go on, and approves the question `id` if it may.
///
/// # Errors
/// It may not; there is no terminal, and `refused` says what else decides; or whoever asks may not decide.
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
        // Nobody but they made the call, so there is nothing to refuse the next time.
        PersonDecision::No => {
            let forgotten = ResetDecision { what: id, permission: None, agent_id: None };
            let _: DecisionReset = link.ask(method::PERMISSIONS_RESET, &forgotten).await?;
            Err(Failure::new(Exit::Auth, "you did not approve the call, so it was not made"))
        }
    }
}

/// Returns whether somebody sits at a terminal who can be asked.
pub(super) fn is_person_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks the person at the terminal, and answers the question as they say.
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

/// What a person said.
enum PersonDecision {
    /// Yes, for so long; if nothing is said, until the session ends.
    Yes(Option<GrantLifetime>),
    No,
}

/// Asks on the terminal.
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
    // The input has ended, so nobody said anything.
    if line.is_empty() {
        return Err(Failure::new(Exit::Waiting, "the question was not answered and still waits"));
    }
    Ok(match line.trim() {
        "y" | "Y" | "yes" => PersonDecision::Yes(None),
        "always" if question.permission.is_some() => PersonDecision::Yes(Some(GrantLifetime::Always)),
        _ => PersonDecision::No,
    })
}
