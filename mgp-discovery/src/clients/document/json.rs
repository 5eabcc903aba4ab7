//! JSON with comments and trailing commas, as the settings of editors are written.
//!
//! The crates for it either drop the positions of values, or rewrite the whole text when a value is changed; the
//! grammar is small enough to be read here.

use super::{DocumentMember, DocumentNode, DocumentValue, MAX_DEPTH, Position, SyntaxError};

pub(super) fn parse(text: &str) -> Result<DocumentNode, SyntaxError> {
    let mut reader = JsonReader { text, at: 0, depth: 0 };
    reader.skip()?;
    if reader.peek().is_none() {
        return Ok(DocumentNode::new(text.len()..text.len(), DocumentValue::Map(Vec::new())));
    }
    let node = reader.value()?;
    reader.skip()?;
    if reader.peek().is_some() {
        return Err(reader.wrong("the file goes on after its value: remove the rest"));
    }
    Ok(node)
}

/// Returns the position of the first byte at or after `at` that is neither blank nor part of a comment.
pub(crate) fn skip_trivia(text: &str, at: usize) -> usize {
    let mut reader = JsonReader { text, at, depth: 0 };
    // A comment without an end reaches to the end of the text.
    if reader.skip().is_err() { text.len() } else { reader.at }
}

struct JsonReader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl JsonReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn wrong(&self, what: impl Into<String>) -> SyntaxError {
        SyntaxError { at: Position::of(self.text, self.at), what: what.into() }
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip(&mut self) -> Result<(), SyntaxError> {
        loop {
            if self.rest().starts_with("//") {
                self.at += self.rest().find('\n').unwrap_or_else(|| self.rest().len());
            } else if let Some(comment) = self.rest().strip_prefix("/*") {
                let Some(end) = comment.find("*/") else {
                    return Err(self.wrong("the comment has no end: close it with `*/`"));
                };
                self.at += end + 4;
            } else if self.peek().is_some_and(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')) {
                self.at += 1;
            } else {
                return Ok(());
            }
        }
    }

    fn value(&mut self) -> Result<DocumentNode, SyntaxError> {
        let start = self.at;
        let value = match self.peek() {
            Some(b'{') => self.nested(Self::map)?,
            Some(b'[') => self.nested(Self::list)?,
            Some(b'"') => DocumentValue::Text(self.string()?),
            Some(b'\'') => return Err(self.wrong("a text needs double quotes")),
            Some(_) => self.word()?,
            None => return Err(self.wrong("the file ends where a value is expected")),
        };
        Ok(DocumentNode::new(start..self.at, value))
    }

