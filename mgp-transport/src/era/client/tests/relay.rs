//! Tests of a gateway's relayed clients.

use std::sync::Arc;

use mgp_types::mcp::meta::key;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Method, Object, Params, Request, Revision, Session, Severity};
use tower_service::Service;

use super::script::*;
use crate::era::{ClientEra, EraOptions};

async fn relaying(script: &Script, options: EraOptions) -> ClientEra<Script> {
    let mut identity = identity();
    identity.capabilities = Object::parse(r#"{"sampling":{}}"#).unwrap();
    identity.offer = Some(Offer::new(ExtensionSet::from_names(["audit"])));
    ClientEra::negotiate(script.clone(), identity, options).await.unwrap()
}

fn caller(revision: Revision, capabilities: &str) -> Arc<Session> {
    let mut session = Session::new(revision);
    session.capabilities = Object::parse(capabilities.to_owned()).unwrap();
    Arc::new(session)
}

fn list(caller: Option<&Arc<Session>>, params: &str) -> Request {
    let mut request = Request::call(Method::TOOLS_LIST, Params::parse(params.to_owned()).unwrap());
    request.context.session = caller.cloned();
    request
}

fn sent(script: &Script) -> Object {
    meta(&script.last())
}

fn capabilities(meta: &Object) -> Object {
    Object::from_raw(&meta.get(key::CLIENT_CAPABILITIES).unwrap()).unwrap()
}

const DESCRIBED: &str = r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",
    "io.modelcontextprotocol/clientInfo":{"name":"caller","version":"2"},
    "io.modelcontextprotocol/clientCapabilities":{"elicitation":{}},"io.modelcontextprotocol/logLevel":"debug",
    "progressToken":7,"traceparent":"t","com.example/own":1.50}}"#;

#[tokio::test]
async fn a_server_without_sessions_is_told_what_the_client_behind_can_do() {
    let script = Script::new(stateless_server);
    let mut era = relaying(&script, EraOptions { relays: true, ..EraOptions::default() }).await;
    for revision in [Revision::LATEST, Revision::V2025_11_25] {
        let caller = caller(revision, r#"{"elicitation":{},"mgp":{"version":"0.1.0","extensions":[]}}"#);
        caller.set_log_level(Severity::named("warning"));
        era.call(list(Some(&caller), DESCRIBED)).await.unwrap();
        let meta = sent(&script);
        let capabilities = capabilities(&meta);
        assert!(capabilities.contains("elicitation") && !capabilities.contains("sampling"));
        let offer = Offer::read(&capabilities).unwrap().unwrap();
        assert_eq!(offer.extensions.names().collect::<Vec<_>>(), ["audit"]);
        assert_eq!(meta.text(key::LOG_LEVEL).unwrap(), "warning");
        let info = Object::from_raw(&meta.get(key::CLIENT_INFO).unwrap()).unwrap();
        assert_eq!(info.text("name").unwrap(), "tester");
        for (name, value) in [("progressToken", "7"), ("traceparent", r#""t""#), ("com.example/own", "1.50")]
        {
            assert_eq!(meta.bytes(name).unwrap(), value.as_bytes());
        }
        caller.set_log_level(None);
        era.call(list(Some(&caller), DESCRIBED)).await.unwrap();
        assert!(!sent(&script).contains(key::LOG_LEVEL));
    }
}

#[tokio::test]
async fn requests_of_its_own_and_clients_that_relay_nothing_say_what_they_can_do_themselves() {
    for (relays, session) in [(true, None), (true, Some(())), (false, Some(()))] {
        let script = Script::new(stateless_server);
        let options = EraOptions { relays, ..EraOptions::default() };
        let mut era = relaying(&script, options).await;
        let other = caller(Revision::LATEST, r#"{"elicitation":{}}"#);
        let session = session.map(|()| if relays { era.session().unwrap() } else { other });
        era.call(list(session.as_ref(), "{}")).await.unwrap();
        let capabilities = capabilities(&sent(&script));
        assert!(capabilities.contains("sampling") && !capabilities.contains("elicitation"));
    }
}

#[tokio::test]
async fn a_server_with_sessions_is_not_told_about_the_client_behind() {
    for relays in [true, false] {
        let script = Script::new(session_server);
        let options = EraOptions { relays, ..EraOptions::default() };
        let mut era = relaying(&script, options).await;
        era.call(list(Some(&caller(Revision::LATEST, "{}")), DESCRIBED)).await.unwrap();
        let meta = sent(&script);
        assert_eq!(meta.contains(key::PROTOCOL_VERSION), !relays);
        assert_eq!(meta.bytes("progressToken").unwrap(), b"7");
        // The layer does not look at the metadata of a client with a session.
        era.call(list(Some(&caller(Revision::V2025_11_25, "{}")), DESCRIBED)).await.unwrap();
        assert!(sent(&script).contains(key::PROTOCOL_VERSION));
    }
}

#[tokio::test]
async fn a_call_that_is_sent_again_is_still_the_clients() {
    let script = refusing_lists(1, other_version, stateless_server);
    let mut era = relaying(&script, EraOptions { relays: true, ..EraOptions::default() }).await;
    era.call(list(Some(&caller(Revision::LATEST, r#"{"roots":{}}"#)), "{}")).await.unwrap();
    assert_eq!(script.methods(), ["server/discover", "tools/list", "server/discover", "tools/list"]);
    assert!(capabilities(&sent(&script)).contains("roots"));
}
