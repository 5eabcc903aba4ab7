//! The decoder of event streams, without IO or time.

use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use memchr::{memchr, memchr2};

/// Reads an event stream from chunks, however they are cut. The decoder does no IO and knows no clock.
///
/// The caller pushes a chunk, then asks for events until there is none. An event within the limits is delivered as soon
/// as the line that ends it has come.
#[derive(Debug, Default)]
pub(super) struct SseDecoder {
    /// The bytes that were pushed and not yet read: waiting lines, and the start of an unfinished one.
    buffer: BytesMut,
    /// The number of bytes in `buffer` that are known to hold no line end.
    scanned: usize,
    max_event_bytes: usize,
    at_start: bool,
    /// True if the last line ended with CR; an LF that follows belongs to that end.
    skip_lf: bool,
    name: Bytes,
    data: EventData,
    /// The id of the last `id` field; it counts once its event is complete.
    next_id: Bytes,
    last_id: Bytes,
    /// The time for which the server wants a reader to wait before it comes back.
    pub(super) retry: Option<Duration>,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SseEvent {
    /// The type of event; empty if the stream names none.
    pub(super) name: Bytes,
    /// The data lines, joined by LF.
    pub(super) data: Bytes,
}

/// The error of an event or line that is longer than allowed. The stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SseTooLong;

/// The data of an event. Data of one line, the usual kind, are not copied.
#[derive(Debug, Default)]
enum EventData {
    #[default]
    None,
    Line(Bytes),
    Lines(BytesMut),
}

const BOM: &[u8] = b"\xEF\xBB\xBF";
/// The number of bytes by which a line may be longer than its value.
const MAX_FIELD_NAME_BYTES: usize = 64;
const MAX_NAME_BYTES: usize = 1024;
const MAX_ID_BYTES: usize = 1024;

impl SseDecoder {
    pub(super) fn new(max_event_bytes: usize) -> Self {
        Self { max_event_bytes, at_start: true, ..Self::default() }
    }

    /// Adds the next bytes of the stream.
    pub(super) fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// Returns the next event; `None` until more is pushed.
    pub(super) fn next_event(&mut self) -> Result<Option<SseEvent>, SseTooLong> {
        if self.at_start {
            if self.buffer.len() < BOM.len() && BOM.starts_with(&self.buffer) {
                return Ok(None);
            }
            self.at_start = false;
            if self.buffer.starts_with(BOM) {
                self.buffer.advance(BOM.len());
            }
        }
        while let Some(line) = self.line()? {
            if line.is_empty() {
                if let Some(event) = self.dispatch() {
                    return Ok(Some(event));
                }
            } else {
                self.field(&line)?;
            }
        }
        Ok(None)
    }

    /// Returns how many bytes the decoder holds of unfinished events and unread input.
    pub(super) fn pending_bytes(&self) -> usize {
        self.buffer.len() + self.data.len()
    }

    /// Returns the id to resume behind: that of the last complete event that had one.
    pub(super) fn last_id(&self) -> Option<&Bytes> {
        (!self.last_id.is_empty()).then_some(&self.last_id)
    }

    /// Prepares for the stream that continues this one: an unfinished event is forgotten, the last id and the waiting
    /// time stay.
    pub(super) fn restart(&mut self) {
        let last_id = std::mem::take(&mut self.last_id);
        *self =
            Self { next_id: last_id.clone(), last_id, retry: self.retry, ..Self::new(self.max_event_bytes) };
    }

    fn line(&mut self) -> Result<Option<Bytes>, SseTooLong> {
        if self.skip_lf {
            match self.buffer.first() {
                None => return Ok(None),
                Some(b'\n') => self.buffer.advance(1),
                Some(_) => {}
            }
            self.skip_lf = false;
        }
        let Some(place) = memchr2(b'\r', b'\n', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            let bound = self.max_event_bytes.saturating_add(MAX_FIELD_NAME_BYTES);
            return if self.scanned > bound { Err(SseTooLong) } else { Ok(None) };
        };
        let end = self.scanned + place;
        self.skip_lf = self.buffer[end] == b'\r';
        self.scanned = 0;
        let line = self.buffer.split_to(end).freeze();
        self.buffer.advance(1);
        Ok(Some(line))
    }

