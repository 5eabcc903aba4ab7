//! The demands on the head of a request.

use std::sync::Arc;

use http::{Method, StatusCode};
use mgp_transport::http::HttpConfig;
use mgp_types::Object;

use crate::peer::{Ask, peer, peer_with};

#[tokio::test]
async fn strange_hosts_and_origins_are_forbidden() {
    let peer = peer();
    for (header, value) in [
        ("host", "evil.example"),
        ("host", "localhost.evil.example:80"),
        ("origin", "http://evil.example"),
        ("origin", "null"),
    ] {
        assert_eq!(
            peer.refusal(Ask::tool("x").with(header, value)).await,
            (403, -32600),
            "{header}: {value}"
        );
    }
    for (header, value) in [("host", "127.0.0.1:1"), ("host", "[::1]"), ("origin", "http://localhost:6274")] {
        assert_eq!(
            peer.send(Ask::tool("x").with(header, value)).await.status,
            StatusCode::OK,
            "{header}: {value}"
        );
    }
    assert_eq!(peer.refusal(Ask::tool("x").without("host")).await.0, 400);
    assert_eq!(peer.refusal(Ask::new(Method::GET, "/sse").with("host", "evil.example")).await.0, 403);
    assert_eq!(
        peer.refusal(Ask::new(Method::POST, "/message").with("origin", "http://evil.example")).await.0,
        403
    );
}

#[tokio::test]
async fn a_call_for_the_sender_of_another_request_needs_a_host_that_is_served() {
    let peer = peer();
    let call = async |ask: Ask| {
        let (head, body) = ask.0.into_parts();
        let params = Object::parse(body).unwrap().object("params").unwrap();
        peer.routes.server().call_for(Arc::new(head), mgp_types::Method::TOOLS_CALL, params).await
    };
    let answered = call(Ask::tool("who").by("a")).await.unwrap().to_raw();
    assert_eq!(answered.to::<serde_json::Value>().unwrap()["who"], "a");
    assert_eq!(call(Ask::tool("x").with("host", "evil.example")).await.unwrap_err().code(), -32600);
    assert_eq!(call(Ask::tool("x").with("origin", "null")).await.unwrap_err().code(), -32600);
}

#[tokio::test]
async fn allowed_hosts_and_origins_pass() {
    let config = HttpConfig::default().allow_host("mcp.example.com").allow_origin("https://app.example.com");
    let ask = Ask::tool("x").with("host", "mcp.example.com").with("origin", "https://app.example.com:443");
    assert_eq!(peer_with(config).send(ask).await.status, StatusCode::OK);
}

#[tokio::test]
async fn a_standard_header_comes_once() {
    let peer = peer();
    for (name, value) in [
        ("mcp-method", "tools/call"),
        ("mcp-name", "x"),
        ("mcp-protocol-version", "2026-07-28"),
        ("content-type", "application/json"),
        ("host", "localhost"),
    ] {
        assert_eq!(peer.refusal(Ask::tool("x").and(name, value)).await, (400, -32020), "{name}");
    }
    for (name, value) in [
        ("mcp-session-id", "x"),
        ("mcp-param-a", "1"),
        ("origin", "http://localhost"),
        ("last-event-id", "1-0"),
    ] {
        assert_eq!(
            peer.refusal(Ask::tool("x").with(name, value).and(name, value)).await,
            (400, -32020),
            "{name}"
        );
    }
    let twice = Ask::tool("x").with("accept", "application/json").and("accept", "text/event-stream");
    assert_eq!(peer.send(twice.and("x", "1").and("x", "1")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn media_types_are_checked() {
    let peer = peer();
    assert_eq!(peer.refusal(Ask::tool("x").with("content-type", "text/plain")).await.0, 415);
    assert_eq!(peer.refusal(Ask::tool("x").without("content-type")).await.0, 415);
    assert_eq!(peer.refusal(Ask::tool("x").without("accept")).await.0, 406);
    assert_eq!(peer.refusal(Ask::tool("x").with("accept", "text/event-stream")).await.0, 406);
    assert_eq!(peer.send(Ask::tool("x").with("accept", "*/*")).await.status, StatusCode::OK);
}

#[tokio::test]
async fn other_paths_are_not_found() {
    let peer = peer_with(HttpConfig::default().path("/here"));
    let at = |path: &str| {
        let mut ask = Ask::tool("x");
        *ask.0.uri_mut() = path.parse().unwrap();
        ask
    };
    assert_eq!(peer.send(at("/here")).await.status, StatusCode::OK);
    for path in ["/mcp", "/", "/here/x"] {
        assert_eq!(peer.refusal(at(path)).await.0, 404, "{path}");
    }
}

#[test]
fn static_property_the_server_mounts_where_services_do() {
    use http_body_util::Full;
    use mgp_transport::http::{HttpBody, HttpServer};
    use tower_service::Service;

    fn mounts<S>(_: S)
    where
        S: Service<http::Request<Full<bytes::Bytes>>, Response = http::Response<HttpBody>, Future: Send>,
        S: Clone + Send + Sync + 'static,
    {
    }
    let server = HttpServer::new(crate::stack::accept(&crate::stack::world()));
    mounts(server.clone());
    mounts(server.routes());
}
