//! Tests of the handshake over a byte stream.

use std::time::Duration;

use mgp_types::mcp::meta::key;
use mgp_types::{Error, Method, Object, Origin, RawJson, Revision};
use tower_service::Service;

use super::script::*;
use crate::era::{ClientEra, Era, EraMemory, EraMode, EraOptions, ProbeEndedConnection};

// covers: BASE-08
#[tokio::test]
async fn a_server_that_describes_itself_needs_no_session() {
    let script = Script::new(stateless_server);
    let era = script.connect().await.unwrap();
    assert_eq!(script.methods(), ["server/discover"]);
    let agreement = era.agreement();
    assert_eq!(agreement.revision(), Some(Revision::V2026_07_28));
    assert_eq!(agreement.instructions().as_deref(), Some("be kind"));
    assert_eq!(agreement.server_info().unwrap().as_bytes(), br#"{"name":"s","version":"1"}"#);
    assert!(agreement.capabilities().contains("tools"));
}

#[tokio::test]
async fn every_request_describes_itself_where_there_are_no_sessions() {
    let script = Script::new(stateless_server);
    let mut era = script.connect().await.unwrap();
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    for sent in [script.request(0), script.request(1)] {
        let meta = meta(&sent);
        assert_eq!(meta.text(key::PROTOCOL_VERSION).unwrap(), "2026-07-28");
        assert_eq!(meta.bytes(key::CLIENT_CAPABILITIES).unwrap(), b"{}");
        assert_eq!(meta.bytes(key::CLIENT_INFO).unwrap(), br#"{"name":"tester","version":"1.0.0"}"#);
        assert_eq!(sent.context.session.unwrap().revision, Revision::V2026_07_28);
    }
}

// covers: BASE-09, BASE-10, BASE-17, BASE-18, BASE-19
#[tokio::test]
async fn a_session_is_opened_with_the_newest_version_and_confirmed_once() {
    let script = Script::new(session_server);
    let options = EraOptions { mode: EraMode::Session, ..EraOptions::default() };
    let mut era = script.negotiate(options).await.unwrap();
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    assert_eq!(script.methods(), ["initialize", "notifications/initialized", "tools/list"]);
    let params = script.request(0).params;
    assert_eq!(params.text("protocolVersion").unwrap(), "2025-11-25");
    assert_eq!(params.bytes("clientInfo").unwrap(), br#"{"name":"tester","version":"1.0.0"}"#);
    assert_eq!(params.bytes("capabilities").unwrap(), b"{}");
    let sent = script.request(2);
    assert!(!sent.params.contains("_meta"));
    assert_eq!(sent.context.session.unwrap().revision, Revision::V2025_11_25);
    assert!(script.request(1).context.session.is_some());
}

#[tokio::test]
async fn whatever_else_a_probe_is_answered_with_leads_to_a_session() {
    let answers: Vec<fn() -> Reply> = vec![
        || refuse(-32601),
        || refuse(-32602),
        || refuse(-32600),
        || refuse(-32000),
        || Reply::Result("{}"),
        || Reply::Result(r#"{"supportedVersions":["2025-11-25"],"capabilities":{}}"#),
        || Reply::Result(r#"{"supportedVersions":"2026-07-28","capabilities":{}}"#),
        || Reply::Result("[]"),
        || unsupported(-32022, r#"["2026-07-28-rc","2025-11-25"]"#),
        || refuse(-32022),
    ];
    for answer in answers {
        let script = Script::new(move |request| match request.method.as_str() {
            "server/discover" => answer(),
            _ => session_server(request),
        });
        let era = script.connect().await.unwrap();
        assert_eq!(era.agreement().revision(), Some(Revision::V2025_11_25));
        assert_eq!(script.methods(), ["server/discover", "initialize", "notifications/initialized"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_the_probe_is_offered_a_session() {
    let script = Script::new(|request| match request.method.as_str() {
        "server/discover" => Reply::Silence,
        _ => session_server(request),
    });
    let started = tokio::time::Instant::now();
    script.connect().await.unwrap();
    assert_eq!(started.elapsed(), Duration::from_secs(10));
}

// covers: BASE-26
#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_in_time() {
    let script = Script::new(|_| Reply::Silence);
    let options = EraOptions { handshake_timeout: Duration::from_secs(3), ..EraOptions::default() };
    let error = script.negotiate(options).await.unwrap_err();
    assert_eq!(error.origin(), Origin::Timeout);
    assert_eq!(script.methods(), ["server/discover", "initialize"]);
}

#[tokio::test]
async fn a_server_that_the_probe_ends_is_told_apart() {
    let script = Script::new(|_| Reply::Error(Error::disconnected("closed")));
    let error = script.connect().await.unwrap_err();
    assert!(ProbeEndedConnection::is_behind(&error));
    assert_eq!(error.origin(), Origin::Connection);
    assert_eq!(script.methods(), ["server/discover"]);
}

#[tokio::test]
async fn a_server_that_knows_no_initialize_is_asked_once_more() {
    let mut probes = 0;
    let script = Script::new(move |request| {
        if request.method == Method::DISCOVER {
            probes += 1;
            if probes == 1 {
                return refuse(-32603);
            }
        }
        stateless_server(request)
    });
    let era = script.connect().await.unwrap();
    assert_eq!(script.methods(), ["server/discover", "initialize", "server/discover"]);
    assert_eq!(era.agreement().revision(), Some(Revision::V2026_07_28));
}

#[tokio::test]
async fn a_server_that_describes_itself_not_is_served_without_session_if_that_is_wanted() {
    let script = Script::new(session_server);
    let options = EraOptions { mode: EraMode::Stateless, ..EraOptions::default() };
    script.negotiate(options).await.unwrap();
    assert_eq!(script.methods(), ["server/discover"]);

    let script = Script::new(|_| refuse(-32603));
    let options = EraOptions { mode: EraMode::Stateless, ..EraOptions::default() };
    assert_eq!(script.negotiate(options).await.unwrap_err().code(), -32603);
}

#[tokio::test]
async fn a_server_that_has_to_be_without_sessions_is_asked_again_once_in_a_version_that_it_names() {
    let options = || EraOptions { mode: EraMode::Stateless, ..EraOptions::default() };
    let mut probes = 0;
    let script = Script::new(move |request| {
        probes += 1;
        if probes == 1 { unsupported(-32022, r#"["2026-07-28"]"#) } else { stateless_server(request) }
    });
    script.negotiate(options()).await.unwrap();
    assert_eq!(script.methods(), ["server/discover"; 2]);

    let script = Script::new(|_| unsupported(-32022, r#"["2026-07-28"]"#));
    assert_eq!(script.negotiate(options()).await.unwrap_err().code(), -32022);
    assert_eq!(script.methods(), ["server/discover"; 2]);
}

// covers: BASE-25
#[tokio::test]
async fn a_server_without_what_the_client_needs_is_refused() {
    for server in [session_server, stateless_server] {
        let script = Script::new(server);
        let mut identity = identity();
        identity.required = vec!["tools".into(), "prompts".into()];
        let error = ClientEra::negotiate(script.clone(), identity, EraOptions::default()).await.unwrap_err();
        assert_eq!(error.data().unwrap().as_bytes(), br#"{"missing_capabilities":["prompts"]}"#);
        assert!(!script.methods().contains(&"notifications/initialized".to_owned()));
    }
}

#[tokio::test]
async fn the_era_of_a_server_is_remembered() {
    let memory = EraMemory::new();
    let options =
        || EraOptions { memory: memory.clone(), memory_key: Some("here".into()), ..EraOptions::default() };
    Script::new(session_server).negotiate(options()).await.unwrap();
    assert_eq!(memory.recall("here"), Some(Era::Session));
    let script = Script::new(session_server);
    script.negotiate(options()).await.unwrap();
    assert_eq!(script.methods(), ["initialize", "notifications/initialized"]);

    // A lost connection tells nothing about the era; a server that answers in none is asked from the beginning.
    let closed = Script::new(|_| Reply::Error(Error::disconnected("closed")));
    closed.negotiate(options()).await.unwrap_err();
    assert_eq!((closed.methods(), memory.recall("here")), (vec!["initialize".into()], Some(Era::Session)));
    Script::new(|_| refuse(-32603)).negotiate(options()).await.unwrap_err();
    assert_eq!(memory.recall("here"), None);
    Script::new(session_server).negotiate(options()).await.unwrap();

    // A server that was replaced is asked again.
    let script = Script::new(stateless_server);
    script.negotiate(options()).await.unwrap();
    assert_eq!(script.methods(), ["initialize", "server/discover"]);
    assert_eq!(memory.recall("here"), Some(Era::Stateless));
}

#[tokio::test]
async fn the_log_level_travels_with_each_request() {
    let script = Script::new(stateless_server);
    let mut era = script.connect().await.unwrap();
    era.agreement().set_log_level(mgp_types::Severity::named("warning"));
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    era.agreement().set_log_level(None);
    era.call(call(Method::TOOLS_LIST)).await.unwrap();
    assert_eq!(meta(&script.request(1)).text(key::LOG_LEVEL).unwrap(), "warning");
    assert!(!meta(&script.request(2)).contains(key::LOG_LEVEL));
}

// covers: BASE-11
#[tokio::test]
async fn capabilities_are_written_as_each_era_writes_them() {
    let capabilities = r#"{"roots":{"listChanged":true},"sampling":{},"x-own":{"a":1}}"#;
    for (server, expected) in [
        (session_server as fn(&_) -> _, r#"{"roots":{"listChanged":true},"sampling":{},"x-own":{"a":1}}"#),
        (stateless_server, r#"{"roots":{},"sampling":{},"x-own":{"a":1}}"#),
    ] {
        let script = Script::new(server);
        let mut identity = identity();
        identity.capabilities = Object::parse(capabilities).unwrap();
        ClientEra::negotiate(script.clone(), identity, EraOptions::default()).await.unwrap();
        let methods = script.methods();
        let sent: RawJson = match methods.iter().position(|method| method == "initialize") {
            Some(index) => script.request(index).params.get("capabilities").unwrap(),
            None => meta(&script.request(0)).get(key::CLIENT_CAPABILITIES).unwrap(),
        };
        assert_eq!(sent.as_bytes(), expected.as_bytes());
    }
}
