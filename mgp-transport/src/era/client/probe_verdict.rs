//! The reading of a server's answer to a probe.

use std::sync::Arc;

use mgp_types::mcp::meta::key;
use mgp_types::{Error, Object, Origin, RawJson, Response, Revision, code};

use super::{ClientIdentity, WireKind};

/// The description of a server about itself, in either era.
pub(super) struct ServerDescription {
    pub(super) revision: Revision,
    pub(super) info: Option<RawJson>,
    pub(super) capabilities: Object,
    pub(super) instructions: Option<Arc<str>>,
}

/// The conclusion from the answer to `server/discover`.
pub(super) enum ProbeVerdict {
    /// The server serves requests that stand alone.
    Stateless(ServerDescription),
    /// The server wants this revision named instead.
    Retry(Revision),
    /// The server is of the era with sessions, or the answer tells too little.
    Session,
    /// The server cannot be talked to.
    Fail(Error),
}

/// The source of an error: the server closed the connection because of the first request of the handshake, as servers
/// do that know nothing but the other era.
///
/// A server that can be started again will answer the first request of the other era.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server closed the connection on the first request")]
#[non_exhaustive]
pub struct ProbeEndedConnection;

impl ProbeEndedConnection {
    /// Returns whether `error` means that the probe ended the connection.
    pub fn is_behind(error: &Error) -> bool {
        std::error::Error::source(error).is_some_and(<dyn std::error::Error>::is::<Self>)
    }
}

/// The source of an error: the two sides have no revision in common.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the server supports {}, this client {}", .server.join(", "), .client.join(", "))]
#[non_exhaustive]
pub struct UnsupportedVersion {
    /// The revisions that the server supports, as far as it named them.
    pub server: Vec<String>,
    /// The revisions that the client supports.
    pub client: Vec<String>,
}

impl UnsupportedVersion {
    /// Returns the versions behind an error, if it is about versions.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    pub(super) fn new(server: Vec<String>, identity: &ClientIdentity) -> Self {
        let client = identity.revisions.iter().map(Revision::to_string).collect();
        Self { server, client }
    }

    /// Returns the local error that names both.
    pub(super) fn into_error(self) -> Error {
        Error::invalid_params(format!("no common protocol version: {self}")).with_source(self)
    }
}

/// Returns the versions named in the data of an error about versions.
pub(super) fn supported_versions(error: &Error) -> Option<Vec<String>> {
    let about_versions = match error.code() {
        code::UNSUPPORTED_PROTOCOL_VERSION => true,
        code::INVALID_PARAMS => error.message().contains("protocol version"),
        _ => false,
    };
    let data = Object::from_raw(error.data().filter(|_| about_versions)?).ok()?;
    data.get("supported")?.to().ok()
}

/// Reads the answer to `server/discover`.
pub(super) fn judge(
    outcome: Result<Response, Error>,
    identity: &ClientIdentity,
    kind: WireKind,
) -> ProbeVerdict {
    match outcome {
        Ok(response) => described(&response, identity).map_or(ProbeVerdict::Session, ProbeVerdict::Stateless),
        Err(error) => refused(error, identity, kind),
    }
}

/// Reads the description of a server of the era without sessions; returns `None` if the answer is not that of one.
fn described(response: &Response, identity: &ClientIdentity) -> Option<ServerDescription> {
    let result = Object::from_raw(&response.to_raw()).ok()?;
    let versions: Vec<String> = result.get("supportedVersions")?.to().ok()?;
    let offered = |revision: &&Revision| versions.iter().any(|version| version == revision.as_str());
    let revision = *identity.revisions.iter().filter(|own| own.is_stateless()).find(offered)?;
    let info = result.object("_meta").and_then(|meta| meta.get(key::SERVER_INFO)).map(|info| info.detached());
    let capabilities = Object::from_raw(&result.get("capabilities")?.detached()).ok()?;
    let instructions = result.text("instructions").map(Into::into);
    Some(ServerDescription { revision, info, capabilities, instructions })
}

fn refused(error: Error, identity: &ClientIdentity, kind: WireKind) -> ProbeVerdict {
    if error.code() == code::UNSUPPORTED_PROTOCOL_VERSION && error.origin() == Origin::Peer {
        let Some(supported) = supported_versions(&error) else { return ProbeVerdict::Session };
        let ours = || supported.iter().filter_map(|version| identity.speaks(version));
        if let Some(revision) = ours().find(|revision| revision.is_stateless()) {
            return ProbeVerdict::Retry(revision);
        }
        let is_session = |name: &String| name.parse().is_ok_and(|known: Revision| !known.is_stateless());
        if supported.iter().any(is_session) {
            return ProbeVerdict::Session;
        }
        return ProbeVerdict::Fail(UnsupportedVersion::new(supported, identity).into_error());
    }
    match (kind.status(&error), error.origin()) {
        // Authorization tells nothing about the era.
        (Some(401 | 403), _) => ProbeVerdict::Fail(error),
        (Some(status), Origin::Peer) => refused_over_http(status, error, identity),
        // A server that cannot work now tells nothing about the era either.
        (Some(500..), _) => ProbeVerdict::Fail(error),
        (None, Origin::Connection) => ProbeVerdict::Fail(ended_by_request(error, kind)),
        _ => ProbeVerdict::Session,
    }
}

/// Judges the errors that only servers without sessions have.
fn refused_over_http(status: u16, error: Error, identity: &ClientIdentity) -> ProbeVerdict {
    match (status, error.code()) {
        (400 | 404, code::HEADER_MISMATCH | code::MISSING_CLIENT_CAPABILITY) => ProbeVerdict::Fail(error),
        (400, code::INVALID_PARAMS) if error.message().contains("_meta") => ProbeVerdict::Fail(error),
        // A server that answers unknown methods by status is one without sessions that does not describe itself.
        (404, code::METHOD_NOT_FOUND) => {
            undescribed(identity).map_or(ProbeVerdict::Session, ProbeVerdict::Stateless)
        }
        _ => ProbeVerdict::Session,
    }
}

/// Returns the description of a server without sessions that does not describe itself.
pub(super) fn undescribed(identity: &ClientIdentity) -> Option<ServerDescription> {
    let revision = identity.stateless_revision()?;
    Some(ServerDescription { revision, info: None, capabilities: Object::new(), instructions: None })
}

/// Returns whether a server that answers `initialize` with this error may be of the era without sessions. A server that
/// is silent may be slow to start: it would be taken for one that knows no sessions.
pub(super) fn refuses_sessions(error: &Error) -> bool {
    error.origin() == Origin::Peer || UnsupportedVersion::of(error).is_some()
}

/// Marks an error that ended the connection, if the server can be started again.
pub(super) fn ended_by_request(error: Error, kind: WireKind) -> Error {
    match (kind, error.origin()) {
        (WireKind::Stream, Origin::Connection) => {
            Error::disconnected(error.message().to_owned()).with_source(ProbeEndedConnection)
        }
        _ => error,
    }
}
