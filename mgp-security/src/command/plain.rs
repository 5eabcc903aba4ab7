//! The lines that are plain: words, pipes, lists, and redirections to files, and nothing that a shell computes.
//!
//! The reader knows few signs, each of which every shell reads in the same way. A line with any other is not plain.

/// A command of a plain line: its program, its words and its redirections.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PlainCommand {
    /// The program and its arguments; never empty.
    pub(super) words: Vec<PlainWord>,
    /// The files that the command writes: those that a redirection empties before, and those that it appends to.
    pub(super) writes: Vec<(PlainWord, WriteMode)>,
    /// The files that the command reads as its input.
    pub(super) reads: Vec<PlainWord>,
}

/// A word as the program gets it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PlainWord {
    pub(super) text: String,
    /// True if the word begins with a pattern or a brace, so that the shell may make any words of it, options too.
    pub(super) is_any: bool,
    /// True if the shell may make other words of it, which begin as it does.
    pub(super) is_pattern: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    Replaces,
    Appends,
}

/// The reason why a line is not plain, in words for a person.
pub(super) type NotPlain = &'static str;

/// Returns the commands of a plain line.
///
/// # Errors
/// Fails with the first thing that is not plain.
pub(super) fn plain_commands(line: &str) -> Result<Vec<PlainCommand>, NotPlain> {
    let mut reader = Reader { rest: line.trim_matches([' ', '\t', '\n']) };
    let mut commands = vec![PlainCommand::default()];
    while reader.skip_blanks() {
        let command = commands.last_mut().expect("there is one from the start");
        if let Some(separator) = reader.separator()? {
            if command.words.is_empty() {
                return Err("an empty command");
            }
            // A line may end in `;`, and in nothing else that separates.
            if separator != ";" || reader.skip_blanks() {
                commands.push(PlainCommand::default());
            }
        } else if let Some(redirect) = reader.redirect()? {
            match redirect {
                PlainRedirect::ToDescriptor => {}
                PlainRedirect::From(file) => command.reads.push(file),
                PlainRedirect::To(file, mode) => command.writes.push((file, mode)),
            }
        } else {
            command.words.push(reader.word()?);
        }
    }
    if commands.last().is_none_or(|command| command.words.is_empty()) {
        Err("an empty command")
    } else {
        Ok(commands)
    }
}

struct Reader<'a> {
    rest: &'a str,
}

enum PlainRedirect {
    /// As `2>&1`.
    ToDescriptor,
    From(PlainWord),
    To(PlainWord, WriteMode),
}

impl Reader<'_> {
    /// Goes to the next sign, and returns whether there is one.
    fn skip_blanks(&mut self) -> bool {
        self.rest = self.rest.trim_start_matches([' ', '\t']);
        !self.rest.is_empty()
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn separator(&mut self) -> Result<Option<&'static str>, NotPlain> {
        if self.rest.starts_with("|&") || self.rest.starts_with(";;") {
            return Err("a sign that mgp does not read");
        }
        if let Some(found) = ["&&", "||", "|", ";"].into_iter().find(|sign| self.takes(sign)) {
            return Ok(Some(found));
        }
        if self.takes("\n") {
            self.rest = self.rest.trim_start_matches([' ', '\t', '\n']);
            return Ok(Some(";"));
        }
        let is_background = self.rest.starts_with('&') && !self.rest.starts_with("&>");
        if is_background { Err("a command in the background") } else { Ok(None) }
    }

    fn redirect(&mut self) -> Result<Option<PlainRedirect>, NotPlain> {
        let signs = self.rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
        // Digits are a descriptor only right before the sign.
        if !signs.starts_with(['<', '>']) && !self.rest.starts_with("&>") {
            return Ok(None);
        }
        self.rest = signs;
        for other in ["<<", "<(", ">(", "<>", "<&", ">|"] {
            if self.rest.starts_with(other) {
                return Err("a redirection that is no file");
            }
        }
        if self.takes(">&") {
            let digits = self.rest.trim_start_matches(|sign: char| sign.is_ascii_digit());
            let ends = digits.is_empty() || digits.starts_with(ENDS_OF_WORDS);
            let is_descriptor = digits.len() < self.rest.len() && ends;
            self.rest = digits;
            return if is_descriptor {
                Ok(Some(PlainRedirect::ToDescriptor))
            } else {
                Err("a redirection that is no file")
            };
        }
        let reads = self.takes("<");
        let mode = if !reads && (self.takes("&>>") || self.takes(">>")) {
            WriteMode::Appends
        } else {
            let _ = reads || self.takes("&>") || self.takes(">");
            WriteMode::Replaces
        };
        if !self.skip_blanks()
            || !self.rest.starts_with(|sign: char| is_of_word(sign) || matches!(sign, '\'' | '"'))
        {
            return Err("a redirection without a file");
        }
        let file = self.word()?;
        Ok(Some(if reads { PlainRedirect::From(file) } else { PlainRedirect::To(file, mode) }))
    }

    fn word(&mut self) -> Result<PlainWord, NotPlain> {
        let mut word = PlainWord::default();
        let mut begins = true;
        loop {
            let Some(sign) = self.rest.chars().next() else { return Ok(word) };
            match sign {
                _ if ENDS_OF_WORDS.contains(&sign) => return Ok(word),
                '\'' => {
                    let (text, rest) = self.rest[1..].split_once('\'').ok_or("a quote without an end")?;
                    word.text.push_str(text);
                    self.rest = rest;
                }
                '"' => {
                    let (text, rest) = self.rest[1..].split_once('"').ok_or("a quote without an end")?;
                    if text.contains(['$', '`', '\\', '!']) {
                        return Err("a value that the shell computes");
                    }
                    word.text.push_str(text);
                    self.rest = rest;
                }
                '\\' => {
                    let escaped =
                        self.rest[1..].chars().next().filter(|next| " ();*.[]{}?'\"$&|<>".contains(*next));
                    word.text.push(escaped.ok_or("an escape that mgp does not read")?);
                    self.rest = &self.rest[2..];
                }
                '*' | '?' | '[' | '{' => {
                    // Braces around nothing, as `xargs` and `find` have them, stand for themselves.
                    let stands_for_itself = self.rest.starts_with("{}");
                    if sign == '{' && !stands_for_itself {
                        return Err("braces that the shell expands");
                    }
                    word.is_any |= begins && !stands_for_itself;
                    word.is_pattern |= !stands_for_itself;
                    let length = if stands_for_itself { 2 } else { 1 };
                    word.text.push_str(&self.rest[..length]);
                    self.rest = &self.rest[length..];
                }
                _ if is_of_word(sign) => {
                    word.text.push(sign);
                    self.rest = &self.rest[sign.len_utf8()..];
                }
                '$' | '`' => return Err("a value that the shell computes"),
                '(' | ')' => return Err("commands in parentheses"),
                _ => return Err("a sign that mgp does not read"),
            }
            begins = false;
        }
    }
}

