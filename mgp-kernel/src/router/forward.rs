//! Requests that go to one server as they are.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, ready};

use memchr::memmem::Finder;
use mgp_types::mcp::task_extension::EXTENSION_ID;
use mgp_types::mgp::{ResolvedTool, ServerId};
use mgp_types::{BoxFuture, Error, Object, Principal, Request, Response};
use tower_service::Service as _;

use super::Routes;
use crate::call::may_name;
use crate::changes::ChangeListeners;
use crate::servers::upstream::Upstream;

type RouterOutcome = Result<Response, Error>;

/// The future of a request to the router.
pub(crate) enum RouterFuture {
    Done(Option<RouterOutcome>),
    Running(BoxFuture<'static, RouterOutcome>),
    /// A call whose answer may be a task.
    Beginning {
        future: BoxFuture<'static, RouterOutcome>,
        changes: Arc<ChangeListeners>,
        tool: Arc<ResolvedTool>,
        caller: Principal,
    },
}

impl RouterFuture {
    pub(super) fn done(response: Response) -> Self {
        Self::Done(Some(Ok(response)))
    }

    pub(super) fn failed(error: Error) -> Self {
        Self::Done(Some(Err(error)))
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
            Self::Beginning { future, changes, tool, caller } => {
                let mut outcome = ready!(future.as_mut().poll(cx));
                if let Ok(response) = &mut outcome {
                    changes.tasks.learn(caller, &tool.server, response);
                }
                Poll::Ready(outcome)
            }
        }
    }
}

impl Routes {
    /// Sends a call to the server that has the tool.
    pub(super) fn to_tool(&self, tool: &Arc<ResolvedTool>, request: Request) -> Result<RouterFuture, Error> {
        let caller = request.context.principal.clone().filter(|_| may_become_task(&request));
        let future = self.upstream(&tool.server)?.call(request);
        let Some(caller) = caller else { return Ok(RouterFuture::Running(future)) };
        let (changes, tool) = (Arc::clone(&self.changes), Arc::clone(tool));
        Ok(RouterFuture::Beginning { future, changes, tool, caller })
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
