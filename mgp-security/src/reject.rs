use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_types::mgp::code::{CODE_SAFETY_VIOLATION, INVALID_TOOL_ARGS, RATE_LIMITED, category};
use mgp_types::mgp::{Category, Recovery};
use mgp_types::{Error, Method, Origin, RawJson, Request, Response, RpcService, Session};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

/// Decides how a refusal of a tool call looks to the caller, and nothing else does.
///
/// A peer that speaks MGP gets the error itself, with its code and what to do next. To a plain MCP client, an error would
/// look as if the protocol had failed, and most never show one to the model; it gets a result with `isError`, whose text
/// a model can read and act on. Sits outside of the layers that refuse and of the one that records. Reads
/// `context.session`; allocates on refusal only.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct RejectLayer;

impl RejectLayer {
    /// The layer.
    pub const fn new() -> Self {
        Self
    }
}

impl<S> Layer<S> for RejectLayer {
    type Service = Reject<S>;

    fn layer(&self, inner: S) -> Reject<S> {
        Reject { inner }
    }
}

/// The service of [`RejectLayer`], which says where it sits. Dropping its future drops that of the service further in,
/// and nothing else.
#[derive(Debug, Clone)]
pub struct Reject<S> {
    inner: S,
}

impl<S: RpcService> Service<Request> for Reject<S> {
    type Response = Response;
    type Error = Error;
    type Future = RejectFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let plain = if request.method == Method::TOOLS_CALL { request.context.session.clone() } else { None };
        RejectFuture {
            future: self.inner.call(request),
            plain: plain.filter(|session| session.mgp.is_none()),
        }
    }
}

pin_project! {
    /// The future of [`Reject`].
    #[must_use = "futures do nothing unless polled"]
    pub struct RejectFuture<F> {
        #[pin]
        future: F,
        plain: Option<Arc<Session>>,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for RejectFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.future.poll(cx));
        Poll::Ready(match result {
            Err(error) if this.plain.is_some() && is_refusal(&error) => as_result(&error),
            other => other,
        })
    }
}

impl<F> fmt::Debug for RejectFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectFuture").finish_non_exhaustive()
    }
}

/// Whether somebody here decided against the call. That nobody authenticated is for the program, not for its model;
/// arguments that do not fit are for the model, which can mend them.
fn is_refusal(error: &Error) -> bool {
    use mgp_types::code::{AUTH_EXPIRED, AUTH_REQUIRED};
    let decided = category(error.code()) == Some(Category::Security)
        || matches!(error.code(), RATE_LIMITED | INVALID_TOOL_ARGS);
    error.origin() == Origin::Local && decided && !matches!(error.code(), AUTH_REQUIRED | AUTH_EXPIRED)
}

fn as_result(error: &Error) -> Result<Response, Error> {
    let details = |recovery: Recovery| recovery.details.filter(|_| error.code() == CODE_SAFETY_VIOLATION);
    let text = match error.recovery().and_then(details) {
        // The body of §7.4, from which an agent can correct its code.
        Some(details) => String::from_utf8_lossy(details.as_bytes()).into_owned(),
        None => error.message().to_owned(),
    };
    let result = serde_json::json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    RawJson::from_value(&result)
        .map(Response::plain)
        .map_err(|error| Error::internal("the refusal is not JSON").with_source(error))
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::{ExtensionSet, Negotiated, Offer};
    use mgp_types::{Object, Revision, code};

    use super::*;
    use crate::doubles::Server;

    async fn answer(error: Error, method: Method, speaks_mgp: bool) -> Result<Response, Error> {
        let mut session = Session::new(Revision::LATEST);
        let offer = Offer::new(ExtensionSet::standard());
        session.mgp = speaks_mgp.then(|| Negotiated::agree(&offer, &offer)).flatten();
        let mut request = Request::call(method, Object::new());
        request.context.session = Some(Arc::new(session));
        let server = Server::answering(move |_| Err(error.clone()));
        RejectLayer::new().layer(server).call(request).await
    }

    fn rejected() -> Error {
        let body =
            RawJson::parse(r#"{"status":"rejected","violations":["Blocked import: 'subprocess'"]}"#).unwrap();
        let mut recovery = Recovery::for_code(code::CODE_SAFETY_VIOLATION).unwrap();
        recovery.details = Some(body);
        Error::new(code::CODE_SAFETY_VIOLATION, "the code was rejected").with_recovery(recovery)
    }

    // covers: MGP-7.4-01, MGP-7.4-06
    #[tokio::test]
    async fn rejected_code_is_an_error_to_a_peer_of_mgp_and_a_readable_result_to_a_plain_client() {
        let error = answer(rejected(), Method::TOOLS_CALL, true).await.unwrap_err();
        assert_eq!(error.code(), 1011);
        let data = error.wire_data().unwrap();
        assert!(std::str::from_utf8(data.as_bytes()).unwrap().contains(r#""details":{"status":"rejected""#));

        let response = answer(rejected(), Method::TOOLS_CALL, false).await.unwrap();
        let result: serde_json::Value = response.body().unwrap();
        assert_eq!(result["isError"], true);
        let text: serde_json::Value =
            serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
        assert_eq!(text["violations"][0], "Blocked import: 'subprocess'");
    }

    #[tokio::test]
    async fn only_refusals_of_tool_calls_become_results() {
        let denied = || Error::new(code::ACCESS_DENIED, "ask for access");
        assert!(answer(denied(), Method::TOOLS_CALL, false).await.is_ok());
        let misfit = Error::new(code::INVALID_TOOL_ARGS, "`/text` is not of type string");
        assert!(answer(misfit, Method::TOOLS_CALL, false).await.is_ok());
        assert!(answer(denied(), Method::RESOURCES_READ, false).await.is_err());
        let theirs = Error::from_origin(Origin::Peer, code::ACCESS_DENIED, "no");
        assert!(answer(theirs, Method::TOOLS_CALL, false).await.is_err());
        assert!(answer(Error::internal("broken"), Method::TOOLS_CALL, false).await.is_err());
        assert!(answer(Error::new(code::AUTH_REQUIRED, "who?"), Method::TOOLS_CALL, false).await.is_err());
    }
}
