//! The JSON encoder for audit events, which is made for speed.

use mgp_types::json::write_string;
use mgp_types::mgp::{AuditEvent, EventType, ServerId, Timestamp, ToolName, TraceId};
use mgp_types::{Object, RawJson};

use crate::audit::clip::clip;

/// An encoder that writes events as the same JSON as their `Serialize`, in a fraction of the time.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    out: Vec<u8>,
    minute: Option<MinutePrefix>,
}

/// The text of the minute that was written last: most events fall into the same minute as the one before.
#[derive(Debug)]
struct MinutePrefix {
    number: i64,
    text: Box<str>,
}

impl Encoder {
    /// Returns the bytes of an event, of bounded length: an event that is too large loses its details, and then the
    /// ends of its names.
    pub(super) fn encode(&mut self, event: &mut AuditEvent) -> Option<RawJson> {
        self.write(event)?;
        let size = self.out.len();
        if size > MAX_EVENT_BYTES {
            cut(event, size);
            self.write(event)?;
        }
        // A buffer of exactly this size takes one allocation, which the value then keeps.
        Some(RawJson::from_written(self.out.as_slice().into()))
    }

    fn write(&mut self, event: &AuditEvent) -> Option<()> {
        self.out.clear();
        self.out.extend_from_slice(br#"{"timestamp":""#);
        self.time(event.timestamp);
        self.out.extend_from_slice(br#"","trace_id":""#);
        self.trace(event.trace_id);
        self.out.extend_from_slice(br#"","event_type":"#);
        write_string(&mut self.out, event.event_type.as_str());
        self.out.extend_from_slice(br#","actor":{"type":"#);
        serde_json::to_writer(&mut self.out, &event.actor.kind).ok()?;
        self.out.extend_from_slice(br#","id":"#);
        write_string(&mut self.out, &event.actor.id);
        self.out.extend_from_slice(br#"},"target":{"server_id":"#);
        self.name(event.target.server_id.as_ref().map(ServerId::as_str));
        self.out.extend_from_slice(br#","tool_name":"#);
        self.name(event.target.tool_name.as_ref().map(ToolName::as_str));
        if !event.target.arguments.is_empty() {
            self.out.extend_from_slice(br#","arguments":"#);
            serde_json::to_writer(&mut self.out, &event.target.arguments).ok()?;
        }
        self.out.extend_from_slice(br#"},"result":""#);
        self.out.extend_from_slice(event.result.as_str().as_bytes());
        self.out.extend_from_slice(br#"","details":"#);
        event.details.write(&mut self.out);
        self.out.push(b'}');
        Some(())
    }

    fn time(&mut self, time: Timestamp) {
        let millis = time.as_millis();
        let number = millis.div_euclid(MINUTE_MILLIS);
        if self.minute.as_ref().is_none_or(|minute| minute.number != number) {
            let text = time.to_string();
            let text = text.get(..text.len().saturating_sub(SECONDS_LEN)).unwrap_or_default().into();
            self.minute = Some(MinutePrefix { number, text });
        }
        self.out.extend(self.minute.iter().flat_map(|minute| minute.text.bytes()));
        let millis = millis.rem_euclid(MINUTE_MILLIS);
        let digit = |tens: i64| b'0' + u8::try_from(millis / tens % 10).unwrap_or_default();
        self.out.extend_from_slice(&[
            digit(10_000),
            digit(1_000),
            b'.',
            digit(100),
            digit(10),
            digit(1),
            b'Z',
        ]);
    }

    fn trace(&mut self, id: TraceId) {
        self.out.extend_from_slice(&id.to_uuid());
    }

    fn name(&mut self, name: Option<&str>) {
        match name {
            Some(name) => write_string(&mut self.out, name),
            None => self.out.extend_from_slice(b"null"),
        }
    }
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

/// A minute in milliseconds.
const MINUTE_MILLIS: i64 = 60_000;

/// The length in bytes of the end of a written time, from the seconds on: `00.000Z`.
const SECONDS_LEN: usize = 7;

#[cfg(test)]
mod tests {
    use mgp_types::mgp::{Actor, ActorType, AuditTarget, Outcome};
    use proptest::prelude::*;

    use super::*;
    use crate::audit::sample;

    #[test]
    fn an_event_of_any_size_is_written_in_bounds() {
        let long = "\u{1F980}".repeat(100_000);
        let mut event = sample::event(1).with_detail("arguments", &long);
        event.actor.id.clone_from(&long);
        event.event_type = EventType::Custom(long.as_str().into());
        event.target.tool_name = Some(ToolName::new(long.as_str()));
        let json = Encoder::default().encode(&mut event).unwrap();
        assert!(json.as_bytes().len() < 4_096);
        let read: AuditEvent = json.to().unwrap();
        assert!(read.details.contains("cut_from_bytes"));
        assert_eq!(read.trace_id, event.trace_id);
    }

    fn any_event() -> impl Strategy<Value = AuditEvent> {
        let first = Timestamp::from_millis(-377_705_023_201_000).unwrap().as_millis();
        let times = prop_oneof![first..253_402_207_200_000, 1_772_193_590_000i64..1_772_193_670_000];
        let types = prop_oneof![
            prop::sample::select(EventType::STANDARD).boxed(),
            any::<String>().prop_map(|name| EventType::read(&name)).boxed(),
        ];
        let kinds = vec![ActorType::Agent, ActorType::Operator, ActorType::Kernel, ActorType::Server];
        let actors = (prop::sample::select(kinds), any::<String>());
        let names = any::<(Option<String>, Option<String>)>();
        let results = prop::sample::select(vec![Outcome::Success, Outcome::Failure, Outcome::Blocked]);
        let details = prop::collection::vec(any::<(String, String)>(), 0..4);
        let arguments = prop::collection::btree_map(any::<String>(), any::<String>(), 0..3);
        let targets = (names, arguments);
        (times, 1u128.., types, actors, targets, results, details).prop_map(
            |(millis, trace, event_type, (kind, actor), ((server, tool), arguments), result, details)| {
                let event = AuditEvent::new(
                    Timestamp::from_millis(millis).unwrap(),
                    TraceId::from_u128(trace).unwrap(),
                    event_type,
                    Actor::new(kind, actor),
                    AuditTarget::new(server.as_deref().map(Into::into), tool.as_deref().map(Into::into))
                        .with_arguments(arguments),
                    result,
                );
                details.iter().fold(event, |event, (name, value)| event.with_detail(name.clone(), value))
            },
        )
    }

    proptest! {
        #[test]
        fn an_event_is_written_as_its_own_serialize_does(mut events in prop::collection::vec(any_event(), 1..6)) {
            let mut encoder = Encoder::default();
            for event in &mut events {
                let expected = RawJson::from_value(event).unwrap();
                let written = encoder.encode(event).unwrap();
                prop_assert_eq!(written.as_bytes(), expected.as_bytes());
            }
        }
    }
}
