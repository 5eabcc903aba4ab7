use mgp_lifecycle::call::FallbackLayer;
use tower_layer::Layer as _;
use tower_service::Service as _;

use mgp_discovery::config::model::ServerConfig;
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Gate as _, Origin, Response, code};

use super::*;
use crate::front::resolve::ResolveToolGate;
use crate::servers::upstream::FallbackToolGate;
use crate::test_kernel::{TestClient, TestKernel, TestServer};

/// The way of a call as far as it matters here.
async fn called(scene: &TestKernel, fallback: FallbackLayer, name: &str) -> Result<Response, Error> {
    let gate = ResolveToolGate(Arc::new(scene.sections.clone()));
    let service = gate.layer(scene.router.clone());
    let peer = TestClient::begin(scene, "one").await;
    let params = format!(r#"{{"name":"{name}","arguments":{{"q":1}}}}"#);
    let mut request = peer.request("tools/call", &params);
    request.context.outbox = mgp_types::Outbox::CLOSED;
    fallback.layer(service).call(request).await
}

fn named(scene: &TestKernel) -> FallbackLayer {
    layer(scene.catalog.clone(), Arc::clone(&scene.fleet), scene.audit.port())
}

async fn two_servers(scene: &TestKernel) -> (TestServer, TestServer) {
    let servers = (scene.server("web").await, scene.server("local").await);
    scene.tool("local", "search");
    let tools = ["search", "cached"].map(|name| scene.tool("web", name));
    scene.catalog.put_server("web".into(), tools.into()).unwrap();
    servers
}

fn naming_another(tool: &str) -> Error {
    let advice = Recovery::default().with_retryable(true).with_fallback_tool(tool);
    Error::new(5002, "it is down").with_recovery(advice)
}

#[tokio::test]
async fn a_server_names_its_own_tools_and_nobody_elses() {
    let scene = TestKernel::open().await;
    let (web, local) = two_servers(&scene).await;
    web.refuses(naming_another("cached"));
    assert!(called(&scene, named(&scene), "web.search").await.is_err());
    let names: Vec<_> =
        web.asked().iter().map(|asked| asked.params.text("name").unwrap().into_owned()).collect();
    assert_eq!(names, ["search", "cached"]);
    for other in ["local.search", "local", "nothing"] {
        web.refuses(naming_another(other));
        assert!(called(&scene, named(&scene), "web.search").await.is_err());
        assert_eq!((web.asked().len(), local.asked().len()), (1, 0), "{other}");
    }
}

/// What the server's error says after the configuration has been looked at.
async fn named_fallback(scene: &TestKernel, rules: &str, error: Error) -> Option<Box<str>> {
    let config: ServerConfig = serde_json::from_str(&format!(r#"{{"id":"web","tools":{rules}}}"#)).unwrap();
    let server = TestServer::default();
    server.refuses(error);
    let peer = TestClient::begin(scene, "one").await;
    let mut request = peer.request("tools/call", r#"{"name":"search"}"#);
    request.context.tool = Some(scene.tool("web", "search"));
    let refused = FallbackToolGate::new(&config).layer(server).call(request).await.unwrap_err();
    refused.recovery().and_then(|advice| advice.fallback_tool)
}

#[tokio::test]
async fn the_configuration_names_another_tool_for_failures_and_for_no_refusals() {
    let scene = TestKernel::open().await;
    let rules = r#"{"search":{"fallback":"local.search"}}"#;
    let answered = |code| Error::from_origin(Origin::Peer, code, "no");
    assert_eq!(named_fallback(&scene, rules, answered(5002)).await.as_deref(), Some("local.search"));
    let unsent = Error::new(3001, "it does not run").not_executed();
    assert_eq!(named_fallback(&scene, rules, unsent).await.as_deref(), Some("local.search"));
    // It may have been carried out; or somebody decided, or the arguments are wrong wherever they are sent.
    for error in [
        Error::timeout("late"),
        Error::disconnected("gone"),
        Error::new(1001, "denied"),
        answered(1000),
        answered(code::INVALID_PARAMS),
    ] {
        assert_eq!(named_fallback(&scene, rules, error).await, None);
    }
    assert_eq!(
        named_fallback(&scene, r#"{"other":{"fallback":"local.search"}}"#, answered(5002)).await,
        None
    );
    assert_eq!(named_fallback(&scene, "{}", answered(5002)).await, None);
}
