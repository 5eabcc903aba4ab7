use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_transport::TooLong;
use mgp_types::mcp::{CallToolResult, ForRevision};
use mgp_types::{Error, Method, Request, Response, RpcService, Session, code};
use pin_project_lite::pin_project;
use tower_layer::Layer;
use tower_service::Service;

/// Keeps results of a server from being longer than its clients have room for. Makes [`Size`] services.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SizeLayer {
    pub(crate) max_bytes: usize,
}

impl<S> Layer<S> for SizeLayer {
    type Service = Size<S>;

    fn layer(&self, inner: S) -> Size<S> {
        Size { inner, max_bytes: self.max_bytes }
    }
}

/// The service of [`SizeLayer`].
///
/// A result that is too long is replaced by what says how long it is and what to do: for a tool a result with `isError`,
/// because that reaches the model, which can ask for less; for everything else an error, 3001. So is one that was so long
/// that its connection did not take it in. Sits outside of retry and of the circuit breaker: the call was made, and the
/// server is none the worse for it. Costs a comparison.
#[derive(Debug, Clone)]
pub(crate) struct Size<S> {
    inner: S,
    max_bytes: usize,
}

impl<S: RpcService> Service<Request> for Size<S> {
    type Response = Response;
    type Error = Error;
    type Future = SizeFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let tool = if request.method == Method::TOOLS_CALL { request.context.session.clone() } else { None };
        SizeFuture { future: self.inner.call(request), tool, max_bytes: self.max_bytes }
    }
}

pin_project! {
    /// The future of [`Size`].
    pub(crate) struct SizeFuture<F> {
        #[pin]
        future: F,
        // Whose call of a tool it is.
        tool: Option<Arc<Session>>,
        max_bytes: usize,
    }
}

impl<F: Future<Output = Result<Response, Error>>> Future for SizeFuture<F> {
    type Output = Result<Response, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let most = *this.max_bytes;
        let has = |bytes: String| {
            format!(
                "the result has {bytes} bytes, and {most} are allowed; ask for less, such as a page, a range or fewer \
                 fields, or have `max_result_bytes` of the server and `max_message_bytes` of `[limits]` raised in mgp.toml"
            )
        };
        let message = match ready!(this.future.poll(cx)) {
            Ok(response) if response.written_bytes() <= most => return Poll::Ready(Ok(response)),
            Ok(response) => has(response.written_bytes().to_string()),
            Err(error) => match TooLong::of(&error) {
                Some(TooLong::Message { most_bytes }) => has(format!("more than {most_bytes}")),
                Some(_) => error.message().to_owned(),
                None => return Poll::Ready(Err(error)),
            },
        };
        Poll::Ready(match this.tool {
            Some(session) => {
                Response::with_body(&CallToolResult::error(message).for_revision(session.revision))
            }
            None => Err(Error::new(code::RESOURCE_EXHAUSTED, message)),
        })
    }
}
