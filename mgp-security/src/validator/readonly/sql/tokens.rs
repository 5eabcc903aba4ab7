//! The tokens of SQL text, in each of the ways in which databases read it.

use crate::Finding;

use super::super::writes;
use super::unreadable;

/// A token of SQL. What stands in strings and comments is of no interest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SqlToken<'a> {
    /// A keyword, or a name without quotes.
    Word(&'a str),
    /// A name in quotes, or a string in double ones.
    Quoted(&'a str),
    /// A string.
    Text,
    Number,
    /// `:=`
    Assignment,
    Mark(char),
}

/// A way to read what databases read differently: each mark of a doubtful kind is one thing in the way, or the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SqlReading(u8);

impl SqlReading {
    /// A backslash in a string hides the quote behind it.
    const ESCAPES: Self = Self(1);
    /// `#` begins a comment.
    const HASH_COMMENTS: Self = Self(2);
    /// `--` begins a comment without a space behind it as well.
    const BARE_COMMENTS: Self = Self(4);
    /// Comments within comments have to end, too.
    const NESTED_COMMENTS: Self = Self(8);
    /// Three quotes begin a string that three quotes end.
    const TRIPLE_QUOTES: Self = Self(16);
    /// Brackets are quotes around a name.
    const BRACKET_QUOTES: Self = Self(32);

    /// Returns the readings that differ for `text`.
    pub(super) fn all(text: &str) -> impl Iterator<Item = Self> {
        let mut comments = text.match_indices("--");
        let is_bare = |(at, _): (usize, &str)| !text[at + 2..].starts_with(char::is_whitespace);
        let doubtful = [
            (Self::ESCAPES, text.contains('\\')),
            (Self::HASH_COMMENTS, text.contains('#')),
            (Self::BARE_COMMENTS, comments.any(is_bare)),
            (Self::NESTED_COMMENTS, text.matches("/*").count() > 1),
            (Self::TRIPLE_QUOTES, text.contains("'''") || text.contains("\"\"\"")),
            (Self::BRACKET_QUOTES, text.contains('[')),
        ];
        let mask = doubtful.iter().filter(|(_, is_there)| *is_there).fold(0, |mask, (one, _)| mask | one.0);
        (0..=mask).filter(move |bits| bits & !mask == 0).map(Self)
    }

    const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns the tokens of `text`.
    ///
    /// # Errors
    /// The text is not SQL in this reading, or has a form of quotes that hides statements from some databases.
    pub(super) fn tokens(self, text: &str) -> Result<Vec<SqlToken<'_>>, Finding> {
        let mut reader = SqlReader { reading: self, rest: text };
        let mut tokens = Vec::new();
        while let Some(token) = reader.next(tokens.last())? {
            tokens.push(token);
        }
        Ok(tokens)
    }
}

/// The text that is still to be read.
struct SqlReader<'a> {
    reading: SqlReading,
    rest: &'a str,
}

