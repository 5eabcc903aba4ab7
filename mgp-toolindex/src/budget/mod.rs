//! The tokens that definitions of tools take in a model's context, and shorter forms of those that take too many
//! (§16.8).

mod definition;
mod forms;
mod shorten;
#[cfg(feature = "tiktoken")]
mod tiktoken;
mod tokens;

pub use self::definition::ListedDefinition;
pub(crate) use self::forms::{Form, Forms, longest};
#[cfg(feature = "tiktoken")]
use self::tiktoken::Tiktoken;
pub use self::tokens::{TokenCounter, TokenEstimator, default_counter};

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
