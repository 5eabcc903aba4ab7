//! Structured errors as a host reads them, and what it shows to its user.

use mgp_client_sdk::mcp::{CallToolResult, Meta};
use mgp_client_sdk::types::ext::{ErrorClass, ExtensionId, StructuredError, UnsafeAdvice};
use mgp_client_sdk::{Error, Object};
use mgp_server_sdk::{Server, Tool, ToolError};
use serde_json::{Value, json};

use crate::peer::PlainClient;
use crate::servers::{MODES, connect, declaring};

/// A server at `acme.example` whose tool `refuse` ends in this error, and `fail` in a failed result with it.
fn server(error: &StructuredError) -> Server {
    let (refused, failed) = (error.clone(), error.clone());
    Server::new("desk", "1.0.0")
        .website("https://acme.example/desk")
        .tool(Tool::new("refuse", "Is refused."), move || {
            let refusal =
                Error::new(-32603, refused.message.to_string()).with_data(refused.to_object().to_raw());
            async { Err::<String, _>(ToolError::from(refusal)) }
        })
        .tool(Tool::new("fail", "Fails."), move || {
            let mut meta = Meta::new();
            meta.insert("error", failed.to_object().to_raw());
            let result = CallToolResult::error(failed.message.to_string()).with_meta(meta);
            async { result }
        })
}

/// Returns how the error arrives, of an error and of a failed result.
async fn arrived(client: &PlainClient) -> [StructuredError; 2] {
    let refused = client.call_tool("refuse", ()).await.unwrap_err();
    let failed = client.call_tool("fail", ()).await.unwrap();
    assert_eq!(failed.is_error, Some(true));
    [
        StructuredError::read(refused.data().unwrap()).unwrap(),
        StructuredError::read(failed.meta.unwrap().get("error").unwrap()).unwrap(),
    ]
}

// covers: EXT-11-02, EXT-11-13
#[tokio::test]
async fn each_class_and_each_code_arrives_as_it_was_sent() {
    let codes = [
        "RATE_LIMIT_EXCEEDED", "PERMISSION_DENIED", "RESOURCE_NOT_FOUND", "INVALID_INPUT", "QUOTA_EXHAUSTED",
        "SERVER_UNAVAILABLE", "TRANSACTION_CONFLICT", "AUTHENTICATION_REQUIRED", "SCOPE_INSUFFICIENT",
        "OPERATION_TIMEOUT", "PAYLOAD_TOO_LARGE", "IDEMPOTENCY_CONFLICT", "INVALID_PARAMETERS",
        "TOKEN_EXPIRED", "CONFLICT", "SERVER_ERROR", "UPSTREAM_ERROR", "TIMEOUT", "UNSUPPORTED_OPERATION",
    ];
    let names = ["transient", "permanent", "auth_required", "invalid_input", "rate_limited"];
    for mode in MODES {
        for (number, code) in codes.into_iter().enumerate() {
            let place = number % names.len();
            let error = StructuredError::new(code, ErrorClass::STANDARD[place].clone(), "no");
            let client = connect(server(&error), declaring(&[ExtensionId::StructuredErrors]), mode).await;
            for arrived in arrived(&client).await {
                assert_eq!((&*arrived.code, arrived.category.as_str()), (code, names[place]));
                assert_eq!(arrived.retry_after_seconds.is_some(), arrived.category.passes());
            }
        }
    }
}

// covers: EXT-11-04, EXT-11-05, EXT-11-06
#[tokio::test]
async fn no_error_tells_a_user_to_weaken_security_or_shows_the_inside_of_a_server() {
    let plain = StructuredError::new("QUOTA_EXHAUSTED", ErrorClass::Permanent, "the quota is used up");
    for unsafe_advice in ["disable TLS verification and try again", "share your password with the operator"] {
        let refused = plain.clone().with_suggestion(unsafe_advice).unwrap_err();
        assert_eq!(refused, UnsafeAdvice::Suggestion, "{unsafe_advice}");
    }
    let details = json!({
        "limit": 5, "stack_trace": "main.rs:7", "query": "SELECT 1", "host": "10.0.0.7", "note": "monthly",
    });
    let details = Object::from_value(&details).unwrap();
    let error = plain.with_suggestion("wait until the next month").unwrap().with_details(&details);
    for mode in MODES {
        let client = connect(server(&error), declaring(&[ExtensionId::StructuredErrors]), mode).await;
        for arrived in arrived(&client).await {
            assert!(!arrived.user_actionable, "a server has to say so");
            assert_eq!(arrived.suggestion.as_deref(), Some("wait until the next month"));
            let details: Value = arrived.details.unwrap().to_raw().to().unwrap();
            assert_eq!(details, json!({"limit": 5, "note": "monthly"}));
        }
    }
}

// covers: EXT-11-07, EXT-11-11
#[tokio::test]
async fn a_user_who_can_do_something_gets_the_message_the_suggestion_and_the_servers_own_page() {
    let quota = StructuredError::new("QUOTA_EXHAUSTED", ErrorClass::Permanent, "the quota is used up")
        .with_suggestion("buy more credits in your account")
        .unwrap();
    let at = |url: &str| quota.clone().user_actionable().with_documentation_url(url);
    assert_eq!(at("http://acme.example/quota").unwrap_err(), UnsafeAdvice::Address);
    let own = Some("https://docs.acme.example/quota");
    let foreign = Some("https://acme.example.evil.test/quota");
    for mode in MODES {
        for url in [own, foreign] {
            let error = at(url.unwrap()).unwrap();
            let client = connect(server(&error), declaring(&[ExtensionId::StructuredErrors]), mode).await;
            for tool in ["refuse", "fail"] {
                let advice = client.user_advice(&client.call_tool(tool, ()).await).unwrap();
                assert_eq!(&*advice.message, "the quota is used up");
                assert_eq!(advice.suggestion.as_deref(), Some("buy more credits in your account"));
                assert_eq!(advice.documentation.as_deref(), own.filter(|own| Some(*own) == url));
                assert_eq!(
                    advice.foreign_documentation.as_deref(),
                    foreign.filter(|other| Some(*other) == url)
                );
            }
        }
        // Of what a user can do nothing about, the user hears nothing.
        let client = connect(server(&quota), declaring(&[ExtensionId::StructuredErrors]), mode).await;
        for tool in ["refuse", "fail"] {
            assert_eq!(client.user_advice(&client.call_tool(tool, ()).await), None);
        }
        assert_eq!(client.user_advice(&Ok(CallToolResult::text("done"))), None);
    }
}

#[tokio::test]
async fn an_address_that_is_not_of_https_is_left_out() {
    let mut error = StructuredError::new("CONFLICT", ErrorClass::Permanent, "no").user_actionable();
    error.documentation_url = Some("http://acme.example/quota".into());
    let client = connect(server(&error), declaring(&[ExtensionId::StructuredErrors]), MODES[0]).await;
    let advice = client.user_advice(&client.call_tool("refuse", ()).await).unwrap();
    assert_eq!((advice.documentation, advice.foreign_documentation), (None, None));
}
