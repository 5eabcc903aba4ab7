//! Tests of the negotiation of MGP by the client.

use mgp_types::mcp::meta::key;
use mgp_types::mgp::{Extension, ExtensionSet, Offer};
use mgp_types::{Object, Request};

use super::script::*;
use crate::era::{Agreement, ClientEra, EraOptions};

async fn negotiate(script: &Script) -> Agreement {
    let mut identity = identity();
    identity.offer = Some(Offer::new(ExtensionSet::from_names(["audit", "streaming"])));
    ClientEra::negotiate(script.clone(), identity, EraOptions::default()).await.unwrap().agreement().clone()
}

fn server(stateless: bool, result: &'static str) -> Script {
    Script::new(move |request: &Request| match (request.method.as_str(), stateless) {
        ("server/discover", true) | ("initialize", false) => Reply::Result(result),
        _ => refuse(-32601),
    })
}

const OFFERED: [(bool, &str); 2] = [
    (
        true,
        r#"{"supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"dev.cloto/mgp":
            {"version":"0.6.0","extensions":["audit","discovery"]}}}}"#,
    ),
    (
        false,
        r#"{"protocolVersion":"2025-11-25","capabilities":{"mgp":
            {"version":"0.6.0","extensions":["audit","discovery"]}},"serverInfo":{"name":"s","version":"1"}}"#,
    ),
];

// covers: MGP-2.1-01, MGP-2.4-01, MGP-1.3-04, MGP-1.3-05
#[tokio::test]
async fn what_both_sides_have_of_mgp_is_active_in_either_era() {
    for (stateless, result) in OFFERED {
        let agreement = negotiate(&server(stateless, result)).await;
        let session = agreement.session().unwrap();
        let mgp = session.mgp.as_ref().unwrap();
        assert!(mgp.has(&Extension::Audit));
        assert!(!mgp.has(&Extension::Streaming) && !mgp.has(&Extension::Discovery));
    }
}

// covers: MGP-2.2-01, MGP-2.2-04, MGP-2.2-05
#[tokio::test]
async fn the_offer_goes_where_each_era_looks_for_it() {
    let script = server(false, OFFERED[1].1);
    negotiate(&script).await;
    let capabilities = Object::from_raw(&script.request(1).params.get("capabilities").unwrap()).unwrap();
    let offer = Object::from_raw(&capabilities.get("mgp").unwrap()).unwrap();
    assert!(offer.text("version").is_some());
    assert_eq!(offer.bytes("extensions").unwrap(), br#"["audit","streaming"]"#);
    assert!(capabilities.contains("extensions") && capabilities.contains("experimental"));

    let script = server(true, OFFERED[0].1);
    negotiate(&script).await;
    let capabilities =
        Object::from_raw(&meta(&script.request(0)).get(key::CLIENT_CAPABILITIES).unwrap()).unwrap();
    assert!(!capabilities.contains("mgp"));
    let extensions = Object::from_raw(&capabilities.get("extensions").unwrap()).unwrap();
    assert!(extensions.contains("dev.cloto/mgp"));
}

// covers: MGP-2.1-02, MGP-2.4-02, MGP-1.3-03
#[tokio::test]
async fn a_plain_server_is_a_plain_server() {
    for server in [session_server, stateless_server] {
        let agreement = negotiate(&Script::new(server)).await;
        assert!(agreement.session().unwrap().mgp.is_none());
    }
}

// covers: MGP-2.2-02, MGP-1.3-01, MGP-1.3-02
#[tokio::test]
async fn a_plain_client_says_nothing_of_mgp_and_negotiates_none() {
    for (stateless, result) in OFFERED {
        let script = server(stateless, result);
        let era = script.connect().await.unwrap();
        assert!(era.session().unwrap().mgp.is_none());
        for index in 0..script.methods().len() {
            let written = script.request(index).params.to_raw();
            assert!(!String::from_utf8_lossy(written.as_bytes()).contains("mgp"));
        }
    }
}

// covers: MGP-2.4-04
#[tokio::test]
async fn another_major_version_is_plain_mcp() {
    let result = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"dev.cloto/mgp":
        {"version":"1.0.0","extensions":["audit"]}}}}"#;
    assert!(negotiate(&server(true, result)).await.session().unwrap().mgp.is_none());
}

#[tokio::test]
async fn a_malformed_offer_is_none() {
    let result = r#"{"supportedVersions":["2026-07-28"],"capabilities":{"extensions":{"dev.cloto/mgp":7}}}"#;
    assert!(negotiate(&server(true, result)).await.session().unwrap().mgp.is_none());
}
