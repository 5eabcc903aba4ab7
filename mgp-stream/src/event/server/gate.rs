use std::fmt;
use std::sync::Arc;

use mgp_types::mgp::{EventReplay, EventUnsubscribe, EventUnsubscribed, Extension, method};
use mgp_types::{Error, Flow, Gate, Kind, Principal, RawJson, Request, Response, mcp};
use serde::Serialize;

use super::listen::{self, Listening};
use super::registry::{Caller, Registry};
use super::{Audience, EventQuotas, Publisher};
use crate::negotiated;

/// Serves subscriptions to the events of a [`Publisher`]. Clones share them.
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
/// it does not exist. With the last of the clones all subscriptions and their tasks end.
#[derive(Clone)]
pub struct EventsGate(Arc<Registry>);

impl EventsGate {
    /// Returns a gate with the usual quotas.
    pub fn new(publisher: Publisher) -> Self {
        Self::with_quotas(publisher, EventQuotas::new())
    }

    /// Returns a gate with these quotas.
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

impl Gate for EventsGate {
    /// Ends the sending of events to a request that listens.
    type Pass = Option<ListeningRequest>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        match request.method.as_str() {
            method::EVENTS_SUBSCRIBE | method::EVENTS_UNSUBSCRIBE | method::EVENTS_REPLAY
                if is_for_us(request) =>
            {
                Flow::Answer(answer(&self.0, request))
            }
            mcp::method::SUBSCRIPTIONS_LISTEN if is_for_us(request) => {
                listen::open(&self.0, request).map(|listening| listening.map(ListeningRequest)).into()
            }
            _ => Flow::Pass(None),
        }
    }
}

/// A request that listens for events, for as long as this is there.
pub struct ListeningRequest(#[expect(dead_code, reason = "it is held, and not read")] Listening);

impl fmt::Debug for ListeningRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListeningRequest").finish_non_exhaustive()
    }
}

impl fmt::Debug for EventsGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("EventsGate").field(self.0.publisher()).finish()
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
