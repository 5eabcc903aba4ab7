//! Tables of the options with which a program only reads, and the reader of arguments that they drive.

use crate::Finding;

use super::writes;

/// The options of a program that are known to read. Options that are not listed are refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramOptions {
    /// The letters of options without a value.
    pub(super) flags: &'static str,
    /// The letters of options with a value, which is the rest of the word or the next word.
    pub(super) values: &'static str,
    /// The names of options behind two hyphens. They must be written in full: programs accept abbreviations, which
    /// could stand for an option that is not listed here.
    pub(super) long: &'static [&'static str],
    /// The names of options behind two hyphens that have a value, in the same word or the next one.
    pub(super) long_values: &'static [&'static str],
    /// The largest number of operands. A further one may name the file that the program writes to.
    pub(super) most_operands: usize,
}

/// One option with its value, or one operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionWord<'a> {
    Flag(&'a str),
    Value(&'a str, &'a str),
    Operand(&'a str),
}

impl ProgramOptions {
    /// Passes every option and operand of `arguments` to `visit`; refuses unknown options.
    pub(super) fn read<'a>(
        &self,
        arguments: &[&'a str],
        mut visit: impl FnMut(OptionWord<'a>) -> Result<(), Finding>,
    ) -> Result<(), Finding> {
        let mut rest = arguments.iter().copied();
        let mut operands = 0;
        let mut only_operands = false;
        while let Some(argument) = rest.next() {
            if only_operands || argument == "-" || !argument.starts_with('-') {
                operands += 1;
                if operands > self.most_operands {
                    return Err(writes(
                        "the command has more operands than it reads: leave the last one out",
                    ));
                }
                visit(OptionWord::Operand(argument))?;
            } else if argument == "--" {
                only_operands = true;
            } else if let Some(long) = argument.strip_prefix("--") {
                let (name, value) =
                    long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
                if self.long_values.contains(&name) {
                    let value = value.or_else(|| rest.next()).ok_or_else(|| unknown(argument))?;
                    visit(OptionWord::Value(name, value))?;
                } else if self.long.contains(&name) {
                    visit(OptionWord::Flag(name))?;
                } else {
                    return Err(unknown(argument));
                }
            } else {
                self.read_cluster(argument, &mut rest, &mut visit)?;
            }
        }
        Ok(())
    }

    /// Reads the letters of options behind one hyphen.
    fn read_cluster<'a>(
        &self,
        argument: &'a str,
        rest: &mut impl Iterator<Item = &'a str>,
        visit: &mut impl FnMut(OptionWord<'a>) -> Result<(), Finding>,
    ) -> Result<(), Finding> {
        for (at, letter) in argument.char_indices().skip(1) {
            let (name, after) = argument[at..].split_at(letter.len_utf8());
            if self.values.contains(letter) {
                let value =
                    if after.is_empty() { rest.next().ok_or_else(|| unknown(argument))? } else { after };
                return visit(OptionWord::Value(name, value));
            }
            if !self.flags.contains(letter) {
                return Err(unknown(argument));
            }
            visit(OptionWord::Flag(name))?;
        }
        Ok(())
    }
}

/// A table without options and without a limit of operands, on which the other tables are based.
pub(super) const NONE: ProgramOptions =
    ProgramOptions { flags: "", values: "", long: &[], long_values: &[], most_operands: usize::MAX };

pub(super) fn unknown(option: &str) -> Finding {
    let shown: String = option.chars().take(40).collect();
    writes(format!("nothing says that the option {shown} only reads: leave it out"))
}
