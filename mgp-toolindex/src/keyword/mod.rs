//! Search by words: the words of a query that a tool has, their rarity, and the names of tools.

mod named;
mod reader;
mod segment;
mod writer;

pub(crate) use self::named::FuzzyMatcher;
pub(crate) use self::reader::{KeywordQuery, KeywordReader};
pub(crate) use self::writer::KeywordWriter;

#[cfg(test)]
mod tests;
