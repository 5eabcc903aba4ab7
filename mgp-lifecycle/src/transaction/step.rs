//! A step of a transaction: the call that it makes, and how that ended.

use mgp_types::Object;
use mgp_types::ext::{Compensation, IdempotencyKey, StepId};
use mgp_types::mgp::{ServerId, ToolName};
use serde::{Deserialize, Serialize};

/// The call that a step makes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StepCall {
    /// The server that is called.
    pub server: ServerId,
    /// The tool that is called.
    pub tool: ToolName,
    /// The key of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<IdempotencyKey>,
    /// The arguments, where they are needed to find out how an interrupted call ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Object>,
    /// The call that takes the step back, where whoever makes the step knows it beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compensation: Option<Compensation>,
}

impl StepCall {
    /// Creates the call of `tool` at `server`.
    pub const fn new(server: ServerId, tool: ToolName) -> Self {
        Self { server, tool, key: None, arguments: None, compensation: None }
    }

    /// Sets what is needed to make the call again, and so to find out how it ended.
    #[must_use]
    pub fn repeatable(mut self, key: IdempotencyKey, arguments: Object) -> Self {
        (self.key, self.arguments) = (Some(key), Some(arguments));
        self
    }
}

/// The outcome of a step that has ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepOutcome {
    /// The step was carried out, and this call takes it back.
    Undoable(Compensation),
    /// The step was carried out and changed nothing.
    Harmless,
    /// The step was carried out, and no call takes it back.
    Final,
    /// The step failed and changed nothing.
    Failed,
}

/// A step as the log of its transaction has it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct LoggedStep {
    /// The id of the step.
    pub id: StepId,
    /// The call that the step made, and the one that takes it back. The arguments of both are forgotten when the transaction
    /// ends.
    pub call: StepCall,
    /// The key of the call that takes the step back.
    pub compensation_key: IdempotencyKey,
    /// The stage that the step has reached.
    pub stage: StepStage,
}

/// The stage that a step of a transaction has reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StepStage {
    /// The step makes its call.
    Running,
    /// Nobody knows how the step ended.
    Unknown,
    /// The step failed and changed nothing.
    Failed,
    /// The step was carried out, and there is a call that takes it back.
    Pending,
    /// The step was carried out, and stays.
    Done,
    /// The step was taken back.
    Compensated,
    /// The step was not taken back, and somebody has to look after it.
    CompensationFailed,
}
