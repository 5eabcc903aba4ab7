//! The judgement of shell commands by their syntax and argument vectors (MGP §4.5, `sandbox`).
//!
//! Two kinds of text are judged. `check_word` judges one argument: can it become more than data? [`check_command`]
//! judges a whole command line: what would a shell run, and is that dangerous?
//!
//! A command line is parsed into a small syntax tree, its words are expanded as a shell does it, wrapper programs are
//! removed, and each remaining program is judged with its arguments. A value that is not known in advance is refused if
//! it names a program or its code, and passes if it is a plain argument. Nothing is run, looked up or read: both checks
//! are functions of the text alone.

mod argv;
mod builtin;
mod expand;
mod finding;
mod flow;
mod interpreter;
mod judge;
mod known;
mod lists;
mod one_word;
mod package;
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
use crate::path::ProtectedPaths;

use argv::{Call, Files, address_of_metadata, is_network_device, kernel};
use finding::{Danger, refuse, refuse_if};
use judge::{Judge, file_key, program_name};
#[cfg(test)]
pub(in crate::validator) use known::check_command_reads;
pub(in crate::validator) use known::check_line_reads;
use known::{
    Facts, Kind, Reading, RuleEffect, Trait, begins_command, check_value, facts, is_known_as, is_shell,
    matched, rules,
};
pub(in crate::validator) use lists::{bare_name, is_listed};
use lists::{fits, holds_listed, is_fitted, lies_in, listed_text, rows};
pub(crate) use one_word::check_word;
use place::Place;
pub(in crate::validator) use sed::{Effect as SedEffect, effects as sed_effects};
use stranger::tolerate;
use unwrap::{Inner, command_name, inner_commands, is_bare_shell, is_for_everybody, is_plain_program};
use value::{Arg, Flow, HOLE, Marks, Text};

/// The exceptions and additional protections that apply to command lines.
#[derive(Debug, Clone, Default)]
pub struct CommandPolicy {
    scratch: Vec<Place>,
    protected: ProtectedPaths,
}

impl CommandPolicy {
    mgp_types::setters! { self =>
        /// Allows commands to delete whole trees strictly below `directory`, if their paths are written out.
        pub fn with_scratch(directory: &str) => self.scratch.push(Place::new(directory, ""));

        /// Keeps commands away from the files of `protected`, in addition to those that are known by their names.
        pub fn with_protected(protected: ProtectedPaths) => self.protected = protected;
    }

    fn is_scratch(&self, path: &str) -> bool {
        self.scratch.iter().any(|directory| {
            path.strip_prefix(directory.as_str())
                .and_then(|rest| rest.strip_prefix('/'))
                .is_some_and(|rest| !rest.is_empty() && !rest.starts_with('*'))
        })
    }
}

/// Checks a command line that a shell is going to run.
///
/// The finding names the class of the danger, such as `recursive-delete`, `download-and-run`, `reverse-shell` or
/// `undecidable`, and the way to avoid it.
pub fn check_command(command: &str, policy: &CommandPolicy) -> Result<(), Finding> {
    refuse_if(command.len() > MAX_COMMAND_BYTES, Danger::TooComplex)?;
    check_readings(command, |reading| Judge::new(policy).text(reading, &Flow::default()).map(drop))
}

/// Judges a text as it is written, and as it can be read where characters only look like those of a shell. Invisible
/// characters, which change how a text is read or shown, are refused.
fn check_readings(text: &str, judge: impl Fn(&str) -> Result<(), Finding>) -> Result<(), Finding> {
    let check = |reading: &str| {
        crate::text::check(reading).map_err(|_| refuse(Danger::InvisibleCharacter))?;
        judge(reading)
    };
    check(text)?;
    if text.is_ascii() {
        return Ok(());
    }
    let is_dash = |c| matches!(c, '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}');
    let folded: String = text.nfkc().map(|c| if is_dash(c) { '-' } else { c }).collect();
    if folded == text { Ok(()) } else { check(&folded) }
}

/// The largest length of a command line in bytes; longer text is a program and not a line.
const MAX_COMMAND_BYTES: usize = 64 * 1024;
