//! Reads shell text, from a line to a script, into a [`syntax`] that the validators and code safety judge.
//!
//! The reader is written for this crate and is total: every text has a reading. Text that a shell would reject as a
//! syntax error is marked as a [`Flaw`] instead of being guessed at. All parts of a marked reading are still there to
//! be judged.

mod compound;
mod parser;
pub(crate) mod syntax;
mod word;

pub(crate) use parser::{Flaw, read};
#[cfg(feature = "code-safety")]
pub(crate) use parser::{Prose, assignment};
pub(crate) use word::{expand_braces, quoted};
