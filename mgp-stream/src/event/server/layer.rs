use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};

use mgp_types::mgp::{EventReplay, EventUnsubscribe, EventUnsubscribed, Extension, method};
use mgp_types::{Error, Kind, Principal, RawJson, Request, Response, RpcService, mcp};
use serde::Serialize;
use tower_layer::Layer;
use tower_service::Service;

use super::registry::{Caller, Registry};
use super::{Audience, EventQuotas, Publisher, ServeEventsFuture, listen};
use crate::negotiated;

/// Serves subscriptions to the events of a [`Publisher`]. Makes [`ServeEvents`] services, which share them.
///
/// It sits inside of whatever decides who asks and who may, in front of what serves `subscriptions/listen`. It reads
/// `session`, `principal` and `outbox` of the context and writes `outbox` of a request that listens for events.
/// Requests that have nothing to do with events pass: it costs them a comparison of names, and no allocation. Methods of
/// events pass too unless the peer negotiated `events`, so that they are unknown as they are to any MCP server.
///
/// Where the session has a way to the client, events are pushed on it. Otherwise a client asks for them
/// (`mgp/events/replay`), or listens: a `subscriptions/listen` whose filter has the member
/// [`LISTEN_MEMBER`](mgp_types::mgp::EventSubscribe::LISTEN_MEMBER) gets events on its own stream, after the
/// acknowledgement, which has the answer in a member of the same name.
///
/// Everybody sees all channels, unless [`for_audience`](Self::for_audience) says otherwise.
///
/// A subscription is its owner's: the principal's, or, where nobody says who they are, of who has its name. For others
/// it does not exist. With the last of the services and layers all subscriptions and their tasks end.
#[derive(Clone)]
pub struct EventsLayer(Arc<Registry>);

impl EventsLayer {
    /// A layer with the usual quotas.
    pub fn new(publisher: Publisher) -> Self {
        Self::with_quotas(publisher, EventQuotas::new())
    }

    /// A layer with these quotas.
    pub fn with_quotas(publisher: Publisher, quotas: EventQuotas) -> Self {
        Self(Arc::new(Registry::new(publisher, quotas, Arc::new(|_: Option<&Principal>, _: &str| true))))
    }

    /// The same with subscriptions of its own, in which everybody sees what `audience` says. Channels that somebody does
    /// not see do not exist there.
    pub fn for_audience(self, audience: impl Audience) -> Self {
        let (publisher, quotas) = (self.0.publisher().clone(), self.0.quotas().clone());
        Self(Arc::new(Registry::new(publisher, quotas, Arc::new(audience))))
    }
}

impl<S> Layer<S> for EventsLayer {
    type Service = ServeEvents<S>;

    fn layer(&self, inner: S) -> ServeEvents<S> {
        ServeEvents { inner, registry: Arc::clone(&self.0) }
    }
}

impl fmt::Debug for EventsLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventsLayer").field(self.0.publisher()).finish()
    }
}

/// Serves subscriptions to events in front of `inner`; see [`EventsLayer`].
#[derive(Clone)]
pub struct ServeEvents<S> {
    inner: S,
    registry: Arc<Registry>,
}

impl<S> ServeEvents<S> {
    /// The service further in.
    pub const fn get_ref(&self) -> &S {
        &self.inner
    }

    /// The service further in.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: RpcService> Service<Request> for ServeEvents<S> {
    type Response = Response;
    type Error = Error;
    type Future = ServeEventsFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        match request.method.as_str() {
            method::EVENTS_SUBSCRIBE | method::EVENTS_UNSUBSCRIBE | method::EVENTS_REPLAY
                if is_for_us(&request) =>
            {
                ServeEventsFuture::answered(answer(&self.registry, &request))
            }
            mcp::method::SUBSCRIPTIONS_LISTEN if is_for_us(&request) => {
                match listen::open(&self.registry, &mut request) {
                    Ok(None) => ServeEventsFuture::passed(self.inner.call(request)),
                    Ok(Some(listening)) => ServeEventsFuture::listening(self.inner.call(request), listening),
                    Err(error) => ServeEventsFuture::answered(Err(error)),
                }
            }
            _ => ServeEventsFuture::passed(self.inner.call(request)),
        }
    }
}

impl<S> fmt::Debug for ServeEvents<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ServeEvents").field(self.registry.publisher()).finish()
    }
}

fn is_for_us(request: &Request) -> bool {
    request.kind == Kind::Call && negotiated::have(request.context.session.as_deref(), &Extension::Events)
}

fn answer(registry: &Arc<Registry>, request: &Request) -> Result<Response, Error> {
    let caller =
        Caller { principal: request.context.principal.as_ref(), session: request.context.session()? };
    if request.method == *method::EVENTS_SUBSCRIBE {
        written(&registry.subscribe(caller, &request.body()?)?)
    } else if request.method == *method::EVENTS_UNSUBSCRIBE {
        let asked: EventUnsubscribe = request.body()?;
        // The specification does not say how this is answered.
        written(&EventUnsubscribed::new(registry.unsubscribe(caller, &asked.subscription_id)))
    } else {
        let asked: EventReplay = request.body()?;
        written(&registry.replay(caller, &asked)?)
    }
}

fn written<T: Serialize>(body: &T) -> Result<Response, Error> {
    RawJson::from_value(body)
        .map(Response::plain)
        .map_err(|error| Error::internal("the answer is not JSON").with_source(error))
}
