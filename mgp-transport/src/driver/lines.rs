use bytes::{Buf, Bytes, BytesMut};

/// Cuts a byte stream into frames, one a line. Knows nothing of IO.
///
/// Tolerated: CRLF, empty lines, and a byte order mark in front of the first frame. A line that is too
/// long is reported when it becomes so, and when it ends, as long as that end is near. Between the two it is skipped.
#[derive(Debug)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// How much of the buffer is known to hold no line end.
    searched: usize,
    max_frame_bytes: usize,
    /// What has been skipped of an overlong line, while in one.
    skipped: Option<Skipped>,
    /// The last bytes of an overlong line that has ended.
    ended: Option<Bytes>,
    at_start: bool,
}

#[derive(Debug, Default)]
struct Skipped {
    bytes: usize,
    last: BytesMut,
}

/// What the bytes so far amount to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// A whole frame.
    Frame(Bytes),
    /// A line is longer than allowed, and begins like this; it is being skipped.
    TooLong(Bytes),
    /// A line that was too long has ended, like this.
    Skipped(Bytes),
    /// A line is so long that its end is not worth waiting for.
    Endless,
    /// More bytes are needed.
    Partial,
}

impl Lines {
    pub(super) fn new(max_frame_bytes: usize) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            max_frame_bytes,
            skipped: None,
            ended: None,
            at_start: true,
        }
    }

    /// Where to read more bytes into; there is room for at least one.
    pub(super) fn space(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < LEAST_READ {
            self.buffer.reserve(READ_SIZE);
        }
        &mut self.buffer
    }

    /// The next frame among the bytes read so far.
    pub(super) fn next(&mut self) -> Line {
        if let Some(last) = self.ended.take() {
            return Line::Skipped(last);
        }
        loop {
            let Some(end) = memchr::memchr(b'\n', &self.buffer[self.searched..]) else {
                return self.without_end();
            };
            let mut line = self.buffer.split_to(self.searched + end);
            self.buffer.advance(1);
            self.searched = 0;
            if let Some(mut skipped) = self.skipped.take() {
                skipped.skip(&line);
                return Line::Skipped(skipped.last.freeze());
            }
            if line.len() > self.max_frame_bytes {
                self.ended = Some(Bytes::copy_from_slice(last_bytes(&line)));
                return Line::TooLong(first_bytes(&line));
            }
            self.trim(&mut line);
            if !line.is_empty() {
                return Line::Frame(line.freeze());
            }
        }
    }

    /// What is left when no more bytes will come: a last line without an end.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let mut line = self.buffer.split();
        self.searched = 0;
        self.trim(&mut line);
        (self.skipped.is_none() && !line.is_empty()).then(|| line.freeze())
    }

    fn without_end(&mut self) -> Line {
        self.searched = self.buffer.len();
        if let Some(skipped) = &mut self.skipped {
            skipped.skip(&self.buffer);
            let skipped = skipped.bytes;
            self.buffer.clear();
            self.searched = 0;
            let endless = skipped > self.max_frame_bytes.saturating_mul(ENDLESS);
            return if endless { Line::Endless } else { Line::Partial };
        }
        if self.buffer.len() <= self.max_frame_bytes {
            return Line::Partial;
        }
        let first = first_bytes(&self.buffer);
        self.skipped.insert(Skipped::default()).skip(&self.buffer);
        self.buffer.clear();
        self.searched = 0;
        Line::TooLong(first)
    }

    fn trim(&mut self, line: &mut BytesMut) {
        if std::mem::take(&mut self.at_start) && line.starts_with(BYTE_ORDER_MARK) {
            line.advance(BYTE_ORDER_MARK.len());
        }
        if line.ends_with(b"\r") {
            line.truncate(line.len() - 1);
        }
    }
}

impl Skipped {
    fn skip(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.last.extend_from_slice(last_bytes(bytes));
        let more = self.last.len().saturating_sub(SHOWN);
        self.last.advance(more);
    }
}

fn first_bytes(line: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&line[..line.len().min(SHOWN)])
}

fn last_bytes(line: &[u8]) -> &[u8] {
    &line[line.len().saturating_sub(SHOWN)..]
}

/// How much of both ends of an overlong line is shown: room for what stands beside a result in an answer.
const SHOWN: usize = 512;
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// How much is asked for at once.
const READ_SIZE: usize = 64 << 10;
/// With less room than this a new buffer is taken.
const LEAST_READ: usize = 4 << 10;
/// An overlong line is skipped up to this many times the allowed length.
const ENDLESS: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn feed(lines: &mut Lines, bytes: &[u8]) {
        lines.space().extend_from_slice(bytes);
    }

    fn frame(text: &str) -> Line {
        Line::Frame(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn frames_are_lines() {
        let mut lines = Lines::new(100);
        feed(&mut lines, b"\xEF\xBB\xBFone\r\n\n\r\ntwo\nthr");
        assert_eq!(lines.next(), frame("one"));
        assert_eq!(lines.next(), frame("two"));
        assert_eq!(lines.next(), Line::Partial);
        feed(&mut lines, b"ee\n");
        assert_eq!(lines.next(), frame("three"));
        assert_eq!(lines.next(), Line::Partial);
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn the_last_line_needs_no_end() {
        let mut lines = Lines::new(100);
        feed(&mut lines, b"one\ntwo");
        assert_eq!(lines.next(), frame("one"));
        assert_eq!(lines.next(), Line::Partial);
        assert_eq!(lines.rest().as_deref(), Some(&b"two"[..]));
    }

    #[test]
    fn an_overlong_line_is_reported_when_it_is_and_when_it_ends() {
        let part = |text: &'static str| Bytes::from_static(text.as_bytes());
        let mut lines = Lines::new(4);
        feed(&mut lines, b"12345");
        assert_eq!(lines.next(), Line::TooLong(part("12345")));
        feed(&mut lines, b"6789");
        assert_eq!(lines.next(), Line::Partial);
        feed(&mut lines, b"0\nnext\n123456\nlast\n");
        assert_eq!(lines.next(), Line::Skipped(part("1234567890")));
        assert_eq!(lines.next(), frame("next"));
        assert_eq!(lines.next(), Line::TooLong(part("123456")));
        assert_eq!(lines.next(), Line::Skipped(part("123456")));
        assert_eq!(lines.next(), frame("last"));
    }

    #[test]
    fn of_an_overlong_line_both_ends_are_shown() {
        let mut lines = Lines::new(2000);
        let long: Vec<u8> = (0..3000u32).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
        for chunk in long.chunks(700) {
            feed(&mut lines, chunk);
            if let Line::TooLong(first) = lines.next() {
                assert_eq!(first, long[..SHOWN]);
            }
        }
        feed(&mut lines, b"\n");
        assert_eq!(lines.next(), Line::Skipped(Bytes::copy_from_slice(&long[3000 - SHOWN..])));
    }

    #[test]
    fn a_line_without_end_is_given_up() {
        let mut lines = Lines::new(4);
        feed(&mut lines, b"12345");
        assert_eq!(lines.next(), Line::TooLong(Bytes::from_static(b"12345")));
        feed(&mut lines, &[b'x'; 20]);
        assert_eq!(lines.next(), Line::Endless);
    }
}
