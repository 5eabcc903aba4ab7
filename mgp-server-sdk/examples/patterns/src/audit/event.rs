//! An audit event as a kernel sends it (§6.3), read as far as it is searched by.

use mgp_types::mgp::{Outcome, Timestamp, TraceId};
use mgp_types::{Object, RawJson};
use serde::Deserialize;

/// An event that is to be stored: its JSON, and the values that it is found by.
#[derive(Debug, Clone)]
pub(super) struct AuditRecord {
    pub(super) time: Timestamp,
    pub(super) event_type: String,
    /// The agent that acted; empty if the actor was no agent.
    pub(super) agent: String,
    /// The server that the event is about; empty if there is none.
    pub(super) server: String,
    pub(super) result: Outcome,
    pub(super) trace: TraceId,
    /// The number of the event in the kernel's record, if the kernel says it.
    pub(super) seq: Option<i64>,
    pub(super) json: RawJson,
}

/// The members of an event that are read. Events of other programs may have actors and members that nobody here knows.
#[derive(Deserialize)]
struct Members {
    timestamp: Timestamp,
    trace_id: TraceId,
    event_type: String,
    actor: Actor,
    target: Target,
    result: Outcome,
    #[serde(rename = "_mgp")]
    place: Option<Place>,
}

#[derive(Deserialize)]
struct Actor {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

#[derive(Deserialize)]
struct Target {
    server_id: Option<String>,
}

#[derive(Deserialize)]
struct Place {
    seq: Option<i64>,
}

impl AuditRecord {
    /// Reads the parameters of `notifications/mgp.audit`.
    ///
    /// # Errors
    /// Fails if a member that each event has is missing or has another form.
    pub(super) fn read(mut params: Object) -> Result<Self, serde_json::Error> {
        let Members { timestamp, trace_id, event_type, actor, target, result, place } = params.to()?;
        // What describes the request is no part of the event.
        params.remove("_meta");
        Ok(Self {
            time: timestamp,
            event_type,
            agent: if actor.kind == "agent" { actor.id } else { String::new() },
            server: target.server_id.unwrap_or_default(),
            result,
            trace: trace_id,
            seq: place.and_then(|place| place.seq),
            json: params.to_raw(),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(event: &Value) -> Result<AuditRecord, serde_json::Error> {
        AuditRecord::read(Object::from_value(event).unwrap())
    }

    fn event() -> Value {
        json!({
            "timestamp": "2026-02-27T12:00:00.000Z", "trace_id": "550e8400-e29b-41d4-a716-446655440000",
            "event_type": "TOOL_EXECUTED", "actor": {"type": "agent", "id": "agent.one"},
            "target": {"server_id": "files", "tool_name": "read"}, "result": "SUCCESS",
            "details": {"duration_ms": 3}, "_mgp": {"seq": 7},
        })
    }

    #[test]
    fn an_event_is_kept_as_it_came_without_what_describes_the_request() {
        let mut sent = event();
        sent["_meta"] = json!({"any": 1});
        let record = read(&sent).unwrap();
        assert_eq!((&*record.agent, &*record.server, record.seq), ("agent.one", "files", Some(7)));
        assert_eq!(record.json.to::<Value>().unwrap(), event());
    }

    #[test]
    fn who_is_no_agent_is_not_found_as_one_and_an_unknown_kind_of_actor_is_kept() {
        for kind in ["operator", "scheduler"] {
            let mut other = event();
            other["actor"]["type"] = json!(kind);
            other["target"] = json!({"server_id": null, "tool_name": null});
            let record = read(&other).unwrap();
            assert_eq!((&*record.agent, &*record.server), ("", ""));
        }
    }

    #[test]
    fn what_lacks_a_member_is_no_event() {
        for member in ["timestamp", "trace_id", "event_type", "actor", "target", "result"] {
            let mut other = event();
            other.as_object_mut().unwrap().remove(member);
            assert!(read(&other).is_err(), "{member}");
        }
    }
}
