//! The doors with keys: what a key opens, and that over HTTP/2 as well.

use serde_json::{Value, json};

use crate::doors::{open, rpc_with, send, with_context};
use crate::home::Home;
use crate::kernel::{Kernel, until};

/// Issues a key, and returns it as a header.
fn key(home: &Home, owner: &[&str], allowed: &[&str]) -> String {
    let allowed = allowed.iter().flat_map(|what| ["--allow", what]);
    let issued = home.json(["keys", "new"].into_iter().chain(owner.iter().copied()).chain(allowed));
    format!("Authorization: Bearer {}\r\n", issued["secret"].as_str().unwrap())
}

/// A kernel that lets in nobody without a key, and all agents to all tools.
fn open_to_keys() -> (Home, Kernel, u16) {
    let (home, kernel, port) = open("require_keys = true\n[access]\ndefault = \"opt-out\"\n");
    let reader = key(&home, &["reader"], &["list"]);
    until("the tools are listed", || {
        let (status, _, catalog) = send(port, "GET", "/catalog", &reader, "");
        assert_eq!(status, 200, "a key that sees all tools reads about all: {catalog}");
        catalog["tools"].as_array().is_some_and(|it| it.len() > 1)
    });
    (home, kernel, port)
}

// covers: GGEN-4-06, GGEN-7-06..10
#[test]
fn a_key_that_lists_and_calls_passes_all_doors_and_changes_nothing() {
    let (home, _kernel, port) = open_to_keys();
    let allowed = ["list", "read", "call:*"];
    for authorization in [key(&home, &["agent.ada"], &allowed), key(&home, &["boss", "--operator"], &allowed)]
    {
        let json = format!("Content-Type: application/json\r\n{authorization}");
        let posted = |path: &str, body: Value| {
            let (status, _, answer) = send(port, "POST", path, &json, &body.to_string());
            (status, answer)
        };
        for path in ["/catalog", "/openapi.json", "/capabilities"] {
            let (status, _, document) = send(port, "GET", path, &authorization, "");
            assert_eq!(status, 200, "{path}: {document}");
            assert!(document.to_string().contains("context.store_memory"), "{path}: {document}");
        }
        let query = json!({"query": "tea"});
        let (status, found) = posted("/tools/context.recall_memory", query.clone());
        assert_eq!(status, 200, "{found}");
        let (status, faults) = posted("/tools/context.recall_memory", json!({"query": 7}));
        assert_eq!((status, &faults["error"]["code"]), (400, &json!("INVALID_INPUT")), "{faults}");
        let call = json!({"tool_name": "context.recall_memory", "arguments": query});
        assert_eq!(posted("/env/tools/call", call).1["status"], "success");
        let (status, checked) = posted("/permissions", json!({"tool": "context.recall_memory"}));
        assert_eq!((status, &checked["allowed"]), (200, &json!(true)), "{checked}");

        let tool = json!({"name": "context.recall_memory", "arguments": {"query": "x"}});
        for (method, params) in [
            ("tools/validate", tool.clone()),
            ("mgp/discovery/catalog", json!({})),
            ("mgp/manifest/get", json!({})),
            ("mgp/discovery/recommend", json!({"capability_needed": "remember things"})),
            ("mgp/permission/check", json!({"tool": "context.recall_memory"})),
            ("mgp/permission/negotiate", json!({"requested_scopes": []})),
            ("mgp/events/list", json!({})),
        ] {
            let answer = rpc_with(port, &authorization, method, params);
            assert!(answer["result"].is_object(), "{method}: {answer}");
        }
        let refused = rpc_with(port, &authorization, "mgp/access/grant", json!({}));
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("keys new") && message.contains("--allow register"), "{refused}");
    }
}

