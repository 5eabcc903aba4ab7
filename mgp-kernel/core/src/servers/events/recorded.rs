//! The events of what is recorded: `audit`, `permissions`, `security.*` and `tool.*`.
//!
//! One task reads the record while somebody listens. So a call never waits for events, and every event that subscribers
//! get is durable.

use std::time::Duration;

use mgp_security::audit::{AuditLog, EventFacets, LogEntry, LogHead};
use mgp_stream::event::Publisher;
use mgp_types::json::ObjectWriter;
use mgp_types::mgp::{EventSeverity, EventType, Outcome};
use mgp_types::{Object, Principal, RawJson};
use tokio::sync::watch;

use super::is_operator;

/// All that is recorded, for operators.
const AUDIT: &str = "audit";
/// The events about decisions on permissions, for operators.
const PERMISSIONS: &str = "permissions";
/// A call of a tool that succeeded, for operators and for the agent that made it.
const TOOL_COMPLETED: &str = "tool.completed";
/// A call of a tool that failed, for operators and for the agent that made it.
const TOOL_FAILED: &str = "tool.failed";
/// The events about refused calls, for operators.
const ACCESS_DENIED: &str = "security.access_denied";
const PERMISSION_DENIED: &str = "security.permission_denied";
const VALIDATION_FAILED: &str = "security.validation_failed";
const CODE_REJECTED: &str = "security.code_rejected";
const BLOCKED: &str = "security.blocked";

/// The channels on which the kernel says what it records.
pub(super) const CHANNELS: [&str; 9] = [
    AUDIT, PERMISSIONS, TOOL_COMPLETED, TOOL_FAILED, ACCESS_DENIED, PERMISSION_DENIED, VALIDATION_FAILED,
    CODE_REJECTED, BLOCKED,
];

/// Returns whether a channel is for operators only, as it tells what all others did and were refused.
pub(super) fn is_for_operators(channel: &str) -> bool {
    CHANNELS.contains(&channel) && ![TOOL_COMPLETED, TOOL_FAILED].contains(&channel)
}

/// Publishes what is recorded from now on to those who subscribed to it, until the record is closed. While nobody has,
/// nothing is read.
pub(crate) fn publish_record(log: AuditLog, publisher: Publisher) -> impl Future<Output = ()> + use<> {
    let mut after = log.head().seq;
    async move {
        let (mut subscribers, mut heads) = (publisher.changes(), log.heads());
        while let Some(begin) = unheard(after, &publisher, &mut subscribers, &mut heads).await {
            let mut entries = log.subscribe(begin);
            while publisher.is_heard(&CHANNELS) {
                let read = tokio::select! {
                    read = entries.next() => read,
                    // Perhaps nobody is left.
                    _ = subscribers.changed() => continue,
                };
                match read {
                    Ok(Some(read)) => read.iter().for_each(|entry| tell(&publisher, entry)),
                    Ok(None) => return,
                    Err(error) => {
                        tracing::warn!(%error, "what is recorded cannot be read; it is tried again");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
            after = entries.position();
        }
    }
}

/// Waits until somebody has subscribed. Returns the number of the last event that was recorded before, `after` or a later
/// one; `None` if the record is closed.
async fn unheard(
    mut after: u64,
    publisher: &Publisher,
    subscribers: &mut watch::Receiver<u64>,
    heads: &mut watch::Receiver<LogHead>,
) -> Option<u64> {
    loop {
        subscribers.mark_unchanged();
        // Whoever is not there yet subscribed after this event.
        let head = heads.borrow_and_update().seq;
        if publisher.is_heard(&CHANNELS) {
            return Some(after);
        }
        after = head;
        tokio::select! {
            changed = subscribers.changed() => changed.ok()?,
            changed = heads.changed() => changed.ok()?,
        }
    }
}

fn tell(publisher: &Publisher, entry: &LogEntry) {
    let Ok(event) = Object::from_raw(&entry.event) else { return };
    let is_success = entry.facets.result == Outcome::Success;
    let severity = if is_success { EventSeverity::Info } else { EventSeverity::Warning };
    let publish = |channel: &str, data: &Object, concerns: &dyn Fn(&Principal) -> bool| {
        let outcome = publisher.publish_to(channel, severity, data, |who| who.is_some_and(concerns));
        if let Err(error) = outcome {
            tracing::debug!(channel, %error, "what was recorded is not published");
        }
    };
    publish(AUDIT, &event, &is_operator);
    if entry.facets.event_type.as_str().starts_with("PERMISSION_") {
        publish(PERMISSIONS, &event, &is_operator);
    }
    if let Some(channel) = security_channel(&entry.facets, &event) {
        publish(channel, &event, &is_operator);
    }
    if let Some(channel) = tool_channel(&entry.facets) {
        let agent = entry.facets.agent.as_deref();
        let concerns = |who: &Principal| is_operator(who) || (agent.is_some() && who.agent_name() == agent);
        publish(channel, &of_call(&event), &concerns);
    }
}

/// Returns the channel for what was refused.
fn security_channel(facets: &EventFacets, event: &Object) -> Option<&'static str> {
    match facets.event_type {
        EventType::ValidationFailed => Some(VALIDATION_FAILED),
        EventType::CodeRejected => Some(CODE_REJECTED),
        EventType::PermissionDenied => Some(PERMISSION_DENIED),
        _ if facets.result != Outcome::Blocked => None,
        _ => {
            let section = event.object("details");
            let section = section.as_ref().and_then(|details| details.text("section"));
            Some(if section.as_deref() == Some("access") { ACCESS_DENIED } else { BLOCKED })
        }
    }
}

fn tool_channel(facets: &EventFacets) -> Option<&'static str> {
    match (&facets.event_type, facets.result) {
        (EventType::ToolExecuted, Outcome::Success) => Some(TOOL_COMPLETED),
        (EventType::ToolExecuted, _) => Some(TOOL_FAILED),
        _ => None,
    }
}

/// Returns what the agent of a call knows of it anyway, and so may be told: who approved it, for instance, is not among
/// that.
fn of_call(event: &Object) -> Object {
    let target = event.object("target").unwrap_or_default();
    let mut members = ObjectWriter::new();
    for (name, of) in [("server_id", &target), ("tool_name", &target), ("trace_id", event), ("result", event)]
    {
        members.json(name, &of.get(name).unwrap_or_else(RawJson::null));
    }
    members.finish()
}

/// The pause before a record that cannot be read is read again.
const PAUSE: Duration = Duration::from_secs(1);
