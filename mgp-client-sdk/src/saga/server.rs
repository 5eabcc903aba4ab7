//! A server that takes part in a saga, behind the client of the caller.

use std::time::Duration;

use mgp_lifecycle::transaction::StepOutcome;
use mgp_types::ext::transaction::{
    BeginTransaction, RollbackTransaction, StepResult, TransactionState, TransactionStep,
};
use mgp_types::ext::{
    Compensation, ExtensionId, ExtensionIds, IdempotencyKey, IdempotentCall, Impact, StructuredError,
    TransactionId,
};
use mgp_types::mcp::{CallToolResult, ContentBlock};
use mgp_types::{Error, Object, Origin, code};

use crate::Client;
use crate::carried::meta;
use crate::ext::risk;

pub(super) struct SagaServer(pub(super) Client);

/// A call at a server, with its key.
#[derive(Clone, Copy)]
pub(super) struct KeyedCall<'a> {
    pub(super) tool: &'a str,
    pub(super) arguments: &'a Object,
    pub(super) key: &'a IdempotencyKey,
    /// The server's transaction that the call is the only step of.
    pub(super) transaction: Option<&'a TransactionId>,
}

impl SagaServer {
    pub(super) fn has(&self, extension: ExtensionId) -> bool {
        ExtensionIds::read(&self.0.capabilities()).has(extension)
    }

    /// Makes a call. One without an answer is made once more, if its key keeps it from having its effect twice.
    pub(super) async fn call(&self, call: KeyedCall<'_>) -> Result<CallToolResult, Error> {
        match self.call_once(call).await {
            Err(error) if !had_no_effect(&error) && self.has(ExtensionId::Idempotency) => {
                self.call_once(call).await
            }
            outcome => outcome,
        }
    }

    async fn call_once(&self, call: KeyedCall<'_>) -> Result<CallToolResult, Error> {
        let keyed = IdempotentCall::new(call.key.clone());
        let request = self.0.call_tool(call.tool, call.arguments).idempotent(&keyed);
        let Some(transaction_id) = call.transaction.cloned() else { return request.await };
        request.in_transaction(&TransactionStep { transaction_id, step_id: None }).await
    }

    /// Returns how a call ended that the server answered: what takes it back is `compensation`, or what the result says.
    pub(super) async fn outcome(
        &self,
        tool: &str,
        compensation: Option<Compensation>,
        result: &CallToolResult,
    ) -> Result<StepOutcome, Error> {
        if result.is_error() {
            return Ok(StepOutcome::Failed);
        }
        let compensation = match compensation {
            Some(compensation) => Some(compensation),
            None => StepResult::read(&meta(result))?.and_then(|step| step.compensation),
        };
        Ok(match compensation {
            Some(compensation) => StepOutcome::Undoable(compensation),
            None if self.impact(tool).await? == Impact::Safe => StepOutcome::Harmless,
            None => StepOutcome::Final,
        })
    }

    /// Ends the transaction of a step that ended like this: a step that failed is rolled back, any other one is kept. Where
    /// nobody knows, the server takes the step back by itself in time.
    pub(super) async fn settle(
        &self,
        id: &TransactionId,
        ended: Result<StepOutcome, Error>,
    ) -> Result<StepOutcome, Error> {
        match ended? {
            StepOutcome::Failed => self.roll_back(id).await.map(|()| StepOutcome::Failed),
            done => self.commit(id).await.map(|()| done),
        }
    }

    /// Returns the harm that a tool can do. One that the server does not list counts as destructive.
    pub(super) async fn impact(&self, tool: &str) -> Result<Impact, Error> {
        match self.0.find_tool(tool).await {
            Ok(tool) => Ok(risk(&tool)),
            Err(error) if error.code() == code::TOOL_NOT_FOUND => Ok(Impact::Destructive),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn begin(&self, id: &TransactionId, timeout: Duration) -> Result<(), Error> {
        let seconds = u32::try_from(timeout.as_secs()).unwrap_or(u32::MAX);
        let begin = BeginTransaction::new(id.clone()).with_timeout_seconds(seconds);
        // Some servers answer in fewer words.
        self.0.begin_transaction(&begin).read_as(|_| Ok(())).await
    }

    /// Commits a transaction. Where the answer is lost, the server is asked how the transaction stands.
    pub(super) async fn commit(&self, id: &TransactionId) -> Result<(), Error> {
        let Err(error) = self.0.commit_transaction(id).read_as(|_| Ok(())).await else { return Ok(()) };
        match self.state(id).await {
            Ok(Some(TransactionState::Committed)) => Ok(()),
            _ => Err(error),
        }
    }

    /// Has a transaction of one step rolled back.
    ///
    /// # Errors
    /// The server does not answer, or the step was not taken back.
    pub(super) async fn roll_back(&self, id: &TransactionId) -> Result<(), Error> {
        let report = self.0.roll_back_transaction(&RollbackTransaction::new(id.clone())).await?;
        match report.failures().next() {
            Some(step) => {
                let reason =
                    step.error.as_ref().map_or("the server does not say why", |error| &*error.message);
                let message = format!("the server did not take the step back: {reason}");
                Err(Error::new(code::UPSTREAM_ERROR, message))
            }
            None if report.status == Some(TransactionState::PartiallyRolledBack) => Err(not_taken_back()),
            None => Ok(()),
        }
    }

    /// Returns how a transaction stands; `None` if the server has none with this id.
    pub(super) async fn state(&self, id: &TransactionId) -> Result<Option<TransactionState>, Error> {
        match self.0.transaction_status(id).await {
            Ok(report) => Ok(report.status),
            Err(error) if is_not_found(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a call that ended in this error is known to have had no effect.
pub(super) fn had_no_effect(error: &Error) -> bool {
    let was_answered = matches!(error.origin(), Origin::Local | Origin::Peer | Origin::InputRequired);
    let may_run_on =
        matches!(error.code(), code::TIMEOUT | code::UPSTREAM_TIMEOUT | code::IDEMPOTENCY_CONFLICT);
    error.is_not_executed() || (was_answered && !may_run_on)
}

/// Returns the error that a failed result tells, in few words.
pub(super) fn failure(result: &CallToolResult) -> Error {
    let text = result.content.iter().find_map(ContentBlock::as_text).unwrap_or("the tool failed");
    let text: String = text.chars().take(MAX_CHARACTERS).collect();
    Error::new(code::UPSTREAM_ERROR, text)
}

pub(super) fn not_taken_back() -> Error {
    Error::new(
        code::UPSTREAM_ERROR,
        "the server could not take the step back: look at `transaction/status`, and take it back by hand",
    )
}

fn is_not_found(error: &Error) -> bool {
    let word = || error.data().and_then(StructuredError::read).map(|structured| structured.code);
    error.code() == code::TRANSACTION_NOT_FOUND || word().as_deref() == Some("RESOURCE_NOT_FOUND")
}

/// The most characters of a failed result that are told.
const MAX_CHARACTERS: usize = 500;
