//! Arguments that HTTP headers repeat, where a tool's schema asks for it (`x-mcp-header`).

mod annotation;
mod future;
mod plans;

use std::task::{Context, Poll};

use mgp_types::mgp::method;
use mgp_types::{Error, Method, Request, RequestKind, Response, RpcService};
use tower_service::Service;

pub use self::future::HeaderMirrorFuture;
use self::future::{AnswerWatch, Retry};
pub(crate) use self::plans::HeaderPlans;

/// Repeats arguments of tool calls in headers, over HTTP and where there are no sessions.
///
/// The layer learns the arguments from the lists of tools, and from the results of tool searches (MGP §16), and removes
/// the tools with wrong annotations from lists. A call that the server refuses for its headers is sent again once,
/// after the tools were listed again. The layer sits right above the era. The layer writes `extensions`; over
/// transports other than HTTP it has no effect.
#[derive(Debug, Clone)]
pub struct HeaderMirror<S> {
    inner: S,
    plans: Option<HeaderPlans>,
}

impl<S> HeaderMirror<S> {
    pub(crate) fn new(inner: S, plans: Option<HeaderPlans>) -> Self {
        Self { inner, plans }
    }

    /// Returns the service that carries the requests.
    pub fn get_ref(&self) -> &S {
        &self.inner
    }
}

impl<S: RpcService> Service<Request> for HeaderMirror<S> {
    type Response = Response;
    type Error = Error;
    type Future = HeaderMirrorFuture<S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let Some(plans) = self.plans.as_ref().filter(|_| request.kind == RequestKind::Call) else {
            return HeaderMirrorFuture::new(self.inner.call(request), None);
        };
        let watch = if request.method == Method::TOOLS_LIST {
            Some(AnswerWatch::Learn(plans.clone()))
        } else if finds_tools(&request) {
            Some(AnswerWatch::LearnFound(plans.clone()))
        } else if request.method == Method::TOOLS_CALL {
            let original = request.clone();
            plans.apply(&mut request);
            let inner = self.inner.clone();
            Some(AnswerWatch::Retry(Box::new(Retry { plans: plans.clone(), inner, request: original })))
        } else {
            None
        };
        HeaderMirrorFuture::new(self.inner.call(request), watch)
    }
}

/// Returns whether a request searches or asks for tools, by a method or by the tool that models call.
fn finds_tools(request: &Request) -> bool {
    let method = if request.method == Method::TOOLS_CALL {
        request.params.text("name").and_then(|name| method::of_tool(&name))
    } else {
        Some(request.method.as_str())
    };
    matches!(method, Some(method::TOOLS_DISCOVER | method::TOOLS_REQUEST))
}
