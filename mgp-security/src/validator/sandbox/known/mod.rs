//! The table of programs: what is known of each, where the command stands that it runs, and what its options take.
//!
//! `programs.txt` is the data, and says how it is written; [`table`] reads it once, [`reading`] sorts the arguments of a
//! call by it. No rule knows a program's options by itself.

mod reading;
mod table;

pub(super) use reading::{Reading, begins_command};
pub(super) use table::{Facts, Kind, Trait, facts, holds_listed, is_listed, lies_in, told};
