//! The route of a message by its era, and the comparison of its headers with its body.
//!
//! | `MCP-Protocol-Version` | `_meta` version | | |
//! |---|---|---|---|
//! | 2026-07-28 or unknown | any | | without sessions |
//! | absent | present | | -32020 |
//! | absent or with sessions | absent | `initialize` | a new session |
//! | absent or with sessions | absent | `Mcp-Session-Id` | that session |
//! | absent or with sessions | absent | neither | 400 |

use http::StatusCode;
use mgp_types::{Error, Method, Params, RequestKind};

use super::envelope::BodyVersion;
use super::head::{BodyHeaders, SessionMark, VersionHeader};
use super::respond::HttpRefusal;
use crate::http::header;

/// The receiver of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageRoute {
    /// The service of requests that stand alone. The headers are still to be compared with the body, unless the service
    /// will refuse the message anyway.
    Stateless { compare: bool },
    /// A new session.
    Initialize,
    /// An open session.
    Session(SessionMark),
}

/// Returns the route of a message. `method` is absent for an answer.
pub(super) fn route(
    marks: &BodyHeaders,
    method: Option<&Method>,
    body: &BodyVersion,
) -> Result<MessageRoute, HttpRefusal> {
    let by_meta = match (&marks.version, body) {
        (VersionHeader::Known(revision), _) => revision.is_stateless() || *body != BodyVersion::Absent,
        // A message of a session cannot be a request of its own, whatever the version means.
        (VersionHeader::Unknown(_), BodyVersion::Absent) => marks.session == SessionMark::Absent,
        (VersionHeader::Unknown(_), _) => true,
        (VersionHeader::Absent, BodyVersion::Absent) => false,
        (VersionHeader::Absent, _) => return Err(mismatch("the header MCP-Protocol-Version is missing")),
    };
    if by_meta {
        return stateless(marks, method, body);
    }
    if let VersionHeader::Unknown(_) = marks.version {
        return Err(HttpRefusal::bad_request(Error::invalid_request("unsupported MCP-Protocol-Version")));
    }
    match marks.session {
        _ if method == Some(&Method::INITIALIZE) => Ok(MessageRoute::Initialize),
        SessionMark::Absent => Err(HttpRefusal::bad_request(Error::invalid_request(
            "the header Mcp-Session-Id is missing; a session starts with `initialize`",
        ))),
        session => Ok(MessageRoute::Session(session)),
    }
}

fn stateless(
    marks: &BodyHeaders,
    method: Option<&Method>,
    body: &BodyVersion,
) -> Result<MessageRoute, HttpRefusal> {
    let Some(method) = method else {
        return Err(HttpRefusal::bad_request(Error::invalid_request(
            "the message is neither a request nor a notification",
        )));
    };
    let same = match (&marks.version, body) {
        (_, BodyVersion::Absent) if *method == Method::INITIALIZE => {
            return Err(HttpRefusal::bad_request(Error::invalid_params(
                "`initialize` belongs to revisions up to 2025-11-25: send it without MCP-Protocol-Version",
            )));
        }
        (_, BodyVersion::Absent) => return Ok(MessageRoute::Stateless { compare: false }),
        (VersionHeader::Known(header), BodyVersion::Known { revision, .. }) => header == revision,
        (VersionHeader::Unknown(header), BodyVersion::Unknown(name)) => header.as_bytes() == name.as_bytes(),
        _ => false,
    };
    if !same {
        return Err(mismatch("the header MCP-Protocol-Version and `_meta` name different versions"));
    }
    let compare = matches!(body, BodyVersion::Known { revision, complete: true } if revision.is_stateless());
    Ok(MessageRoute::Stateless { compare })
}

/// Compares `Mcp-Method` and `Mcp-Name` with the body.
///
/// A notification need not have the headers, since the specification leaves them open; those it has must be true.
pub(super) fn compare(
    marks: &BodyHeaders,
    kind: RequestKind,
    method: &Method,
    params: &Params,
) -> Result<(), HttpRefusal> {
    check(marks.method.as_ref(), Some(method.as_str()), kind, "Mcp-Method")?;
    let Some(source) = header::name_source(method.as_str()) else { return Ok(()) };
    let named = params.text(source);
    if named.is_none() && marks.name.is_none() {
        return Ok(()); // The parameters are wrong, which is for the handler to say.
    }
    check(marks.name.as_ref(), named.as_deref(), kind, "Mcp-Name")
}

fn check(
    value: Option<&http::HeaderValue>,
    expected: Option<&str>,
    kind: RequestKind,
    name: &'static str,
) -> Result<(), HttpRefusal> {
    let why = match (value, expected) {
        (None, _) if kind == RequestKind::Notify => return Ok(()),
        (None, _) => "is missing",
        (Some(value), Some(expected)) => match header::matches(value.as_bytes(), expected) {
            Some(true) => return Ok(()),
            Some(false) => "says something else than the body",
            None => "is malformed",
        },
        (Some(_), None) => "says something else than the body",
    };
    Err(mismatch(format!("the header {name} {why}")))
}

fn mismatch(why: impl Into<std::borrow::Cow<'static, str>>) -> HttpRefusal {
    HttpRefusal::new(StatusCode::BAD_REQUEST, Error::header_mismatch(why))
}
