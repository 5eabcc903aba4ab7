//! The division of a byte stream into frames, one per line, without IO.

use bytes::{Buf, Bytes, BytesMut};

use crate::limits::BudgetShare;
use crate::skipped_message::SkippedMessage;
use crate::{ConnectionLimits, TooLong};

/// Divides a byte stream into frames, one per line. The division knows nothing of IO.
///
/// CRLF, empty lines and a byte order mark in front of the first frame are tolerated. A line that is too long, or for
/// which there is no memory, is reported when it becomes so, and when it ends. In between it is skipped, and only its
/// ends are kept. A line beyond all limits is no message, and is reported as endless.
#[derive(Debug)]
pub(super) struct LineFramer {
    buffer: BytesMut,
    /// The number of bytes in the buffer that are known to hold no line end.
    searched: usize,
    limits: ConnectionLimits,
    /// The memory that the current line takes of the budget for long lines.
    share: BudgetShare,
    /// The skipped part of an overlong line, while in one.
    skipped: Option<SkippedMessage>,
    /// The last bytes of an overlong line that has ended.
    ended: Option<Bytes>,
    at_start: bool,
}

/// The result of reading the bytes so far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FramedLine {
    /// A whole frame.
    Frame(Bytes),
    /// A line is skipped; the bytes are its beginning.
    TooLong(TooLong, Bytes),
    /// A skipped line has ended; the bytes are its end.
    Skipped(Bytes),
    /// A line is so long that its end is not worth waiting for.
    Endless,
    /// More bytes are needed.
    Partial,
}

impl LineFramer {
    pub(super) fn new(limits: &ConnectionLimits) -> Self {
        Self {
            buffer: BytesMut::new(),
            searched: 0,
            share: limits.memory.share(),
            limits: limits.clone(),
            skipped: None,
            ended: None,
            at_start: true,
        }
    }

    /// Returns the buffer to read into, with room for at least one byte.
    pub(super) fn space(&mut self) -> &mut BytesMut {
        if self.buffer.capacity() - self.buffer.len() < LEAST_READ {
            self.buffer.reserve(READ_SIZE);
        }
        &mut self.buffer
    }

