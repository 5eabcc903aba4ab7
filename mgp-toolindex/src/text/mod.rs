//! The words of texts: of tools, and of queries for them.

mod analysis;
mod called;
mod document;
mod fold;
mod function_words;
mod gist;
mod lower_words;
mod script;
mod stem;

pub(crate) use self::analysis::Words;
pub(crate) use self::called::{Called, called};
pub(crate) use self::document::{Documents, MOST_OFTEN};
pub(crate) use self::gist::{Gist, Gists};
pub(crate) use self::lower_words::lower_words;

#[cfg(test)]
mod tests;
