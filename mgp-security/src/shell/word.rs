//! The parser of words: quotes, escapes and substitutions.

use std::sync::LazyLock;

use regex::Regex;

use super::parser::{Flaw, MAX_DEPTH, Origin, Parser};
use super::syntax::{Part, Word};
use crate::data_file::expression;

impl Parser<'_> {
    /// Reads the word that begins here; the word is empty if none begins here.
    pub(super) fn word(&mut self) -> Word {
        let start = self.at;
        let mut word = Word::default();
        let mut bare = String::new();
        while let Some(byte) = self.peek() {
            let glued = bare.chars().last();
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' | b';' | b'&' | b'|' | b')' => break,
                b'<' | b'>' => {
                    if self.rest()[1..].starts_with('(') && bare.is_empty() {
                        self.at += 2;
                        word.parts.push(Part::Process(self.closed_list(")", Flaw::Open)));
                        continue;
                    }
                    break;
                }
                b'(' => match glued {
                    Some('=') if word.parts.is_empty() => {
                        flush(&mut bare, &mut word.parts);
                        self.at += 1;
                        word.parts.push(Part::Array(self.array()));
                    }
                    Some('@' | '?' | '*' | '+' | '!') => self.pattern_group(&mut bare),
                    _ => break,
                },
                b'\\' => {
                    flush(&mut bare, &mut word.parts);
                    self.at += 1;
                    let Some(c) = self.rest().chars().next() else {
                        // A lone backslash at the end of the text continues on a following line, which may hold
                        // anything.
                        self.flawed(Flaw::Open);
                        word.parts.push(Part::Continuation);
                        break;
                    };
                    self.at += c.len_utf8();
                    word.parts.push(if c == '\n' { Part::Continuation } else { Part::Escaped(c) });
                }
                b'\'' | b'"' => {
                    flush(&mut bare, &mut word.parts);
                    self.at += 1;
                    word.parts.push(match byte {
                        b'"' => Part::Double(self.quoted(Some(b'"'))),
                        _ => Part::Single(self.until_quote(false)),
                    });
                }
                b'`' | b'$' => {
                    flush(&mut bare, &mut word.parts);
                    word.parts.push(self.substitution(false));
                }
                _ => self.plain(SPECIAL, &mut bare),
            }
        }
        flush(&mut bare, &mut word.parts);
        word.span = self.span(start, self.at);
        word
    }

    /// Reads text up to one of the characters `until`, and in any case one byte of it.
    fn plain<const N: usize>(&mut self, until: [char; N], bare: &mut String) {
        let rest = self.rest();
        let end = rest.find(until).unwrap_or(rest.len()).max(1);
        bare.push_str(&rest[..end]);
        self.at += end;
    }

    /// Reads these bytes like the content of double quotes, without a closing quote.
    pub(super) fn substituted(&mut self, start: usize, end: usize) -> Vec<Part> {
        if self.depth >= MAX_DEPTH {
            self.flawed(Flaw::Open);
            return Vec::new();
        }
        let origin = self.origin_of(start);
        self.within(&self.text[start..end], origin, |inner| inner.quoted(None))
    }

    fn array(&mut self) -> Vec<Word> {
        if self.depth >= MAX_DEPTH {
            self.flawed(Flaw::Open);
            return Vec::new();
        }
        self.depth += 1;
        let words = self.words(Self::lines);
        self.depth -= 1;
        self.expect(")", Flaw::Open);
        words
    }

    /// Reads the words that follow here, with what `skip` skips before each.
    pub(super) fn words(&mut self, skip: fn(&mut Self)) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            skip(self);
            let before = self.at;
            let word = self.word();
            if self.at == before {
                return words;
            }
            words.push(word);
        }
    }

    /// Reads a pattern such as `@(a|b)`, of which only the sign matters here, as plain text.
    fn pattern_group(&mut self, bare: &mut String) {
        let rest = self.rest();
        if let Some(end) = rest.find(')')
            && !rest[..end].contains(['$', '`', '\n', ';'])
            && ['"', '\''].iter().all(|quote| rest[..end].matches(*quote).count() % 2 == 0)
        {
            bare.push_str(&rest[..=end]);
            self.at += end + 1;
        } else {
            self.flawed(Flaw::Open);
            self.at += 1;
        }
    }

    fn until_quote(&mut self, escapes: bool) -> String {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let mut end = 0;
        while end < bytes.len() && bytes[end] != b'\'' {
            end += if escapes && bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            self.flawed(Flaw::Open);
            self.at = self.text.len();
            return rest.to_owned();
        }
        self.note_text(self.at, self.at + end);
        self.at += end + 1;
        rest[..end].to_owned()
    }

    /// Reads the content of double quotes or, up to `}`, of a parameter; without `close`, reads like within quotes to the
    /// end of the text.
    fn quoted(&mut self, close: Option<u8>) -> Vec<Part> {
        let mut parts = Vec::new();
        let mut bare = String::new();
        let braces = close == Some(b'}');
        loop {
            let Some(byte) = self.peek() else {
                if close.is_some() {
                    self.flawed(Flaw::Open);
                }
                break;
            };
            if Some(byte) == close {
                self.at += 1;
                break;
            }
            let before = self.at;
            match byte {
                b'\\' => {
                    let next = self.rest()[1..].chars().next();
                    match next {
                        Some('\n') if !braces => {}
                        Some(c) if braces || matches!(c, '$' | '`' | '"' | '\\') => bare.push(c),
                        Some(c) => bare.extend(['\\', c]),
                        None => bare.push('\\'),
                    }
                    self.at += 1 + next.map_or(0, char::len_utf8);
                }
                b'\'' if braces && self.rest()[1..].contains('\'') => {
                    self.at += 1;
                    bare.push_str(&self.until_quote(false));
                }
                b'"' if braces => {
                    flush(&mut bare, &mut parts);
                    self.at += 1;
                    parts.push(Part::Double(self.quoted(Some(b'"'))));
                }
                b'$' | b'`' => {
                    flush(&mut bare, &mut parts);
                    parts.push(self.substitution(!braces));
                    continue;
                }
                _ => self.plain(['\\', '$', '`', '"', '}', '\''], &mut bare),
            }
            if close == Some(b'"') {
                self.note_text(before, self.at);
            }
        }
        flush(&mut bare, &mut parts);
        parts
    }

    /// Reads the substitution that begins here with `$` or a backtick.
    fn substitution(&mut self, in_quotes: bool) -> Part {
        if self.take("`") {
            return self.backticks();
        }
        if let Some(inner) = self.arithmetic("$((") {
            return Part::Arithmetic(inner.parts);
        }
        let rest = &self.rest()[1..];
        match rest.as_bytes().first() {
            Some(b'(') => {
                self.at += 2;
                Part::Command(self.closed_list(")", Flaw::Open))
            }
            Some(b'{') => {
                self.at += 2;
                self.parameter()
            }
            Some(b'\'') if !in_quotes => {
                self.at += 2;
                let text = self.until_quote(true);
                Part::Ansi { hidden: hides_letters(&text), text: decode_escapes(&text) }
            }
            Some(b'"') if !in_quotes => {
                self.at += 2;
                Part::Double(self.quoted(Some(b'"')))
            }
            Some(b) if b.is_ascii_alphabetic() || *b == b'_' => {
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
                self.at += end + 1;
                Part::Variable { name: rest[..end].to_owned(), operator: None }
            }
            Some(b) if b.is_ascii_digit() || b"@*#?$!-".contains(b) => {
                self.at += 2;
                Part::Variable { name: rest[..1].to_owned(), operator: None }
            }
            _ => {
                self.at += 1;
                Part::Bare("$".to_owned())
            }
        }
    }

    fn backticks(&mut self) -> Part {
        let start = self.at - 1;
        let rest = self.rest();
        let mut inner = String::new();
        let mut chars = rest.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '`' => {
                    self.at += at + 1;
                    return self.copied(start, &inner);
                }
                '\\' => match chars.next() {
                    Some((_, c @ ('`' | '$' | '\\'))) => inner.push(c),
                    Some((_, c)) => inner.extend(['\\', c]),
                    None => {}
                },
                c => inner.push(c),
            }
        }
        self.flawed(Flaw::Open);
        self.at = self.text.len();
        self.copied(start, &inner)
    }

    /// Reads `inner`, a copy of the text since `start` with its escapes removed, as the list of a command substitution.
    fn copied(&mut self, start: usize, inner: &str) -> Part {
        let origin = Origin::Copy(self.span(start, self.at));
        Part::Command(self.within(inner, origin, |inner| inner.list(&[])))
    }

    /// Reads the content of `${ .. }`.
    fn parameter(&mut self) -> Part {
        let rest = self.rest();
        let sign = rest.len() - rest.trim_start_matches(['#', '!']).len();
        let sign = if rest[sign..].starts_with('}') { 0 } else { sign };
        let named = &rest[sign..];
        let end = named.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(named.len());
        let end = if end == 0 { named.chars().next().map_or(0, char::len_utf8) } else { end };
        let name = named[..end].to_owned();
        self.at += sign + end;
        self.depth += 1;
        let mut operator = if self.depth > MAX_DEPTH {
            self.flawed(Flaw::Open);
            self.at = self.text.len();
            Vec::new()
        } else {
            self.quoted(Some(b'}'))
        };
        self.depth -= 1;
        if sign > 0 {
            // The signs for length (`#`) and indirection (`!`) are operators too.
            operator.insert(0, Part::Bare(rest[..sign].to_owned()));
        }
        Part::Variable { name, operator: (!operator.is_empty()).then_some(operator) }
    }
}

