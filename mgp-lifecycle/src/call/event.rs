//! What is recorded about calls that are made again (§14.6).

use std::borrow::Cow;
use std::time::Duration;

use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, Timestamp, ToolName, TraceId,
};
use mgp_types::{Error, Method, RawJson, Request};

use crate::span::millis_up;

/// The event of a request that failed and is made again. `otherwise` is its type for what is no call of a tool.
pub(super) fn failed(request: &Request, otherwise: &'static str) -> AuditEvent {
    let event_type = if request.method == Method::TOOLS_CALL {
        EventType::ToolExecuted
    } else {
        EventType::Custom(otherwise.into())
    };
    let trace = request.context.trace.unwrap_or_else(TraceId::random);
    AuditEvent::new(Timestamp::now(), trace, event_type, actor(request), target(request), Outcome::Failure)
}

/// Returns the record of an attempt that failed and is made again after `pause`, as the retry of this number.
pub(super) fn retry(request: &Request, error: &Error, retry: u32, most: u32, pause: Duration) -> AuditEvent {
    let details = format!(
        r#"{{"attempt":{retry},"max":{most},"after_ms":{},"code":{}}}"#,
        millis_up(pause),
        error.code(),
    );
    let mut event = failed(request, "dev.cloto.mgp.request_retried");
    event.details.set("retry", RawJson::from_written(details.into_bytes()));
    event
}

fn actor(request: &Request) -> Actor {
    let Some(principal) = &request.context.principal else {
        return Actor::new(ActorType::Agent, "anonymous");
    };
    let actor = Actor::of(principal);
    Actor::new(actor.kind, clip(&actor.id))
}

/// The tool that somebody resolved, or what the trail says, or else what the request names.
fn target(request: &Request) -> AuditTarget {
    let context = &request.context;
    if let Some(tool) = &context.tool {
        return AuditTarget::new(Some(tool.server.clone()), Some(clipped(tool.name.as_str())));
    }
    if let Some((server, tool)) = context.trail.as_ref().and_then(|trail| trail.target()) {
        return AuditTarget::new(Some(server.clone()), tool.map(|name| clipped(name.as_str())));
    }
    let is_tool = request.method == Method::TOOLS_CALL;
    let named = if is_tool { request.params.text("name") } else { None };
    AuditTarget::new(None, named.map(|name| clipped(&name)))
}

fn clipped(name: &str) -> ToolName {
    clip(name).as_ref().into()
}

/// No more of a name than one needs to know it again: callers choose them.
pub(super) fn clip(text: &str) -> Cow<'_, str> {
    if text.len() <= MAX_NAME_BYTES {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("{}…", &text[..text.floor_char_boundary(MAX_NAME_BYTES)]))
}

const MAX_NAME_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::TraceId;
    use mgp_types::{Object, Principal};

    use super::*;

    #[test]
    fn an_event_says_who_called_what() {
        let params = Object::parse(r#"{"name":"search"}"#).unwrap();
        let mut request = Request::call("tools/call", params);
        let anonymous = failed(&request, "x.y");
        assert_eq!(anonymous.actor, Actor::new(ActorType::Agent, "anonymous"));
        assert_eq!(anonymous.target, AuditTarget::new(None, Some("search".into())));
        assert_eq!((anonymous.event_type, anonymous.result), (EventType::ToolExecuted, Outcome::Failure));

        request.context.principal = Some(Principal::operator("ops"));
        request.context.trace = TraceId::from_u128(7);
        request.method = Method::RESOURCES_READ;
        let read = failed(&request, "x.y");
        assert_eq!(read.actor, Actor::new(ActorType::Operator, "ops"));
        assert_eq!(read.trace_id.as_u128(), 7);
        assert_eq!((read.event_type.as_str(), read.target.tool_name), ("x.y", None));
    }

    #[test]
    fn names_are_clipped_between_characters() {
        assert_eq!(clip("search"), "search");
        let long = format!("{}é", "a".repeat(MAX_NAME_BYTES - 1));
        assert_eq!(clip(&long), format!("{}…", "a".repeat(MAX_NAME_BYTES - 1)));
    }
}
