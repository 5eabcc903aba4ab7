//! The tokens that definitions of tools take in a model's context, and shorter forms of those that take too many
//! (§16.8).

mod compact;
mod definition;
mod forms;
mod shorten;
#[cfg(feature = "tiktoken")]
mod tiktoken;
mod tokens;

pub use self::definition::Definition;
pub(crate) use self::forms::longest;
pub use self::forms::{Form, Forms};
#[cfg(feature = "tiktoken")]
pub use self::tiktoken::Tiktoken;
pub use self::tokens::{CountTokens, Estimate, default_counter};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
