//! The router: decides whether the kernel itself, one server, or all of them together answer a request.

mod describe;
mod list_cache;
mod named;
mod others;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use mgp_discovery::registry::DiscoveryGate;
use mgp_security::access::AccessMethodsGate;
use mgp_stream::event::EventsGate;
use mgp_toolindex::discovery::ToolDiscoveryGate;
use mgp_types::ext::{ExtensionId, OwnSubscriptions, transaction};
use mgp_types::mgp::{AccessRevoke, ResolvedTool, ServerId, method};
use mgp_types::{BoxFuture, Error, Flow, Gate, Method, MethodRule, Request, RequestKind, Response};
use tokio::time::timeout;
use tower_service::Service;

use self::list_cache::{CatalogKind, ListCache};
use crate::admin;
use crate::changes;
use crate::methods::tool_documents::{catalog, recommend, service_manifest};
use crate::methods::{PermissionMethods, of_servers, scopes, validate_arguments};
use crate::sections::Sections;
use crate::servers::events::{ChannelAudience, ChannelRequest};

/// The innermost service of the stack of clients. Clones share their state.
///
/// A request for one server goes there with its bytes, in which the router changes nothing but the name by which the server
/// knows the requested item; the answer of the server comes back as it is, errors included. Answers of all servers are
/// put together here. Nothing is held between requests but lists, and the servers of tasks.
#[derive(Clone)]
pub(crate) struct Router(Arc<Routes>);

/// The sections of the kernel, and the gates that answer families of methods for it.
struct Routes {
    sections: Arc<Sections>,
    access: AccessMethodsGate,
    events: EventsGate,
    permissions: PermissionMethods,
    registry: DiscoveryGate,
    /// The search for tools, which follows their calls as well.
    tools: ToolDiscoveryGate,
    lists: ListCache,
}

