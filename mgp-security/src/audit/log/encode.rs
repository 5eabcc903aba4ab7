//! The JSON of audit events, cut to a size.

use mgp_types::mgp::{AuditEvent, EventType, ServerId, ToolName};
use mgp_types::{Object, RawJson};

use crate::audit::clip::clip;

/// Returns the event as JSON, after it was cut if it is too long; `None` if it cannot be written.
pub(super) fn encode(event: &mut AuditEvent) -> Option<RawJson> {
    let json = RawJson::from_value(event).ok()?;
    let size = json.as_bytes().len();
    if size <= MAX_EVENT_BYTES {
        return Some(json);
    }
    cut(event, size);
    RawJson::from_value(event).ok()
}

fn cut(event: &mut AuditEvent, size: usize) {
    event.details = Object::new();
    if let Ok(size) = RawJson::from_value(&size) {
        event.details.set("cut_from_bytes", size);
    }
    event.actor.id = clip(&event.actor.id, MAX_NAME_BYTES).into_owned();
    if let EventType::Custom(name) = &event.event_type {
        event.event_type = EventType::Custom(clip(name, MAX_NAME_BYTES).into());
    }
    let target = &mut event.target;
    target.server_id = target.server_id.take().map(|id| ServerId::new(&*clip(id.as_str(), MAX_NAME_BYTES)));
    target.tool_name =
        target.tool_name.take().map(|name| ToolName::new(&*clip(name.as_str(), MAX_NAME_BYTES)));
    target.arguments.clear();
}

/// The size of an event in bytes beyond which it loses its details.
const MAX_EVENT_BYTES: usize = 64 * 1024;

/// The length in bytes to which the names in such an event are cut.
const MAX_NAME_BYTES: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::sample;

    #[test]
    fn an_event_of_any_size_is_written_in_bounds() {
        let long = "\u{1F980}".repeat(100_000);
        let mut event = sample::event(1).with_detail("arguments", &long);
        event.actor.id.clone_from(&long);
        event.event_type = EventType::Custom(long.as_str().into());
        event.target.tool_name = Some(ToolName::new(long.as_str()));
        let json = encode(&mut event).unwrap();
        assert!(json.as_bytes().len() < 4_096);
        let read: AuditEvent = json.to().unwrap();
        assert!(read.details.contains("cut_from_bytes"));
        assert_eq!(read.trace_id, event.trace_id);
    }
}
