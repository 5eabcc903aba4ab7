//! The noted requests, without IO.

use mgp_types::mgp::{EventSubscribe, EventSubscribed, EventUnsubscribe, SubscriptionId, method as mgp};
use mgp_types::{Method, Object, Request, RequestKind, Response};

/// The noted requests: a value without IO.
#[derive(Default)]
pub(super) struct StandingState {
    level: Option<Object>,
    resources: Vec<(Box<str>, Object)>,
    subscriptions: Vec<Subscription>,
}

/// A subscription to events.
#[derive(Clone)]
pub(super) struct Subscription {
    /// The name that its callers were given.
    pub(super) known_as: SubscriptionId,
    /// The name that the server gave it last.
    pub(super) current: SubscriptionId,
    /// The number of the last event that arrived, if it is known.
    pub(super) after_seq: Option<u64>,
    /// The request that opens it.
    pub(super) wanted: EventSubscribe,
}

/// The effect of a request once it is answered.
#[derive(Debug)]
pub enum StandingChange {
    Level(Object),
    Resource { uri: Box<str>, params: Object },
    NoResource { uri: Box<str> },
    Subscription(EventSubscribe),
    NoSubscription(SubscriptionId),
}

/// A request that is repeated.
pub(super) enum ReplayedRequest {
    Request(Method, Object),
    /// A subscription that the server may still know.
    Resumed(Subscription),
    /// A subscription that the server does not know.
    Anew(Subscription),
}

impl StandingChange {
    /// Returns the effect of a request that is to be noted, or takes one back.
    pub(super) fn of(request: &Request) -> Option<Self> {
        if request.kind != RequestKind::Call {
            return None;
        }
        let uri = || request.params.text("uri").map(Box::from);
        Some(match request.method.as_str() {
            "logging/setLevel" => Self::Level(lasting(&request.params)?),
            "resources/subscribe" => Self::Resource { uri: uri()?, params: lasting(&request.params)? },
            "resources/unsubscribe" => Self::NoResource { uri: uri()? },
            mgp::EVENTS_SUBSCRIBE => {
                lasting(&request.params)?;
                Self::Subscription(request.body().ok()?)
            }
            mgp::EVENTS_UNSUBSCRIBE => {
                Self::NoSubscription(request.body::<EventUnsubscribe>().ok()?.subscription_id)
            }
            _ => return None,
        })
    }
}

const MAX_BYTES: usize = 8 * 1024;
const MAX_KEPT: usize = 1024;

impl StandingState {
    pub(super) fn len(&self) -> usize {
        usize::from(self.level.is_some()) + self.resources.len() + self.subscriptions.len()
    }

    /// Notes a request that the server has answered.
    pub(super) fn note(&mut self, wish: StandingChange, response: &Response) {
        match wish {
            StandingChange::Level(params) => self.level = Some(params),
            StandingChange::Resource { uri, params } => {
                self.resources.retain(|(other, _)| *other != uri);
                if self.has_room() {
                    self.resources.push((uri, params));
                }
            }
            StandingChange::NoResource { uri } => self.resources.retain(|(other, _)| *other != uri),
            StandingChange::Subscription(asked) => {
                if let Ok(answer) = response.body() {
                    self.subscribed(asked, answer);
                }
            }
            StandingChange::NoSubscription(id) => {
                if let Some(place) = self.place(&id) {
                    self.subscriptions.remove(place);
                }
            }
        }
    }

