//! The builder of a client.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use mgp_stream::callback::{CallbackHandler, CallbackInboundLayer, CallbackResponder};
use mgp_stream::event::Subscriber;
use mgp_transport::era::{
    Agreement, ClientEra, ClientIdentity, ClientInbound, EraMemory, EraMode, EraOptions, InboundGate,
};
use mgp_transport::mrtr::InputRounds;
use mgp_transport::{Accept, ConnectionLimits};
use mgp_types::mcp::{
    CreateMessageParams, CreateMessageResult, ElicitFormParams, ElicitResult, ElicitUrlParams,
    Implementation, LogLevel, LoggingMessageParams, ProgressParams, Root,
};
use mgp_types::mgp::{Extension, ExtensionSet, Offer, ServerId};
use mgp_types::{
    BoxFuture, Context, Error, Gate, Method, Object, Outbox, Params, RawJson, Request, Response, Revision,
    RpcService,
};
use parking_lot::Mutex;
use serde::de::DeserializeOwned;
use tower_layer::{Identity, Layer, Stack};

use crate::cache::{Cache, CacheGate, CacheStore};
use crate::call::ClientShared;
use crate::client::DEFAULT_TIMEOUTS;
use crate::handlers::{HandlerRegistry, Handlers, IntoReply, NotificationListeners, Roots, asking};
use crate::headers::HeaderMirror;
use crate::{Client, ConnectionHandle};

/// The builder of a client: its identity, its handlers, and the layers around the connection.
///
/// The declared capabilities of the client follow from its handlers.
#[derive(Debug, Clone)]
#[must_use = "a builder does nothing until it connects"]
pub struct ClientBuilder<L = Identity, I = Identity> {
    pub(crate) options: ClientOptions,
    pub(crate) layers: L,
    pub(crate) inbound_layers: I,
}

/// The settings of a client, apart from its layers.
#[derive(Debug, Clone)]
pub(crate) struct ClientOptions {
    pub(crate) identity: ClientIdentity,
    pub(crate) era: EraOptions,
    pub(crate) registry: HandlerRegistry,
    pub(crate) roots: Option<Roots>,
    pub(crate) timeouts: (Duration, Duration),
    pub(crate) caching: bool,
    pub(crate) limits: ConnectionLimits,
    pub(crate) strays: StrayLines,
    /// True if somebody listens to log messages, so that the server is asked for them.
    pub(crate) hears_logs: bool,
}

impl ClientBuilder {
    pub(crate) fn new(info: Implementation) -> Self {
        let mut identity = ClientIdentity::new(info);
        identity.offer = Some(Offer::new(ExtensionSet::new()));
        let options = ClientOptions {
            identity,
            era: EraOptions::default(),
            registry: HandlerRegistry::default(),
            roots: None,
            timeouts: DEFAULT_TIMEOUTS,
            caching: true,
            limits: ConnectionLimits::default(),
            strays: StrayLines::default(),
            hears_logs: false,
        };
        Self { options, layers: Identity::new(), inbound_layers: Identity::new() }
    }
}

