//! The input of commands: answers that a person types at the terminal, and texts in files.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read as _, Write as _};
use std::path::Path;

use mgp_kernel_core::platform::forget_typed;
use mgp_kernel_core::terminal::{Failure, Result};
use serde::de::DeserializeOwned;

/// Returns the text of a file, or of standard input if the path is `-`.
pub(super) fn read_text(path: &Path) -> Result<String> {
    let unread = |error: io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().lock().take(MAX_BYTES + 1).read_to_string(&mut text)
    } else {
        File::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text))
    };
    if read.map_err(unread)? as u64 > MAX_BYTES {
        return Err(Failure::usage(format!("{} is longer than {MAX_BYTES} bytes", path.display())));
    }
    Ok(text)
}

/// Reads a word of the command line in the form that configurations have it.
pub(super) fn word<T: DeserializeOwned>(word: String) -> Result<T, serde_json::Error> {
    serde_json::from_value(serde_json::Value::String(word))
}

/// Returns whether there is a terminal at which a person can be asked.
pub(super) fn is_person_there() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Writes a question, and returns the line that the person types; `None` if the input has ended. Nothing that was typed
/// before the question stood there is taken for its answer.
pub(super) async fn typed_answer(question: String) -> Result<Option<String>> {
    let typed = tokio::task::spawn_blocking(move || {
        let input = io::stdin();
        if input.is_terminal() {
            forget_typed()?;
        }
        io::stderr().write_all(question.as_bytes())?;
        let mut line = String::new();
        let length = input.read_line(&mut line)?;
        Ok((length > 0).then(|| line.trim().to_owned()))
    });
    let typed = typed.await.map_err(io::Error::other).and_then(|typed| typed);
    typed.map_err(|error: io::Error| Failure::usage(format!("the question cannot be asked: {error}")))
}

/// Asks whether to do something, and returns whether the person agrees.
pub(super) async fn agrees(question: &str) -> Result<bool> {
    let answer = typed_answer(format!("{question} [y/N] ")).await?;
    Ok(matches!(answer.as_deref(), Some("y" | "Y" | "yes")))
}

/// The largest length of a text in bytes, which is that of messages.
const MAX_BYTES: u64 = 64 << 20;
