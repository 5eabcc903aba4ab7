//! The client's era layer: it writes requests in the era of the server, and renews lost sessions.

use std::sync::{Arc, Weak};

use mgp_types::{
    BoxFuture, Error, Method, Outbox, OutboxPort, Request, RequestKind, Response, RpcService, StreamId,
    call_once, code,
};
use parking_lot::Mutex;
use tower_service::Service;

use super::agreement::AgreedSession;
use super::handshake::Handshake;
use super::resend::{EraFuture, ResendRule, ResendableCall};
use super::{Agreement, ClientIdentity, Era, EraOptions, WireKind};

/// Speaks to a server in the era of the server.
///
/// The layer sits right above the wire. The layer writes `context.session` of every request and, in the era without
/// sessions, the members in which a request describes its client; a gateway's layer reads there which client the
/// request comes from, see [`EraOptions::relays`]. A session that the server has lost is opened again, once for all
/// callers, with the log level and the subscriptions of the old one, and the call is sent again; the same holds for a
/// server that has changed its versions. The layer allocates for the metadata only. Dropping a call drops it on the
/// wire. Further [rules](ResendRule) may ask for a call to be sent again, too.
#[derive(Clone)]
pub struct ClientEra<W, R = ()> {
    wire: W,
    shared: Arc<ClientEraShared<W>>,
    rules: R,
}

/// The state that the clones of one [`ClientEra`] share.
pub(super) struct ClientEraShared<W> {
    /// The wire from which further ones are made; the session's outbox leads to it, too.
    pub(super) port: Arc<WirePort<W>>,
    identity: ClientIdentity,
    pub(super) options: EraOptions,
    pub(super) standing: RepeatedRequests,
    /// The lock of the handshake, so that there is one at a time.
    renewing: tokio::sync::Mutex<()>,
}

impl<W: RpcService> ClientEra<W> {
    /// Finds out the era of the server, and opens a session where there are sessions.
    ///
    /// # Errors
    /// The server does not answer in time, the two sides have no version in common
    /// ([`UnsupportedVersion`](super::UnsupportedVersion)), the server lacks a capability that the client needs, the
    /// probe ended the connection ([`ProbeEndedConnection`](super::ProbeEndedConnection)), or the connection is lost.
    /// No more requests are sent then, and the caller drops the wire.
    ///
    /// # Cancel safety
    /// The handshake cannot be resumed; the caller drops a wire whose handshake was dropped.
    pub async fn negotiate(wire: W, identity: ClientIdentity, options: EraOptions) -> Result<Self, Error> {
        let port =
            Arc::new(WirePort { wire: Mutex::new(wire.clone()), agreement: options.agreement.clone() });
        let outbox = outbox(&port);
        let handshake =
            Handshake { wire: wire.clone(), identity: &identity, options: &options, outbox, generation: 0 };
        let agreed = handshake.run().await?;
        tracing::info!(revision = %agreed.session.revision, "connected to the server");
        options.agreement.store(agreed);
        let standing = RepeatedRequests::default();
        let renewing = tokio::sync::Mutex::default();
        let shared = ClientEraShared { port, identity, options, standing, renewing };
        Ok(Self { wire, shared: Arc::new(shared), rules: () })
    }

    /// Adds rules by which calls are sent again.
    pub fn with_rules<R: ResendRule>(self, rules: R) -> ClientEra<W, R> {
        ClientEra { wire: self.wire, shared: self.shared, rules }
    }
}

impl<W, R> ClientEra<W, R> {
    /// Returns the current agreement with the server.
    pub fn agreement(&self) -> &Agreement {
        &self.shared.options.agreement
    }

    /// Returns the wire.
    pub fn get_ref(&self) -> &W {
        &self.wire
    }

    /// Returns the session.
    pub fn session(&self) -> Option<Arc<mgp_types::Session>> {
        self.agreement().session()
    }
}

impl<W: RpcService> ClientEraShared<W> {
    /// Returns whether another handshake may remove the cause of `error`.
    pub(super) fn can_renew(&self, error: &Error, agreed: &AgreedSession) -> bool {
        self.options.kind.session_lost(error)
            || (agreed.stamp.is_some() && error.code() == code::UNSUPPORTED_PROTOCOL_VERSION)
    }

    /// Agrees with the server once more, unless another caller did since `generation`.
    pub(super) async fn renew(&self, generation: u64) -> Result<(), Error> {
        let _alone = self.renewing.lock().await;
        let era = match &*self.options.agreement.load() {
            Some(agreed) if agreed.generation != generation => return Ok(()),
            Some(agreed) if agreed.stamp.is_some() => Era::Stateless,
            _ => Era::Session,
        };
        tracing::info!("agreeing with the server once more");
        let Self { identity, options, port, .. } = self;
        let (wire, outbox) = (port.wire(), outbox(port));
        let handshake = Handshake { wire, identity, options, outbox, generation: generation + 1 };
        options.agreement.store(handshake.renew(era).await?);
        if era == Era::Session {
            for mut request in self.standing.requests() {
                prepare(&mut request, &options.agreement);
                if let Err(error) = call_once(self.port.wire(), request).await {
                    tracing::warn!(%error, "a request of the old session failed in the new one");
                }
            }
        }
        Ok(())
    }

