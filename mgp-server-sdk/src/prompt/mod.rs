//! Prompts: messages that a server prepares for its users.

mod describe;
mod entry;
mod handler;
mod messages;

pub use self::describe::Prompt;
pub(crate) use self::entry::PromptEntry;
pub use self::handler::PromptHandler;
pub use self::messages::IntoPrompt;
