//! Search by words: the words of a query that a tool has, their rarity, and the names of tools.

mod asked;
mod named;
mod part;
mod reader;
mod scan;
mod similar;
mod writer;

pub(crate) use self::asked::Asked;
pub(crate) use self::reader::KeywordReader;
pub(crate) use self::writer::KeywordWriter;

#[cfg(test)]
mod tests;
