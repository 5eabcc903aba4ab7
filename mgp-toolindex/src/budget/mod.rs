//! What definitions of tools take of a model's context: their tokens, and shorter forms of those that take too many
//! (§16.8).

mod compact;
mod definition;
mod estimate;
mod forms;
mod shorten;
#[cfg(feature = "tiktoken")]
mod tiktoken;
mod tokens;

pub use self::definition::Definition;
pub use self::estimate::Estimate;
pub(crate) use self::forms::{Form, Forms, longest};
#[cfg(feature = "tiktoken")]
use self::tiktoken::Tiktoken;
pub use self::tokens::{CountTokens, default_counter};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
