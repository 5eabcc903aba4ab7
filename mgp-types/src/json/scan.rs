//! The scanner: one walk over JSON that checks grammar, UTF-8, depth and repeated names, and builds nothing.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use smallvec::SmallVec;

use super::text::{plain_prefix, unescape};
use super::{JsonError, JsonFault};

/// Checks that `bytes` hold exactly one value and returns its range.
pub(crate) fn value(bytes: &[u8]) -> Result<Range<usize>, JsonError> {
    let mut scanner = Scanner::new(bytes);
    scanner.start()?;
    let span = scanner.value()?;
    scanner.end()?;
    Ok(span.start as usize..span.end as usize)
}

/// A range of the scanned bytes. Frames are far below 4 GiB; [`Scanner::start`] refuses longer ones.
pub(crate) type Span = Range<u32>;

/// A member name: the span between its quotes, and whether it has escapes.
#[derive(Debug, Clone)]
pub(crate) struct MemberKey {
    pub(crate) span: Span,
    pub(crate) escaped: bool,
}

/// An object that is being scanned, and the place of its names among the noted names.
pub(crate) struct ObjectScan<'a> {
    names_from: usize,
    many: Option<HashSet<Cow<'a, [u8]>>>,
    first: bool,
}

/// A single walk over JSON, which checks grammar, UTF-8, depth and repeated names, and builds nothing.
pub(crate) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth_left: u16,
    names: SmallVec<[NotedName; 16]>,
    /// True for bytes that are known to be one JSON value: values are stepped over without being checked again.
    is_checked: bool,
    /// Whether a name that an object repeats is a fault.
    notes_names: bool,
}

/// The number of arrays and objects that may be open at once.
// serde_json stops at this depth, so a value that is accepted can be read as a typed one.
const MAX_DEPTH: u16 = 120;

/// The number of members up to which all pairs of names are compared.
const FEW: usize = 32;

