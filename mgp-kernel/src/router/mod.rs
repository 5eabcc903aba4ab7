//! The router: decides whether the kernel itself, one server, or all of them together answer a request.

mod describe;
mod forward;
mod list_cache;
mod missing;
mod named;
mod others;
mod tasks;
mod transactions;

use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::ext::{ExtensionId, transaction};
use mgp_types::mgp::method;
use mgp_types::{Error, Method, MethodRule, Request, RequestKind, Response};
use tower_service::Service;

use self::forward::RouterFuture;
use self::list_cache::{CatalogKind, ListCache};
use crate::changes::{self, ChangeListeners};
use crate::methods::{JudgeCache, ToolDocuments, scopes};
use crate::running::RunningConfig;
use crate::visibility::Visibility;

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
    documents: ToolDocuments,
    judges: JudgeCache,
    lists: ListCache,
}

impl Router {
    pub(crate) fn new(changes: Arc<ChangeListeners>, documents: ToolDocuments, judges: JudgeCache) -> Self {
        Self(Arc::new(Routes {
            visibility: Arc::clone(&documents.visibility),
            config: Arc::clone(&documents.config),
            changes,
            documents,
            judges,
            lists: ListCache::default(),
        }))
    }
}

impl Routes {
    fn route(self: &Arc<Self>, request: Request) -> Result<RouterFuture, Error> {
        if request.kind == RequestKind::Notify {
            return self.notified(request);
        }
        if request.method != Method::TOOLS_CALL {
            return self.answer(request);
        }
        match request.context.tool.clone() {
            Some(tool) => self.to_tool(&tool, request),
            None => missing::tool(&self.visibility, &self.config, &request),
        }
    }

    fn answer(self: &Arc<Self>, request: Request) -> Result<RouterFuture, Error> {
        let Self { visibility, config, changes, documents, judges, lists } = &**self;
        let list = |list| lists.answer(visibility, config, changes, list, &request);
        let answer = match request.method.as_str() {
            "server/discover" => describe::describe(visibility, config, changes, &request),
            "tools/list" => list(CatalogKind::Tools),
            "prompts/list" => list(CatalogKind::Prompts),
            "resources/list" => list(CatalogKind::Resources),
            "resources/templates/list" => list(CatalogKind::Templates),
            "resources/unsubscribe" => self.unsubscribed(&request),
            method::REGISTRY_VALIDATE | method::TOOLS_VALIDATE => judges.validate(visibility, &request),
            method::PERMISSION_CHECK if exists(&request, ExtensionId::ScopedAuth) => {
                scopes::check(visibility, &request)
            }
            method::PERMISSION_NEGOTIATE if exists(&request, ExtensionId::ScopedAuth) => {
                scopes::negotiate(visibility, &request)
            }
            method::PERMISSION_REFRESH if exists(&request, ExtensionId::ScopedAuth) => {
                scopes::refresh(visibility, &request)
            }
            method::DISCOVERY_CATALOG if exists(&request, ExtensionId::ToolRegistry) => {
                documents.catalog(&request)
            }
            method::MANIFEST_GET if exists(&request, ExtensionId::ServiceManifest) => {
                documents.manifest(&request)
            }
            _ => return self.go(request),
        };
        answer.map(RouterFuture::done)
    }

    /// Answers requests that go to servers, or wait for something.
    fn go(self: &Arc<Self>, request: Request) -> Result<RouterFuture, Error> {
        let this = Arc::clone(self);
        Ok(match request.method.as_str() {
            "mgp/callback/respond" => self.callback(request)?,
            "prompts/get" => self.prompt(request)?,
            "resources/read" => self.read(request)?,
            "completion/complete" => self.complete(request)?,
            "resources/subscribe" => RouterFuture::of(this.subscribed(request)),
            "subscriptions/listen" => {
                let (changes, visibility) = (Arc::clone(&self.changes), Arc::clone(&self.visibility));
                RouterFuture::of(changes::listen(changes, visibility, request))
            }
            "logging/setLevel" => RouterFuture::of(changes::set_level(Arc::clone(&self.changes), request)),
            "tasks/list" => RouterFuture::of(this.list_tasks(request)),
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => self.task(request)?,
            transaction::BEGIN | transaction::COMMIT | transaction::ROLLBACK | transaction::STATUS => {
                self.transaction(request)?
            }
            method::DISCOVERY_RECOMMEND if exists(&request, ExtensionId::ServerRecommendations) => {
                RouterFuture::of(async move { this.documents.recommend(&request).await })
            }
            // A method that is in the table of methods and has come this far is none that a client sends to a kernel.
            _ if MethodRule::of(&request).is_some() => return Err(Error::method_not_found(&request.method)),
            _ => self.unlisted(request)?,
        })
    }
}

/// Returns whether the methods of an extension exist for the client: it declares the extension, or speaks MGP.
fn exists(request: &Request, extension: ExtensionId) -> bool {
    let session = request.context.session.as_ref();
    session.is_some_and(|session| session.mgp.is_some() || session.extensions().has(extension))
}

impl Service<Request> for Router {
    type Response = Response;
    type Error = Error;
    type Future = RouterFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> RouterFuture {
        self.0.route(request).unwrap_or_else(RouterFuture::failed)
    }
}

#[cfg(test)]
mod tests;
