//! The part of a saga's log that users may see.

use mgp_lifecycle::transaction::{LoggedStep, StepStage};
use mgp_types::ext::{IdempotencyKey, StepId};
use mgp_types::mgp::ServerId;
use mgp_types::{Object, RawJson};
use serde::Serialize;

/// A step of a saga as users may see it: the arguments have their names, and no values.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct SagaEntry {
    /// The server of the step.
    pub server_id: ServerId,
    /// The id of the step.
    pub step_id: StepId,
    /// The tool that takes the step back, once it is known.
    pub compensation_tool: Option<Box<str>>,
    /// The arguments of that tool without their values; none after the end of the saga.
    pub compensation_arguments: Option<Object>,
    /// The key of the call that takes the step back.
    pub idempotency_key: IdempotencyKey,
    /// The stage that the step has reached.
    pub status: StepStage,
}

impl SagaEntry {
    pub(super) fn new(step: LoggedStep) -> Self {
        let compensation = step.call.compensation;
        Self {
            server_id: step.call.server,
            step_id: step.id,
            compensation_arguments: compensation.as_ref().map(|call| names(&call.arguments)),
            compensation_tool: compensation.map(|call| call.tool),
            idempotency_key: step.compensation_key,
            status: step.stage,
        }
    }
}

/// Returns the arguments with a mark in place of each value.
fn names(arguments: &Object) -> Object {
    let mut names = Object::new();
    for (name, _) in arguments.iter() {
        names.set(name.into_owned(), RawJson::from_text("[redacted]"));
    }
    names
}