    fn subscribed(&mut self, mut asked: EventSubscribe, answer: EventSubscribed) {
        let (resumed, after_seq) = (asked.subscription_id.take(), asked.after_seq.take());
        let place = resumed.as_ref().and_then(|id| self.place(id));
        let before = place.map(|place| self.subscriptions.remove(place));
        self.subscriptions.retain(|kept| kept.current != answer.subscription_id);
        for kept in &mut self.subscriptions {
            if kept.known_as == answer.subscription_id {
                // The server has used a name again; from now on it is that of the later subscription.
                kept.known_as = kept.current.clone();
            }
        }
        // A request that only asked for the channels has subscribed to none.
        let is_sane = !answer.subscribed.is_empty() && answer.subscription_id.as_str().len() <= MAX_BYTES;
        if !is_sane || !self.has_room() {
            return;
        }
        if asked.channels.is_empty() {
            match &before {
                Some(before) => asked.clone_from(&before.wanted),
                None => asked.channels.clone_from(&answer.subscribed),
            }
        }
        let goes_on = resumed.as_ref() == Some(&answer.subscription_id);
        let known = before.and_then(|before| before.after_seq);
        self.subscriptions.push(Subscription {
            known_as: answer.subscription_id.clone(),
            current: answer.subscription_id,
            after_seq: if goes_on { after_seq.or(known) } else { answer.last_seq },
            wanted: asked,
        });
    }

    /// Returns the subscription that a caller means by this name: a name that was given to it, or one that it has heard
    /// of.
    fn place(&self, id: &SubscriptionId) -> Option<usize> {
        let known = self.subscriptions.iter().position(|kept| kept.known_as == *id);
        known.or_else(|| self.subscriptions.iter().position(|kept| kept.current == *id))
    }

    pub(super) fn heard(&mut self, id: &SubscriptionId, seq: u64) {
        if let Some(kept) = self.subscriptions.iter_mut().find(|kept| kept.current == *id) {
            kept.after_seq = kept.after_seq.max(Some(seq));
        }
    }

    /// Returns the name that the server gave a subscription in place of the one that its callers know.
    pub(super) fn renamed(&self, id: &str) -> Option<SubscriptionId> {
        let kept = self.subscriptions.iter().find(|kept| kept.known_as.as_str() == id)?;
        (kept.current != kept.known_as).then(|| kept.current.clone())
    }

    /// Returns the requests for the next incarnation.
    pub(super) fn again(&self) -> Vec<ReplayedRequest> {
        let request = |method: Method, params: &Object| ReplayedRequest::Request(method, params.clone());
        let level = self.level.iter().map(|params| request(Method::SET_LEVEL, params));
        let resources = self.resources.iter().map(|(_, params)| request(Method::RESOURCES_SUBSCRIBE, params));
        let subscriptions = self.subscriptions.iter().cloned().map(ReplayedRequest::Resumed);
        level.chain(resources).chain(subscriptions).collect()
    }

    /// Notes the answer of the next incarnation about a subscription.
    pub(super) fn restored(&mut self, known_as: &SubscriptionId, answer: EventSubscribed) {
        let Some(kept) = self.subscriptions.iter_mut().find(|kept| kept.known_as == *known_as) else {
            return;
        };
        if kept.current != answer.subscription_id && answer.subscription_id.as_str().len() <= MAX_BYTES {
            // The subscription is another one, which counts anew.
            (kept.current, kept.after_seq) = (answer.subscription_id, answer.last_seq);
        }
    }

    fn has_room(&self) -> bool {
        let has_room = self.resources.len() + self.subscriptions.len() < MAX_KEPT;
        if !has_room {
            tracing::warn!("a request will not be made again after a restart: there are too many");
        }
        has_room
    }
}

impl Subscription {
    /// Returns the request that resumes the subscription.
    pub(super) fn resuming(&self) -> EventSubscribe {
        let mut asked = self.wanted.clone();
        (asked.subscription_id, asked.after_seq) = (Some(self.current.clone()), self.after_seq);
        asked
    }
}

/// Returns the parameters without those of the single call; `None` if they are too long to be kept. The parameters are
/// copied, because they are a part of a frame that would be kept as a whole.
fn lasting(params: &Object) -> Option<Object> {
    let raw = params.to_raw();
    if raw.as_bytes().len() > MAX_BYTES {
        tracing::warn!("a request will not be made again after a restart: it is too long");
        return None;
    }
    let mut params = Object::parse(raw.as_bytes().to_vec()).ok()?;
    for of_the_call in ["_meta", "_mgp"] {
        params.remove(of_the_call);
    }
    Some(params)
}
