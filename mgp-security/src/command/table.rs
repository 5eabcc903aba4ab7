//! The table of commands that are known, `commands.txt`: what each does, and the options with which it does not do it.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::plain::PlainWord;
use crate::data_file::{sections, with_blanks};
use crate::named::{Named as _, named};

named! {
    /// The worst that a known command does.
    #[derive(PartialOrd, Ord)]
    pub(crate) enum Deed {
        /// The command shows what is there, and no content of files.
        "names" => Names,
        /// The command shows something, and neither changes nor runs anything.
        "reads" => Reads,
        /// The command makes something new.
        "makes" => Makes,
        /// The command changes nothing itself, and runs what the settings of its folder name.
        "inspects" => Inspects,
        /// The command runs the code of its folder, such as its tests.
        "builds" => Builds,
        /// The command sends something to others.
        "sends" => Sends,
        /// The command destroys or replaces something.
        "destroys" => Destroys,
        /// The command shows what gives access.
        "reveals" => Reveals,
    }
}

/// A row: a program with a subcommand, and what it may be called with.
#[derive(Debug)]
pub(super) struct KnownCommand {
    words: Vec<&'static str>,
    /// The options with which the row is not meant.
    without: Vec<&'static str>,
    /// The number of words besides options that it may have.
    most: usize,
    /// The signs of which the first of these has to consist, if it is a program itself.
    signs: Option<String>,
    pub(super) deed: Deed,
    /// Lines that the row is about, and others that it is not about.
    #[cfg(test)]
    examples: Vec<&'static str>,
}

impl KnownCommand {
    /// Returns the row with the longest subcommand that is about a command; of several, the first.
    pub(super) fn of(words: &[PlainWord]) -> Option<&'static Self> {
        let rows = TABLE.get(&*words.first()?.text)?;
        let about = rows.iter().filter(|row| row.is_about(words));
        about.rev().max_by_key(|row| row.words.len())
    }

    /// Returns whether the table has a program.
    pub(super) fn has(program: &str) -> bool {
        TABLE.contains_key(program)
    }

    /// Returns whether the row is about the command with whatever words behind it, and shows no content of the files that
    /// they name.
    pub(super) fn takes_anything(&self) -> bool {
        let are_long = self.without.iter().all(|option| option.starts_with("--"));
        self.deed == Deed::Names && are_long && self.most == usize::MAX
    }

    fn is_about(&self, words: &[PlainWord]) -> bool {
        let named = words.get(..self.words.len());
        let is_named =
            named.is_some_and(|named| named.iter().map(|word| &*word.text).eq(self.words.iter().copied()));
        let rest = words.get(self.words.len()..).unwrap_or_default();
        let is_option_like = |word: &PlainWord| word.text.starts_with(['-', '+']);
        let is_limited = !self.without.is_empty() || self.most < usize::MAX;
        let is_other = |word: &PlainWord| {
            word.is_any && is_limited
                || word.is_pattern && self.most < usize::MAX
                || self.without.iter().any(|option| is_option(&word.text, option))
        };
        let mut operands = rest.iter().filter(|word| !is_option_like(word)).peekable();
        let is_of_signs = self.signs.as_ref().is_none_or(|signs| {
            operands.peek().is_some_and(|first| first.text.chars().all(|sign| signs.contains(sign)))
        });
        is_named && is_of_signs && !rest.iter().any(is_other) && operands.count() <= self.most
    }
}

/// Returns whether a program may read a word as `option`: `-o` in a group of letters, the beginning of `--output`, or a
/// word such as `-exec`, in which `*` stands for any end.
fn is_option(word: &str, option: &str) -> bool {
    if let Some(begin) = option.strip_suffix('*') {
        return word.starts_with(begin);
    }
    match (option.strip_prefix("--"), word.strip_prefix("--")) {
        (Some(long), Some(written)) => {
            let written = written.split('=').next().unwrap_or_default();
            !written.is_empty() && long.starts_with(written)
        }
        (None, None) if option.len() == 2 => word.starts_with('-') && word[1..].contains(&option[1..]),
        _ => word == option,
    }
}

static TABLE: LazyLock<HashMap<&'static str, Vec<KnownCommand>>> = LazyLock::new(|| {
    let mut table = HashMap::<_, Vec<_>>::new();
    for section in sections(include_str!("commands.txt")) {
        let deed = Deed::named(section.heading).expect("each heading of the table is a deed");
        for entry in section.entries {
            let (mut words, mut without, mut most, mut signs) = (Vec::new(), Vec::new(), usize::MAX, None);
            for word in entry.line.split(' ') {
                if let Some(option) = word.strip_prefix('!') {
                    without.push(option);
                } else if let Some(number) = word.strip_prefix('=').and_then(|number| number.parse().ok()) {
                    most = number;
                } else if let Some(of) = word.strip_prefix('?') {
                    signs = Some(with_blanks(of));
                } else {
                    words.push(word);
                }
            }
            let program = words[0];
            let row = KnownCommand {
                words,
                without,
                most,
                signs,
                deed,
                #[cfg(test)]
                examples: entry.below,
            };
            table.entry(program).or_default().push(row);
        }
    }
    table
});

#[cfg(test)]
mod tests {
    use super::super::plain::plain_commands;
    use super::*;

    #[test]
    fn each_row_is_about_its_examples_and_not_about_the_others() {
        let rows: Vec<_> = TABLE.values().flatten().collect();
        assert!(rows.len() <= 300, "{} rows", rows.len());
        for row in rows {
            assert!(!row.examples.is_empty(), "{row:?} has no example");
            for example in &row.examples {
                let (sign, line) = example.split_once(' ').unwrap();
                let found = KnownCommand::of(&plain_commands(line).unwrap()[0].words);
                let is_it = found.is_some_and(|found| std::ptr::eq(found, row));
                assert_eq!(is_it, sign == "+", "{line}: {found:?}");
            }
            let limited = !row.without.is_empty() || row.most < usize::MAX || row.signs.is_some();
            assert!(!limited || row.examples.iter().any(|example| example.starts_with('-')), "{row:?}");
        }
    }
}
