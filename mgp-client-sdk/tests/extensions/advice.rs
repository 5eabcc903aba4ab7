//! Structured errors as a host reads them, and what it shows to its user.

use crate::servers::{MODES, connect, declaring};
use mgp_client_sdk::Error;
use mgp_client_sdk::mcp::{CallToolResult, Meta};
use mgp_client_sdk::types::ext::{ErrorClass, ExtensionId, StructuredError, UnsafeAdvice};
use mgp_server_sdk::{Server, Tool, ToolError};

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
