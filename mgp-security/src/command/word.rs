//! The check of one argument that is going to be a single word of a command: a path, a host, a name, a text.
//!
//! A word that is passed on unchanged does no harm, whatever it says. The danger is a later program that inserts it into a
//! command line, where its signs become those of the shell.

use super::table::KnownCommand;
use super::{RUNS_ANYTHING, never, program, readings};
use crate::Finding;
use crate::text;

/// Checks that an argument shows nothing that no command may do.
pub(crate) fn check_word(word: &str) -> Result<(), Finding> {
    for reading in readings(word) {
        text::check(&reading)
            .map_err(|_| Finding::new("invisible-character", "leave out characters that cannot be seen"))?;
        never::check(&reading)?;
        if runs_known_command(&reading) {
            return Err(Finding::new("separator", "a shell would run a command in it: write plain data"));
        }
    }
    Ok(())
}

/// Returns whether a known program stands behind a sign of the shell in a text that is no prose.
fn runs_known_command(text: &str) -> bool {
    let is_program = |part: &str| {
        let name =
            part.trim_start_matches([' ', '{', '(']).split([' ', ')', '`', ';']).next().unwrap_or_default();
        !name.is_empty() && (KnownCommand::has(program(name)) || RUNS_ANYTHING.contains(&program(name)))
    };
    // A single `&` or `|` stands between words, too.
    let parted = text.replace("&&", ";").replace("||", ";");
    text.split_whitespace().count() <= MOST_WORDS
        && parted.split([';', '`', '$', '\n', '\r']).skip(1).any(is_program)
}

/// The number of words that a text has at most that is no prose.
const MOST_WORDS: usize = 3;

/// Returns whether an argument has signs by which a shell or a template would read more than one word of data in it, begins
/// as an option does, or is a command with its arguments.
pub(crate) fn is_more_than_data(word: &str) -> bool {
    let word = text::fold(word);
    let lower = word.to_ascii_lowercase();
    let is_option =
        word.starts_with('-') && word.len() > 1 && !word[1..].bytes().all(|byte| byte.is_ascii_digit());
    let has_sign = word.contains(['`', '$', ';', '|', '&', '<', '>', '\n', '\r', '\\'])
        || word.trim_matches(['^', '$']).contains('^');
    let has_part = PARTS.iter().any(|part| lower.contains(part));
    // As in `%COMSPEC%`.
    let names_variable = word.split('%').nth(1).is_some_and(|name| {
        name.len() > 2
            && name.bytes().all(|byte| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'(' | b')'))
    }) || lower.contains(":~");
    is_option || has_sign || has_part || names_variable || is_command(&word)
}

/// Returns whether a text is a program that is known, or stands in a folder of programs, with an option or a path.
fn is_command(text: &str) -> bool {
    let Some((first, rest)) = text.trim().split_once(' ') else { return false };
    let name = program(first);
    let is_program =
        name != first || KnownCommand::has(name) || RUNS_ANYTHING.contains(&name.trim_end_matches(".exe"));
    is_program && rest.split(' ').any(|word| word.starts_with(['-', '/', '~']))
}

/// The parts of texts that templates and shells read, and encodings of their signs.
const PARTS: [&str; 16] = [
    "{{", "()", "#{", "\"\"", "''", "('", "(\"", "%0a", "%0d", "%3b", "%26", "%7c", "%60", "%24", "%253b",
    "%2526",
];
