//! Who answers what: the kernel itself, one server, or all of them together.

mod describe;
pub(crate) mod every;
mod eyes;
mod forward;
mod listed;
mod missing;
mod named;
mod others;
mod sight;
mod tasks;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Kind, Method, MethodRule, Request, Response};
use tower_service::Service;

pub(crate) use self::eyes::CatalogEyes;
use self::forward::{RouterFuture, to_tool};
use self::listed::{List, Lists};
pub(crate) use self::sight::Sight;
use crate::changes;
use crate::parts::Parts;

/// The innermost service of the front. Clones share what they know.
///
/// A request for one server goes there with its bytes, in which nothing is changed but the name by which the server knows
/// what is asked for; what the server answers comes back as it is, errors included. What is for all servers is put
/// together here. Nothing is held between requests but lists, and where tasks are.
#[derive(Clone)]
pub(crate) struct Router {
    parts: Arc<Parts>,
    lists: Arc<Lists>,
}

impl Router {
    pub(crate) fn new(parts: Arc<Parts>) -> Self {
        Self { parts, lists: Arc::default() }
    }

    fn answer(&self, request: Request) -> RouterFuture {
        let parts = &self.parts;
        let list = |list| RouterFuture::done(self.lists.answer(parts, list, &request));
        match request.method.as_str() {
            "server/discover" => RouterFuture::done(describe::describe(parts, &request)),
            "tools/list" => list(List::Tools),
            "mgp/callback/respond" => forward::callback(parts, request),
            "prompts/list" => list(List::Prompts),
            "resources/list" => list(List::Resources),
            "resources/templates/list" => list(List::Templates),
            "prompts/get" => named::prompt(parts, request),
            "resources/read" => named::read(parts, request),
            "completion/complete" => named::complete(parts, request),
            "resources/subscribe" => RouterFuture::of(named::subscribed(Arc::clone(parts), request)),
            "resources/unsubscribe" => RouterFuture::done(named::unsubscribed(parts, &request)),
            "subscriptions/listen" => RouterFuture::of(changes::listen(Arc::clone(parts), request)),
            "logging/setLevel" => RouterFuture::of(changes::set_level(Arc::clone(parts), request)),
            "tasks/list" => RouterFuture::of(tasks::list(Arc::clone(parts), request)),
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => tasks::one(parts, request),
            // What has a row in the table of methods and came this far is nothing that a client asks a kernel.
            _ if MethodRule::of(&request).is_some() => {
                RouterFuture::done(Err(Error::method_not_found(&request.method)))
            }
            _ => others::call(parts, request),
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
        if request.kind == Kind::Notify {
            return others::notified(&self.parts, request);
        }
        if request.method != Method::TOOLS_CALL {
            return self.answer(request);
        }
        match request.context.tool.clone() {
            Some(tool) => to_tool(&self.parts, &tool, request),
            None => RouterFuture::done(Err(missing::tool(&self.parts, &request))),
        }
    }
}

#[cfg(test)]
pub(crate) mod scene;
#[cfg(test)]
mod tests;
