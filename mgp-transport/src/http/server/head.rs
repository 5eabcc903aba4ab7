//! The head of a request, read in one pass, and the media types that it accepts.

use http::{HeaderMap, HeaderName, HeaderValue};
use mgp_types::Revision;

use super::session_table::SessionId;
use crate::http::header;

/// The values of the headers, as far as the server uses them.
#[derive(Debug, Default)]
pub(super) struct RequestHead<'a> {
    pub(super) host: Option<&'a HeaderValue>,
    pub(super) origin: Option<&'a HeaderValue>,
    /// True if a browser marks the request as sent by a page of another site or port.
    pub(super) is_cross_origin: bool,
    pub(super) content_type: Option<&'a HeaderValue>,
    pub(super) content_length: Option<&'a HeaderValue>,
    pub(super) accepts: AcceptHeader,
    pub(super) last_event: Option<&'a HeaderValue>,
    pub(super) marks: BodyHeaders,
    /// A header that may come once and came twice; two readers may take different values.
    pub(super) repeated: Option<&'a HeaderName>,
}

/// The values that are needed beyond the head: the headers that describe the body.
#[derive(Debug, Default)]
pub(super) struct BodyHeaders {
    pub(super) version: VersionHeader,
    pub(super) session: SessionMark,
    pub(super) method: Option<HeaderValue>,
    pub(super) name: Option<HeaderValue>,
}

/// The value of `MCP-Protocol-Version`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum VersionHeader {
    #[default]
    Absent,
    Known(Revision),
    Unknown(HeaderValue),
}

/// The value of `Mcp-Session-Id`.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) enum SessionMark {
    #[default]
    Absent,
    /// An id that this server cannot have made.
    Foreign,
    Id(SessionId),
}

impl<'a> RequestHead<'a> {
    pub(super) fn read(headers: &'a HeaderMap) -> Self {
        let mut head = Self::default();
        for (name, value) in headers {
            let first = match name.as_str() {
                "accept" => {
                    head.accepts.add(value.as_bytes());
                    continue;
                }
                "host" => head.host.replace(value).is_none(),
                "origin" => head.origin.replace(value).is_none(),
                "content-type" => head.content_type.replace(value).is_none(),
                "content-length" => head.content_length.replace(value).is_none(),
                "last-event-id" => head.last_event.replace(value).is_none(),
                "mcp-protocol-version" => {
                    let version = VersionHeader::read(value);
                    std::mem::replace(&mut head.marks.version, version) == VersionHeader::Absent
                }
                "mcp-session-id" => {
                    let id = SessionId::parse(value.as_bytes());
                    let mark = id.map_or(SessionMark::Foreign, SessionMark::Id);
                    std::mem::replace(&mut head.marks.session, mark) == SessionMark::Absent
                }
                "sec-fetch-site" => {
                    head.is_cross_origin |= !matches!(value.as_bytes(), b"same-origin" | b"none");
                    continue;
                }
                "mcp-method" => head.marks.method.replace(value.clone()).is_none(),
                "mcp-name" => head.marks.name.replace(value.clone()).is_none(),
                other => {
                    !other.starts_with(header::PARAM_PREFIX) || headers.get_all(name).iter().nth(1).is_none()
                }
            };
            if !first {
                head.repeated = Some(name);
            }
        }
        head
    }
}

impl VersionHeader {
    fn read(value: &HeaderValue) -> Self {
        let text = value.to_str().map(str::trim).unwrap_or_default();
        text.parse::<Revision>().map_or_else(|_| Self::Unknown(value.clone()), Self::Known)
    }
}

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