impl Router {
    pub(crate) fn new(sections: &Sections, tools: ToolDiscoveryGate) -> Self {
        let Sections { policies, audit, fleet, events, registry, .. } = sections;
        let kernel = Arc::new(sections.clone());
        let audience = ChannelAudience { access: policies.access.clone(), fleet: Arc::downgrade(fleet) };
        Self(Arc::new(Routes {
            access: AccessMethodsGate::new(policies.access.clone()).known_targets(Arc::clone(&kernel) as _),
            events: EventsGate::new(events.clone())
                .for_audience(move |who, channel| audience.sees(who, channel)),
            permissions: PermissionMethods::new(policies.grants.clone(), audit.clock.clone()),
            registry: DiscoveryGate::new(registry.clone()),
            sections: kernel,
            tools,
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
            // A tool that stands for a method of tool discovery.
            None if request.params.text("name").is_some_and(|name| method::of_tool(&name).is_some()) => {
                Ok(RouterFuture::answered_by(&self.tools, request))
            }
            None => named::missing_tool(self, &request),
        }
    }

    /// The table of methods other than calls of tools. A method that is not in it is refused, unless a server gets it by
    /// the will of its operator.
    fn answer(self: &Arc<Self>, request: Request) -> Result<RouterFuture, Error> {
        use ExtensionId::{ScopedAuth, ServerRecommendations, ServiceManifest, ToolRegistry};
        let (sections, visibility) = (&self.sections, &self.sections.visibility);
        let list = |list| self.list(list, &request);
        let has = |extension| exists(&request, extension);
        let answer = match request.method.as_str() {
            "server/discover" => describe::describe(sections, &request),
            "prompts/list" => list(CatalogKind::Prompts),
            "resources/list" => list(CatalogKind::Resources),
            "resources/templates/list" => list(CatalogKind::Templates),
            "resources/unsubscribe" => self.unsubscribed(&request),
            method::REGISTRY_VALIDATE | method::TOOLS_VALIDATE => validate_arguments(visibility, &request),
            method::PERMISSION_CHECK if has(ScopedAuth) => scopes::check(visibility, &request),
            method::PERMISSION_NEGOTIATE if has(ScopedAuth) => scopes::negotiate(visibility, &request),
            method::PERMISSION_REFRESH if has(ScopedAuth) => scopes::refresh(visibility, &request),
            method::DISCOVERY_CATALOG if has(ToolRegistry) => catalog(sections, &request),
            method::MANIFEST_GET if has(ServiceManifest) => service_manifest(sections, &request),
            method::DISCOVERY_RECOMMEND if has(ServerRecommendations) => {
                let kernel = Arc::clone(sections);
                return Ok(RouterFuture::of(async move { recommend(&kernel, &request).await }));
            }
            _ => return self.go(request),
        };
        answer.map(RouterFuture::done)
    }

    /// Answers requests that sections answer, that go to servers, or that wait for something.
    fn go(self: &Arc<Self>, mut request: Request) -> Result<RouterFuture, Error> {
        let (this, changes) = (Arc::clone(self), &self.sections.changes);
        Ok(match request.method.as_str() {
            "tools/list" => self.list_tools(request)?,
            "prompts/get" => self.prompt(request)?,
            "resources/read" => self.read(request)?,
            "resources/subscribe" => RouterFuture::of(this.subscribed(request)),
            "completion/complete" => self.complete(request)?,
            "subscriptions/listen" => RouterFuture::of(this.listen(request)),
            "logging/setLevel" => RouterFuture::of(changes::set_level(Arc::clone(changes), request)),
            "tasks/list" => RouterFuture::of(this.list_tasks(request)),
            "tasks/get" | "tasks/result" | "tasks/update" | "tasks/cancel" => self.task(request)?,
            transaction::BEGIN | transaction::COMMIT | transaction::ROLLBACK | transaction::STATUS => {
                self.transaction(request)?
            }
            method::CALLBACK_RESPOND => self.callback(request)?,
            method::HEALTH_PING | method::HEALTH_STATUS | method::LIFECYCLE_SHUTDOWN => {
                RouterFuture::Running(of_servers::answer(&self.sections, request)?, None)
            }
            method::PERMISSION_REQUEST
            | method::PERMISSION_AWAIT
            | method::PERMISSION_RESPONSE
            | method::PERMISSION_GRANT => {
                RouterFuture::decided(request.method.clone(), self.permissions.answer(&mut request))
            }
            method::ACCESS_QUERY => RouterFuture::answered_by(&self.access, request),
            method::ACCESS_GRANT | method::ACCESS_REVOKE => RouterFuture::of(this.change_access(request)),
            method::DISCOVERY_LIST | method::DISCOVERY_REGISTER | method::DISCOVERY_DEREGISTER => {
                RouterFuture::answered_by(&self.registry, request)
            }
            method::EVENTS_SUBSCRIBE => RouterFuture::of(this.subscribed_to_events(request)),
            method::EVENTS_UNSUBSCRIBE | method::EVENTS_REPLAY | OwnSubscriptions::METHOD => {
                RouterFuture::answered_by(&self.events, request)
            }
            method::TOOLS_DISCOVER
            | method::TOOLS_REQUEST
            | method::TOOLS_SESSION
            | method::TOOLS_SESSION_EVICT => RouterFuture::answered_by(&self.tools, request),
            _ if request.method.rule().is_some_and(MethodRule::is_of_operators) => {
                RouterFuture::of(admin::answer(Arc::clone(&self.sections), request))
            }
            // A method that is in the table of methods and has come this far is none that a client sends to a kernel.
            _ if MethodRule::of(&request).is_some() => return Err(Error::method_not_found(&request.method)),
            _ => self.unlisted(request)?,
        })
    }

    /// Lists the tools for the model's context, or all of them.
    fn list_tools(&self, mut request: Request) -> Result<RouterFuture, Error> {
        match self.tools.enter(&mut request) {
            Flow::Pass(_) => self.list(CatalogKind::Tools, &request).map(RouterFuture::done),
            flow => Ok(RouterFuture::decided(Method::TOOLS_LIST, flow)),
        }
    }

    /// Answers `mgp/events/subscribe`.
    async fn subscribed_to_events(self: Arc<Self>, request: Request) -> Result<Response, Error> {
        let asking = self.ask_for_channels(&request).await;
        let answer = RouterFuture::answered_by(&self.events, request).await;
        drop(asking);
        answer
    }

    /// Has the servers asked for the channels that a request is to subscribe to, and waits for their answers, so that the
    /// client is told which of its channels there are.
    async fn ask_for_channels(&self, request: &Request) -> Option<ChannelRequest<'_>> {
        let (who, fleet) = (request.context.principal.as_ref()?, &self.sections.fleet);
        let asking = fleet.support().events.ask_for(who, self.events.wanted_channels(request))?;
        let answers = async {
            for upstream in fleet.all().into_iter().filter(|upstream| upstream.reaches(who)) {
                upstream.asked_for_channels(who, asking.number).await;
            }
        };
        if timeout(CHANNELS_TIMEOUT, answers).await.is_err() {
            tracing::debug!("a server does not say in time which channels it has");
        }
        Some(asking)
    }

    /// Keeps a client informed of the changes and events that it wants, for as long as it listens.
    async fn listen(self: Arc<Self>, mut request: Request) -> Result<Response, Error> {
        let asking = self.ask_for_channels(&request).await;
        let entered = self.events.enter(&mut request);
        drop(asking);
        let events = match entered {
            Flow::Pass(events) => events,
            flow => return RouterFuture::decided(Method::LISTEN, flow).await,
        };
        let tools = self.tools.enter(&mut request);
        let Sections { changes, visibility, .. } = &*self.sections;
        let outcome = changes::listen(Arc::clone(changes), Arc::clone(visibility), request).await;
        drop((events, tools));
        outcome
    }

    /// Changes who has access, and notifies the agent whom that concerns.
    async fn change_access(self: Arc<Self>, request: Request) -> Result<Response, Error> {
        let change: Option<AccessRevoke> = request.params.to().ok();
        let outcome = RouterFuture::answered_by(&self.access, request).await;
        if let (Some(change), Ok(_)) = (change, &outcome) {
            self.sections.changes.may_use_others(Some(&change.agent_id), change.entry_type);
        }
        outcome
    }

    /// Sends a call to the server that has the tool.
    fn to_tool(
        self: &Arc<Self>,
        tool: &Arc<ResolvedTool>,
        mut request: Request,
    ) -> Result<RouterFuture, Error> {
        let used = match self.tools.enter(&mut request) {
            Flow::Pass(used) => used,
            flow => return Ok(RouterFuture::decided(Method::TOOLS_CALL, flow)),
        };
        let future = self.sections.fleet.upstream(&tool.server)?.call(request);
        Ok(RouterFuture::Running(future, Some(CalledTool { routes: Arc::clone(self), used })))
    }

    /// Sends a request to one server.
    fn to_server(&self, server: &ServerId, request: Request) -> Result<RouterFuture, Error> {
        Ok(RouterFuture::Running(self.sections.fleet.upstream(server)?.call(request), None))
    }

    /// Sends the answer to a callback to the connection on which it was asked.
    fn callback(&self, mut request: Request) -> Result<RouterFuture, Error> {
        let answered = self.sections.fleet.callbacks().lock().answered(&request.context, &request.params);
        let (mut way, params) = answered.ok_or_else(|| {
            Error::invalid_params(
                "the callback is not known; it was answered before, its call is over, or it was for somebody else",
            )
        })?;
        request.params = params;
        Ok(RouterFuture::Running(way.call(request), None))
    }
}

/// The time that servers have to say which channels they have.
const CHANNELS_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns whether the methods of an extension exist for the client: it declares the extension, or speaks MGP.
fn exists(request: &Request, extension: ExtensionId) -> bool {
    let session = request.context.session.as_ref();
    session.is_some_and(|session| session.mgp.is_some() || session.extensions().has(extension))
}

impl Service<Request> for Router {
    type Future = RouterFuture;

