//! The client: a connection to one server, its calls about the connection, and its use as a service.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::era::Agreement;
use mgp_types::mcp::{ForRevision, Implementation, LogLevel, NotificationBody, RequestBody, SetLevelParams};
use mgp_types::mgp::{HealthPing, HealthPong, HealthReport, Shutdown, ShutdownAnswer, Timestamp, method};
use mgp_types::{
    BoxedService, Error, Method, Object, Params, RawJson, Request, Response, Revision, RpcService, Session,
    Severity,
};
use tower_service::Service;

use crate::call::{Call, ClientShared};

/// A connection to one server.
///
/// `S` is the connection with all layers around it. Clones share the connection; it closes when the last one is
/// dropped, or gracefully by [`close`](Self::close).
///
/// Fields and signatures use `Client` for any transport and any layers; [`boxed`](Self::boxed) makes one:
///
/// ```no_run
/// use mgp_client_sdk::{Client, Error};
///
/// struct App {
///     calculator: Client,
///     search: Client,
/// }
///
/// impl App {
///     async fn start() -> Result<Self, Error> {
///         let builder = Client::builder("app", "1.0.0");
///         Ok(Self {
///             calculator: builder.clone().connect_stdio("calculator", ["--flag"]).await?.boxed(),
///             search: builder.connect_http("http://localhost:8080/mcp").await?.boxed(),
///         })
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Client<S = BoxedService> {
    pub(crate) stack: S,
    pub(crate) shared: Arc<ClientShared>,
}

impl<S: RpcService> Client<S> {
    /// Returns the current agreement with the server.
    pub fn agreement(&self) -> &Agreement {
        &self.shared.agreement
    }

    /// Returns the session: the facts about the server.
    pub fn session(&self) -> Option<Arc<Session>> {
        self.shared.agreement.session()
    }

    /// Returns the revision of MCP that is spoken.
    pub fn revision(&self) -> Option<Revision> {
        self.shared.agreement.revision()
    }

    /// Returns the server's name and version, for display only; `None` if the server did not send them.
    pub fn server_info(&self) -> Option<Implementation> {
        self.shared.agreement.server_info()?.to().ok()
    }

    /// Returns the capabilities of the server.
    pub fn capabilities(&self) -> Object {
        self.shared.agreement.capabilities()
    }

    /// Returns the instructions for use of the server, for a model.
    pub fn instructions(&self) -> Option<Arc<str>> {
        self.shared.agreement.instructions()
    }

    /// Returns the stack that carries the calls.
    pub fn get_ref(&self) -> &S {
        &self.stack
    }

    /// Boxes the stack, for a client that is kept in a struct. A call then costs two allocations more.
    pub fn boxed(self) -> Client
    where
        S: Sync,
    {
        Client { stack: BoxedService::new(self.stack), shared: self.shared }
    }

    /// Calls any method with any params: an object, or `()` for none.
    pub fn request(&self, method: impl Into<Method>, params: impl serde::Serialize) -> Call<S, RawJson> {
        let request = object(&params).map(|params| Request::call(method, params));
        self.call(request, |response| Ok(response.to_raw()))
    }

    /// Calls a method by the type of its params, without the members that the server's revision lacks.
    pub fn send<P: RequestBody + Clone>(&self, params: &P) -> Call<S, P::Result> {
        let request = self.fitted(params).map(|params| Request::call(Method::new(P::METHOD), params));
        self.call(request, Response::body)
    }

