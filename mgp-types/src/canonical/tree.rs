//! A JSON value as a tree whose members are in canonical order and whose numbers are in canonical spelling.

use std::borrow::Cow;

use crate::RawJson;

use super::{CanonicalError, number};

/// A JSON value in canonical form.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "closed by JSON")]
pub enum CanonicalTree {
    /// The value `null`.
    Null,
    /// A truth value.
    Bool(bool),
    /// A number, in its canonical spelling.
    Number(String),
    /// A string, without its escapes.
    Text(String),
    /// The items of an array, in their order.
    Array(Vec<Self>),
    /// The members, in the order of their UTF-16 code units, as RFC 8785 sorts.
    Object(Vec<(String, Self)>),
}

impl CanonicalTree {
    /// Reads the tree of `value`.
    ///
    /// # Errors
    /// Fails if the value has no canonical form: see [`CanonicalError`].
    pub fn read(value: &RawJson) -> Result<Self, CanonicalError> {
        // A `RawJson` that serde made has not been scanned: it may have any depth and repeated members.
        let scanned = RawJson::parse(value.to_bytes()).map_err(|_| CanonicalError::NotJson)?;
        let text = std::str::from_utf8(scanned.as_bytes()).map_err(|_| CanonicalError::NotJson)?;
        TreeReader { text, at: 0 }.value()
    }

    /// Returns the member of this name, if the value is an object that has one.
    pub fn member(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(member, _)| member == name).map(|(_, value)| value)
    }

    /// Returns the canonical bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Null => out.extend_from_slice(b"null"),
            Self::Bool(true) => out.extend_from_slice(b"true"),
            Self::Bool(false) => out.extend_from_slice(b"false"),
            Self::Number(spelling) => out.extend_from_slice(spelling.as_bytes()),
            Self::Text(text) => crate::json::write_string(out, text),
            Self::Array(items) => {
                out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    item.write(out);
                }
                out.push(b']');
            }
            Self::Object(members) => {
                out.push(b'{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    crate::json::write_string(out, name);
                    out.push(b':');
                    value.write(out);
                }
                out.push(b'}');
            }
        }
    }
}

/// A reader of JSON that was scanned, so that its grammar, depth and member names are known to be valid; unexpected
/// input is an error all the same.
struct TreeReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TreeReader<'a> {
    fn value(&mut self) -> Result<CanonicalTree, CanonicalError> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => self.string().map(|text| CanonicalTree::Text(text.into_owned())),
            _ => match self.word() {
                "null" => Ok(CanonicalTree::Null),
                "true" => Ok(CanonicalTree::Bool(true)),
                "false" => Ok(CanonicalTree::Bool(false)),
                literal => number::canonical(literal).map(CanonicalTree::Number),
            },
        }
    }

    fn object(&mut self) -> Result<CanonicalTree, CanonicalError> {
        let mut members = Vec::new();
        self.at += 1;
        while self.goes_on(b'}')? {
            let name = self.string()?.into_owned();
            self.eat(b':')?;
            members.push((name, self.value()?));
        }
        members.sort_unstable_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
        Ok(CanonicalTree::Object(members))
    }

    fn array(&mut self) -> Result<CanonicalTree, CanonicalError> {
        let mut items = Vec::new();
        self.at += 1;
        while self.goes_on(b']')? {
            items.push(self.value()?);
        }
        Ok(CanonicalTree::Array(items))
    }

    /// Steps over a comma, or over the end of the object or array, and returns whether another item follows.
    fn goes_on(&mut self, end: u8) -> Result<bool, CanonicalError> {
        match self.peek() {
            Some(byte) if byte == end => {
                self.at += 1;
                Ok(false)
            }
            Some(b',') => {
                self.at += 1;
                Ok(true)
            }
            Some(_) => Ok(true),
            None => Err(CanonicalError::NotJson),
        }
    }

    fn eat(&mut self, byte: u8) -> Result<(), CanonicalError> {
        if self.peek() != Some(byte) {
            return Err(CanonicalError::NotJson);
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self) -> Result<Cow<'a, str>, CanonicalError> {
        self.eat(b'"')?;
        let start = self.at;
        let mut escapes = false;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escapes = true;
                    self.at += 2;
                }
                Some(_) => self.at += 1,
                None => return Err(CanonicalError::NotJson),
            }
        }
        self.at += 1;
        if escapes {
            let quoted = &self.text[start - 1..self.at];
            return serde_json::from_str(quoted).map(Cow::Owned).map_err(|_| CanonicalError::NotJson);
        }
        Ok(Cow::Borrowed(&self.text[start..self.at - 1]))
    }

    fn word(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let length = rest.find([',', ']', '}', ' ', '\t', '\n', '\r']).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    /// Skips white space and returns the byte behind it.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count();
        self.text.as_bytes().get(self.at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(json: &str) -> String {
        String::from_utf8(CanonicalTree::read(&RawJson::parse(json.to_owned()).unwrap()).unwrap().to_bytes())
            .unwrap()
    }

    #[test]
    fn members_are_sorted_by_their_utf_16_units() {
        // U+1F600 is written with surrogates, which sort before U+FB33 although the code point is larger.
        let json = r#"{"\ufb33":1,"😀":2,"\u20ac":3,"1":4,"\r":5,"ö":6,"\u0080":7}"#;
        assert_eq!(
            canonical(json),
            "{\"\\r\":5,\"1\":4,\"\u{80}\":7,\"ö\":6,\"€\":3,\"😀\":2,\"\u{fb33}\":1}"
        );
    }

    #[test]
    fn escapes_are_undone_and_white_space_is_dropped() {
        assert_eq!(
            canonical("[ \"\\u0041\\/\\\"\\\\\" , null,true ,false,{ } , [ ], 1e1 ]"),
            r#"["A/\"\\",null,true,false,{},[],10]"#
        );
    }
}
