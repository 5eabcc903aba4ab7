//! Audit events (§6), and the port to which sections report them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::task::{Context, Waker};

use serde::{Deserialize, Serialize};

use super::{ServerId, Timestamp, ToolName, TraceId};
use crate::macros::record;
use crate::macros::words::{open_words, words};
use crate::{BoxFuture, Error, Object, Principal, PrincipalRole};

open_words! {
    /// The type of an event (§6.4): one of the standard types, or a custom one in reverse-domain notation.
    pub enum EventType or Custom {
        /// A tool was called and completed.
        ToolExecuted = "TOOL_EXECUTED",
        /// A call was blocked, by validation or access control.
        ToolBlocked = "TOOL_BLOCKED",
        /// A permission was approved.
        PermissionGranted = "PERMISSION_GRANTED",
        /// A permission was denied.
        PermissionDenied = "PERMISSION_DENIED",
        /// A permission granted before was taken back.
        PermissionRevoked = "PERMISSION_REVOKED",
        /// An agent was given access to a server or tool.
        AccessGranted = "ACCESS_GRANTED",
        /// An agent's access was taken back.
        AccessRevoked = "ACCESS_REVOKED",
        /// A server connected.
        ServerConnected = "SERVER_CONNECTED",
        /// A server disconnected.
        ServerDisconnected = "SERVER_DISCONNECTED",
        /// A validator of the kernel refused a call.
        ValidationFailed = "VALIDATION_FAILED",
        /// The code safety framework refused code.
        CodeRejected = "CODE_REJECTED",
    }
}

words! {
    /// The outcome of the recorded action.
    Outcome {
        /// The action was carried out.
        Success = "SUCCESS",
        /// The action was tried and failed.
        Failure = "FAILURE",
        /// The action was refused.
        Blocked = "BLOCKED",
    }
}

/// The kinds of parties that act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ActorType {
    /// A program that calls tools.
    Agent,
    /// A human, or a program in a human's name.
    Operator,
    /// The kernel between agents and servers.
    Kernel,
    /// A server of tools.
    Server,
}

record! {
    /// The party that acted.
    pub struct Actor: Eq {
        /// The kind of party.
        #[serde(rename = "type")]
        required kind: ActorType;
        /// The name of the party.
        required id: into String;
    }

    /// The object of the recorded action.
    pub struct AuditTarget: Eq {
        /// The server; null if none was found.
        required server_id: Option<ServerId>;
        /// The tool; null for a whole server.
        required tool_name: Option<ToolName>;
        /// The arguments of the call that name what it acts on beyond the tool, where the tool
        /// [declares](super::ToolSecurity::target_arguments) such arguments.
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        default arguments: BTreeMap<String, String>;
    }

    /// An event of the audit trail (§6.3): the parameters of `notifications/mgp.audit`.
    pub struct AuditEvent {
        /// The time of the event.
        required timestamp: Timestamp;
        /// The id of the chain of requests that the event belongs to.
        required trace_id: TraceId;
        /// The type of the event.
        required event_type: EventType;
        /// The party that acted.
        required actor: Actor;
        /// The server or tool that the party acted on.
        required target: AuditTarget;
        /// The outcome of the action.
        required result: Outcome;
        /// The further facts about the event.
        default details: Object;
        /// The open call that the event ends, as [`AuditPort::open`] returned it.
        #[serde(skip)]
        plain ends: Option<u32>;
    }
}

impl Actor {
    /// Returns the party that `principal` is: an operator or an agent, by its [id](Principal::id).
    pub fn of(principal: &Principal) -> Self {
        let kind = match principal.role() {
            PrincipalRole::Operator => ActorType::Operator,
            PrincipalRole::Agent => ActorType::Agent,
        };
        Self::new(kind, principal.id())
    }

    /// Returns the party of the kernel itself.
    pub fn kernel() -> Self {
        Self::new(ActorType::Kernel, "kernel")
    }
}

impl AuditTarget {
    crate::setters! { #[must_use] self =>
        /// Sets the arguments that name what the call acts on beyond the tool.
        pub fn with_arguments(arguments: BTreeMap<String, String>) => self.arguments = arguments;
    }
}

impl AuditEvent {
    /// Adds a detail to the event. A value that cannot be written as JSON is left out.
    pub fn with_detail<T: Serialize + ?Sized>(
        mut self,
        name: impl Into<Cow<'static, str>>,
        value: &T,
    ) -> Self {
        if let Ok(value) = crate::RawJson::from_value(value) {
            self.details.set(name, value);
        }
        self
    }
}

/// The port to which sections report events; the owner of the audit log implements it.
///
/// A caller that drops the future of a record does not take the events back.
pub trait AuditPort: Send + Sync + fmt::Debug + 'static {
    /// Records an event. The future ends when the event is as safe as the log promises. An error means that the event
    /// is not recorded, so the recorded action must not happen.
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>>;

    /// Records events that belong together, like a blocked call and its cause. A log that can records all of them or
    /// none.
    fn record_all(&self, events: Vec<AuditEvent>) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            for event in events {
                self.record(event).await?;
            }
            Ok(())
        })
    }

    /// Records events that belong together if they are safe at once, so that the caller need not wait; else returns
    /// them, and records none.
    fn try_record(&self, events: Vec<AuditEvent>) -> Result<(), Vec<AuditEvent>> {
        Err(events)
    }

    /// Records events whose caller is gone, so that nobody waits for them.
    ///
    /// An implementation may lose the events that it cannot record at once.
    fn record_now(&self, events: Vec<AuditEvent>) {
        let mut record = self.record_all(events);
        let _ = record.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }

    /// Notes a call before it is carried out, so that it is known even if the process is killed before its record is
    /// safe. An event [ends](AuditEvent::ends) the call. A log that keeps no notes returns `None`.
    ///
    /// # Errors
    /// The call could not be recorded, so it must not happen.
    fn open(&self, call: &dyn Fn() -> Object) -> Result<Option<u32>, Error> {
        let _ = call;
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_types_have_their_names_and_custom_ones_keep_theirs() {
        let names: Vec<_> = EventType::KNOWN.iter().map(EventType::as_str).collect();
        assert_eq!(
            names,
            [
                "TOOL_EXECUTED", "TOOL_BLOCKED", "PERMISSION_GRANTED", "PERMISSION_DENIED",
                "PERMISSION_REVOKED", "ACCESS_GRANTED", "ACCESS_REVOKED", "SERVER_CONNECTED",
                "SERVER_DISCONNECTED", "VALIDATION_FAILED", "CODE_REJECTED",
            ]
        );
        assert!(names.iter().all(|name| !matches!(EventType::read(name), EventType::Custom(_))));
        let custom = EventType::read("com.example.custom_event");
        assert_eq!(serde_json::to_string(&custom).unwrap(), r#""com.example.custom_event""#);
    }
}
