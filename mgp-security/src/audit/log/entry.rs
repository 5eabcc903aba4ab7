//! The entry of the audit log: an event with its place in the chain, and the line of JSON in which it is exported.

use mgp_types::canonical::Digest;
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, ServerId, Timestamp, TraceId, method,
};
use mgp_types::{Object, RawJson, Request};

use super::chain::LogHead;

/// An event in the log: its number, its bytes as they are forwarded, and its place in the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// The number of the event: 1 for the first, and one more for each that follows.
    pub seq: u64,
    /// The event as JSON.
    pub event: RawJson,
    /// The link of the event before.
    pub prev: Digest,
    /// The link of this event.
    pub hash: Digest,
    /// The values of the event that the log can be searched by.
    pub facets: EventFacets,
}

/// The values of an event that the log can be searched by; they are copies of values in its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventFacets {
    /// The time of the event, in milliseconds since 1970.
    pub millis: i64,
    /// The type of the event.
    pub event_type: EventType,
    /// The agent that acted; `None` if the actor was not an agent.
    pub agent: Option<Box<str>>,
    /// The server that the event is about.
    pub server: Option<ServerId>,
    /// The outcome of what the event reports.
    pub result: Outcome,
    /// The trace id of the chain of requests that the event belongs to.
    pub trace: u128,
}

impl LogEntry {
    /// Returns the entry for `event` behind `before`, and moves `before` to the new entry.
    pub(crate) fn behind(before: &mut LogHead, event: RawJson, facets: EventFacets) -> Self {
        let prev = before.hash;
        *before = before.link(event.as_bytes());
        Self { seq: before.seq, event, prev, hash: before.hash, facets }
    }

    /// Returns the place of the entry in the chain.
    pub const fn head(&self) -> LogHead {
        LogHead::new(self.seq, self.hash)
    }

    /// Returns the event as a typed value.
    ///
    /// # Errors
    /// Fails if the bytes are not an event, which cannot be in a log that verifies.
    pub fn to_event(&self) -> Result<AuditEvent, serde_json::Error> {
        self.event.to()
    }

    /// Returns the notification for peers that keep a log of their own (§6.3): the event's bytes, with its number
    /// under `_mgp.seq`.
    ///
    /// The number is that of this log, so that a receiver that misses an event can ask for it.
    pub fn to_notification(&self) -> Request {
        let params = Object::parse(self.with_place(false)).unwrap_or_default();
        Request::notify(method::AUDIT, params)
    }

    /// Returns the bytes of the event with its place in the chain as a last member, `_mgp`.
    pub(crate) fn with_place(&self, with_hash: bool) -> Vec<u8> {
        let event = self.event.as_bytes();
        let open = event.strip_suffix(b"}").unwrap_or(event);
        let hash = if with_hash { format!(r#","hash":"{}""#, self.hash) } else { String::new() };
        let place = format!(r#","_mgp":{{"seq":{}{hash}}}}}"#, self.seq);
        [open, place.as_bytes()].concat()
    }

    /// Returns the event as a line of JSON, with its number and link under `_mgp`.
    pub fn to_line(&self) -> Vec<u8> {
        let mut line = self.with_place(true);
        line.push(b'\n');
        line
    }
}

/// Returns an event that the log reports of itself.
pub(super) fn own_event(now: Timestamp, kind: &'static str, result: Outcome) -> AuditEvent {
    let (kind, target) = (EventType::Custom(kind.into()), AuditTarget::new(None, None));
    AuditEvent::new(now, TraceId::random(), kind, Actor::kernel(), target, result)
}

impl EventFacets {
    /// Returns the searchable values of `event`.
    pub fn of(event: &AuditEvent) -> Self {
        Self {
            millis: event.timestamp.as_millis(),
            event_type: event.event_type.clone(),
            agent: (event.actor.kind == ActorType::Agent).then(|| event.actor.id.as_str().into()),
            server: event.target.server_id.clone(),
            result: event.result,
            trace: event.trace_id.as_u128(),
        }
    }
}
