//! Prompts: messages that a server prepares for its users.

mod entry;
mod handler;

pub use self::entry::Prompt;
pub(crate) use self::entry::PromptEntry;
pub use self::handler::{IntoPrompt, PromptHandler};
