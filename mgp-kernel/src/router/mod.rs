//! The router: decides whether the kernel itself, one server, or all of them together answer a request.

mod caller_view;
mod describe;
pub(crate) mod fan_out;
mod forward;
mod list_cache;
mod missing;
mod named;
mod others;
mod tasks;
mod transactions;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::ext::transaction;
use mgp_types::{Error, Method, MethodRule, Request, RequestKind, Response};
use tower_service::Service;

pub(crate) use self::caller_view::{CallerView, CatalogVisibility, Visibility};
use self::forward::{RouterFuture, to_tool};
use self::list_cache::{CatalogKind, ListCache};
use crate::notify::changes::{self, ChangeListeners};
use crate::running::RunningConfig;

/// The innermost service of the stack of clients. Clones share their state.
///
/// A request for one server goes there with its bytes, in which nothing is changed but the name by which the server
/// knows the requested item; the answer of the server comes back as it is, errors included. Answers of all servers are
/// put together here. Nothing is held between requests but lists, and the servers of tasks.
#[derive(Clone)]
pub(crate) struct Router(Arc<Routes>);

struct Routes {
    visibility: Arc<Visibility>,
    config: Arc<RunningConfig>,
    changes: Arc<ChangeListeners>,
    lists: ListCache,
}

impl Router {
    pub(crate) fn new(
        visibility: Arc<Visibility>,
        config: Arc<RunningConfig>,
        changes: Arc<ChangeListeners>,
    ) -> Self {
        Self(Arc::new(Routes { visibility, config, changes, lists: ListCache::default() }))
    }

    fn answer(&self, request: Request) -> RouterFuture {
        let Routes { visibility, config, changes, lists } = &*self.0;
        let list = |list| RouterFuture::done(lists.answer(visibility, config, changes, list, &request));
        match request.method.as_str() {
            "server/discover" => {
                RouterFuture::done(describe::describe(visibility, config, changes, &request))
            }
            "tools/list" => list(CatalogKind::Tools),
            "mgp/callback/respond" => forward::callback(&visibility.fleet, request),
            "prompts/list" => list(CatalogKind::Prompts),
            "resources/list" => list(CatalogKind::Resources),
            "resources/templates/list" => list(CatalogKind::Templates),
            "prompts/get" => named::prompt(visibility, config, request),
            "resources/read" => named::read(visibility, request),
            "completion/complete" => named::complete(visibility, config, request),
            "resources/subscribe" => {
                let (visibility, changes) = (Arc::clone(visibility), Arc::clone(changes));
                RouterFuture::of(named::subscribed(visibility, changes, request))
            }
            "resources/unsubscribe" => RouterFuture::done(named::unsubscribed(changes, &request)),
            "subscriptions/listen" => {
                let (visibility, changes) = (Arc::clone(visibility), Arc::clone(changes));
                RouterFuture::of(changes::listen(changes, visibility, request))
            }
            "logging/setLevel" => RouterFuture::of(changes::set_level(Arc::clone(changes), request)),
            "tasks/list" => {
                let (visibility, changes) = (Arc::clone(visibility), Arc::clone(changes));
                RouterFuture::of(tasks::list(visibility, changes, request))
            }
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => {
                tasks::one(visibility, changes, request)
            }
            transaction::BEGIN | transaction::COMMIT | transaction::ROLLBACK | transaction::STATUS => {
                transactions::call(visibility, config, request)
            }
            // A method that is in the table of methods and has come this far is none that a client sends to a kernel.
            _ if MethodRule::of(&request).is_some() => {
                RouterFuture::done(Err(Error::method_not_found(&request.method)))
            }
            _ => others::call(visibility, request),
        }
    }
}

impl Service<Request> for Router {
    type Response = Response;
    type Error = Error;
    type Future = RouterFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> RouterFuture {
        if request.kind == RequestKind::Notify {
            return others::notified(&self.0.visibility, &self.0.changes, request);
        }
        if request.method != Method::TOOLS_CALL {
            return self.answer(request);
        }
        match request.context.tool.clone() {
            Some(tool) => to_tool(&self.0.visibility.fleet, &self.0.changes, &tool, request),
            None => RouterFuture::done(Err(missing::tool(&self.0.visibility, &self.0.config, &request))),
        }
    }
}

#[cfg(test)]
pub(crate) mod test_kernel;
#[cfg(test)]
mod tests;
