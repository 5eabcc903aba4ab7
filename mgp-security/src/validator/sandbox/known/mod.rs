//! The table of programs: what each program is, the position of the command that it runs, and the values of its
//! options.
//!
//! `programs.txt` contains the data and describes its own notation. [`table`] reads it once, and [`reading`] sorts the
//! arguments of a call by it. The rules themselves contain no general knowledge of options.

mod reading;
mod table;

pub(super) use reading::{Reading, begins_command};
pub(super) use table::{Facts, Kind, Trait, facts, holds_listed, is_listed, lies_in, told};
