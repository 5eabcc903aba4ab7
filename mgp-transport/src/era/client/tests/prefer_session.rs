//! Tests of the handshake of a client that prefers a session.

use std::time::Duration;

use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Error, Origin, Request, Revision, code};

use super::script::*;
use crate::era::{ClientEra, EraMode, EraOptions, ProbeEndedConnection, WireKind};

const SESSION_WITH_MGP: &str = r#"{"protocolVersion":"2025-11-25","serverInfo":{"name":"s","version":"1"},
    "capabilities":{"mgp":{"version":"0.6.0","extensions":["audit"]}}}"#;
const DESCRIBED_WITH_MGP: &str = r#"{"supportedVersions":["2026-07-28","2025-11-25"],"capabilities":{
    "extensions":{"dev.cloto/mgp":{"version":"0.6.0","extensions":["audit"]}}}}"#;
const INITIALIZED_IN_AN_UNKNOWN_VERSION: &str =
    r#"{"protocolVersion":"1999-01-01","capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#;

/// Returns a server that answers the two first requests of a handshake like this.
fn server(initialize: fn() -> Reply, discover: fn() -> Reply) -> Script {
    Script::new(move |request: &Request| match request.method.as_str() {
        "initialize" => initialize(),
        "server/discover" => discover(),
        _ => Reply::Result("{}"),
    })
}

async fn connect(script: &Script, kind: WireKind) -> Result<Option<Revision>, Error> {
    let mut identity = identity();
    identity.offer = Some(Offer::new(ExtensionSet::from_names(["audit"])));
    let options = EraOptions {
        mode: EraMode::PreferSession,
        kind,
        handshake_timeout: Duration::from_secs(3),
        ..EraOptions::default()
    };
    Ok(ClientEra::negotiate(script.clone(), identity, options).await?.agreement().revision())
}

/// Returns the methods of the handshake, without the notification at the end of one that opens a session.
fn asked(script: &Script) -> Vec<String> {
    let mut methods = script.methods();
    methods.retain(|method| method != "notifications/initialized");
    methods
}

/// The answers to `initialize` and `server/discover`, what is agreed on, and the requests that lead there.
type Case = (fn() -> Reply, fn() -> Reply, Option<Revision>, &'static [&'static str]);

const SESSION: Option<Revision> = Some(Revision::V2025_11_25);
const STATELESS: Option<Revision> = Some(Revision::V2026_07_28);

#[tokio::test]
async fn on_a_stream_only_who_refuses_a_session_or_has_extensions_is_asked_for_its_description() {
    let refused = || refuse(code::METHOD_NOT_FOUND);
    let cases: [Case; 5] = [
        (|| Reply::Result(INITIALIZED), || Reply::Result(DISCOVERED), SESSION, &["initialize"]),
        (
            || Reply::Result(SESSION_WITH_MGP),
            || Reply::Result(DESCRIBED_WITH_MGP),
            STATELESS,
            &["initialize", "server/discover"],
        ),
        (|| Reply::Result(SESSION_WITH_MGP), refused, SESSION, &["initialize", "server/discover"]),
        (other_version, || Reply::Result(DISCOVERED), STATELESS, &["initialize", "server/discover"]),
        (
            || Reply::Result(INITIALIZED_IN_AN_UNKNOWN_VERSION),
            || Reply::Result(DISCOVERED),
            STATELESS,
            &["initialize", "server/discover"],
        ),
    ];
    for (at, (initialize, discover, revision, methods)) in cases.into_iter().enumerate() {
        let script = server(initialize, discover);
        assert_eq!(connect(&script, WireKind::Stream).await.unwrap(), revision, "{at}");
        assert_eq!(asked(&script), methods, "{at}");
    }
}

#[tokio::test(start_paused = true)]
async fn on_a_stream_a_server_that_refuses_everything_or_is_silent_or_ends_is_reported_as_it_is() {
    let both = server(|| refuse(-7), || refuse(code::METHOD_NOT_FOUND));
    let error = connect(&both, WireKind::Stream).await.unwrap_err();
    assert_eq!((error.origin(), error.code()), (Origin::Peer, -7));
    // It may be slow to start, and no server without sessions.
    let silent = server(|| Reply::Silence, || Reply::Result(DISCOVERED));
    let error = connect(&silent, WireKind::Stream).await.unwrap_err();
    assert_eq!((error.origin(), asked(&silent)), (Origin::Timeout, vec!["initialize".to_owned()]));
    let ends = server(|| Reply::Error(Error::disconnected("closed")), || Reply::Result(DISCOVERED));
    assert!(ProbeEndedConnection::is_behind(&connect(&ends, WireKind::Stream).await.unwrap_err()));
    assert_eq!(asked(&ends), ["initialize"]);
}

#[tokio::test]
async fn over_http_a_session_is_opened_with_whoever_describes_itself_without_extensions() {
    let refused = || refuse(code::METHOD_NOT_FOUND);
    let cases: [Case; 4] = [
        (
            || Reply::Result(INITIALIZED),
            || Reply::Result(DISCOVERED),
            SESSION,
            &["server/discover", "initialize"],
        ),
        (
            || Reply::Result(SESSION_WITH_MGP),
            || Reply::Result(DESCRIBED_WITH_MGP),
            STATELESS,
            &["server/discover"],
        ),
        // Without a description there is a session already.
        (|| Reply::Result(INITIALIZED), refused, SESSION, &["server/discover", "initialize"]),
        (other_version, || Reply::Result(DISCOVERED), STATELESS, &["server/discover", "initialize"]),
    ];
    for (at, (initialize, discover, revision, methods)) in cases.into_iter().enumerate() {
        let script = server(initialize, discover);
        assert_eq!(connect(&script, http_kind()).await.unwrap(), revision, "{at}");
        assert_eq!(asked(&script), methods, "{at}");
    }
    let ends = server(|| Reply::Error(Error::disconnected("closed")), || Reply::Result(DISCOVERED));
    assert_eq!(connect(&ends, http_kind()).await.unwrap_err().origin(), Origin::Connection);
}
