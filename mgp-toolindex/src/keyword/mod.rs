//! Search by words: what of a query's words a tool has, how rare they are, and how tools are called.

mod asked;
mod fields;
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