impl<'a> SqlReader<'a> {
    fn next(&mut self, before: Option<&SqlToken<'a>>) -> Result<Option<SqlToken<'a>>, Finding> {
        self.skip_space()?;
        let Some(first) = self.rest.chars().next() else { return Ok(None) };
        Ok(Some(match first {
            '\'' => {
                self.quoted("'", self.reading.has(SqlReading::ESCAPES))?;
                SqlToken::Text
            }
            '"' => SqlToken::Quoted(self.quoted("\"", self.reading.has(SqlReading::ESCAPES))?),
            '`' => SqlToken::Quoted(self.quoted("`", false)?),
            '[' if self.reading.has(SqlReading::BRACKET_QUOTES) => SqlToken::Quoted(self.quoted("]", false)?),
            '$' if is_dollar_quote(self.rest) => {
                // In dialects without dollar quotes, the text between the dollar signs is run.
                return Err(writes("the query has dollar quotes: use single ones"));
            }
            // Clients take it for the beginning of a command of their own.
            '\\' => return Err(unreadable()),
            ':' if self.rest.starts_with(":=") => {
                self.take(2);
                SqlToken::Assignment
            }
            '0'..='9' => {
                self.number();
                SqlToken::Number
            }
            _ if is_of_word(first) => self.word(before)?,
            mark => {
                self.take(mark.len_utf8());
                SqlToken::Mark(mark)
            }
        }))
    }

    fn take(&mut self, bytes: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.rest = rest;
        taken
    }

    fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        self.take(self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len()))
    }

    /// Skips white space and comments.
    fn skip_space(&mut self) -> Result<(), Finding> {
        loop {
            self.take_while(|letter| letter.is_whitespace() || letter.is_control());
            let is_line = match self.rest.as_bytes() {
                [b'-', b'-', ..] => {
                    let is_spaced = self.rest[2..].chars().next().is_none_or(char::is_whitespace);
                    is_spaced || self.reading.has(SqlReading::BARE_COMMENTS)
                }
                [b'#', ..] => self.reading.has(SqlReading::HASH_COMMENTS),
                [b'/', b'*', ..] => {
                    self.block()?;
                    continue;
                }
                _ => false,
            };
            if !is_line {
                return Ok(());
            }
            self.take_while(|letter| !matches!(letter, '\n' | '\r'));
        }
    }

    /// Skips a comment between `/*` and `*/`.
    fn block(&mut self) -> Result<(), Finding> {
        self.take(2);
        let mut open = 1;
        while open > 0 {
            let Some(at) = self.rest.find(['*', '/']) else { return Err(unreadable()) };
            self.take(at);
            let marks = self.rest.get(..2).unwrap_or(&self.rest[..1]);
            match marks {
                "*/" => open -= 1,
                "/*" if self.reading.has(SqlReading::NESTED_COMMENTS) => open += 1,
                _ => {
                    self.take(1);
                    continue;
                }
            }
            self.take(2);
        }
        Ok(())
    }

    /// Returns what stands between quotes, the first of which comes next and the last of which is `end`.
    fn quoted(&mut self, end: &str, escapes: bool) -> Result<&'a str, Finding> {
        let triple = if end == "\"" { "\"\"\"" } else { "'''" };
        if self.reading.has(SqlReading::TRIPLE_QUOTES) && self.rest.starts_with(triple) {
            self.take(3);
            return self.until(triple, true);
        }
        self.take(1);
        self.until(end, escapes)
    }

    /// Returns the text until the quote `end`, which is one sign or three.
    fn until(&mut self, end: &str, escapes: bool) -> Result<&'a str, Finding> {
        let whole = self.rest;
        let mut at = 0;
        while let Some(first) = whole[at..].chars().next() {
            let after = whole[at..].strip_prefix(end);
            // One sign twice is the sign itself.
            if after.is_some_and(|after| end.len() == 3 || !after.starts_with(end)) {
                self.take(at + end.len());
                return Ok(&whole[..at]);
            }
            let is_pair = matches!(first, '\'' | '"' | '`' | ']') && whole[at + 1..].starts_with(first);
            at += first.len_utf8();
            if is_pair {
                at += 1;
            } else if escapes && first == '\\' {
                at += whole[at..].chars().next().map_or(0, char::len_utf8);
            }
        }
        Err(unreadable())
    }

    /// Skips digits, a fraction and an exponent. What follows is a word of its own, as for some databases.
    fn number(&mut self) {
        if self.rest.starts_with("0x") {
            self.take(2);
            self.take_while(|letter| letter.is_ascii_hexdigit());
            return;
        }
        self.take_while(|letter| letter.is_ascii_digit() || letter == '_');
        if self.rest.starts_with('.') {
            self.take(1);
            self.take_while(|letter| letter.is_ascii_digit());
        }
        let exponent = self.rest.strip_prefix(['e', 'E']).map(|rest| rest.trim_start_matches(['+', '-']));
        if exponent.is_some_and(|rest| rest.starts_with(|digit: char| digit.is_ascii_digit())) {
            self.take(1);
            self.take_while(|letter| letter.is_ascii_digit() || matches!(letter, '+' | '-'));
        }
    }

    fn word(&mut self, before: Option<&SqlToken<'a>>) -> Result<SqlToken<'a>, Finding> {
        let word = self.take_while(|letter| is_of_word(letter) || letter.is_ascii_digit() || letter == '$');
        let is_prefix = self.rest.starts_with('\'') && before != Some(&SqlToken::Mark('.'));
        if is_prefix && word.eq_ignore_ascii_case("e") {
            self.quoted("'", true)?;
            return Ok(SqlToken::Text);
        }
        // Quotes of Oracle end where no other quotes do; escapes of Unicode decode to other names.
        let is_other = is_prefix && ["q", "nq"].iter().any(|other| word.eq_ignore_ascii_case(other));
        let is_decoded =
            word.eq_ignore_ascii_case("u") && (self.rest.starts_with("&'") || self.rest.starts_with("&\""));
        if is_other || is_decoded { Err(unreadable()) } else { Ok(SqlToken::Word(word)) }
    }
}

fn is_of_word(letter: char) -> bool {
    letter.is_ascii_alphabetic() || letter == '_' || (!letter.is_ascii() && !letter.is_whitespace())
}

/// Returns whether the text begins with a tag between dollar signs.
fn is_dollar_quote(text: &str) -> bool {
    let tag = text[1..].trim_start_matches(|letter| is_of_word(letter) || letter.is_ascii_digit());
    tag.starts_with('$')
}
