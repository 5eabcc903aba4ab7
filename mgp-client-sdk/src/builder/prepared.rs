//! The client before it has a wire, and the layers between a wire and the caller's own.

use std::sync::Arc;

use mgp_stream::event::Subscriber;
use mgp_transport::Accept;
use mgp_transport::era::{
    Agreement, ClientEra, ClientIdentity, ClientInbound, EraMode, EraOptions, InboundGate, WireKind,
};
use mgp_transport::mrtr::InputRounds;
use mgp_types::{Error, Gate, Outbox, Request, RpcService};
use parking_lot::Mutex;
use tower_layer::Layer;

use super::{ClientBuilder, ClientOptions};
use crate::cache::{Cache, CacheGate, CacheStore};
use crate::changes::ChangeRoutes;
use crate::client::ClientShared;
use crate::handlers::{AnswerFn, Handlers, NotificationListeners};
use crate::headers::{HeaderMirror, HeaderPlans};
use crate::progress::ProgressRoutes;
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
    pub(crate) agreement: Agreement,
    progress: Arc<ProgressRoutes>,
    pub(crate) changes: Arc<ChangeRoutes>,
    cache: Option<Arc<CacheStore>>,
    subscriber: Subscriber,
}

/// The way in which one wire is to be used.
pub(crate) struct WireOptions<'a> {
    pub(crate) mode: EraMode,
    pub(crate) kind: WireKind,
    /// The name under which the server's era is remembered.
    pub(crate) key: Option<&'a str>,
    pub(crate) plans: Option<HeaderPlans>,
}

impl WireOptions<'_> {
    pub(crate) fn stream(mode: EraMode) -> Self {
        Self { mode, kind: WireKind::Stream, key: None, plans: None }
    }
}

impl<L, I> ClientBuilder<L, I> {
    pub(crate) fn prepare(self) -> Prepared<L, I::Service>
    where
        I: Layer<Handlers>,
        I::Service: RpcService,
    {
        let agreement = Agreement::default();
        let progress = Arc::<ProgressRoutes>::default();
        let changes = Arc::<ChangeRoutes>::default();
        let options = self.options;
        let cache = options.caching.then(Arc::<CacheStore>::default);
        let subscriber = Subscriber::new();
        let heard = NotificationListeners {
            progress: progress.clone(),
            changes: changes.clone(),
            cache: cache.clone(),
            subscriber: subscriber.clone(),
        };
        let handlers = Handlers::new(options.registry.clone(), heard);
        let inbound = InboundGate::new(agreement.clone()).layer(self.inbound_layers.layer(handlers));
        let accept = ClientAccept { inbound: Arc::new(Mutex::new(inbound)), strays: options.strays.clone() };
        Prepared { options, layers: self.layers, accept, agreement, progress, changes, cache, subscriber }
    }
}

impl<L, H: RpcService> Prepared<L, H> {
    /// Agrees with the server behind `wire`, and puts the layers around it. The client takes the link; an error leaves it
    /// to the caller.
    pub(crate) async fn client<W>(
        &self,
        wire: W,
        link: &mut ConnectionHandle,
        way: WireOptions<'_>,
    ) -> Result<Client<L::Service>, Error>
    where
        W: RpcService,
        L: Layer<ClientCore<W, H>>,
        L::Service: RpcService,
    {
        let wanted = &self.options;
        let mut identity = ClientIdentity::new(wanted.info.clone())
            .with_capabilities(wanted.registry.capabilities().clone())
            .with_revisions(wanted.revisions.clone())
            .with_required(wanted.required.iter().cloned());
        if let Some(offer) = &wanted.offer {
            identity = identity.with_offer(offer.clone());
        }
        let mut options = EraOptions::new()
            .with_mode(way.mode)
            .with_wire_kind(way.kind)
            .with_handshake_timeout(wanted.handshake_timeout)
            .with_agreement(self.agreement.clone());
        if wanted.relays {
            options = options.with_relay();
        }
        if let Some(key) = way.key {
            options = options.with_memory(wanted.memory.clone(), key);
        }
        let era = ClientEra::negotiate(wire, identity, options).await?;
        let mirror = HeaderMirror::new(way.plans, self.agreement.clone());
        let rounds = InputRounds::new(self.accept.service(), self.agreement.clone());
        let core = CacheGate(self.cache.clone()).layer(era.with_rules((mirror, rounds)));
        let shared = ClientShared {
            subscribing: tokio::sync::Mutex::default(),
            agreement: self.agreement.clone(),
            progress: self.progress.clone(),
            changes: self.changes.clone(),
            cache: self.cache.clone(),
            subscriber: self.subscriber.clone(),
            roots: wanted.roots.clone(),
            answering: self.answering(),
            timeouts: wanted.timeouts,
            link: Mutex::new(Some(std::mem::take(link))),
        };
        Ok(Client { stack: self.layers.layer(core), shared: Arc::new(shared) })
    }

    fn answering(&self) -> AnswerFn {
        let accept = self.accept.clone();
        Arc::new(move |request: Request| Box::pin(mgp_types::call_once(accept.service(), request)))
    }
}
