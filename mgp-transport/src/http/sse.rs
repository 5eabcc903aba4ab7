//! Writing server-sent events.

use std::time::Duration;

/// One event of a `text/event-stream`.
///
/// ```
/// use mgp_transport::http::sse::Event;
///
/// let mut out = Vec::new();
/// Event { id: Some("3-1"), ..Event::message(b"{}") }.write(&mut out);
/// assert_eq!(out, b"id: 3-1\ndata: {}\n\n");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::exhaustive_structs, reason = "closed by the specification of event streams")]
pub struct Event<'a> {
    /// The kind of event; `message` where it is absent.
    pub name: Option<&'a str>,
    /// The id under which the stream can be resumed behind this event.
    pub id: Option<&'a str>,
    /// The time to wait before connecting again.
    pub retry: Option<Duration>,
    /// The content of the event.
    pub data: &'a [u8],
}

impl<'a> Event<'a> {
    /// Creates an event of the usual kind.
    pub const fn message(data: &'a [u8]) -> Self {
        Self { name: None, id: None, retry: None, data }
    }

    /// Appends the event to `out`.
    ///
    /// Line breaks in the data, which in JSON can only be white space, become `\n`. The caller keeps line breaks out of
    /// the name and the id.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.reserve(self.data.len() + 64);
        if let Some(name) = self.name {
            field(out, b"event: ", name.as_bytes());
        }
        if let Some(id) = self.id {
            field(out, b"id: ", id.as_bytes());
        }
        if let Some(retry) = self.retry {
            field(out, b"retry: ", retry.as_millis().to_string().as_bytes());
        }
        let mut rest = self.data;
        while let Some(end) = memchr::memchr2(b'\n', b'\r', rest) {
            field(out, b"data: ", &rest[..end]);
            let behind = if rest[end..].starts_with(b"\r\n") { end + 2 } else { end + 1 };
            rest = &rest[behind..];
        }
        field(out, b"data: ", rest);
        out.push(b'\n');
    }
}

/// The media type of event streams.
pub(crate) const MEDIA_TYPE: &str = "text/event-stream";

fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    out.extend_from_slice(name);
    out.extend_from_slice(value);
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(event: Event<'_>) -> String {
        let mut out = Vec::new();
        event.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_field_has_its_line() {
        let event = Event {
            name: Some("endpoint"),
            id: Some("1-0"),
            retry: Some(Duration::from_millis(500)),
            data: b"/x",
        };
        assert_eq!(written(event), "event: endpoint\nid: 1-0\nretry: 500\ndata: /x\n\n");
    }

    #[test]
    fn a_primer_has_empty_data() {
        assert_eq!(written(Event { id: Some("1-0"), ..Event::default() }), "id: 1-0\ndata: \n\n");
    }

    #[test]
    fn each_line_of_the_data_is_a_field() {
        assert_eq!(
            written(Event::message(b"{\n\"a\":\r\n1\r}")),
            "data: {\ndata: \"a\":\ndata: 1\ndata: }\n\n"
        );
    }
}
