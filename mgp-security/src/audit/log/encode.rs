use mgp_types::mgp::{AuditEvent, EventType, ServerId, ToolName};
use mgp_types::{Object, RawJson};

use crate::audit::clip::clip;

/// The bytes of an event, and never many of them: what is too large loses its details, and then the ends of its names.
pub(super) fn encode(event: &mut AuditEvent) -> Option<RawJson> {
    let json = RawJson::from_value(event).ok()?;
    let size = json.as_bytes().len();
    if size <= MAX_EVENT_BYTES {
        return Some(json);
    }
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
    RawJson::from_value(event).ok()
}

const MAX_EVENT_BYTES: usize = 64 * 1024;

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

    #[test]
    fn a_usual_event_is_written_as_it_is() {
        let mut event = sample::event(1);
        assert_eq!(encode(&mut event).unwrap(), RawJson::from_value(&sample::event(1)).unwrap());
    }
}