    fn nested(
        &mut self,
        read: fn(&mut Self) -> Result<DocumentValue, SyntaxError>,
    ) -> Result<DocumentValue, SyntaxError> {
        if self.depth == MAX_DEPTH {
            return Err(self.wrong(format!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = read(self);
        self.depth -= 1;
        value
    }

    fn map(&mut self) -> Result<DocumentValue, SyntaxError> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            self.skip()?;
            if self.take(b'}') {
                return Ok(DocumentValue::Map(members));
            }
            if self.peek() != Some(b'"') {
                return Err(self.wrong("expected a name in double quotes, or `}`"));
            }
            let key_start = self.at;
            let key = self.string()?;
            let key_span = key_start..self.at;
            self.skip()?;
            if !self.take(b':') {
                return Err(self.wrong(format!("expected `:` after the name `{key}`")));
            }
            self.skip()?;
            let node = self.value()?;
            members.push(DocumentMember { key, key_span, node });
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(b'}') {
                return Err(self.wrong("expected `,` or `}` after the value"));
            }
        }
    }

    fn list(&mut self) -> Result<DocumentValue, SyntaxError> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            self.skip()?;
            if self.take(b']') {
                return Ok(DocumentValue::List(items));
            }
            items.push(self.value()?);
            self.skip()?;
            if !self.take(b',') && self.peek() != Some(b']') {
                return Err(self.wrong("expected `,` or `]` after the value"));
            }
        }
    }

    fn word(&mut self) -> Result<DocumentValue, SyntaxError> {
        let len = self
            .rest()
            .bytes()
            .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
            .count();
        let value = match &self.rest()[..len] {
            "null" => DocumentValue::Null,
            "true" => DocumentValue::Bool(true),
            "false" => DocumentValue::Bool(false),
            number if serde_json::from_str::<serde_json::Number>(number).is_ok() => {
                DocumentValue::Number(number.to_owned())
            }
            _ => {
                return Err(
                    self.wrong("expected a value: a text in double quotes, a number, `true` or `false`")
                );
            }
        };
        self.at += len;
        Ok(value)
    }

    fn string(&mut self) -> Result<String, SyntaxError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let plain = self.rest().find(['"', '\\', '\n']).unwrap_or_else(|| self.rest().len());
            text.push_str(&self.rest()[..plain]);
            self.at += plain;
            if self.take(b'"') {
                return Ok(text);
            }
            if !self.take(b'\\') {
                self.at = start;
                return Err(self.wrong("the text has no end: close it with a double quote on the same line"));
            }
            text.push(self.escape()?);
        }
    }

    fn escape(&mut self) -> Result<char, SyntaxError> {
        let Some(letter) = self.peek() else { return Err(self.wrong("the file ends within a text")) };
        let plain = match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => return self.unicode(),
            _ => return Err(self.wrong("there is no such escape; a backslash itself is written `\\\\`")),
        };
        self.at += 1;
        Ok(plain)
    }

    fn unicode(&mut self) -> Result<char, SyntaxError> {
        let high = self.unit()?;
        let code = if (0xd800..0xdc00).contains(&high) && self.take(b'\\') {
            let low = self.unit()?;
            0x1_0000 + ((high - 0xd800) << 10) + low.wrapping_sub(0xdc00) % 0x400
        } else {
            high
        };
        char::from_u32(code).ok_or_else(|| self.wrong("a `\\u` escape is half of a pair"))
    }

    /// Reads the number of `uXXXX`.
    fn unit(&mut self) -> Result<u32, SyntaxError> {
        let digits = self.rest().get(1..5).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.filter(|_| self.peek() == Some(b'u')).map(|digits| u32::from_str_radix(digits, 16));
        let Some(Ok(unit)) = unit else { return Err(self.wrong("expected `u` and four hexadecimal digits")) };
        self.at += 5;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_trailing_commas_are_allowed() {
        let node = parse("// x\n{ /* y */ \"a\": [1, 2,], // z\n \"b\": \"\\u00e9\\ud83d\\ude00\\n\",\n}\n")
            .unwrap();
        assert_eq!(node.get("a").unwrap().items().len(), 2);
        assert_eq!(node.get("b").unwrap().text(), Some("é😀\n"));
    }

    #[test]
    fn a_slash_in_a_text_is_no_comment() {
        assert_eq!(parse(r#"{"u":"http://x/*"}"#).unwrap().get("u").unwrap().text(), Some("http://x/*"));
    }

    #[test]
    fn what_is_wrong_is_said_with_line_and_column() {
        let wrong = parse("{\n  \"é\" 1\n}").unwrap_err();
        assert_eq!((wrong.at.line, wrong.at.column), (2, 7));
        assert!(wrong.what.contains('é'));
    }

    #[test]
    fn depth_is_bounded() {
        assert!(parse(&"[".repeat(100_000)).unwrap_err().what.contains("deeper"));
        assert!(parse(&format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH))).is_ok());
    }

    #[test]
    fn halves_of_pairs_are_refused() {
        assert!(parse(r#""\ud800""#).is_err());
        assert!(parse(r#""\ud800\u0041""#).is_ok_and(|node| node.text().is_some()));
    }
}