    /// Returns whether the server can lose the session without the end of the connection; a byte stream cannot.
    pub(super) fn can_lose_session(&self, agreed: &AgreedSession) -> bool {
        agreed.stamp.is_some() || matches!(self.options.kind, WireKind::Http { .. })
    }
}

impl<W: RpcService, R: ResendRule> Service<Request> for ClientEra<W, R> {
    type Future = EraFuture<W, R>;

    mgp_types::ready_as_inner!(wire);

    fn call(&mut self, mut request: Request) -> Self::Future {
        let guard = self.shared.options.agreement.load();
        let Some(agreed) = &*guard else { return EraFuture::new(self.wire.call(request), None) };
        let state = match request.kind {
            RequestKind::Call => match self.rules.begin(&request) {
                Ok(state) => state,
                Err(refusal) => return EraFuture::refused(refusal),
            },
            RequestKind::Notify => None,
        };
        let is_renewable = request.kind == RequestKind::Call && self.shared.can_lose_session(agreed);
        if state.is_none() && !is_renewable {
            agreed.prepare(&mut request);
            return EraFuture::new(self.wire.call(request), None);
        }
        let (shared, rules, agreed) = (Arc::clone(&self.shared), self.rules.clone(), Arc::clone(agreed));
        let mut call = ResendableCall { shared, rules, state, request, agreed, is_renewable };
        EraFuture::new(self.wire.call(call.written()), Some(call))
    }
}

fn prepare(request: &mut Request, agreement: &Agreement) {
    if let Some(agreed) = &*agreement.load() {
        agreed.prepare(request);
    }
}

mgp_types::partial_debug!([W, R] ClientEra<W, R>, self => agreement: self.shared.options.agreement);

/// A wire from which further ones are made.
pub(super) struct WirePort<W> {
    wire: Mutex<W>,
    agreement: Agreement,
}

impl<W: RpcService> WirePort<W> {
    pub(super) fn wire(&self) -> W {
        self.wire.lock().clone()
    }
}

/// The session's way to the server. The layer does not keep the wire alive, because the wire may keep the session.
struct SessionPort<W>(Weak<WirePort<W>>);

fn outbox<W: RpcService>(port: &Arc<WirePort<W>>) -> Outbox {
    Outbox::new(Arc::new(SessionPort(Arc::downgrade(port))), StreamId::STANDALONE)
}

impl<W: RpcService> SessionPort<W> {
    /// Sends a request in the form of the era: without sessions it has to describe itself.
    async fn send(port: Option<Arc<WirePort<W>>>, mut request: Request) -> Result<Response, Error> {
        let Some(port) = port else { return Err(Error::disconnected("the client is closed")) };
        prepare(&mut request, &port.agreement);
        let wire = port.wire();
        // A waiting caller does not keep the wire alive.
        drop(port);
        call_once(wire, request).await
    }
}

impl<W: RpcService> OutboxPort for SessionPort<W> {
    fn notify(&self, _: StreamId, mut notification: Request) -> BoxFuture<'_, Result<(), Error>> {
        notification.kind = RequestKind::Notify;
        let port = self.0.upgrade();
        Box::pin(async { Self::send(port, notification).await.map(drop) })
    }

    fn call(&self, _: StreamId, request: Request) -> BoxFuture<'_, Result<Response, Error>> {
        Box::pin(Self::send(self.0.upgrade(), request))
    }
}

/// The lasting wishes of a session, which are repeated in the next one: the log level and the resources whose changes
/// matter.
#[derive(Debug, Default)]
pub(super) struct RepeatedRequests(Mutex<Vec<Request>>);

/// The number of requests that are repeated; further ones are not.
const MAX_REPEATED: usize = 1024;

impl RepeatedRequests {
    /// Notes a request that the server has answered.
    pub(super) fn note(&self, request: &Request) {
        let sets = request.method == Method::SET_LEVEL || request.method == Method::RESOURCES_SUBSCRIBE;
        if !sets && request.method != Method::RESOURCES_UNSUBSCRIBE {
            return;
        }
        let mut requests = self.0.lock();
        requests.retain(|earlier| !replaces(request, earlier));
        if sets && requests.len() < MAX_REPEATED {
            // The caller's context, and the message that the request came in, are not kept.
            let params = mgp_types::Params::from_raw(&request.params.to_raw().detached()).unwrap_or_default();
            requests.push(Request::new(request.kind, request.method.clone(), params));
        }
    }

    /// Returns the requests that make a new session like the old one.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.0.lock().clone()
    }
}

fn replaces(later: &Request, earlier: &Request) -> bool {
    let is_level = |request: &Request| request.method == Method::SET_LEVEL;
    is_level(later) == is_level(earlier)
        && (is_level(later) || later.params.text("uri") == earlier.params.text("uri"))
}