impl<'a> Scanner<'a> {
    #[inline]
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        let (depth_left, names) = (MAX_DEPTH, SmallVec::new());
        Self { bytes, at: 0, depth_left, names, is_checked: false, notes_names: true }
    }

    /// Creates a scanner of bytes that are known to be one JSON value. It looks for repeated names in the objects that
    /// are [opened](Self::open_object), and finds where values end without looking into them.
    #[inline]
    pub(crate) fn of_checked(bytes: &'a [u8]) -> Self {
        Self { is_checked: true, ..Self::new(bytes) }
    }

    /// Creates a scanner of bytes that are known to be one JSON value without repeated names.
    #[inline]
    pub(crate) fn of_names(bytes: &'a [u8]) -> Self {
        Self { notes_names: false, ..Self::of_checked(bytes) }
    }

    /// Checks the length and the encoding of the bytes and steps to the first value.
    pub(crate) fn start(&mut self) -> Result<(), JsonError> {
        if !self.is_checked
            && let Err(error) = std::str::from_utf8(self.bytes)
        {
            return Err(JsonError { fault: JsonFault::Unicode, offset: error.valid_up_to() });
        }
        if u32::try_from(self.bytes.len()).is_err() {
            return Err(JsonError { fault: JsonFault::TooLong, offset: u32::MAX as usize });
        }
        self.skip_space();
        Ok(())
    }

    /// Returns the byte at the current offset.
    #[inline]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Scans one value and the white space behind it.
    pub(crate) fn value(&mut self) -> Result<Span, JsonError> {
        if self.is_checked {
            return self.checked_value();
        }
        let start = self.at;
        match self.peek() {
            Some(b'"') => {
                self.string()?;
            }
            Some(b'{') => {
                let mut object = self.open_object()?;
                while self.next_key(&mut object)?.is_some() {
                    self.value()?;
                }
            }
            Some(b'[') => {
                let mut first = true;
                self.open_array()?;
                while self.next_element(&mut first)? {
                    self.value()?;
                }
            }
            Some(b'-' | b'0'..=b'9') => self.number()?,
            Some(b't') => self.literal(b"true")?,
            Some(b'f') => self.literal(b"false")?,
            Some(b'n') => self.literal(b"null")?,
            Some(_) => return Err(self.fault(JsonFault::Syntax)),
            None => return Err(self.fault(JsonFault::UnexpectedEnd)),
        }
        let end = self.at;
        self.skip_space();
        Ok(span(start, end))
    }

    /// Steps over one value that is known to be valid, and the white space behind it.
    fn checked_value(&mut self) -> Result<Span, JsonError> {
        let start = self.at;
        let mut open = 0_usize;
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.string()?;
                }
                Some(b'{' | b'[') => {
                    open += 1;
                    self.at += 1;
                }
                Some(b'}' | b']') if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                Some(_) if open > 0 => {
                    self.at += 1;
                    continue;
                }
                None if open > 0 => return Err(self.fault(JsonFault::UnexpectedEnd)),
                // A number or a word has no end of its own.
                Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') | None if self.at > start => {}
                Some(byte) if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.') => {
                    self.at += 1;
                    continue;
                }
                Some(_) => return Err(self.fault(JsonFault::Syntax)),
                None => return Err(self.fault(JsonFault::UnexpectedEnd)),
            }
            if open == 0 {
                let end = self.at;
                self.skip_space();
                return Ok(span(start, end));
            }
        }
    }

    /// Checks that no bytes are left.
    pub(crate) fn end(&self) -> Result<(), JsonError> {
        if self.at == self.bytes.len() { Ok(()) } else { Err(self.fault(JsonFault::Syntax)) }
    }

    /// Steps over `{`. [`next_key`](Self::next_key) reads the members.
    pub(crate) fn open_object(&mut self) -> Result<ObjectScan<'a>, JsonError> {
        self.expect(b'{')?;
        self.descend()?;
        Ok(ObjectScan { names_from: self.names.len(), many: None, first: true })
    }

    /// Returns the next member's name, with the scanner at its value; `None` behind the closing brace.
    ///
    /// The white space behind the brace stays unread, so that the scanner stands at the object's end.
    pub(crate) fn next_key(&mut self, object: &mut ObjectScan<'a>) -> Result<Option<MemberKey>, JsonError> {
        if !self.next_item(b'}', &mut object.first)? {
            self.names.truncate(object.names_from);
            return Ok(None);
        }
        let start = self.at;
        let escaped = self.string()?;
        let key = MemberKey { span: span(start + 1, self.at - 1), escaped };
        if self.notes_names {
            self.note_name(object, &key, start)?;
        }
        self.skip_space();
        self.expect(b':')?;
        self.skip_space();
        Ok(Some(key))
    }

    /// Steps over `[`. [`next_element`](Self::next_element) steps to the elements.
    pub(crate) fn open_array(&mut self) -> Result<(), JsonError> {
        self.expect(b'[')?;
        self.descend()
    }

    /// Returns whether another element follows, with the scanner at it; `false` behind the closing bracket.
    pub(crate) fn next_element(&mut self, first: &mut bool) -> Result<bool, JsonError> {
        self.next_item(b']', first)
    }

    /// Returns whether another item follows before `close`, with the scanner at the item; `false` behind `close`.
    #[inline]
    fn next_item(&mut self, close: u8, first: &mut bool) -> Result<bool, JsonError> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.depth_left += 1;
                return Ok(false);
            }
            Some(b',') if !*first => {
                self.at += 1;
                self.skip_space();
            }
            Some(_) if *first => *first = false,
            Some(_) => return Err(self.fault(JsonFault::Syntax)),
            None => return Err(self.fault(JsonFault::UnexpectedEnd)),
        }
        Ok(true)
    }

    /// Returns the offset that the scanner has reached.
    pub(crate) fn offset(&self) -> usize {
        self.at
    }

    #[inline]
    pub(crate) fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    pub(crate) fn fault(&self, fault: JsonFault) -> JsonError {
        JsonError { fault, offset: self.at }
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        match self.peek() {
            Some(found) if found == byte => {
                self.at += 1;
                Ok(())
            }
            Some(_) => Err(self.fault(JsonFault::Syntax)),
            None => Err(self.fault(JsonFault::UnexpectedEnd)),
        }
    }

    fn descend(&mut self) -> Result<(), JsonError> {
        match self.depth_left.checked_sub(1) {
            Some(left) => self.depth_left = left,
            None => return Err(self.fault(JsonFault::TooDeep)),
        }
        self.skip_space();
        Ok(())
    }

    /// Steps over a string and returns whether it has escapes.
    #[inline]
    fn string(&mut self) -> Result<bool, JsonError> {
        self.expect(b'"')?;
        self.at += plain_prefix(&self.bytes[self.at..]);
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(false);
        }
        self.rest_of_string()
    }

    /// Steps over the rest of a string, from its first byte that is not plain.
    #[cold]
    fn rest_of_string(&mut self) -> Result<bool, JsonError> {
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(true);
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.fault(JsonFault::Syntax)),
                None => return Err(self.fault(JsonFault::UnexpectedEnd)),
            }
            self.at += plain_prefix(&self.bytes[self.at..]);
        }
    }

    fn escape(&mut self) -> Result<(), JsonError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => {
                let start = self.at;
                let whole = match self.unit()? {
                    0xD800..=0xDBFF => {
                        self.bytes[self.at..].starts_with(b"\\u") && matches!(self.unit()?, 0xDC00..=0xDFFF)
                    }
                    0xDC00..=0xDFFF => false,
                    _ => true,
                };
                if whole { Ok(()) } else { Err(JsonError { fault: JsonFault::Unicode, offset: start }) }
            }
            Some(_) => Err(self.fault(JsonFault::Syntax)),
            None => Err(self.fault(JsonFault::UnexpectedEnd)),
        }
    }

    /// Reads the UTF-16 code unit of the `\uXXXX` at the current offset.
    fn unit(&mut self) -> Result<u32, JsonError> {
        let Some(digits) = self.bytes.get(self.at + 2..self.at + 6) else {
            return Err(self.fault(JsonFault::UnexpectedEnd));
        };
        let unit = digits.iter().try_fold(0_u32, |unit, &digit| {
            let value = char::from(digit).to_digit(16)?;
            Some(unit << 4 | value)
        });
        let unit = unit.ok_or_else(|| self.fault(JsonFault::Syntax))?;
        self.at += 6;
        Ok(unit)
    }

    fn number(&mut self) -> Result<(), JsonError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(self.fault(JsonFault::Syntax)) }
    }

    fn literal(&mut self, word: &[u8]) -> Result<(), JsonError> {
        if self.bytes[self.at..].starts_with(word) {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.fault(JsonFault::Syntax))
        }
    }

    /// Returns the bytes of a range that was scanned.
    pub(crate) fn slice(&self, span: &Span) -> &'a [u8] {
        &self.bytes[span.start as usize..span.end as usize]
    }

    /// Notes the name of a member, unless its object has it already.
    #[inline]
    fn note_name(
        &mut self,
        object: &mut ObjectScan<'a>,
        key: &MemberKey,
        at: usize,
    ) -> Result<(), JsonError> {
        let raw = self.slice(&key.span);
        let fingerprint = fingerprint(raw);
        let known = &self.names[object.names_from..];
        let is_new = known.iter().all(|other| other.fingerprint != fingerprint);
        if key.escaped || !is_new || known.len() == FEW || object.many.is_some() {
            return self.note_unusual_name(object, key, at);
        }
        self.names.push(NotedName { fingerprint, key: key.clone() });
        Ok(())
    }

    /// Notes a name that has to be compared letter by letter: it has escapes, looks like another one, or is one of many.
    #[cold]
    fn note_unusual_name(
        &mut self,
        object: &mut ObjectScan<'a>,
        key: &MemberKey,
        at: usize,
    ) -> Result<(), JsonError> {
        let text = self.name(key);
        let duplicate = JsonError { fault: JsonFault::DuplicateMember, offset: at };
        if let Some(many) = &mut object.many {
            return if many.insert(text) { Ok(()) } else { Err(duplicate) };
        }
        let known = &self.names[object.names_from..];
        if known.iter().any(|other| self.name(&other.key) == text) {
            return Err(duplicate);
        }
        if known.len() == FEW {
            // Comparing all pairs is fastest for the few members of a usual object, and quadratic for the thousands of
            // a hostile one.
            object.many = Some(known.iter().map(|name| self.name(&name.key)).chain([text]).collect());
            self.names.truncate(object.names_from);
        } else {
            self.names.push(NotedName { fingerprint: fingerprint(&text), key: key.clone() });
        }
        Ok(())
    }

    /// Returns a name that was scanned, without its escapes.
    pub(crate) fn name(&self, key: &MemberKey) -> Cow<'a, [u8]> {
        let raw = self.slice(&key.span);
        if key.escaped { Cow::Owned(unescape(raw)) } else { Cow::Borrowed(raw) }
    }
}

struct NotedName {
    fingerprint: u64,
    key: MemberKey,
}

/// Returns a number that differs for most names: the length, the first and the last bytes.
fn fingerprint(name: &[u8]) -> u64 {
    let (head, tail) = match (name.first_chunk::<4>(), name.last_chunk::<4>()) {
        (Some(head), Some(tail)) => (u32::from_le_bytes(*head), u32::from_le_bytes(*tail)),
        _ => (name.iter().fold(0, |word, &byte| word << 8 | u32::from(byte)), 0),
    };
    (u64::from(head) << 32 | u64::from(tail)) ^ (name.len() as u64).rotate_right(8)
}

#[expect(clippy::cast_possible_truncation, reason = "`Scanner::new` refuses bytes beyond u32::MAX")]
fn span(start: usize, end: usize) -> Span {
    start as u32..end as u32
}

#[cfg(test)]
mod tests;