impl<L, I> ClientBuilder<L, I> {
    mgp_types::setters! { self =>
        /// Changes how the client introduces itself: its title, description, page or icons.
        pub fn info(change: impl FnOnce(Implementation) -> Implementation) =>
            self.options.identity.info = change(self.options.identity.info);

        /// Sets the era that the client looks for. Default: the server is asked.
        pub fn era(mode: EraMode) => self.options.era.mode = mode;

        /// Sets the revisions of MCP that the client speaks, preferred ones first. Default: all, newest first.
        pub fn revisions(revisions: impl IntoIterator<Item = Revision>) =>
            self.options.identity.revisions = revisions.into_iter().collect();

        /// Remembers the era of each server in `memory`, which clients may share, so that each server is asked once.
        pub fn era_memory(memory: EraMemory) => self.options.era.memory = memory;

        /// Sets the client's offer of MGP; `None` for plain MCP. Default: MGP without extensions.
        pub fn mgp(offer: impl Into<Option<Offer>>) => self.options.identity.offer = offer.into();

        /// Declares a capability that is not one of the handlers': `json` is its value.
        pub fn capability(name: impl Into<Cow<'static, str>>, json: RawJson) =>
            self.options.registry.capabilities.set(name, json);

        /// Refuses servers that lack one of these capabilities, like `tools`.
        pub fn require(capabilities: impl IntoIterator<Item = impl Into<Box<str>>>) =>
            self.options.identity.required = capabilities.into_iter().map(Into::into).collect();

        /// Sets how long the server may take to answer each request of the handshake. Default: 10 s.
        pub fn handshake_timeout(timeout: Duration) => self.options.era.handshake_timeout = timeout;

        /// Sets how long calls wait for an answer or the next report of progress, and in all. Default: 60 s and 600 s.
        /// A single call may set other times.
        pub fn timeouts(timeout: Duration, max_timeout: Duration) =>
            self.options.timeouts = (timeout, max_timeout);

        /// Sets whether results are cached as long as the server allows. Default: yes.
        pub fn caching(caching: bool) => self.options.caching = caching;

        /// Makes the client a gateway's: a request whose `context.session` is that of another client is relayed.
        ///
        /// See [`EraOptions::relays`](mgp_transport::era::EraOptions::relays). Results are cached per server, not
        /// per client behind it, so a gateway for several clients should turn [`caching`](Self::caching) off.
        pub fn relay_clients() => self.options.era.relays = true;

        /// Sets the limits of the connection.
        pub fn limits(limits: ConnectionLimits) => self.options.limits = limits;

        /// Hands `take` each line that the server writes and that is no message, such as a greeting on standard output.
        /// Default: such lines are ignored.
        pub fn on_stray_line(take: impl Fn(&str) + Send + Sync + 'static) =>
            self.options.strays = StrayLines(Some(Arc::new(take)));

        /// Declares an extension of MCP with its settings.
        pub fn extension(id: &str, settings: &Object) =>
            self.options.registry.capabilities.object_mut_or_new("extensions").set(id.to_owned(), settings.to_raw());
    }

    /// Declares that tools may go on as tasks: see [`Client::start_tool`](crate::Client::start_tool).
    pub fn tasks(self) -> Self {
        self.extension(mgp_types::mcp::task_extension::EXTENSION_ID, &Object::new())
    }

    /// Adds a layer around the connection, inside of the layers so far.
    pub fn layer<N>(self, layer: N) -> ClientBuilder<Stack<N, L>, I> {
        let Self { options, layers, inbound_layers } = self;
        ClientBuilder { options, layers: Stack::new(layer, layers), inbound_layers }
    }

    /// Adds a layer around the handlers, inside of the layers so far.
    pub fn inbound_layer<N>(self, layer: N) -> ClientBuilder<L, Stack<N, I>> {
        let Self { options, layers, inbound_layers } = self;
        ClientBuilder { options, layers, inbound_layers: Stack::new(layer, inbound_layers) }
    }

    pub(crate) fn prepare(self) -> Prepared<L, I::Service>
    where
        I: Layer<Handlers, Service: RpcService>,
    {
        let mut options = self.options;
        options.era.agreement = Agreement::default();
        options.identity.capabilities = options.registry.capabilities.clone();
        let listeners = NotificationListeners {
            progress: Arc::default(),
            changes: Arc::default(),
            cache: options.caching.then(CacheStore::default),
            subscriber: Subscriber::new(),
        };
        let handlers = Handlers::new(options.registry.clone(), listeners.clone());
        let gate = InboundGate::new(options.era.agreement.clone());
        let inbound = gate.layer(self.inbound_layers.layer(handlers));
        let accept = ClientAccept { inbound: Arc::new(Mutex::new(inbound)), strays: options.strays.clone() };
        Prepared { options, layers: self.layers, accept, listeners }
    }
}

/// The layers between a wire `W` and those of [`ClientBuilder::layer`], from the outside in: the cache, and the era with
/// arguments in headers and answers to the questions in results.
pub type ClientCore<W, H> = Cache<ClientEra<W, (HeaderMirror, InputRounds<ClientInbound<H>>)>>;

/// The service that answers the server of one client. A transport is made with it, or with the
/// [`service`](Self::service).
#[derive(Clone)]
pub struct ClientAccept<H> {
    inbound: Arc<Mutex<ClientInbound<H>>>,
    strays: StrayLines,
}

/// The function, if there is one, that gets each line of the server that is no message.
#[derive(Clone, Default)]
pub(crate) struct StrayLines(pub(crate) Option<Arc<StrayTaker>>);

type StrayTaker = dyn Fn(&str) + Send + Sync;

mgp_types::partial_debug!(StrayLines);

impl<H: Clone> ClientAccept<H> {
    /// Returns the service that answers the server.
    pub fn service(&self) -> ClientInbound<H> {
        self.inbound.lock().clone()
    }
}

impl<H: RpcService> Accept for ClientAccept<H> {
    type Service = ClientInbound<H>;

    fn accept(&self, _: Outbox) -> ClientInbound<H> {
        self.service()
    }

    fn take_stray(&self, line: &[u8]) -> bool {
        if let Some(take) = &self.strays.0 {
            take(String::from_utf8_lossy(line).trim());
        }
        true
    }
}

mgp_types::partial_debug!([H] ClientAccept<H>);

/// A client that lacks its wire only; several wires can be tried.
pub(crate) struct Prepared<L, H> {
    pub(crate) options: ClientOptions,
    layers: L,
    pub(crate) accept: ClientAccept<H>,
    pub(crate) listeners: NotificationListeners,
}

impl<L, H: RpcService> Prepared<L, H> {
    /// Agrees with the server behind `wire`, and puts the layers around it. The client takes the link; an error leaves it
    /// to the caller.
    pub(crate) async fn client<W>(
        &self,
        wire: W,
        link: &mut ConnectionHandle,
        options: EraOptions,
    ) -> Result<Client<L::Service>, Error>
    where
        W: RpcService,
        L: Layer<ClientCore<W, H>, Service: RpcService>,
    {
        let agreement = options.agreement.clone();
        let mirror = HeaderMirror::new(options.kind, agreement.clone());
        let era = ClientEra::negotiate(wire, self.options.identity.clone(), options).await?;
        let rounds = InputRounds::new(self.accept.service(), agreement.clone());
        let core = CacheGate(self.listeners.cache.clone()).layer(era.with_rules((mirror, rounds)));
        let accept = self.accept.clone();
        let shared = ClientShared {
            subscribing: tokio::sync::Mutex::default(),
            agreement,
            listeners: self.listeners.clone(),
            roots: self.options.roots.clone(),
            answering: Arc::new(move |request| Box::pin(mgp_types::call_once(accept.service(), request))),
            timeouts: self.options.timeouts,
            link: Mutex::new(Some(std::mem::take(link))),
        };
        let client = Client { stack: self.layers.layer(core), shared: Arc::new(shared) };
        if self.options.hears_logs && client.capabilities().contains("logging") {
            // A server that refuses the level is as good as one without logs.
            let _ = client.set_log_level(LogLevel::Info).await;
        }
        Ok(client)
    }
}

/// Defines the methods that set how the questions of a server are answered.
macro_rules! answers {
    ($($(#[$doc:meta])* $name:ident($params:ty) -> $reply:ty => $register:ident($($tools:literal)?);)+) => {$(
        $(#[$doc])*
        pub fn $name<F, A>(mut self, handler: F) -> Self
        where
            F: Fn($params, Context) -> A + Send + Sync + 'static,
            A: Future<Output: IntoReply<$reply>> + Send + 'static,
        {
            self.options.registry.$register($($tools,)? asking(handler));
            self
        }
    )+};
}

impl<L, I> ClientBuilder<L, I> {
    answers! {
        /// Answers the server when it has a form to fill in: with an [`Elicited`](crate::Elicited) of its fields.
        ///
        /// ```
        /// use mgp_client_sdk::{Client, Elicited, json};
        ///
        /// let builder = Client::builder("my-app", "1.0.0").on_elicitation(async |form, _| {
        ///     if form.message.starts_with("Delete") {
        ///         return Elicited::Declined;
        ///     }
        ///     Elicited::Accepted(json!({"name": "Ada"}))
        /// });
        /// ```
        on_elicitation(ElicitFormParams) -> ElicitResult => on_form();

        /// Answers the server when the user has to visit a page. The handler should show the whole address and ask first.
        on_url_elicitation(ElicitUrlParams) -> ElicitResult => on_url();

        /// Answers the server when it asks the client's model, without tools.
        on_sampling(CreateMessageParams) -> CreateMessageResult => on_sampling(false);

        /// Answers the server when it asks the client's model, which may call tools.
        on_sampling_with_tools(CreateMessageParams) -> CreateMessageResult => on_sampling(true);
    }

    /// Answers the server when it asks for the roots.
    pub fn on_roots<F, A>(mut self, handler: F) -> Self
    where
        F: Fn(Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<Vec<Root>>> + Send + 'static,
    {
        self.options.registry.on_roots(false, asking(move |_, context| handler(context)));
        self
    }

    /// Sets the roots; [`Client::set_roots`](crate::Client::set_roots) replaces them later.
    pub fn roots(mut self, roots: impl IntoIterator<Item = Root>) -> Self {
        let roots = Roots::new(roots.into_iter().collect::<Vec<_>>().into());
        self.options.roots = Some(roots.clone());
        let current = move |_, _| std::future::ready(roots.read().clone());
        self.options.registry.on_roots(true, asking(current));
        self
    }

    /// Answers any other method of the server.
    pub fn on_request<F, A>(mut self, method: impl Into<Method>, handler: F) -> Self
    where
        F: Fn(Params, Context) -> A + Send + Sync + 'static,
        A: Future<Output: IntoReply<RawJson>> + Send + 'static,
    {
        let handler = move |request: Request| -> BoxFuture<'static, Result<Response, Error>> {
            let answer = handler(request.params, *request.context);
            Box::pin(async { answer.await.into_reply().map(Response::new) })
        };
        self.options.registry.requests.insert(method.into(), Arc::new(handler));
        self
    }

    /// Answers the server's questions in the middle of calls, as MGP asks them (§13.4).
    ///
    /// The answer is any JSON: for a confirmation or a selection one of the options, `null` for a user who closed the
    /// question. Without an answer the server waits until its time is over.
    pub fn on_callback<H: CallbackHandler>(
        mut self,
        handler: H,
    ) -> ClientBuilder<L, Stack<CallbackInboundLayer, I>> {
        let offer = self.options.identity.offer.get_or_insert_with(|| Offer::new(ExtensionSet::new()));
        offer.extensions.insert(Extension::Callbacks);
        // Each client has a responder of its own, so the responder has one server only.
        let responder = CallbackResponder::new(handler).of_server(ServerId::from("server"));
        self.inbound_layer(CallbackInboundLayer::new(responder))
    }

    /// Handles a notification of the server.
    ///
    /// Handlers start in the order of the notifications; a handler that waits does not keep the next from starting.
    pub fn on_notification<F, A>(mut self, method: impl Into<Method>, handler: F) -> Self
    where
        F: Fn(Params, Context) -> A + Send + Sync + 'static,
        A: Future<Output = ()> + Send + 'static,
    {
        let handler = move |request: Request| -> BoxFuture<'static, Result<Response, Error>> {
            Box::pin(handler(request.params, *request.context).map(|()| Ok(Response::empty())))
        };
        self.options.registry.notifications.insert(method.into(), Arc::new(handler));
        self
    }

    /// Handles the server's log messages, from the level `info` on: [`Client::set_log_level`] changes that.
    pub fn on_log(mut self, handler: impl Fn(LoggingMessageParams) + Send + Sync + 'static) -> Self {
        self.options.hears_logs = true;
        self.on_typed(Method::MESSAGE, handler)
    }

    /// Handles reports of progress that belong to no call of [`Call::on_progress`](crate::Call::on_progress).
    pub fn on_progress(self, handler: impl Fn(ProgressParams) + Send + Sync + 'static) -> Self {
        self.on_typed(Method::PROGRESS, handler)
    }

    fn on_typed<P: DeserializeOwned>(
        self,
        method: Method,
        handler: impl Fn(P) + Send + Sync + 'static,
    ) -> Self {
        self.on_notification(method.clone(), move |params, _| {
            match params.to() {
                Ok(params) => handler(params),
                Err(error) => tracing::debug!(%error, %method, "a notification is malformed"),
            }
            std::future::ready(())
        })
    }
}
