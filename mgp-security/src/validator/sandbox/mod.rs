//! What a shell command may do, decided on its syntax and argument vectors (MGP §4.5, `sandbox`).
//!
//! Two questions are asked of two kinds of text. `check_word` asks of one argument: can it become more than
//! data? [`check_command`] asks of a whole command line: what would a shell run, and is that dangerous?
//!
//! A command line is read into a small syntax, its words are expanded as a shell does it, wrappers are taken
//! off, and what is left is judged as a program with arguments. What can be known is decided; what cannot be
//! known is refused where it names a program or its code, and let through where it is a plain argument. Nothing
//! is run, looked up or read: both are functions of the text alone.

mod argv;
mod builtin;
mod database;
mod expand;
mod finding;
mod flow;
mod interpreter;
mod judge;
mod known;
mod literal;
mod named_program;
mod one_word;
mod package;
mod pattern;
mod place;
mod sed;
mod stranger;
#[cfg(test)]
mod tests;
mod unwrap;
mod value;
mod windows;

use unicode_normalization::UnicodeNormalization;

use crate::Finding;
use crate::validator::path::ProtectedPaths;

use finding::{REFUSE_COMPLEX, REFUSE_INVISIBLE, refuse};
use judge::Judge;
use place::Place;
use value::Flow;

pub(crate) use literal::literal_commands;
pub(crate) use one_word::check_word;

/// What a command line may do beyond what is harmless everywhere.
#[derive(Debug, Clone, Default)]
pub struct CommandPolicy {
    scratch: Vec<Place>,
    named_trees: bool,
    protected: ProtectedPaths,
}

impl CommandPolicy {
    /// Lets whole trees strictly below `directory` be deleted, if they are written out.
    pub fn with_scratch(mut self, directory: &str) -> Self {
        self.scratch.push(Place::new(directory, ""));
        self
    }

    /// Lets whole trees be deleted that are named and lie below the working directory, like `rm -rf build`, and those
    /// that programs fill again: caches, and named trees among temporary files.
    ///
    /// Not by default: the specification blocks recursive deletes, and what is named may still be all there is.
    pub const fn with_named_trees(mut self) -> Self {
        self.named_trees = true;
        self
    }

    /// Keeps commands from the files of `protected`, besides those that are known by their names.
    pub fn with_protected(mut self, protected: ProtectedPaths) -> Self {
        self.protected = protected;
        self
    }

    fn is_scratch(&self, path: &str) -> bool {
        self.scratch.iter().any(|directory| {
            path.strip_prefix(directory.as_str())
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('*'))
        })
    }
}

/// Judges a command line that a shell is going to run.
///
/// The finding names the class of the danger, such as `recursive-delete`, `download-and-run`, `reverse-shell` or
/// `undecidable`, and what to do instead.
pub fn check_command(command: &str, policy: &CommandPolicy) -> Result<(), Finding> {
    if command.len() > MAX_COMMAND_BYTES {
        return Err(refuse(REFUSE_COMPLEX));
    }
    check_visible(command)?;
    Judge::new(policy).text(command, &Flow::default())?;
    if command.is_ascii() {
        return Ok(());
    }
    // Signs that only look like those of a shell may become them on the way, so both readings are judged.
    let folded: String = command.nfkc().map(fold_dash).collect();
    check_visible(&folded)?;
    if folded != command {
        Judge::new(policy).text(&folded, &Flow::default())?;
    }
    Ok(())
}

/// Refuses what cannot be seen and changes how a text is read or shown.
fn check_visible(text: &str) -> Result<(), Finding> {
    super::text::check(text).map_err(|_| refuse(REFUSE_INVISIBLE))
}

fn fold_dash(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' => '-',
        other => other,
    }
}

/// A line that is longer is no line but a program.
const MAX_COMMAND_BYTES: usize = 64 * 1024;
