//! The check that a script of sed only reads.

use crate::Finding;

use super::options::{NONE, OptionWord, ProgramOptions};
use super::writes;

/// Checks the arguments of sed: editing in place, and scripts with commands that write files or start programs, are
/// refused.
pub(super) fn check(arguments: &[&str]) -> Result<(), Finding> {
    let mut scripts = Vec::new();
    let mut operands = Vec::new();
    OPTIONS.read(arguments, |word| {
        match word {
            OptionWord::Value("e" | "expression", script) => scripts.push(script),
            OptionWord::Operand(operand) => operands.push(operand),
            OptionWord::Flag(_) | OptionWord::Value(..) => {}
        }
        Ok(())
    })?;
    if scripts.is_empty() {
        scripts.extend(operands.first());
    }
    if !scripts.is_empty() && scripts.into_iter().all(|script| SedScript(script).reads()) {
        Ok(())
    } else {
        Err(writes("the script of sed does more than print and replace: use those only"))
    }
}

/// The part of a script that is not read yet.
struct SedScript<'a>(&'a str);

impl SedScript<'_> {
    /// Returns whether the script consists of simple commands that are known to read. A script that is not understood
    /// does not count as reading.
    fn reads(mut self) -> bool {
        loop {
            self.0 = self.0.trim_start_matches([' ', '\t', '\n', ';', '}']);
            if self.0.is_empty() {
                return true;
            }
            match self.command() {
                Some(SedCommand::Opens) => {}
                Some(SedCommand::Whole) => {
                    self.0 = self.0.trim_start_matches([' ', '\t']);
                    if !self.0.is_empty() && !self.0.starts_with([';', '\n', '}']) {
                        return false;
                    }
                }
                None => return false,
            }
        }
    }

    fn command(&mut self) -> Option<SedCommand> {
        let mut known = self.address();
        if self.take(',') {
            self.0 = self.0.trim_start_matches(['+', '~', ' ']);
            known &= self.address();
        }
        if !known {
            return None;
        }
        self.0 = self.0.trim_start_matches([' ', '\t', '!']);
        let name = self.0.chars().next()?;
        self.0 = &self.0[name.len_utf8()..];
        let known = match name {
            '{' => return Some(SedCommand::Opens),
            'p' | 'P' | 'd' | 'D' | 'n' | 'N' | 'g' | 'G' | 'h' | 'H' | 'x' | '=' | 'z' => true,
            'q' | 'Q' | 'l' => {
                self.0 = self.0.trim_start_matches(|digit: char| digit.is_ascii_digit() || digit == ' ');
                true
            }
            's' => self.substitute(),
            'y' => self.delimited().is_some_and(|delimiter| self.until(delimiter)),
            _ => false,
        };
        known.then_some(SedCommand::Whole)
    }

    /// Reads an optional address; returns whether it was understood.
    fn address(&mut self) -> bool {
        if self.take('/') {
            let found = self.until('/');
            while self.take('I') || self.take('M') {}
            return found;
        }
        self.0 =
            self.0.trim_start_matches(|digit: char| digit.is_ascii_digit() || matches!(digit, '~' | '$'));
        true
    }

    fn substitute(&mut self) -> bool {
        let Some(delimiter) = self.delimited() else { return false };
        if !self.until(delimiter) {
            return false;
        }
        // The flags `w` (write a file) and `e` (start a program) are not skipped, so a script with them is refused.
        self.0 = self.0.trim_start_matches(|flag: char| {
            flag.is_ascii_digit() || matches!(flag, 'g' | 'p' | 'i' | 'I' | 'm' | 'M')
        });
        true
    }

    /// Reads a delimiter and the text up to the next one; returns the delimiter.
    fn delimited(&mut self) -> Option<char> {
        let delimiter = self.0.chars().next().filter(|delimiter| !matches!(delimiter, '\\' | '\n'))?;
        self.0 = &self.0[delimiter.len_utf8()..];
        self.until(delimiter).then_some(delimiter)
    }

    /// Reads up to the delimiter; returns whether the text was understood. Inside brackets, the delimiter stands for
    /// itself in some versions of sed and ends the text in others, so a text with both is not understood.
    fn until(&mut self, delimiter: char) -> bool {
        let mut escaped = false;
        let mut brackets = false;
        for (at, character) in self.0.char_indices() {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '[' => brackets = true,
                ']' => brackets = false,
                character if character == delimiter => {
                    self.0 = &self.0[at + delimiter.len_utf8()..];
                    return !brackets;
                }
                _ => {}
            }
        }
        false
    }

    fn take(&mut self, character: char) -> bool {
        let rest = self.0.strip_prefix(character);
        if let Some(rest) = rest {
            self.0 = rest;
        }
        rest.is_some()
    }
}

/// The part of a script that was read.
enum SedCommand {
    Whole,
    /// An opening brace, after which a command follows.
    Opens,
}

/// The options of sed, except those that edit in place or read the script from a file.
const OPTIONS: ProgramOptions = ProgramOptions {
    flags: "nErsuz",
    values: "el",
    long: &[
        "quiet", "silent", "regexp-extended", "separate", "unbuffered", "null-data", "posix", "sandbox",
        "debug",
    ],
    long_values: &["expression", "line-length"],
    ..NONE
};
