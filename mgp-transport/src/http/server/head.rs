//! The head of a request, read in one pass.

use http::{HeaderMap, HeaderName, HeaderValue};
use mgp_types::Revision;

use super::negotiate::AcceptHeader;
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
                    let first = head.marks.version == VersionHeader::Absent;
                    head.marks.version = VersionHeader::read(value);
                    first
                }
                "mcp-session-id" => {
                    let first = head.marks.session == SessionMark::Absent;
                    head.marks.session = SessionMark::read(value.as_bytes());
                    first
                }
                "sec-fetch-site" => {
                    head.is_cross_origin |= !matches!(value.as_bytes(), b"same-origin" | b"none");
                    continue;
                }
                "mcp-method" => head.marks.method.replace(value.clone()).is_none(),
                "mcp-name" => head.marks.name.replace(value.clone()).is_none(),
                other => {
                    if other.starts_with(header::PARAM_PREFIX)
                        && headers.get_all(name).iter().nth(1).is_some()
                    {
                        head.repeated = Some(name);
                    }
                    continue;
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
        // The revision that nearly every request names comes first.
        Revision::ALL
            .into_iter()
            .find(|revision| revision.as_str() == text)
            .map_or_else(|| Self::Unknown(value.clone()), Self::Known)
    }
}

impl SessionMark {
    fn read(value: &[u8]) -> Self {
        SessionId::parse(value).map_or(Self::Foreign, Self::Id)
    }
}
