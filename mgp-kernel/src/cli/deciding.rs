//! The decision on a call that waits for approval, by the person who started the command.

use mgp_security::permission::GrantLifetime;
use mgp_types::mgp::RiskLevel;
use mgp_types::{Error, Object};

use super::input::{is_person_there, typed_answer};
use super::link::KernelLink;
use crate::admin::permissions::ResetDecision;
use crate::admin::questions::{ApproveQuestion, DenyQuestion, OpenQuestion, PermissionDecided, ShowQuestion};
use crate::terminal::{Exit, Failure, printable};

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
pub(super) async fn answer(link: &KernelLink, question: &OpenQuestion) -> Result<PermissionDecided, Failure> {
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