fn flush(bare: &mut String, parts: &mut Vec<Part>) {
    if !bare.is_empty() {
        parts.push(Part::Bare(std::mem::take(bare)));
    }
}

/// Returns the words that a shell makes of `a{b,c}`, `ab` and `ac`, in their order. Braces that would make more than `most`
/// words stay as they are.
pub(crate) fn expand_braces(text: &str, most: usize) -> Vec<String> {
    let mut words = Vec::new();
    let mut open = vec![text.to_owned()];
    while let Some(word) = open.pop() {
        let inner = word.find('}').and_then(|end| Some((word[..end].rfind('{')?, end)));
        match inner.filter(|(start, end)| word[*start..*end].contains(',')) {
            Some((start, end)) if words.len() + open.len() < most => {
                let parts = word[start + 1..end].rsplit(',');
                open.extend(parts.map(|part| format!("{}{part}{}", &word[..start], &word[end + 1..])));
            }
            _ => words.push(word),
        }
    }
    words
}

/// Decodes the escapes in `text`; all other text stays as it is.
fn decode_escapes(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut end = 0;
    for found in ESCAPES.find_iter(text) {
        bytes.extend_from_slice(&text.as_bytes()[end..found.start()]);
        end = found.end();
        let escape = &found.as_str()[1..];
        let kind = escape.chars().next().unwrap_or_default();
        let code = match kind {
            'x' | 'u' | 'U' => u32::from_str_radix(&escape[1..], 16).ok(),
            // Nothing but the zero is shown as a question mark.
            '0' => Some(u32::from_str_radix(&escape[1..], 8).unwrap_or(0x3f)),
            '1'..='7' => u32::from_str_radix(escape, 8).ok(),
            _ => SIMPLE.iter().find_map(|pair| pair.strip_prefix(kind)?.chars().next()).map(u32::from),
        };
        match code {
            Some(code) if matches!(kind, 'u' | 'U') => {
                let c = char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER);
                bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Some(code) => bytes.push(u8::try_from(code & 0xff).unwrap_or(b'?')),
            None => bytes.extend_from_slice(found.as_str().as_bytes()),
        }
    }
    bytes.extend_from_slice(&text.as_bytes()[end..]);
    String::from_utf8_lossy(&bytes).replace('\0', "?")
}

