//! How text becomes words, that of tools and that of those who look for them.

mod analysis;
mod document;
mod fold;
mod function_words;
mod query;
mod script;
mod stem;

pub(crate) use self::document::{Document, Documents};
pub(crate) use self::query::{Term, Words};

#[cfg(test)]
mod tests;
