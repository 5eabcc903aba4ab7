//! Failures of tools that say what to do next, and errors of calls in the same words.

use crate::peer::{Era, Peer, declaring};
use mgp_server_sdk::types::ext::{ErrorClass, StructuredError, UnsafeAdvice};
use mgp_server_sdk::types::{Error, code};
use mgp_server_sdk::{Object, RawJson, Server, Timeouts, Tool, ToolError};
use serde_json::{Value, json};

/// Connects as a client that declares these extensions.
async fn client(server: Server, era: Era, extensions: &[&str]) -> Peer {
    Peer::silent(server, era, declaring(extensions)).await
}

/// A server whose tool `fail` fails as `error` says.
fn failing(error: &StructuredError) -> Server {
    let error = error.clone();
    Server::new("test", "1").tool(Tool::new("fail", "Fails."), move || {
        let error = error.clone();
        async move { Err::<String, _>(ToolError::structured(error)) }
    })
}

/// Returns the result of the tool, and the error in its metadata as the client reads it.
async fn failed(error: &StructuredError, era: Era) -> (Value, StructuredError) {
    let mut peer = client(failing(error), era, &["structured_errors"]).await;
    let result = peer.tool("fail", json!({})).await.unwrap();
    assert_eq!(result["isError"], true);
    let raw_error = RawJson::from_value(&result["_meta"]["error"]).unwrap();
    (result, StructuredError::read(&raw_error).unwrap())
}

// covers: EXT-11-02
#[tokio::test]
async fn each_of_the_five_classes_comes_to_the_client() {
    for era in Era::BOTH {
        for (class, word) in std::iter::zip(
            ErrorClass::KNOWN,
            ["transient", "permanent", "auth_required", "invalid_input", "rate_limited"],
        ) {
            let error = StructuredError::new("CONFLICT", class.clone(), "it is in use");
            let (result, read) = failed(&error, era).await;
            assert_eq!(result["_meta"]["error"]["category"], word);
            assert_eq!(read, error);
            assert_eq!(read.retry_after_seconds.is_some(), matches!(word, "transient" | "rate_limited"));
            assert_eq!(result["content"][0]["text"], "it is in use");
        }
    }
}

// covers: EXT-11-05
#[tokio::test]
async fn a_suggestion_reaches_the_model_and_none_that_weakens_security_can_be_made() {
    let error = || StructuredError::new("INVALID_INPUT", ErrorClass::InvalidInput, "too many matches");
    let narrow = error().with_suggestion("narrow the date range").unwrap();
    for era in Era::BOTH {
        let (result, _) = failed(&narrow, era).await;
        assert_eq!(result["_meta"]["error"]["suggestion"], "narrow the date range");
        assert_eq!(result["content"][0]["text"], "too many matches: narrow the date range");
    }
    for suggestion in [
        "try a different API key",
        "use the password of the administrator",
        "turn off the firewall",
        "skip verification",
        "run it as root",
        "Disable security for this folder",
        "call it with --no-verify",
    ] {
        assert_eq!(error().with_suggestion(suggestion), Err(UnsafeAdvice::Suggestion), "{suggestion}");
    }
}

// covers: EXT-11-06
#[tokio::test]
async fn details_reach_the_client_without_the_inside_of_the_server() {
    let details = Object::parse(concat!(
        r#"{"limit":10,"stack_trace":"at main.rs:7","Traceback":"File x","sql":"SELECT * FROM users","#,
        r#""last_query":"DROP","upstream":"http://10.1.2.3:5432","peer":"127.0.0.1","internal_id":"7","#,
        r#""hostname":"db-7","environment":"prod","field":"date","public":"see 8.8.8.8","#,
        r#""causes":[{"stack":"at main.rs:9","limit":3},"10.1.2.3 said no"]}"#
    ))
    .unwrap();
    let error = StructuredError::new("INVALID_INPUT", ErrorClass::InvalidInput, "no").with_details(&details);
    for era in Era::BOTH {
        let (result, _) = failed(&error, era).await;
        let received_details = &result["_meta"]["error"]["details"];
        assert_eq!(
            received_details,
            &json!({"limit": 10, "field": "date", "public": "see 8.8.8.8", "causes": [{"limit": 3}]})
        );
        for inside in ["main.rs", "SELECT", "10.1.2.3", "db-7", "prod"] {
            assert!(!result.to_string().contains(inside), "{inside}");
        }
    }
}

