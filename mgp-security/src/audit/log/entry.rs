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
        let params = Object::parse(with_place(&self.event, self.seq, &[])).unwrap_or_default();
        Request::notify(method::AUDIT, params)
    }

    /// Returns the event as a line of JSON without its end, with its number and link under `_mgp`.
    pub fn to_line(&self) -> String {
        with_place(&self.event, self.seq, &[("hash", &*self.hash.to_string())])
    }
}

/// Returns an event as a line of JSON without its end. Its last member, `_mgp`, has its number in a record, and `more` about its
/// place there.
pub fn with_place(event: &RawJson, seq: u64, more: &[(&str, &str)]) -> String {
    let event = String::from_utf8_lossy(event.as_bytes()).replace(['\n', '\r'], " ");
    let open = event.strip_suffix('}').unwrap_or(&event);
    let more = more.iter().map(|(name, text)| format!(r#","{name}":{}"#, serde_json::Value::from(*text)));
    let more = more.collect::<Vec<_>>().concat();
    format!(r#"{open},"_mgp":{{"seq":{seq}{more}}}}}"#)
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
