//! Events for the tests of the log.

use mgp_types::mgp::{Actor, ActorType, AuditEvent, AuditTarget, EventType, Outcome, Timestamp, TraceId};

/// An event that differs from those with other numbers.
pub(crate) fn event(number: u32) -> AuditEvent {
    let seconds = i64::from(number) * 1_000;
    let agent = format!("agent.{}", number % 3);
    let event_type = if number.is_multiple_of(4) { EventType::ToolBlocked } else { EventType::ToolExecuted };
    let result = if number.is_multiple_of(4) { Outcome::Blocked } else { Outcome::Success };
    let server = if number.is_multiple_of(2) { "tool.files" } else { "tool.terminal" };
    AuditEvent::new(
        Timestamp::from_millis(1_772_193_600_000 + seconds).unwrap(),
        TraceId::from_u128(0x550e_8400_e29b_41d4_a716_4466_5544_0000 + u128::from(number)).unwrap(),
        event_type,
        Actor::new(ActorType::Agent, agent),
        AuditTarget::new(Some(server.into()), Some("execute_command".into())),
        result,
    )
    .with_detail("duration_ms", &number)
}
