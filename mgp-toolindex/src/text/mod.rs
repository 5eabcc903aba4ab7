//! How text becomes words, that of tools and that of those who look for them.

mod analysis;
mod called;
mod document;
mod fold;
mod function_words;
mod gist;
mod lower_words;
mod query;
mod script;
mod stem;

pub(crate) use self::called::{Called, called};
pub(crate) use self::document::{Documents, MOST_OFTEN};
pub(crate) use self::gist::{Gist, Gists};
pub(crate) use self::lower_words::lower_words;
pub(crate) use self::query::Words;

#[cfg(test)]
mod tests;
