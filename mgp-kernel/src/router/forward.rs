//! Requests that go to one server as they are.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};

use memchr::memmem::Finder;
use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_types::mcp::task_extension::EXTENSION_ID;
use mgp_types::mgp::{ResolvedTool, ServerId};
use mgp_types::{BoxFuture, Error, Flow, Gate, Method, Object, Principal, Request, Response};
use tower_service::Service as _;

use super::Routes;
use crate::call::may_name;
use crate::servers::upstream::Upstream;

type RouterOutcome = Result<Response, Error>;

/// The future of a request to the router.
#[expect(clippy::large_enum_variant, reason = "most requests are calls of tools")]
pub(crate) enum RouterFuture {
    Done(Option<RouterOutcome>),
    Running(BoxFuture<'static, RouterOutcome>),
    Calling(BoxFuture<'static, RouterOutcome>, Option<CalledTool>),
}

/// The call of a tool, with the work that is left when it is answered.
pub(crate) struct CalledTool {
    routes: Arc<Routes>,
    /// The tool, and the caller of it, if the answer may be a task.
    beginning: Option<(Arc<ResolvedTool>, Principal)>,
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
                if let Some(called) = called.take() {
                    called.answered(&mut outcome);
                }
                Poll::Ready(outcome)
            }
        }
    }
}

impl CalledTool {
    fn answered(self, outcome: &mut RouterOutcome) {
        let Self { routes, beginning, used } = self;
        if let (Some((tool, caller)), Ok(response)) = (beginning, &mut *outcome) {
            routes.changes.tasks.learn(&caller, &tool.server, response);
        }
        routes.own.tools.leave(used, outcome);
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
        let principal = request.context.principal.clone().filter(|_| may_become_task(&request));
        let beginning = principal.map(|caller| (Arc::clone(tool), caller));
        let future = self.upstream(&tool.server)?.call(request);
        let called = CalledTool { routes: Arc::clone(self), beginning, used };
        Ok(RouterFuture::Calling(future, Some(called)))
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

/// Returns whether the answer may be a task: the call asks for one, or its client declared that it takes one.
fn may_become_task(request: &Request) -> bool {
    if request.params.contains("task") {
        return true;
    }
    let Some(session) = request.context.session.as_ref().filter(|session| session.describes_each_request())
    else {
        return false;
    };
    // Most clients name other extensions alone, which need not be parsed.
    let extensions = session.capabilities.get("extensions");
    let extensions = extensions.filter(|extensions| may_name(extensions.as_bytes(), &EXTENSION));
    extensions
        .and_then(|extensions| Object::from_raw(&extensions).ok())
        .is_some_and(|extensions| extensions.contains(EXTENSION_ID))
}

static EXTENSION: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(EXTENSION_ID));
