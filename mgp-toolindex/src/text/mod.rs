//! The words of texts: of tools, and of queries for them.

mod analysis;
mod document;
mod everyday;
mod fold;
mod name_candidate;
mod script;
mod sketch;

pub(crate) use self::analysis::{QueryWords, cut, push_word};
pub(crate) use self::document::{DocumentBuilder, MAX_OFTEN};
pub(crate) use self::everyday::in_words_of_tools;
pub(crate) use self::fold::{fold, lower_words};
pub(crate) use self::name_candidate::{NameCandidate, called};
pub(crate) use self::script::Script;
pub(crate) use self::sketch::{SketchBuilder, WordSketch};

#[cfg(test)]
mod tests;