    /// Returns the next frame among the bytes read so far.
    pub(super) fn next(&mut self) -> FramedLine {
        if let Some(last) = self.ended.take() {
            return FramedLine::Skipped(last);
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
                return FramedLine::Skipped(Bytes::copy_from_slice(&skipped.last));
            }
            let mut share = std::mem::replace(&mut self.share, self.limits.memory.share());
            if let Err(why) = self.limits.admit(&mut share, line.len()) {
                let mut skipped = SkippedMessage::default();
                skipped.skip(&line);
                self.ended = Some(Bytes::copy_from_slice(&skipped.last));
                return FramedLine::TooLong(why, Bytes::copy_from_slice(&skipped.first));
            }
            self.trim(&mut line);
            if !line.is_empty() {
                return FramedLine::Frame(share.hold(line.freeze()));
            }
        }
    }

    /// Returns the rest when no more bytes will come: a last line without an end.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        let mut line = self.buffer.split();
        self.searched = 0;
        self.trim(&mut line);
        (self.skipped.is_none() && !line.is_empty()).then(|| line.freeze())
    }

    fn without_end(&mut self) -> FramedLine {
        self.searched = self.buffer.len();
        if let Some(skipped) = &mut self.skipped {
            skipped.skip(&self.buffer);
            self.buffer.clear();
            self.searched = 0;
            let is_endless = skipped.bytes > self.limits.max_skipped_bytes;
            return if is_endless { FramedLine::Endless } else { FramedLine::Partial };
        }
        let Err(why) = self.limits.admit(&mut self.share, self.buffer.len()) else {
            return FramedLine::Partial;
        };
        let skipped = self.skipped.insert(SkippedMessage::default());
        skipped.skip(&self.buffer);
        let first = Bytes::copy_from_slice(&skipped.first);
        // The memory of the skipped bytes is freed at once.
        self.buffer = BytesMut::new();
        self.share = self.limits.memory.share();
        self.searched = 0;
        FramedLine::TooLong(why, first)
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

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";
/// The number of bytes asked for in one read.
const READ_SIZE: usize = 64 << 10;
/// The least room for a read; with less, a new buffer is taken.
const LEAST_READ: usize = 4 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryBudget;

    fn lines(max_bytes: usize) -> LineFramer {
        let limits = ConnectionLimits { max_frame_bytes: max_bytes, ..ConnectionLimits::default() };
        LineFramer::new(&limits)
    }

    fn too_long(most_bytes: usize, first: &'static str) -> FramedLine {
        FramedLine::TooLong(TooLong::Message { most_bytes }, Bytes::from_static(first.as_bytes()))
    }

    fn feed(lines: &mut LineFramer, bytes: &[u8]) {
        lines.space().extend_from_slice(bytes);
    }

    fn frame(text: &str) -> FramedLine {
        FramedLine::Frame(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn frames_are_lines() {
        let mut lines = lines(100);
        feed(&mut lines, b"\xEF\xBB\xBFone\r\n\n\r\ntwo\nthr");
        assert_eq!(lines.next(), frame("one"));
        assert_eq!(lines.next(), frame("two"));
        assert_eq!(lines.next(), FramedLine::Partial);
        feed(&mut lines, b"ee\n");
        assert_eq!(lines.next(), frame("three"));
        assert_eq!(lines.next(), FramedLine::Partial);
        assert_eq!(lines.rest(), None);
    }

    #[test]
    fn an_overlong_line_is_reported_when_it_is_and_when_it_ends() {
        let part = |text: &'static str| Bytes::from_static(text.as_bytes());
        let mut lines = lines(4);
        feed(&mut lines, b"12345");
        assert_eq!(lines.next(), too_long(4, "12345"));
        feed(&mut lines, b"6789");
        assert_eq!(lines.next(), FramedLine::Partial);
        feed(&mut lines, b"0\nnext\n123456\nlast\n");
        assert_eq!(lines.next(), FramedLine::Skipped(part("1234567890")));
        assert_eq!(lines.next(), frame("next"));
        assert_eq!(lines.next(), too_long(4, "123456"));
        assert_eq!(lines.next(), FramedLine::Skipped(part("123456")));
        assert_eq!(lines.next(), frame("last"));
    }

    #[test]
    fn of_an_overlong_line_both_ends_are_shown() {
        let mut lines = lines(2000);
        let long: Vec<u8> = (0..3000u32).map(|at| b'a' + u8::try_from(at % 26).unwrap()).collect();
        for chunk in long.chunks(700) {
            feed(&mut lines, chunk);
            if let FramedLine::TooLong(_, first) = lines.next() {
                assert_eq!(first, long[..512]);
            }
        }
        feed(&mut lines, b"\n");
        assert_eq!(lines.next(), FramedLine::Skipped(Bytes::copy_from_slice(&long[3000 - 512..])));
    }

    #[test]
    fn a_line_that_is_skipped_takes_no_memory_and_one_without_end_is_given_up() {
        let limits = ConnectionLimits {
            max_frame_bytes: 100_000,
            max_skipped_bytes: 2_000_000,
            ..ConnectionLimits::default()
        };
        let mut lines = LineFramer::new(&limits);
        feed(&mut lines, &vec![b'x'; 100_001]);
        assert!(matches!(lines.next(), FramedLine::TooLong(TooLong::Message { most_bytes: 100_000 }, _)));
        for _ in 0..100 {
            feed(&mut lines, &vec![b'x'; 10_000]);
            assert_eq!(lines.next(), FramedLine::Partial);
        }
        assert!(lines.buffer.capacity() < 2 * READ_SIZE, "{}", lines.buffer.capacity());
        feed(&mut lines, b"yz\nnext\n");
        assert!(matches!(lines.next(), FramedLine::Skipped(last) if last.ends_with(b"xxyz")));
        assert_eq!(lines.next(), frame("next"));
        feed(&mut lines, &vec![b'x'; 100_001]);
        assert!(matches!(lines.next(), FramedLine::TooLong(..)));
        feed(&mut lines, &vec![b'x'; 2_000_000]);
        assert_eq!(lines.next(), FramedLine::Endless);
    }

    #[test]
    fn a_line_for_which_there_is_no_memory_is_skipped_and_the_next_one_finds_some() {
        let limits = ConnectionLimits { memory: MemoryBudget::new(300_000), ..ConnectionLimits::default() };
        let (mut one, mut other) = (LineFramer::new(&limits), LineFramer::new(&limits));
        feed(&mut one, &vec![b'a'; 200_000]);
        assert_eq!(one.next(), FramedLine::Partial);
        feed(&mut other, &vec![b'b'; 200_000]);
        assert!(matches!(other.next(), FramedLine::TooLong(TooLong::Memory { budget_bytes: 300_000 }, _)));
        feed(&mut one, b"\n");
        let FramedLine::Frame(frame) = one.next() else { panic!("no frame") };
        assert_eq!((frame.len(), limits.memory.taken()), (200_000, 200_000));
        drop(frame);
        assert_eq!(limits.memory.taken(), 0);
        feed(&mut other, b"\n");
        assert!(matches!(other.next(), FramedLine::Skipped(_)));
        feed(&mut other, &[&vec![b'c'; 200_000][..], b"\n"].concat());
        assert!(matches!(other.next(), FramedLine::Frame(frame) if frame.len() == 200_000));
    }
}
