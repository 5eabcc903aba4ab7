//! Who answers what: the kernel itself, one server, or all of them together.

mod caller_view;
mod describe;
pub(crate) mod fan_out;
mod forward;
mod list_cache;
mod missing;
mod named;
mod others;
mod tasks;
mod visibility;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Method, MethodRule, Request, RequestKind, Response};
use tower_service::Service;

pub(crate) use self::caller_view::{CallerView, Visibility};
use self::forward::{RouterFuture, to_tool};
use self::list_cache::{CatalogKind, ListCache};
pub(crate) use self::visibility::CatalogVisibility;
use crate::notify::changes::{self, ChangeListeners};
use crate::running::RunningConfig;

/// The innermost service of the front. Clones share what they know.
///
/// A request for one server goes there with its bytes, in which nothing is changed but the name by which the server knows
/// what is asked for; what the server answers comes back as it is, errors included. What is for all servers is put
/// together here. Nothing is held between requests but lists, and where tasks are.
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
            // What has a row in the table of methods and came this far is nothing that a client asks a kernel.
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
