//! The media types that a request accepts.

/// The forms of an answer that a request accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AcceptHeader {
    pub(super) json: bool,
    pub(super) events: bool,
}

impl AcceptHeader {
    /// Returns whether the request accepts both forms, as the specification demands of a client.
    pub(super) fn both(self) -> bool {
        self.json && self.events
    }

    /// Adds the types that one `Accept` header names.
    pub(super) fn add(&mut self, header: &[u8]) {
        if header == b"application/json, text/event-stream" {
            *self = Self { json: true, events: true };
            return;
        }
        for range in header.split(|&byte| byte == b',') {
            let mut parts = range.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
            let media = parts.next().unwrap_or_default();
            if parts.any(is_zero_quality) {
                continue;
            }
            let any = media == b"*/*";
            self.json |= any || is(media, b"application/json") || is(media, b"application/*");
            self.events |= any || is(media, b"text/event-stream") || is(media, b"text/*");
        }
    }
}

fn is(media: &[u8], expected: &[u8]) -> bool {
    media.eq_ignore_ascii_case(expected)
}

/// Returns whether the parameter is `q=0` in any of its spellings: the type is named to be refused.
fn is_zero_quality(parameter: &[u8]) -> bool {
    let Some(quality) = parameter.strip_prefix(b"q=").or_else(|| parameter.strip_prefix(b"Q=")) else {
        return false;
    };
    quality.first() == Some(&b'0') && quality.iter().all(|&byte| matches!(byte, b'0' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(headers: &[&str]) -> (bool, bool) {
        let mut accepts = AcceptHeader::default();
        for header in headers {
            accepts.add(header.as_bytes());
        }
        (accepts.json, accepts.events)
    }

    #[test]
    fn both_forms_can_be_named_in_many_ways() {
        for headers in [
            &["application/json, text/event-stream"][..],
            &["text/event-stream,application/json"],
            &["application/json", "text/event-stream"],
            &["*/*"],
            &["Application/JSON;charset=utf-8 , text/*;q=0.1"],
            &["application/*, text/event-stream; q=1"],
        ] {
            assert_eq!(accepts(headers), (true, true), "{headers:?}");
        }
    }

    #[test]
    fn what_is_not_named_is_not_accepted() {
        assert_eq!(accepts(&[]), (false, false));
        assert_eq!(accepts(&["application/json"]), (true, false));
        assert_eq!(accepts(&["text/event-stream;q=0, application/json;q=0.5"]), (true, false));
        assert_eq!(accepts(&["text/html, application/jsonx"]), (false, false));
    }
}
