//! The router: the innermost service, which finds the handler of each request.

mod call;
#[cfg(feature = "ext")]
mod manifest;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::written;
use mgp_types::{
    BoxedService, CacheScope, Error, Method, Object, RawJson, Request, RequestKind, Response, Revision,
    Session, Severity, code,
};
use tower_service::Service;

#[cfg(feature = "ext")]
pub(crate) use self::manifest::{manifest, validate};
use crate::cx::CallExtras;
use crate::list::{EntryList, ListDialect, ListEntry};
use crate::method::MethodFuture;
use crate::server_context::OfferedFeatures;
use crate::server_shared::{Catalog, ServerShared};
use crate::task;
use crate::tool::{CallInput, ToolFuture};

/// The innermost service of a server: it finds the handler of a request, and runs it.
///
/// The router sits behind the era and expects `context.session` to be there. Clones share everything; a call loads the
/// present catalog and takes no lock.
#[derive(Clone)]
pub struct Router {
    shared: Arc<ServerShared>,
    fallback: Option<BoxedService>,
}

impl Router {
    pub(crate) fn new(shared: Arc<ServerShared>, fallback: Option<BoxedService>) -> Self {
        Self { shared, fallback }
    }

    #[inline]
    fn route(&mut self, request: Request) -> Result<RouterFuture, Error> {
        let session = request.context.session()?;
        let revision = session.revision;
        let shared = &self.shared;
        if self.fallback.is_some() && !call::is_known(&shared.catalog(), &request) {
            return self.other(request);
        }
        Ok(match request.method.as_str() {
            "tools/call" if self.offers(|offered| offered.tools) => call::tool(shared, request)?,
            "tools/list" if self.offers(|it| it.tools) => self.list(request, |all| &*all.tools)?,
            "prompts/list" if self.offers(|it| it.prompts) => self.list(request, |all| &*all.prompts)?,
            "resources/list" if self.offers(|it| it.resources) => {
                self.list(request, |all| &*all.resources)?
            }
            "resources/templates/list" if self.offers(|offered| offered.resources) => {
                self.list(request, |all| &*all.templates)?
            }
            "prompts/get" if self.offers(|offered| offered.prompts) => {
                RouterFuture::handed(call::prompt(shared, request, revision)?)
            }
            "resources/read" if self.offers(|offered| offered.resources) => {
                RouterFuture::handed(call::resource(shared, request, revision)?)
            }
            "resources/subscribe" if self.offers(|offered| offered.resources) => {
                shared.listeners.subscribe(session, &call::text(&request, "uri")?)?;
                Ok(Response::empty()).into()
            }
            "resources/unsubscribe" if self.offers(|offered| offered.resources) => {
                shared.listeners.unsubscribe(session, &call::text(&request, "uri")?);
                Ok(Response::empty()).into()
            }
            "completion/complete" if self.offers(|offered| offered.completions) => {
                let input = CallInput { request, extras: CallExtras::of(&shared.context) };
                RouterFuture::handed(call::complete(&shared.catalog(), input)?)
            }
            "logging/setLevel" => set_level(session, &request).into(),
            "server/discover" => {
                let described = shared.describe(revision);
                if !revision.is_stateless() {
                    shared.listeners.open(session);
                }
                described.into()
            }
            "subscriptions/listen" => RouterFuture::boxed(Box::pin(call::listen(shared.clone(), request))),
            method if method.starts_with("tasks/") && shared.offered().tasks => self.tasks(request)?,
            _ => self.other(request)?,
        })
    }

    fn tasks(&mut self, request: Request) -> Result<RouterFuture, Error> {
        let Some(session) = &request.context.session else { return self.other(request) };
        let tasks = &self.shared.context.tasks;
        let stateless = session.describes_each_request();
        if !stateless && !call::has_tasks(session) {
            return self.other(request);
        }
        Ok(match (request.method.as_str(), stateless) {
            ("tasks/get", true) => task::get(tasks, &request).into(),
            ("tasks/update", true) => task::update(tasks, &request).into(),
            ("tasks/cancel", true) => task::cancel(tasks, &request).into(),
            ("tasks/get", false) => task::session_era::get(tasks, &request).into(),
            ("tasks/list", false) => task::session_era::list(tasks, &request).into(),
            ("tasks/cancel", false) => task::session_era::cancel(tasks, &request).into(),
            ("tasks/result", false) => {
                RouterFuture::boxed(Box::pin(task::session_era::result(tasks.clone(), request)))
            }
            _ => self.other(request)?,
        })
    }

    /// Handles a method that the specification does not define.
    fn other(&mut self, request: Request) -> Result<RouterFuture, Error> {
        let method = self.shared.catalog().methods.get(request.method.as_str()).cloned();
        if let Some(method) = method {
            let input = CallInput { request, extras: CallExtras::of(&self.shared.context) };
            return Ok(RouterFuture::handed(method(input)?));
        }
        Ok(match &mut self.fallback {
            // Whoever the fallback reaches has agreed with it already.
            Some(_) if request.kind == RequestKind::Notify && request.method == Method::INITIALIZED => {
                Ok(Response::empty()).into()
            }
            #[cfg(feature = "ext")]
            Some(fallback) if request.method == Method::TOOLS_LIST => {
                RouterFuture::boxed(self.shared.context.about.registry.limit_list(fallback.call(request)))
            }
            Some(fallback) => RouterFuture::boxed(fallback.call(request)),
            None if request.kind == RequestKind::Notify => Ok(Response::empty()).into(),
            None => return Err(Error::method_not_found(&request.method)),
        })
    }

