//! The builder of a client.

mod handlers;
mod prepared;

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use mgp_transport::ConnectionLimits;
use mgp_transport::era::{ClientIdentity, EraMemory, EraMode, EraOptions};
use mgp_types::mcp::Implementation;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Object, RawJson, Revision};
use tower_layer::{Identity, Stack};

pub use self::prepared::{ClientAccept, ClientCore};
pub(crate) use self::prepared::{Prepared, StrayLines};
use crate::client::DEFAULT_TIMEOUTS;
use crate::handlers::{HandlerRegistry, Roots};

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
    }

    /// Declares an extension of MCP with its settings.
    pub fn extension(mut self, id: &str, settings: &Object) -> Self {
        let extensions = self.options.registry.capabilities.object_mut_or_new("extensions");
        extensions.set(id.to_owned(), settings.to_raw());
        self
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
}
