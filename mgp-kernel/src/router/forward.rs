//! Requests that go to one server as they are.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_types::mgp::{ResolvedTool, ServerId};
use mgp_types::{BoxFuture, Error, Flow, Gate, Method, Request, Response};
use tower_service::Service as _;

use super::Routes;
use crate::servers::upstream::Upstream;

type RouterOutcome = Result<Response, Error>;

/// The future of a request to the router.
pub(crate) enum RouterFuture {
    Done(Option<RouterOutcome>),
    Running(BoxFuture<'static, RouterOutcome>),
    Calling(BoxFuture<'static, RouterOutcome>, Option<CalledTool>),
}

/// The call of a tool, which the tool index is told of when it is answered.
pub(crate) struct CalledTool {
    routes: Arc<Routes>,
    used: <ToolDiscoveryGate as Gate>::Pass,
}

impl RouterFuture {
    pub(super) fn done(response: Response) -> Self {
        Self::Done(Some(Ok(response)))
    }

    pub(super) fn failed(error: Error) -> Self {
        Self::Done(Some(Err(error)))
    }

    /// Returns the answer of a section's gate to one of its methods.
    pub(super) fn answered_by<G: Gate>(gate: &G, mut request: Request) -> Self {
        let method = request.method.clone();
        Self::decided(method, gate.enter(&mut request))
    }

    /// Returns the answer of a section to one of its methods. A method that the section lets pass does not exist for this
    /// peer.
    pub(super) fn decided<P: Send + 'static>(method: Method, flow: Flow<P>) -> Self {
        match flow {
            Flow::Answer(answer) => Self::Done(Some(answer)),
            Flow::Pass(_) => Self::failed(Error::method_not_found(&method)),
            Flow::Wait(waiting) => Self::of(async move { Self::decided(method, waiting.await.1).await }),
        }
    }

    pub(super) fn of(future: impl Future<Output = RouterOutcome> + Send + 'static) -> Self {
        Self::Running(Box::pin(future))
    }
}

impl Future for RouterFuture {
    type Output = RouterOutcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Done(outcome) => outcome.take().map_or(Poll::Pending, Poll::Ready),
            Self::Running(future) => future.as_mut().poll(cx),
            Self::Calling(future, called) => {
                let mut outcome = ready!(future.as_mut().poll(cx));
                if let Some(CalledTool { routes, used }) = called.take() {
                    routes.own.tools.leave(used, &mut outcome);
                }
                Poll::Ready(outcome)
            }
        }
    }
}

impl Routes {
    /// Sends a call to the server that has the tool.
    pub(super) fn to_tool(
        self: &Arc<Self>,
        tool: &Arc<ResolvedTool>,
        mut request: Request,
    ) -> Result<RouterFuture, Error> {
        let used = match self.own.tools.enter(&mut request) {
            Flow::Pass(used) => used,
            flow => return Ok(RouterFuture::decided(Method::TOOLS_CALL, flow)),
        };
        let future = self.upstream(&tool.server)?.call(request);
        Ok(RouterFuture::Calling(future, Some(CalledTool { routes: Arc::clone(self), used })))
    }

    /// Sends a request to one server.
    pub(super) fn to_server(&self, server: &ServerId, request: Request) -> Result<RouterFuture, Error> {
        Ok(RouterFuture::Running(self.upstream(server)?.call(request)))
    }

    fn upstream(&self, server: &ServerId) -> Result<Arc<Upstream>, Error> {
        let upstream = self.visibility.fleet.get(server.as_str());
        upstream.ok_or_else(|| Error::disconnected(format!("the server {server} is gone")))
    }

    /// Sends the answer to a callback to the connection on which it was asked.
    pub(super) fn callback(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let answered = self.visibility.fleet.callbacks().lock().answered(&request.context, &request.params);
        let (mut way, params) = answered.ok_or_else(|| {
            Error::invalid_params(
                "the callback is not known; it was answered before, its call is over, or it was for somebody else",
            )
        })?;
        request.params = params;
        Ok(RouterFuture::Running(way.call(request)))
    }
}