    mgp_types::always_ready!();

    fn call(&mut self, request: Request) -> RouterFuture {
        self.0.route(request).unwrap_or_else(RouterFuture::failed)
    }
}

type RouterOutcome = Result<Response, Error>;

/// The future of a request to the router.
pub(crate) enum RouterFuture {
    Done(Option<RouterOutcome>),
    /// A request that goes on, and the call of a tool if it is one.
    Running(BoxFuture<'static, RouterOutcome>, Option<CalledTool>),
}

/// The call of a tool, which the tool index is told of when it is answered.
pub(crate) struct CalledTool {
    routes: Arc<Routes>,
    used: <ToolDiscoveryGate as Gate>::Pass,
}

impl RouterFuture {
    fn done(response: Response) -> Self {
        Self::Done(Some(Ok(response)))
    }

    fn failed(error: Error) -> Self {
        Self::Done(Some(Err(error)))
    }

    /// Returns the answer of a section's gate to one of its methods.
    fn answered_by<G: Gate>(gate: &G, mut request: Request) -> Self {
        let method = request.method.clone();
        Self::decided(method, gate.enter(&mut request))
    }

    /// Returns the answer of a section to one of its methods. A method that the section lets pass does not exist for this
    /// peer.
    fn decided<P: Send + 'static>(method: Method, flow: Flow<P>) -> Self {
        match flow {
            Flow::Answer(answer) => Self::Done(Some(answer)),
            Flow::Pass(_) => Self::failed(Error::method_not_found(&method)),
            Flow::Wait(waiting) => Self::of(async move { Self::decided(method, waiting.await.1).await }),
        }
    }

    fn of(future: impl Future<Output = RouterOutcome> + Send + 'static) -> Self {
        Self::Running(Box::pin(future), None)
    }
}

impl Future for RouterFuture {
    type Output = RouterOutcome;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match &mut *self {
            Self::Done(outcome) => outcome.take().map_or(Poll::Pending, Poll::Ready),
            Self::Running(future, called) => {
                let mut outcome = ready!(future.as_mut().poll(cx));
                if let Some(CalledTool { routes, used }) = called.take() {
                    routes.tools.leave(used, &mut outcome);
                }
                Poll::Ready(outcome)
            }
        }
    }
}

#[cfg(test)]
mod tests;