/// The signs that end a word.
const ENDS_OF_WORDS: [char; 8] = [' ', '\t', '\n', '|', ';', '&', '<', '>'];

/// Returns whether a sign stands for itself in a word.
fn is_of_word(sign: char) -> bool {
    sign.is_alphanumeric()
        || matches!(sign, '_' | '-' | '.' | '/' | ':' | '@' | '%' | '+' | ',' | '=' | '~' | '^' | ']')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Option<Vec<Vec<String>>> {
        let commands = plain_commands(line).ok()?;
        Some(
            commands
                .into_iter()
                .map(|command| command.words.into_iter().map(|word| word.text).collect())
                .collect(),
        )
    }

    #[test]
    fn words_pipes_lists_and_files_are_plain() {
        for (line, expected) in [
            ("ls -l 'a b' c\\ d", vec![vec!["ls", "-l", "a b", "c d"]]),
            ("cat a|grep \"x y\" && wc -l;", vec![vec!["cat", "a"], vec!["grep", "x y"], vec!["wc", "-l"]]),
            ("a 2>&1 >/dev/null 2> b c", vec![vec!["a", "c"]]),
            ("find . \\( -name '*.rs' \\)", vec![vec!["find", ".", "(", "-name", "*.rs", ")"]]),
            ("a\nb", vec![vec!["a"], vec!["b"]]),
            ("a 2", vec![vec!["a", "2"]]),
            ("a b2>c", vec![vec!["a", "b2"]]),
            ("xargs -I{} ls {}", vec![vec!["xargs", "-I{}", "ls", "{}"]]),
        ] {
            assert_eq!(words(line).unwrap(), expected, "{line}");
        }
        let written = plain_commands("a >b 2>>c <d &>e").unwrap().remove(0);
        let files: Vec<_> = written.writes.iter().map(|(file, mode)| (&*file.text, *mode)).collect();
        assert_eq!(
            files,
            [("b", WriteMode::Replaces), ("c", WriteMode::Appends), ("e", WriteMode::Replaces)]
        );
        assert_eq!(written.reads[0].text, "d");
    }

    #[test]
    fn what_a_shell_computes_or_hides_is_not_plain() {
        for line in [
            "echo $x", "echo `id`", "echo \"$(id)\"", "(ls)", "a & b", "a &", "cat <<x", "cat <<< x",
            "a <(b)", "a >| b", "a >&b", "echo {a,b}", "echo 'a", "echo a\\nb", "a |& b", "a;;b", "| a",
            "a ||", "a | ", "", "  ", "#x", "a #b", "! a", "a\\\nb", "a > ", "a > | b", "a\rb",
            "echo \"a\\\"b\"", "é\u{a0}x", "a <> b", "a ; ; b", "a 2>&1*", "a 2>&1'b'", "a >&1{}",
        ] {
            assert_eq!(words(line), None, "{line:?}");
        }
    }
}