    fn field(&mut self, line: &Bytes) -> Result<(), SseTooLong> {
        let (name, value) = match memchr(b':', line) {
            None => (&line[..], Bytes::new()),
            Some(colon) => {
                let value = &line[colon + 1..];
                let value = value.strip_prefix(b" ").unwrap_or(value);
                (&line[..colon], line.slice_ref(value))
            }
        };
        match name {
            b"data" => {
                self.data.push(value);
                if self.data.len() > self.max_event_bytes {
                    return Err(SseTooLong);
                }
            }
            b"event" if value.len() <= MAX_NAME_BYTES => self.name = value,
            // A name that is cut short could turn into that of another event.
            b"event" => return Err(SseTooLong),
            b"id" if memchr(0, &value).is_some() => {}
            // An id that no header could carry is as good as none: the stream cannot be resumed behind it.
            b"id" if value.len() > MAX_ID_BYTES => self.next_id = Bytes::new(),
            b"id" => self.next_id = Bytes::copy_from_slice(&value),
            b"retry" => self.retry = milliseconds(&value).or(self.retry),
            // A comment has no name; other fields are unknown to this reader.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Option<SseEvent> {
        self.last_id = self.next_id.clone();
        let name = std::mem::take(&mut self.name);
        let data = match std::mem::take(&mut self.data) {
            EventData::None => return None,
            EventData::Line(line) => line,
            EventData::Lines(lines) => lines.freeze(),
        };
        Some(SseEvent { name, data })
    }
}

impl SseEvent {
    /// Returns whether the event carries a message of the protocol.
    pub(super) fn is_message(&self) -> bool {
        (self.name.is_empty() || &self.name[..] == b"message") && !self.data.is_empty()
    }
}

impl EventData {
    fn push(&mut self, line: Bytes) {
        match self {
            Self::None => *self = Self::Line(line),
            Self::Line(first) => {
                let mut lines = BytesMut::with_capacity(first.len() + 1 + line.len());
                lines.extend_from_slice(first);
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
                *self = Self::Lines(lines);
            }
            Self::Lines(lines) => {
                lines.extend_from_slice(b"\n");
                lines.extend_from_slice(&line);
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Line(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }
}

fn milliseconds(digits: &[u8]) -> Option<Duration> {
    let digits = digits.iter().all(u8::is_ascii_digit).then_some(digits)?;
    std::str::from_utf8(digits).ok()?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(chunks: &[&[u8]]) -> (Vec<(String, String)>, SseDecoder) {
        let mut decoder = SseDecoder::new(1 << 16);
        let mut events = Vec::new();
        for chunk in chunks {
            decoder.push(chunk);
            while let Some(event) = decoder.next_event().unwrap() {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                events.push((text(&event.name), text(&event.data)));
            }
        }
        (events, decoder)
    }

    fn data(stream: &[u8]) -> Vec<String> {
        decode(&[stream]).0.into_iter().map(|(_, data)| data).collect()
    }

    #[test]
    fn any_line_end_ends_a_line() {
        for stream in ["data: a\n\ndata: b\n\n", "data: a\r\rdata: b\r\r", "data: a\r\n\r\ndata: b\r\n\r\n"] {
            assert_eq!(data(stream.as_bytes()), ["a", "b"], "{stream:?}");
        }
    }

    #[test]
    fn an_event_is_delivered_by_the_cr_that_ends_it() {
        assert_eq!(data(b"data: a\r\r"), ["a"]);
    }

    #[test]
    fn lines_of_data_are_joined() {
        assert_eq!(data(b"data: a\ndata\ndata:b\ndata:  c\n\n"), ["a\n\nb\n c"]);
    }

    #[test]
    fn comments_and_unknown_fields_are_passed_over() {
        assert_eq!(data(b": hello\n:\ndata: a\nfoo: bar\nbar\n\n: again\n\n"), ["a"]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_at_the_start_only() {
        assert_eq!(data(b"\xEF\xBB\xBFdata: a\n\n\xEF\xBB\xBFdata: b\n\n"), ["a"]);
    }

    #[test]
    fn an_event_without_data_is_none_but_its_id_counts() {
        let (events, decoder) = decode(&[b"id: 7\nevent: x\n\ndata: a\n\n"]);
        assert_eq!(events, [(String::new(), "a".to_owned())]);
        assert_eq!(decoder.last_id().unwrap(), "7");
    }

    #[test]
    fn a_priming_event_has_empty_data_and_an_id() {
        let (events, decoder) = decode(&[b"id: 7\nretry: 500\ndata:\n\n"]);
        assert_eq!(events, [(String::new(), String::new())]);
        assert_eq!(decoder.last_id().unwrap(), "7");
        assert_eq!(decoder.retry, Some(Duration::from_millis(500)));
    }

    #[test]
    fn the_id_of_an_unfinished_event_does_not_count() {
        let (_, decoder) = decode(&[b"id: 1\ndata: a\n\nid: 2\ndata: b\n"]);
        assert_eq!(decoder.last_id().unwrap(), "1");
    }

    #[test]
    fn an_id_with_nul_is_ignored_and_an_empty_one_forgets() {
        let (_, decoder) = decode(&[b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"]);
        assert_eq!(decoder.last_id().unwrap(), "1");
        let (_, decoder) = decode(&[b"id: 1\ndata: a\n\nid\ndata: b\n\n"]);
        assert_eq!(decoder.last_id(), None);
    }

    #[test]
    fn only_digits_are_a_waiting_time() {
        for (field, expected) in [("10", Some(10)), ("1.5", None), ("-1", None), ("", None), ("x", None)] {
            let (_, decoder) = decode(&[format!("retry: {field}\n\n").as_bytes()]);
            assert_eq!(decoder.retry, expected.map(Duration::from_millis), "{field}");
        }
        let (_, decoder) = decode(&[b"retry: 10\nretry: 99999999999999999999999\n\n"]);
        assert_eq!(decoder.retry, Some(Duration::from_millis(10)));
    }

    #[test]
    fn a_restart_forgets_what_was_unfinished() {
        let (_, mut decoder) = decode(&[b"id: 1\nretry: 5\ndata: a\n\nid: 2\ndata: b"]);
        decoder.restart();
        decoder.push(b"data: c\n\n");
        assert_eq!(decoder.next_event().unwrap().unwrap().data, "c");
        assert_eq!(decoder.last_id().unwrap(), "1");
        assert_eq!(decoder.retry, Some(Duration::from_millis(5)));
    }

    #[test]
    fn long_events_and_lines_are_refused() {
        let mut decoder = SseDecoder::new(8);
        decoder.push(b"data: 12345678\n\n");
        assert_eq!(decoder.next_event().unwrap().unwrap().data, "12345678");
        decoder.push(b"data: 12345\ndata: 6789\n\n");
        assert_eq!(decoder.next_event(), Err(SseTooLong));

        let mut decoder = SseDecoder::new(8);
        decoder.push(&[b'x'; 8 + MAX_FIELD_NAME_BYTES]);
        assert_eq!(decoder.next_event(), Ok(None));
        decoder.push(b"x");
        assert_eq!(decoder.next_event(), Err(SseTooLong));
    }

    fn pieces() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop::sample::select(vec![
            &b"data: x"[..],
            b"data",
            b"id: 1",
            b"id",
            b"event: e",
            b"retry: 7",
            b": c",
            b"\xEF\xBB\xBF",
            b"\n",
            b"\r",
            b"\r\n",
            b"\n\n",
            b"\0",
            b"\xFF",
        ]);
        prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn a_stream_reads_the_same_however_it_is_cut(stream in pieces(), cuts: Vec<prop::sample::Index>) {
            let (whole, at_end) = decode(&[&stream]);
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
            cuts.extend([0, stream.len()]);
            cuts.sort_unstable();
            let chunks: Vec<_> = cuts.windows(2).map(|cut| &stream[cut[0]..cut[1]]).collect();
            let (parts, at_parts_end) = decode(&chunks);
            prop_assert_eq!(whole, parts);
            prop_assert_eq!(at_end.last_id(), at_parts_end.last_id());
            prop_assert_eq!(at_end.retry, at_parts_end.retry);
        }

        #[test]
        fn no_bytes_make_it_panic(stream: Vec<u8>, bound in 0_usize..64) {
            let mut decoder = SseDecoder::new(bound);
            for byte in stream {
                decoder.push(&[byte]);
                while let Ok(Some(_)) = decoder.next_event() {}
            }
        }
    }
}
