//! Requests that take several rounds: the server answers with questions, the client sends the answers (2026-07-28).

mod client;
mod server;

pub use self::client::{AnsweredQuestions, InputRounds, MAX_ROUNDS, answered};
pub use self::server::{Mrtr, MrtrGate};

use mgp_types::Method;

/// Returns whether an answer to this method may ask questions.
fn may_ask(method: &Method) -> bool {
    *method == Method::TOOLS_CALL || *method == Method::PROMPTS_GET || *method == Method::RESOURCES_READ
}
