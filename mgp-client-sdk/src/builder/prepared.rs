//! The client before it has a wire, and the layers between a wire and the caller's own.

use std::sync::Arc;

use mgp_stream::event::Subscriber;
use mgp_transport::Accept;
use mgp_transport::era::{Agreement, ClientEra, ClientInbound, EraOptions, InboundGate};
use mgp_transport::mrtr::InputRounds;
use mgp_types::{Error, Gate, Outbox, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;

use super::{ClientBuilder, ClientOptions};
use crate::cache::{Cache, CacheGate, CacheStore};
use crate::call::ClientShared;
use crate::handlers::{Handlers, NotificationListeners};
use crate::headers::HeaderMirror;
use crate::{Client, ConnectionHandle};

/// The layers between a wire `W` and those of [`ClientBuilder::layer`], from the outside in: the cache, and the era with
/// arguments in headers and answers to the questions in results.
pub type ClientCore<W, H> = Cache<ClientEra<W, (HeaderMirror, InputRounds<ClientInbound<H>>)>>;

/// The service that answers the server of one client. A transport is made with it, or with the
/// [`service`](Self::service).
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

impl<H> Clone for ClientAccept<H> {
    fn clone(&self) -> Self {
        Self { inbound: self.inbound.clone(), strays: self.strays.clone() }
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

impl<L, I> ClientBuilder<L, I> {
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
            cache: options.caching.then(Arc::<CacheStore>::default),
            subscriber: Subscriber::new(),
        };
        let handlers = Handlers::new(options.registry.clone(), listeners.clone());
        let gate = InboundGate::new(options.era.agreement.clone());
        let inbound = gate.layer(self.inbound_layers.layer(handlers));
        let accept = ClientAccept { inbound: Arc::new(Mutex::new(inbound)), strays: options.strays.clone() };
        Prepared { options, layers: self.layers, accept, listeners }
    }
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
        Ok(Client { stack: self.layers.layer(core), shared: Arc::new(shared) })
    }
}
