//! Answers that a person types at the terminal.

use std::io::{self, IsTerminal as _, Write as _};

use rustix::termios::{QueueSelector, tcflush};

use super::exit::Failure;

/// Returns whether there is a terminal at which a person can be asked.
pub(super) fn is_person_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Writes a question, and returns the line that the person types; `None` if the input has ended. Nothing that was typed
/// before the question stood there is taken for its answer.
pub(super) async fn typed_answer(question: String) -> Result<Option<String>, Failure> {
    let typed = tokio::task::spawn_blocking(move || {
        let input = io::stdin();
        if input.is_terminal() {
            tcflush(&input, QueueSelector::IFlush)?;
        }
        io::stderr().write_all(question.as_bytes())?;
        let mut line = String::new();
        let length = input.read_line(&mut line)?;
        Ok((length > 0).then(|| line.trim().to_owned()))
    });
    typed
        .await
        .map_err(io::Error::other)
        .and_then(|typed| typed)
        .map_err(|error: io::Error| Failure::usage(format!("the question cannot be asked: {error}")))
}

/// Asks whether to do something, and returns whether the person agrees.
pub(super) async fn agrees(question: &str) -> Result<bool, Failure> {
    let answer = typed_answer(format!("{question} [y/N] ")).await?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}
