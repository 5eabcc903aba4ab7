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
    /// Changes how the client introduces itself: its title, description, page or icons.
    pub fn info(mut self, change: impl FnOnce(Implementation) -> Implementation) -> Self {
        self.options.identity.info = change(self.options.identity.info);
        self
    }

    /// Sets the era that the client looks for. Default: the server is asked.
    pub fn era(mut self, mode: EraMode) -> Self {
        self.options.era.mode = mode;
        self
    }

    /// Sets the revisions of MCP that the client speaks, preferred ones first. Default: all, newest first.
    pub fn revisions(mut self, revisions: impl IntoIterator<Item = Revision>) -> Self {
        self.options.identity.revisions = revisions.into_iter().collect();
        self
    }

    /// Remembers the era of each server in `memory`, which clients may share, so that each server is asked once.
    pub fn era_memory(mut self, memory: EraMemory) -> Self {
        self.options.era.memory = memory;
        self
    }

    /// Sets the client's offer of MGP; `None` for plain MCP. Default: MGP without extensions.
    pub fn mgp(mut self, offer: impl Into<Option<Offer>>) -> Self {
        self.options.identity.offer = offer.into();
        self
    }

    /// Declares a capability that is not one of the handlers': `json` is its value.
    pub fn capability(mut self, name: impl Into<Cow<'static, str>>, json: RawJson) -> Self {
        self.options.registry.capabilities.set(name, json);
        self
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

    /// Refuses servers that lack one of these capabilities, like `tools`.
    pub fn require(mut self, capabilities: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        self.options.identity.required = capabilities.into_iter().map(Into::into).collect();
        self
    }

    /// Sets how long the server may take to answer each request of the handshake. Default: 10 s.
    pub fn handshake_timeout(mut self, timeout: Duration) -> Self {
        self.options.era.handshake_timeout = timeout;
        self
    }

    /// Sets how long calls wait for an answer or the next report of progress, and in all. Default: 60 s and 600 s. A
    /// single call may set other times.
    pub fn timeouts(mut self, timeout: Duration, max_timeout: Duration) -> Self {
        self.options.timeouts = (timeout, max_timeout);
        self
    }

    /// Sets whether results are cached as long as the server allows. Default: yes.
    pub fn caching(mut self, caching: bool) -> Self {
        self.options.caching = caching;
        self
    }

    /// Makes the client a gateway's: a request whose `context.session` is that of another client is relayed.
    ///
    /// See [`EraOptions::relays`](mgp_transport::era::EraOptions::relays). Results are cached per server, not
    /// per client behind it, so a gateway for several clients should turn [`caching`](Self::caching) off.
    pub fn relay_clients(mut self) -> Self {
        self.options.era.relays = true;
        self
    }

    /// Sets the limits of the connection.
    pub fn limits(mut self, limits: ConnectionLimits) -> Self {
        self.options.limits = limits;
        self
    }

    /// Hands `take` each line that the server writes and that is no message, such as a greeting on standard output.
    /// Default: such lines are ignored.
    pub fn on_stray_line(mut self, take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        self.options.strays = StrayLines(Some(Arc::new(take)));
        self
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