/// Every word of both lists of the specification.
const WORDS: [&str; 19] = [
    "RATE_LIMIT_EXCEEDED", "PERMISSION_DENIED", "RESOURCE_NOT_FOUND", "INVALID_INPUT", "QUOTA_EXHAUSTED",
    "SERVER_UNAVAILABLE", "TRANSACTION_CONFLICT", "AUTHENTICATION_REQUIRED", "SCOPE_INSUFFICIENT",
    "OPERATION_TIMEOUT", "PAYLOAD_TOO_LARGE", "IDEMPOTENCY_CONFLICT", "INVALID_PARAMETERS", "TOKEN_EXPIRED",
    "CONFLICT", "SERVER_ERROR", "UPSTREAM_ERROR", "TIMEOUT", "UNSUPPORTED_OPERATION",
];

/// The words of errors that ask a person to agree to a call first. No list of the extension has them.
const WORDS_OF_CONFIRMATION: [&str; 3] =
    ["CONFIRMATION_REQUIRED", "CONFIRMATION_INVALID", "CONFIRMATION_DECLINED"];

// covers: EXT-11-13
#[tokio::test]
async fn every_word_comes_to_the_client_and_every_number_has_one() {
    for word in WORDS {
        let (_, read) =
            failed(&StructuredError::new(word, ErrorClass::Permanent, "no"), Era::Stateless).await;
        assert_eq!(read.code, word);
    }
    let server = Server::new("test", "1").tool(Tool::new("refuse", "Refuses."), async |arguments: Object| {
        let number = arguments.get("code").and_then(|code| code.to().ok()).unwrap_or_default();
        Err::<String, ToolError>(Error::new(number, "no").into())
    });
    let mut peer = client(server, Era::Session, &["structured_errors"]).await;
    let numbers = (0..6000).filter(|number| code::name(*number).is_some()).chain(-32_603..=-32_600);
    let mut seen = 0;
    for number in numbers.chain([-32_700, 7, 1999]) {
        let error = peer.tool("refuse", json!({"code": number})).await.unwrap_err();
        let data: Value = error.data().unwrap().to().unwrap();
        let word = data["code"].as_str().unwrap();
        let known = if (1020..=1022).contains(&number) { &WORDS_OF_CONFIRMATION[..] } else { &WORDS };
        assert!(known.contains(&word), "{number}: {data}");
        let classes = ErrorClass::KNOWN;
        assert!(classes.iter().any(|class| class.as_str() == data["category"]), "{number}: {data}");
        seen += 1;
    }
    assert!(seen > 20, "{seen}");
}

// covers: GGEN-6-06
#[tokio::test(start_paused = true)]
async fn a_session_of_the_tool_registry_hears_of_a_late_tool_in_its_own_form() {
    let server = Server::new("test", "1")
        .timeouts(Timeouts::default())
        .tool(Tool::new("endless", "Never ends."), async || std::future::pending::<()>().await);
    let mut peer = client(server, Era::Session, &["ggen"]).await;
    let trace = "0af76519-16cd-43dd-8448-eb211c80319c";
    let params = json!({"name": "endless", "arguments": {}, "_meta": {"trace_id": trace}});
    let error = peer.start("tools/call", params).await.unwrap().unwrap_err();
    assert_eq!(error.code(), -32003);
    assert_eq!(error.message(), "Tool execution timeout");
    let data: Value = error.data().unwrap().to().unwrap();
    assert_eq!(
        (&data["error_type"], &data["tool_name"], &data["timeout_ms"], &data["trace_id"]),
        (&json!("ToolTimeout"), &json!("endless"), &json!(30_000), &json!(trace))
    );
    assert_eq!(data["suggestions"].as_array().unwrap().len(), 3);
}
