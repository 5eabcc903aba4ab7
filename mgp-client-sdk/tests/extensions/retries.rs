//! Errors of the tool registry, and which of them a client tries again.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::{ErrorClass, ExtensionId, StructuredError};
use mgp_client_sdk::{EraMode, Error, Object};
use mgp_lifecycle::call::{RetryPolicy, SendingLayer};
use mgp_server_sdk::{Server, Tool, ToolError};

use crate::servers::declaring;

/// A server whose tools end in this error the first time, and count their calls. Only one may be called twice.
fn flaky(error: &Error) -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let handler = || {
        let (calls, error) = (calls.clone(), error.clone());
        move || {
            let is_first = calls.fetch_add(1, Ordering::SeqCst) == 0;
            let error = error.clone();
            async move { if is_first { Err(ToolError::from(error)) } else { Ok("done") } }
        }
    };
    let server = Server::new("desk", "1.0.0")
        .tool(Tool::new("look", "Looks.").idempotent(), handler())
        .tool(Tool::new("send", "Sends."), handler());
    (server, calls)
}

/// Returns how often a tool was called, and the error that came of it.
async fn tried(tool: &str, error: &Error) -> (usize, Option<Error>) {
    let (server, calls) = flaky(error);
    let client = declaring(&[ExtensionId::ToolRegistry])
        .mgp(None)
        .era(EraMode::Session)
        .layer(SendingLayer::new().retry(RetryPolicy::default()))
        .in_process(server.accept().unwrap())
        .await
        .unwrap();
    let tool = client.find_tool(tool).await.unwrap();
    let outcome = client.call_listed(&tool, ()).await;
    (calls.load(Ordering::SeqCst), outcome.err())
}

// covers: GGEN-5-05, GGEN-5-08, GGEN-5-09, GGEN-5-10, GGEN-5-20
#[tokio::test(start_paused = true)]
async fn only_errors_that_pass_are_tried_again_and_only_where_that_can_do_no_harm() {
    for (code, number, kind, passes) in [
        (code::INTERNAL_ERROR, -32603, "InternalError", true),
        (code::UPSTREAM_ERROR, -32003, "ToolExecution", true),
        (code::TIMEOUT, -32003, "ToolTimeout", true),
        (code::INVALID_REQUEST, -32600, "InvalidRequest", false),
        (code::METHOD_NOT_FOUND, -32601, "MethodNotFound", false),
        (code::INVALID_PARAMS, -32602, "InvalidParams", false),
        (code::INVALID_TOOL_ARGS, -32001, "ValidationError", false),
        (code::TOOL_NOT_FOUND, -32002, "ToolNotFound", false),
        (code::AUTH_REQUIRED, -32004, "AuthenticationError", false),
        (code::PERMISSION_DENIED, -32005, "AuthorizationError", false),
    ] {
        let error = Error::new(code, "no");
        let (calls, refused) = tried("look", &error).await;
        assert_eq!((calls, refused.is_none()), if passes { (2, true) } else { (1, false) }, "{kind}");
        // The tool that must not be called twice is not, and its caller reads what happened.
        let (calls, refused) = tried("send", &error).await;
        assert_eq!(calls, 1, "{kind}");
        let refused = refused.unwrap();
        let data = Object::from_raw(refused.data().unwrap()).unwrap();
        assert_eq!((refused.code(), &*data.text("error_type").unwrap()), (number, kind));
        assert_eq!(data.text("reason").as_deref(), Some("no"));
    }
}

// covers: GGEN-5-16
#[tokio::test(start_paused = true)]
async fn an_error_may_name_a_page_that_explains_it() {
    let structured = StructuredError::new("SERVER_ERROR", ErrorClass::Permanent, "no")
        .with_documentation_url("https://docs.acme.example/no")
        .unwrap();
    for (data, url) in
        [(Some(structured.to_object().to_raw()), Some("https://docs.acme.example/no")), (None, None)]
    {
        let error = Error::new(code::INTERNAL_ERROR, "no");
        let error = match data {
            Some(data) => error.with_data(data),
            None => error,
        };
        let (_, refused) = tried("send", &error).await;
        let data = Object::from_raw(refused.unwrap().data().unwrap()).unwrap();
        assert_eq!(data.text("documentation_url").as_deref(), url);
    }
}
