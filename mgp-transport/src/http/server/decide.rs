//! The route of a message by its era, the revision that its `_meta` names, and the comparison of its headers with its body.
//!
//! | `MCP-Protocol-Version` | `_meta` version | | |
//! |---|---|---|---|
//! | 2026-07-28 or unknown | any | | without sessions |
//! | absent | present | | -32020 |
//! | absent or with sessions | absent | `initialize` | a new session |
//! | absent or with sessions | absent | `Mcp-Session-Id` | that session |
//! | absent or with sessions | absent | neither | 400 |

use bytes::Bytes;
use mgp_types::mcp::meta::key;
use mgp_types::{Error, Method, Object, Params, RequestKind, Revision};

use super::head::{BodyHeaders, SessionMark, VersionHeader};
use super::respond::HttpRefusal;
use crate::http::header;
use crate::small_cache::{MAX_KEPT, SmallCache};

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
        return Err(HttpRefusal::invalid("unsupported MCP-Protocol-Version"));
    }
    match marks.session {
        _ if method == Some(&Method::INITIALIZE) => Ok(MessageRoute::Initialize),
        SessionMark::Absent => Err(HttpRefusal::invalid(
            "the header Mcp-Session-Id is missing; a session starts with `initialize`",
        )),
        session => Ok(MessageRoute::Session(session)),
    }
}

fn stateless(
    marks: &BodyHeaders,
    method: Option<&Method>,
    body: &BodyVersion,
) -> Result<MessageRoute, HttpRefusal> {
    let Some(method) = method else {
        return Err(HttpRefusal::invalid("the message is neither a request nor a notification"));
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

pub(super) fn mismatch(why: impl Into<std::borrow::Cow<'static, str>>) -> HttpRefusal {
    HttpRefusal::bad_request(Error::header_mismatch(why))
}

/// The version that `_meta` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BodyVersion {
    Absent,
    /// A revision of MCP; `complete` if `_meta` has the members that the revision requires.
    Known {
        revision: Revision,
        complete: bool,
    },
    Unknown(Box<str>),
}

/// Reads the `_meta` of one request after the other. Clients repeat themselves, so some of the last results are kept.
#[derive(Debug, Default)]
pub(super) struct Envelopes(SmallCache<(Bytes, BodyVersion)>);

impl Envelopes {
    pub(super) fn version(&self, params: &Params) -> BodyVersion {
        let Some(meta) = params.bytes("_meta") else { return BodyVersion::Absent };
        if let Some((of, version)) = self.0.get(meta).as_deref()
            && of == meta
        {
            return version.clone();
        }
        let meta = Bytes::copy_from_slice(meta);
        let version = body_version(&meta);
        if meta.len() <= MAX_KEPT && version != BodyVersion::Absent {
            self.0.put(&meta, (meta.clone(), version.clone()));
        }
        version
    }
}

fn body_version(meta: &Bytes) -> BodyVersion {
    let Ok(meta) = Object::parse(meta.clone()) else { return BodyVersion::Absent };
    let Some(value) = meta.bytes(key::PROTOCOL_VERSION) else { return BodyVersion::Absent };
    let Some(name) = meta.text(key::PROTOCOL_VERSION) else {
        return BodyVersion::Unknown(String::from_utf8_lossy(value).into());
    };
    match name.parse::<Revision>() {
        Ok(revision) => {
            let complete = meta.bytes(key::CLIENT_CAPABILITIES).is_some_and(|value| value.starts_with(b"{"));
            BodyVersion::Known { revision, complete }
        }
        Err(_) => BodyVersion::Unknown(name.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_read_anew_when_meta_changes() {
        let envelopes = Envelopes::default();
        let version = |json: &str| envelopes.version(&Params::parse(json.to_owned()).unwrap());
        let known = |revision, complete| BodyVersion::Known { revision, complete };
        assert_eq!(version("{}"), BodyVersion::Absent);
        assert_eq!(version(r#"{"_meta":{"progressToken":1}}"#), BodyVersion::Absent);
        let modern = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}"#;
        for _ in 0..2 {
            assert_eq!(version(modern), known(Revision::V2026_07_28, true));
        }
        let bare = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#;
        assert_eq!(version(bare), known(Revision::V2026_07_28, false));
        let other = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"v999"}}"#;
        assert_eq!(version(other), BodyVersion::Unknown("v999".into()));
        let wrong = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":1}}"#;
        assert_eq!(version(wrong), BodyVersion::Unknown("1".into()));
    }

    #[test]
    fn two_clients_by_turns_are_both_remembered() {
        let envelopes = Envelopes::default();
        let params = |name: &str| {
            let meta = format!(r#"{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{name}"}}}}"#);
            Params::parse(meta).unwrap()
        };
        let both = ["2026-07-28", "v999"].map(params);
        for params in &both {
            envelopes.version(params);
        }
        for params in &both {
            let meta = params.bytes("_meta").unwrap();
            assert_eq!(envelopes.0.get(meta).as_ref().unwrap().0, meta);
        }
    }
}
