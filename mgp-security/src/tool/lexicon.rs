//! Lists of words in definitions: they tell the nature of arguments, and what tools do.
//!
//! The lists stand in `lexicon.txt` and contain all knowledge of such words;
//! [`ArgumentNatures`](super::ArgumentNatures) and `derive` draw the conclusions.

use std::sync::LazyLock;

use mgp_types::mgp::CallEffect;

use super::derive::NameManner;
use super::nature::ArgumentNature::{self, Code, Command, Host, HttpMethod, Path, Sql, Text, Url};
use mgp_types::{WordLists, word_lists};

/// A list of words or phrases, by its heading in `lexicon.txt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Words(&'static str);

impl Words {
    /// Returns the words in order.
    pub(super) fn iter(self) -> impl Iterator<Item = &'static str> {
        LISTS[self.0].iter().copied()
    }

    /// Returns whether `word` is in the list.
    pub(super) fn has(self, word: &str) -> bool {
        LISTS[self.0].contains(&word)
    }
}

static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("lexicon.txt")));

/// The text is about a file of the machine that the server runs on.
pub(super) const SAYS_LOCAL: Words = Words("sign of local");

/// The text is about an object that a vendor or another machine keeps.
pub(super) const SAYS_REMOTE: Words = Words("sign of remote");

/// The text is about a place within a document, an address or an interface.
pub(super) const SAYS_SELECTOR: Words = Words("sign of selector");

/// The argument narrows down results.
pub(super) const SAYS_FILTER: Words = Words("sign of filter");

/// The argument selects several files by their names.
pub(super) const SAYS_GLOB: Words = Words("sign of glob");

/// The tool writes to the argument's place.
pub(super) const SAYS_WRITTEN: Words = Words("sign of written");

/// The tool reads from the argument's place.
pub(super) const SAYS_LOADED: Words = Words("sign of loaded");

/// The tool visits the address.
pub(super) const SAYS_REACHED: Words = Words("sign of reached");

/// The text is about a database that speaks SQL.
pub(super) const SAYS_SQL: Words = Words("sign of sql");

/// The text is about a query language of another kind.
pub(super) const SAYS_OTHER_QUERY: Words = Words("sign of other-query");

/// The tool runs something.
pub(super) const SAYS_RUNS: Words = Words("sign of runs");

/// The text is about a programming language.
pub(super) const SAYS_LANGUAGE: Words = Words("sign of language");

/// The text is about a code that is no program: of a country, of an error, for a login.
pub(super) const SAYS_PLAIN_CODE: Words = Words("sign of plain-code");

/// The text is about a command line for a shell.
pub(super) const SAYS_COMMAND_LINE: Words = Words("sign of command-line");

/// The text is about a program that waits for input lines.
pub(super) const SAYS_TERMINAL: Words = Words("sign of terminal");

/// The tool changes nothing.
pub(super) const SAYS_READS_ONLY: Words = Words("sign of reads-only");

/// The natures that the last word of an argument's name suggests, each with the sign that has to confirm it, if any.
pub(super) const HEADS: &[(ArgumentNature, Option<Words>, Words)] = &[
    (Command, None, Words("name of command")),
    (Command, Some(SAYS_COMMAND_LINE), Words("name of command, by command-line")),
    (Command, Some(SAYS_TERMINAL), Words("name of command, by terminal")),
    (Code, None, Words("name of code")),
    (Code, Some(SAYS_LANGUAGE), Words("name of code, by language")),
    (Sql, None, Words("name of sql")),
    (Sql, Some(SAYS_SQL), Words("name of sql, by sql")),
    (Url, None, Words("name of url")),
    (Host, None, Words("name of host")),
    (Path, None, Words("name of path")),
    (HttpMethod, None, Words("name of http-method")),
    (Text, None, Words("name of text")),
];

/// The last words of names that are about something, not the thing itself: `path_filter`, `command_id`.
pub(super) const ABOUT: Words = Words("about");

/// The first words of names of arguments that exclude or select something: `exclude_paths`, `includeDomains`.
pub(super) const SELECTING: Words = Words("selecting");

/// The words before `code` and `script` in names of programs.
pub(super) const CODE_QUALIFIERS: Words = Words("code-qualifiers");

/// The words in names of addresses that are stored and shown, not visited.
pub(super) const SHOWN: Words = Words("shown");

