//! The forms in which commands print: results as text or JSON, failures with their exit codes, and times as people write them.

mod failure;
mod moment;
mod text;

pub(crate) use self::failure::{Exit, Failure, with_causes};
pub(crate) use self::moment::{ago, ahead, span};
pub(crate) use self::text::{TextForm, TextWriter, or_dash, printable, word_of};
