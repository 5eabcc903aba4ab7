//! The lookup of the trace id that a request carries, and the notification by which a server reports an audit event of
//! its own.

use std::sync::LazyLock;

use memchr::memchr;
use memchr::memmem::Finder;
use mgp_types::mgp::{AuditEvent, TraceId, method};
use mgp_types::{Error, Object, Request};

/// Returns the trace id of the chain of requests that a request belongs to (§6.5): the id noted for the request, or
/// else the one that it carries.
///
/// The id is read from `params.trace_id`, where MGP has it, from `params._mgp.trace_id`, from `trace_id` or the W3C
/// `traceparent` of `_meta`, and from the `task_trace_id` of a request for tools (§16.6), made by its method or as a
/// call of its tool; the first valid id counts. A server puts it into its own audit events.
pub fn trace_of(request: &Request) -> Option<TraceId> {
    let params = &request.params;
    let inside = |name: &str, read: fn(&Object) -> Option<TraceId>| {
        // All names that are searched for contain the same word, unless it is written with escapes. Most objects have
        // none of them, and need not be parsed.
        let may_have = |json: &[u8]| TRACE.find(json).is_some() || memchr(b'\\', json).is_some();
        let member = params.get(name).filter(|member| may_have(member.as_bytes()))?;
        read(&Object::from_raw(&member).ok()?)
    };
    // Only the arguments of a call that asks for tools are searched.
    let asks_for_tools = || params.text("name").is_some_and(|name| name.ends_with("mgp.tools.request"));
    request
        .context
        .trace
        .or_else(|| named(params))
        .or_else(|| inside("_mgp", named))
        .or_else(|| inside("_meta", |meta| named(meta).or_else(|| from_traceparent(meta))))
        .or_else(|| of_task(params))
        .or_else(|| if asks_for_tools() { inside("arguments", of_task) } else { None })
}

/// Returns the notification that reports `event` (§6.3), for a server that reports events of its own.
///
/// The event should have the trace id of the request that it is about: see [`trace_of`]. The
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

fn named(object: &Object) -> Option<TraceId> {
    object.text("trace_id")?.parse().ok()
}

fn of_task(object: &Object) -> Option<TraceId> {
    object.text("task_trace_id")?.parse().ok()
}

pub(crate) fn from_traceparent(meta: &Object) -> Option<TraceId> {
    TraceId::from_traceparent(&meta.text("traceparent")?)
}

/// The word that the names of all trace members contain.
static TRACE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("trace"));

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "550e8400-e29b-41d4-a716-446655440000";
    const OTHER: &str = "11111111-2222-4333-8444-555555555555";
    const PARENT: &str = "00-550e8400e29b41d4a716446655440000-00f067aa0ba902b7-01";

    fn read(params: &str) -> Option<String> {
        let request = Request::call("tools/call", Object::parse(params.to_owned()).unwrap());
        trace_of(&request).map(|id| id.to_string())
    }

    // covers: MGP-6.5-01
    #[test]
    fn a_trace_id_is_read_wherever_a_client_puts_it() {
        for params in [
            format!(r#"{{"trace_id":"{ID}"}}"#),
            format!(r#"{{"trace_id":"{ID}","_mgp":{{"trace_id":"{OTHER}"}}}}"#),
            format!(r#"{{"_mgp":{{"trace_id":"{ID}"}}}}"#),
            format!(r#"{{"_meta":{{"trace_id":"{ID}"}}}}"#),
            format!(r#"{{"_meta":{{"traceparent":"{PARENT}"}}}}"#),
            format!(r#"{{"_meta":{{"tr\u0061ce_id":"{ID}"}}}}"#),
            format!(r#"{{"trace_id":7,"_mgp":[],"_meta":{{"trace_id":"x","traceparent":"{PARENT}"}}}}"#),
        ] {
            assert_eq!(read(&params).as_deref(), Some(ID), "{params}");
        }
    }

    // covers: MGP-16.6-08
    #[test]
    fn a_request_for_tools_stands_in_the_chain_of_its_task() {
        for params in [
            format!(r#"{{"task_trace_id":"{ID}","context":"x"}}"#),
            format!(r#"{{"name":"mgp.tools.request","arguments":{{"task_trace_id":"{ID}"}}}}"#),
            format!(r#"{{"task_trace_id":"{OTHER}","_meta":{{"trace_id":"{ID}"}}}}"#),
        ] {
            assert_eq!(read(&params).as_deref(), Some(ID), "{params}");
        }
    }

    #[test]
    fn the_arguments_of_any_other_tool_are_not_looked_at() {
        assert_eq!(read(&format!(r#"{{"name":"echo","arguments":{{"task_trace_id":"{ID}"}}}}"#)), None);
    }

    #[test]
    fn what_is_no_trace_id_is_none() {
        for params in
            ["{}", r#"{"trace_id":""}"#, r#"{"_meta":{"traceparent":"00-1-2-3"}}"#, r#"{"_meta":null}"#]
        {
            assert_eq!(read(params), None, "{params}");
        }
    }
}
