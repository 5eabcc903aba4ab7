use std::time::Duration;

use mgp_types::mgp::{
    EffectiveSecurity, Extension, ExtensionSet, Negotiated, Offer, Recovery, ResolvedTool, RiskLevel,
};
use mgp_types::{Error, Object, Origin, Request, Revision, Session};

/// A session in which both sides offered these extensions.
pub(crate) fn agreed(revision: Revision, extensions: &[Extension]) -> Session {
    let offer = Offer::new(extensions.iter().cloned().collect::<ExtensionSet>());
    let mut session = Session::new(revision);
    session.mgp = Negotiated::agree(&offer, &offer);
    session
}

/// An error of a server, with what it says about trying again.
pub(crate) fn peer_error(code: i64, recovery: Recovery) -> Error {
    Error::from_origin(Origin::Peer, code, "no").with_recovery(recovery)
}

/// The call of a tool about which nothing is known.
pub(crate) fn tool_call() -> Request {
    Request::call("tools/call", Object::parse(r#"{"name":"search","arguments":{"q":"x"}}"#).unwrap())
}

/// The call of a tool whose definition has these annotations.
pub(crate) fn call_of(annotations: &str) -> Request {
    let definition = Object::parse(format!(r#"{{"annotations":{annotations}}}"#)).unwrap();
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    let mut request = tool_call();
    request.context.tool = Some(ResolvedTool::new("web".into(), "search".into(), definition, security));
    request
}

pub(crate) const fn millis(number: u64) -> Duration {
    Duration::from_millis(number)
}

pub(crate) const fn secs(number: u64) -> Duration {
    Duration::from_secs(number)
}