/// Returns whether `text` writes plain visible characters as numbers. There is no reason to do so other than to hide
/// them.
fn hides_letters(text: &str) -> bool {
    let numbers =
        ESCAPES.find_iter(text).filter(|found| b"xuU01234567".contains(&found.as_str().as_bytes()[1]));
    numbers
        .filter_map(|found| decode_escapes(found.as_str()).chars().next())
        .any(|decoded| (decoded.is_ascii_graphic() || decoded == ' ') && decoded != '\\' && decoded != '?')
}

/// The signs behind a backslash that stand for one character, each followed by that character.
const SIMPLE: [&str; 13] =
    ["n\n", "t\t", "r\r", "a\x07", "b\x08", "e\x1b", "E\x1b", "f\x0c", "v\x0b", "\\\\", "''", "\"\"", "??"];

/// Returns the word quoted, so that a shell reads it as a single word.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=@%+,".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

const SPECIAL: [char; 16] =
    [' ', '\t', '\r', '\n', ';', '&', '|', '(', ')', '<', '>', '\\', '\'', '"', '`', '$'];

/// An escape: a character that is written as a number, or any character after a backslash.
static ESCAPES: LazyLock<Regex> = LazyLock::new(|| {
    expression(
        r"(?s)\\(?:x[[:xdigit:]]{0,2}|u[[:xdigit:]]{0,4}|U[[:xdigit:]]{0,8}|0[0-7]{0,3}|[1-7][0-7]{0,2}|.)",
    )
});