#[test]
fn a_key_for_one_tool_reads_about_that_one_and_validates_and_calls_no_other() {
    let (home, _kernel, port) = open_to_keys();
    for allowed in [&["call:context.recall_memory"][..], &["list", "read", "call:context.recall_memory"]] {
        let authorization = key(&home, &["agent.ada"], allowed);
        let json = format!("Content-Type: application/json\r\n{authorization}");
        let catalog = send(port, "GET", "/catalog", &authorization, "").2;
        let names: Vec<_> = catalog["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["context.recall_memory"], "{allowed:?}");
        for path in ["/openapi.json", "/capabilities"] {
            let document = send(port, "GET", path, &authorization, "").2.to_string();
            assert!(document.contains("context.recall_memory"), "{document}");
            assert!(!document.contains("store_memory"), "{document}");
        }
        let call = |path: &str, body: &str| send(port, "POST", path, &json, body);
        assert_eq!(call("/tools/context.recall_memory", r#"{"query": "tea"}"#).0, 200);
        // A tool that the key is not for is as good as none.
        for tool in ["context.store_memory", "context__store_memory", "context.nothing", "nothing"] {
            let (status, _, refused) = call(&format!("/tools/{tool}"), r#"{"content": "x"}"#);
            let reason = refused["error"]["reason"].as_str().unwrap();
            assert_eq!(
                (status, reason.contains("does not permit calls of")),
                (403, true),
                "{tool}: {refused}"
            );
            let params = json!({"name": tool, "arguments": {}});
            let refused = rpc_with(port, &authorization, "tools/validate", params);
            assert!(refused["error"]["message"].as_str().unwrap().contains("does not permit"), "{refused}");
            let body = json!({"tool": tool}).to_string();
            assert_eq!(call("/permissions", &body).0, 403, "{tool}");
        }
        let envelope = json!({"tool_name": "context.store_memory", "arguments": {"content": "x"}});
        let refused = call("/env/tools/call", &envelope.to_string()).2;
        assert_eq!(refused["error"]["error_type"], "PermissionError", "{refused}");
        let wanted = json!({"capability_needed": "store a memory"});
        let found = rpc_with(port, &authorization, "mgp/discovery/recommend", wanted)["result"].to_string();
        assert!(!found.contains("store_memory"), "{found}");
    }
    // A key that is for no tool at all.
    let reader = key(&home, &["agent.ada"], &["read"]);
    assert_eq!(send(port, "GET", "/catalog", &reader, "").0, 403);
}

#[tokio::test]
async fn the_doors_are_open_over_http_2_and_shut_to_other_names() {
    use bytes::Bytes;
    use http_body_util::{BodyExt as _, Full};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio_rustls::rustls::{ClientConfig, RootCertStore, crypto::ring};

    let files = Home::new();
    let (tls, certificate) = crate::certificate::self_signed(&files);
    let home = with_context(&format!("require_keys = true\n{tls}[access]\ndefault = \"opt-out\"\n"));
    let kernel = Kernel::start(&home, &["--http", "127.0.0.1:0", "--no-stdio"]);
    let address = kernel.tells("listening at https://");
    let port: u16 = address.strip_suffix("/mcp").unwrap().rsplit_once(':').unwrap().1.parse().unwrap();
    let key = key(&home, &["agent.ada"], &["list", "call:*"]);
    let key = key.trim_end().strip_prefix("Authorization: ").unwrap().to_owned();

    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let mut client = ClientConfig::builder_with_provider(std::sync::Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    client.alpn_protocols = vec![b"h2".to_vec()];
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let name = "localhost".try_into().unwrap();
    let stream =
        tokio_rustls::TlsConnector::from(std::sync::Arc::new(client)).connect(name, stream).await.unwrap();
    let (sender, connection) =
        hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let ask = async |method: &str, uri: &str, host: Option<&str>, body: &str| {
        let mut request = http::Request::builder().method(method).uri(uri).header("authorization", &key);
        if let Some(host) = host {
            request = request.header("host", host);
        }
        let request =
            request.header("content-type", "application/json").body(Full::new(Bytes::from(body.to_owned())));
        let response = sender.clone().send_request(request.unwrap()).await.unwrap();
        let status = response.status().as_u16();
        (
            status,
            String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap(),
        )
    };
    let at = |path: &str| format!("https://localhost:{port}{path}");
    // A list waits for a server that starts, but not for long.
    while !ask("GET", &at("/catalog"), None, "").await.1.contains("context.recall_memory") {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    for path in ["/openapi.json", "/capabilities", "/catalog"] {
        let (status, body) = ask("GET", &at(path), None, "").await;
        assert_eq!(status, 200, "{path}: {body}");
    }
    let query = r#"{"query": "tea"}"#;
    let (status, found) = ask("POST", &at("/tools/context.recall_memory"), None, query).await;
    assert_eq!(status, 200, "{found}");
    let call = r#"{"tool_name": "context.recall_memory", "arguments": {"query": "tea"}}"#;
    let (status, result) = ask("POST", &at("/env/tools/call"), None, call).await;
    assert!(status == 200 && result.contains("success"), "{result}");
    // A page whose name leads here names itself, in either place.
    let evil = format!("https://evil.example:{port}/tools/context.recall_memory");
    for host in [None, Some("localhost")] {
        let refused = ask("POST", &evil, host, query).await;
        assert!([400, 403].contains(&refused.0) && refused.1.contains("`Host`"), "{host:?}: {refused:?}");
    }
    let named = ask("POST", &at("/tools/context.recall_memory"), Some("evil.example"), query).await;
    assert!([400, 403].contains(&named.0) && named.1.contains("`Host`"), "{named:?}");
}
