use crate::Finding;

use super::writes;

/// The options of a program that are known to read. What is not listed is refused.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProgramOptions {
    /// Letters of options without a value.
    pub(super) flags: &'static str,
    /// Letters of options with a value, which is the rest of the word or the next one.
    pub(super) values: &'static str,
    /// Names behind two hyphens. They must be written out: programs accept beginnings of names, so that one not
    /// listed here could be meant.
    pub(super) long: &'static [&'static str],
    /// Names behind two hyphens that have a value, in the same word or the next one.
    pub(super) long_values: &'static [&'static str],
    /// How many words may stand beside the options; a further one may be what the program writes to.
    pub(super) most_operands: usize,
}

/// An option and its value, or an operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionWord<'a> {
    Flag(&'a str),
    Value(&'a str, &'a str),
    Operand(&'a str),
}

impl ProgramOptions {
    /// Shows every word of `arguments` to `visit`; refuses options that are not known.
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

    /// Reads letters behind one hyphen.
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

/// Nothing is known to read; the start for those that list something.
pub(super) const NONE: ProgramOptions =
    ProgramOptions { flags: "", values: "", long: &[], long_values: &[], most_operands: usize::MAX };

pub(super) fn unknown(option: &str) -> Finding {
    let shown: String = option.chars().take(40).collect();
    writes(format!("nothing says that the option {shown} only reads: leave it out"))
}
