//! Who answers what: the kernel itself, one server, or all of them together.

mod eyes;
mod forward;
mod tools;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::{Error, Method, Request, Response};
use tower_service::Service;

pub(crate) use self::eyes::CatalogEyes;
use self::forward::{RouterFuture, to_server};
use crate::parts::Parts;

/// The innermost service of the front.
#[derive(Clone)]
pub(crate) struct Router(Arc<Parts>);

impl Router {
    pub(crate) fn new(parts: Arc<Parts>) -> Self {
        Self(parts)
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
        let parts = &self.0;
        if request.method == Method::TOOLS_CALL {
            return match &request.context.tool {
                Some(tool) => to_server(parts, &tool.server.clone(), request),
                None => RouterFuture::done(Err(tools::unknown(parts, &request))),
            };
        }
        match request.method.as_str() {
            "tools/list" => {
                if let Some(agent) = &request.context.principal {
                    parts.fleet.arrived(agent);
                }
                RouterFuture::done(tools::list(parts, &request))
            }
            "mgp/callback/respond" => forward::callback(parts, request),
            _ => RouterFuture::done(Err(Error::method_not_found(&request.method))),
        }
    }
}
