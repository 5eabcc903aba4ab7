//! The notification by which a server reports an audit event of its own.

use mgp_types::mgp::{AuditEvent, method};
use mgp_types::{Error, Object, Request};

/// Returns the notification that reports `event` (§6.3), for a server that reports events of its own.
///
/// The event should have the trace id of the request that it is about: see [`trace_of`](super::trace_of). The
/// notification is for peers that have negotiated `audit`.
///
/// ```
/// use mgp_security::audit::{notification, trace_of};
/// use mgp_types::mgp::{Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, Timestamp};
/// use mgp_types::{Object, Request};
///
/// let params = Object::parse(r#"{"name":"wipe","trace_id":"550e8400-e29b-41d4-a716-446655440000"}"#)?;
/// let request = Request::call("tools/call", params);
/// let event = AuditEvent::new(
///     Timestamp::now(),
///     trace_of(&request).expect("the client sends one"),
///     EventType::Custom("com.example.wiped".into()),
///     Actor::new(ActorType::Server, "tool.disk"),
///     AuditTarget::new(None, Some("wipe".into())),
///     Outcome::Success,
/// );
/// let report = notification(&event)?;
/// assert_eq!(report.method.as_str(), "notifications/mgp.audit");
/// assert_eq!(report.params.text("trace_id").as_deref(), Some("550e8400-e29b-41d4-a716-446655440000"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Fails if the event cannot be written as JSON.
pub fn notification(event: &AuditEvent) -> Result<Request, Error> {
    let params = Object::from_value(event)
        .map_err(|error| Error::internal("the event is not JSON").with_source(error))?;
    Ok(Request::notify(method::AUDIT, params))
}