/// The words in names of arguments that say where a program runs.
pub(super) const PLACES: Words = Words("places");

/// The words in names of path arguments that are read, whatever else the tool does.
pub(super) const READ_FROM: Words = Words("read-from");

/// The words in names of path arguments that are written, whatever else the tool does.
pub(super) const WRITTEN_TO: Words = Words("written-to");

/// The names of arguments which show that the objects of the tool are kept by a vendor or on another machine.
pub(super) const REMOTE_BESIDE: Words = Words("remote-beside");

/// The words with which a description may begin before it says what an argument is.
pub(super) const FILLERS: Words = Words("fillers");

/// The objects that give power to somebody: changing them is dangerous.
pub(super) const POWERS: Words = Words("powers");

/// The verbs in names of tools that pass on the content of a file: the path in their arguments is read.
pub(super) const GIVING: Words = Words("giving");

/// The verbs in names of tools that make a file of something else: the path in their arguments is written.
pub(super) const KEEPING: Words = Words("keeping");

/// The verbs in names of tools that make another file of a file: the path with the plain name is read.
pub(super) const CONVERTING: Words = Words("converting");

/// The verbs in names of tools that take a file away from its place: both paths are written.
pub(super) const MOVING: Words = Words("moving");

/// The natures that the first telling word of a description gives an argument.
pub(super) const OPENINGS: &[(ArgumentNature, Words)] = &[
    (Path, Words("opening of path")),
    (Url, Words("opening of url")),
    (Host, Words("opening of host")),
    (Command, Words("opening of command")),
    (Sql, Words("opening of sql")),
    (Code, Words("opening of code")),
];

/// The manners of tools, by a word of the tool's name or at the start of its description.
pub(super) const MANNERS: &[(NameManner, Words)] = &[
    (NameManner::Reads, Words("verb that reads")),
    (NameManner::Writes, Words("verb that writes")),
    (NameManner::Sends, Words("verb that sends")),
    (NameManner::Runs, Words("verb that runs")),
    (NameManner::Ends, Words("verb that ends")),
    (NameManner::Destroys, Words("verb that destroys")),
    (NameManner::Spends, Words("verb that spends")),
];

/// The effects of calls that a phrase in the name of a tool tells, whatever its first verb is.
pub(super) const PHRASES: &[(CallEffect, Words)] = &[
    (CallEffect::GivesAccess, Words("phrase of a tool that gives access")),
    (CallEffect::GivesAccess, Words("phrase of a tool that reveals")),
    (CallEffect::Spends, Words("phrase of a tool that spends")),
    (CallEffect::Destroys, Words("phrase of a tool that destroys")),
    (CallEffect::Sends, Words("phrase of a tool that sends")),
    (CallEffect::Runs, Words("phrase of a tool that runs")),
];

/// The words in names of tools for machines that others depend on: a change that its server calls destructive is one.
pub(super) const INFRASTRUCTURE: Words = Words("word of infrastructure");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_list_is_in_the_file() {
        let signs = HEADS.iter().filter_map(|(_, sign, _)| *sign);
        let tables = HEADS.iter().map(|(.., words)| *words).chain(OPENINGS.iter().map(|(_, words)| *words));
        let tables = tables.chain(MANNERS.iter().map(|(_, words)| *words)).chain(signs);
        let lists = [
            SAYS_LOCAL, SAYS_REMOTE, SAYS_SELECTOR, SAYS_FILTER, SAYS_GLOB, SAYS_WRITTEN, SAYS_LOADED,
            SAYS_REACHED, SAYS_SQL, SAYS_OTHER_QUERY, SAYS_RUNS, SAYS_LANGUAGE, SAYS_PLAIN_CODE,
            SAYS_COMMAND_LINE, SAYS_TERMINAL, SAYS_READS_ONLY, ABOUT, SELECTING, CODE_QUALIFIERS, SHOWN,
            PLACES, READ_FROM, WRITTEN_TO, REMOTE_BESIDE, FILLERS, POWERS, GIVING, KEEPING, CONVERTING,
            MOVING, INFRASTRUCTURE,
        ];
        let tables = tables.chain(PHRASES.iter().map(|(_, words)| *words));
        for list in tables.chain(lists) {
            assert!(list.iter().all(|word| !word.is_empty()), "{list:?}");
        }
    }
}