    /// Sends a notification.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn notify(&self, method: impl Into<Method>, params: Params) -> Result<(), Error> {
        self.pass(Request::notify(method, params)).await.map(drop)
    }

    /// Sends a notification by the type of its params, without the members that the server's revision lacks.
    ///
    /// # Errors
    /// The connection is lost.
    pub async fn send_notification<N: NotificationBody + Clone>(&self, params: &N) -> Result<(), Error> {
        let params = self.fitted(params)?;
        self.notify(Method::new(N::METHOD), params).await
    }

    /// Asks whether the server is alive. The era without sessions has no such method; there the client asks for the
    /// server's description.
    pub fn ping(&self) -> Call<S, ()> {
        let method = if self.is_stateless() { Method::DISCOVER } else { Method::PING };
        self.call(Ok(Request::call(method, Params::new())), |_| Ok(()))
    }

    /// Asks whether the server is alive.
    pub fn health(&self) -> Call<S, HealthPong> {
        let ping = HealthPing::new(Timestamp::now());
        self.call(Request::with_body(method::HEALTH_PING, &ping), Response::body)
    }

    /// Asks for the health of the server, with the checks that it made.
    pub fn health_report(&self) -> Call<S, HealthReport> {
        self.call(Ok(Request::call(method::HEALTH_STATUS, Params::new())), Response::body)
    }

    /// Asks the server to stop once its calls are done. The server closes the connection itself.
    pub fn shut_down(&self, shutdown: &Shutdown) -> Call<S, ShutdownAnswer> {
        self.call(Request::with_body(method::LIFECYCLE_SHUTDOWN, shutdown), Response::body)
    }

    /// Sets the least severe log messages wanted from now on.
    ///
    /// # Errors
    /// The server refuses, or the connection is lost.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), Error> {
        if self.is_stateless() {
            let severity = Severity::named(level.as_str());
            let severity = severity.ok_or_else(|| Error::invalid_params("there is no such log level"))?;
            self.shared.agreement.set_log_level(Some(severity));
            return Ok(());
        }
        self.send(&SetLevelParams::new(level)).await.map(drop)
    }

    /// Replaces the roots, and notifies a server that wants to know.
    ///
    /// # Errors
    /// The roots come from a handler, or the connection is lost.
    pub async fn set_roots(
        &self,
        roots: impl IntoIterator<Item = mgp_types::mcp::Root>,
    ) -> Result<(), Error> {
        let Some(own) = &self.shared.roots else {
            return Err(Error::invalid_request("the client was built without roots that can be replaced"));
        };
        *own.write() = roots.into_iter().collect();
        if self.is_stateless() { Ok(()) } else { self.notify(Method::ROOTS_CHANGED, Params::new()).await }
    }

    /// Removes all cached results.
    pub fn clear_cache(&self) {
        if let Some(cache) = &self.shared.listeners.cache {
            cache.clear();
        }
    }

    /// Closes the connection: waiting messages go out, the server is notified, and a child process is ended.
    ///
    /// Calls in flight on clones of this client fail.
    ///
    /// # Errors
    /// The server could not be notified, or its process did not end well.
    pub async fn close(self) -> Result<(), Error> {
        let link = self.shared.link.lock().take().unwrap_or_default();
        link.close().await
    }

    /// Writes params in the form of the server's revision.
    fn fitted<T: ForRevision + serde::Serialize + Clone>(&self, params: &T) -> Result<Params, Error> {
        match self.revision() {
            Some(revision) => object(&params.clone().for_revision(revision)),
            None => object(params),
        }
    }

    pub(crate) fn is_stateless(&self) -> bool {
        self.revision().is_some_and(Revision::is_stateless)
    }

    pub(crate) fn call<T>(
        &self,
        request: Result<Request, Error>,
        read: fn(&Response) -> Result<T, Error>,
    ) -> Call<S, T> {
        Call::new(self.stack.clone(), self.shared.clone(), request, read)
    }

    /// Sends a request without a time limit.
    pub(crate) fn pass(
        &self,
        request: Request,
    ) -> impl Future<Output = Result<Response, Error>> + Send + use<S> {
        mgp_types::call_once(self.stack.clone(), request)
    }
}

mgp_types::partial_debug!([S] Client<S>, self => agreement: self.shared.agreement);

/// Writes params: an object, or nothing for `()`.
pub(crate) fn object<T: serde::Serialize + ?Sized>(params: &T) -> Result<Params, Error> {
    let not_an_object = || Error::invalid_params("the parameters are not a JSON object");
    let written = RawJson::from_value(params).map_err(|error| not_an_object().with_source(error))?;
    if written.is_null() {
        return Ok(Params::new());
    }
    Object::from_raw(&written).map_err(|error| not_an_object().with_source(error))
}

/// The time to wait for an answer or the next report of progress, and for the whole call.
pub(crate) const DEFAULT_TIMEOUTS: (Duration, Duration) = (Duration::from_mins(1), Duration::from_mins(10));

/// A client is the service that carries requests to its server. Gateways pass requests on with it, and the
/// [gate](crate::Supervised::gate) of a supervised server leads to it.
///
/// Requests go through all layers, as typed calls do, but have no time limit of their own.
impl<S: RpcService> Service<Request> for Client<S> {
    type Future = S::Future;

    mgp_types::ready_as_inner!(stack);

    fn call(&mut self, request: Request) -> S::Future {
        self.stack.call(request)
    }
}