    fn notified(&mut self, request: Request) -> Result<RouterFuture, Error> {
        if request.method == Method::INITIALIZED
            && let Some(session) = &request.context.session
        {
            self.shared.listeners.open(session);
        }
        self.other(request)
    }

    fn offers(&self, part: impl Fn(&OfferedFeatures) -> bool) -> bool {
        // Sections that were offered at the start stay offered, and cost no look at the catalog.
        part(&self.shared.context.about.dynamic) || part(&self.shared.offered())
    }

    /// Returns the page of a list of the catalog that a request asks for. With a fallback, its list follows the entries of
    /// the catalog, which are then on one page.
    fn list<T: ListEntry>(
        &mut self,
        request: Request,
        of: fn(&Catalog) -> &EntryList<T>,
    ) -> Result<RouterFuture, Error> {
        let dialect = ListDialect::of(request.context.session()?);
        if self.fallback.is_some() {
            let own = of(&self.shared.catalog()).all(dialect)?;
            let rest = self.other(request)?;
            return Ok(RouterFuture::boxed(Box::pin(async move {
                let mut response = match rest.await {
                    Err(error) if error.code() == code::METHOD_NOT_FOUND => Response::empty(),
                    outcome => outcome?,
                };
                let mut list: Object = response.body()?;
                let of_others = list.get(T::MEMBER).map_or(Ok(Vec::new()), |entries| entries.to());
                let of_others: Vec<RawJson> = of_others
                    .map_err(|error| Error::misbehaved("the list has no entries").with_source(error))?;
                let entries: Vec<_> = own.into_iter().chain(of_others).collect();
                list.set(T::MEMBER, written(&entries)?);
                response.result = list.to_raw().into();
                Ok(response)
            })));
        }
        let page = of(&self.shared.catalog()).page(dialect, cursor(&request).as_deref())?;
        let mut response = Response::plain(page);
        response.context.cache.clone_from(&self.shared.context.about.cache);
        // A cache in between must not give a response that was written for this peer to one that speaks plain MCP.
        if let (true, Some(hint)) = (dialect.tool_security, &mut response.context.cache) {
            hint.scope = CacheScope::Private;
        }
        Ok(Ok(response).into())
    }
}

impl Service<Request> for Router {
    type Future = RouterFuture;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> RouterFuture {
        let future = match request.kind {
            RequestKind::Call => self.route(request),
            RequestKind::Notify => self.notified(request),
        };
        future.unwrap_or_else(|error| Err(error).into())
    }
}

mgp_types::partial_debug!(Router);

/// Returns the cursor of a list. A cursor that is no text becomes `?`, which no page has.
fn cursor(request: &Request) -> Option<std::borrow::Cow<'_, str>> {
    match request.params.bytes("cursor") {
        None | Some(b"null") => None,
        Some(_) => Some(request.params.text("cursor").unwrap_or_else(|| "?".into())),
    }
}

fn set_level(session: &Session, request: &Request) -> Result<Response, Error> {
    let level = request.params.text("level").and_then(|level| Severity::named(&level));
    let level = level.ok_or_else(|| Error::invalid_params("unknown log level"))?;
    session.set_log_level(Some(level));
    Ok(Response::empty())
}

/// The future of [`Router`].
///
/// A connection polls each call once before it gives the call a task of its own. Work that takes time must not happen
/// in that first poll, or it would stop the connection: for a handler, the first poll does nothing and the second one
/// starts it.
#[must_use = "futures do nothing unless polled"]
pub struct RouterFuture(RouterState);

enum RouterState {
    Ready(Option<Result<Response, Error>>),
    Tool { future: ToolFuture, revision: Revision, looked: bool },
    Boxed { future: MethodFuture, looked: bool },
}

impl RouterFuture {
    /// Creates the future of a tool's call, which starts in the first poll if it is `inline`.
    fn tool(future: ToolFuture, revision: Revision, inline: bool) -> Self {
        Self(RouterState::Tool { future, revision, looked: inline })
    }

    /// Creates the future of a handler.
    fn handed(future: MethodFuture) -> Self {
        Self(RouterState::Boxed { future, looked: false })
    }

    /// Creates the future of work that waits more than it computes.
    fn boxed(future: MethodFuture) -> Self {
        Self(RouterState::Boxed { future, looked: true })
    }
}

mgp_types::convert!(
    Result<Response, Error> => RouterFuture, outcome => Self(RouterState::Ready(Some(outcome)))
);

impl Future for RouterFuture {
    type Output = Result<Response, Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut self.0 {
            RouterState::Ready(outcome) => {
                Poll::Ready(outcome.take().expect("a future is not polled again after it was ready"))
            }
            RouterState::Tool { looked: looked @ false, .. }
            | RouterState::Boxed { looked: looked @ false, .. } => {
                *looked = true;
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            RouterState::Tool { future, revision, .. } => {
                let revision = *revision;
                future.as_mut().poll(cx).map(|result| result?.into_response(revision))
            }
            RouterState::Boxed { future, .. } => future.as_mut().poll(cx),
        }
    }
}

mgp_types::partial_debug!(RouterFuture);
