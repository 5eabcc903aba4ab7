//! A step of a saga (a call, what takes it back, and what its log shows of both), and the calls that take steps back.

use std::collections::{HashMap, HashSet};

use mgp_lifecycle::transaction::{
    CompensationCall, Compensator, InterruptedStep, LoggedStep, StepOutcome, StepStage,
};
use mgp_types::canonical::Digest;
use mgp_types::ext::transaction::TransactionState;
use mgp_types::ext::{Compensation, ExtensionId, IdempotencyKey, Impact, StepId, TransactionId};
use mgp_types::mgp::{ServerId, ToolName};
use mgp_types::{BoxFuture, Error, Object, RawJson, code};
use parking_lot::Mutex;
use serde::Serialize;

use super::server::{KeyedCall, SagaServer, failure, not_taken_back};

/// A call that takes a step of a saga back, as it is asked about and looked after.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct UndoCall {
    /// The server of the step and of the call.
    pub server: ServerId,
    /// The id of the step.
    pub step: StepId,
    /// The name of the tool.
    pub tool: Box<str>,
    /// The arguments of the call.
    pub arguments: Object,
}

type ConfirmFn = Box<dyn Fn(UndoCall) -> BoxFuture<'static, bool> + Send + Sync>;
type VerifyFn = Box<dyn Fn(UndoCall) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// Takes the steps of one saga back, each at its server.
#[derive(Default)]
pub(super) struct SagaUndo {
    pub(super) servers: HashMap<ServerId, SagaServer>,
    pub(super) confirm: Option<ConfirmFn>,
    pub(super) verify: Option<VerifyFn>,
    /// The calls that may be made though they may destroy something.
    authorised: Mutex<HashSet<Digest>>,
}

impl SagaUndo {
    pub(super) fn server(&self, id: &ServerId) -> Result<&SagaServer, Error> {
        self.servers.get(id).ok_or_else(|| {
            let unknown = format!("the saga has no server `{id}`: add it with `SagaBuilder::server`");
            Error::invalid_params(unknown)
        })
    }

    pub(super) fn authorise(&self, server: &ServerId, undo: &Compensation) {
        self.authorised.lock().insert(identity(server, &undo.tool, &undo.arguments));
    }

    /// Refuses a call that may destroy something, and that nobody agreed to.
    async fn admit(&self, server: &SagaServer, call: &UndoCall) -> Result<(), Error> {
        let identity = identity(&call.server, &call.tool, &call.arguments);
        let is_authorised = self.authorised.lock().contains(&identity);
        if is_authorised || server.impact(&call.tool).await? != Impact::Destructive {
            return Ok(());
        }
        let agrees = match &self.confirm {
            Some(ask) => ask(call.clone()).await,
            None => false,
        };
        if agrees { Ok(()) } else { Err(not_agreed(call)) }
    }
}

impl Compensator for SagaUndo {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        let undo = UndoCall {
            server: call.step.server,
            step: call.step_id,
            tool: call.compensation.tool,
            arguments: call.compensation.arguments,
        };
        let (key, was_begun) = (call.key, call.was_begun);
        Box::pin(async move {
            let server = self.server(&undo.server)?;
            if was_begun && !server.has(ExtensionId::Idempotency) {
                return Err(Error::new(
                    code::TRANSACTION_CONFLICT,
                    "the call that takes the step back was interrupted, and nobody knows whether it had its \
                     effect: look, and take it back by hand",
                ));
            }
            self.admit(server, &undo).await?;
            let call =
                KeyedCall { tool: &undo.tool, arguments: &undo.arguments, key: &key, transaction: None };
            let result = server.call(call).await?;
            if result.is_error() {
                return Err(failure(&result));
            }
            match &self.verify {
                Some(look) => look(undo).await,
                None => Ok(()),
            }
        })
    }

    /// Asks the transaction that the server has for the step; without one, makes the call again with its key.
    fn resolve(&self, step: InterruptedStep) -> BoxFuture<'_, Result<StepOutcome, Error>> {
        Box::pin(async move {
            let call = step.step;
            let server = self.server(&call.server)?;
            let (Some(key), Some(arguments)) = (call.key, call.arguments) else { return Err(nobody_knows()) };
            let transaction = transaction_of(&key);
            let has_transaction = call.compensation.is_none() && server.has(ExtensionId::Transactions);
            if has_transaction {
                match server.state(&transaction).await? {
                    Some(TransactionState::Active | TransactionState::RollingBack) => {
                        return server.roll_back(&transaction).await.map(|()| StepOutcome::Failed);
                    }
                    Some(TransactionState::RolledBack) => return Ok(StepOutcome::Failed),
                    Some(TransactionState::PartiallyRolledBack) => return Err(not_taken_back()),
                    Some(TransactionState::Committed) => {}
                    None => return Err(nobody_knows()),
                }
            } else if !server.has(ExtensionId::Idempotency) {
                return Err(nobody_knows());
            }
            let tool = call.tool.as_str();
            let transaction = has_transaction.then_some(&transaction);
            let result =
                server.call(KeyedCall { tool, arguments: &arguments, key: &key, transaction }).await?;
            server.outcome(tool, call.compensation, &result).await
        })
    }
}

/// Returns what stands for a call at a server with its arguments.
fn identity(server: &ServerId, tool: &str, arguments: &Object) -> Digest {
    let arguments = arguments.to_raw();
    Digest::of_parts([server.as_str().as_bytes(), tool.as_bytes(), arguments.as_bytes()])
}

fn not_agreed(call: &UndoCall) -> Error {
    let UndoCall { server, tool, .. } = call;
    let message = format!(
        "`{tool}` at `{server}` may destroy something, and nobody agreed to it: authorise it before the rollback, or \
         confirm it"
    );
    Error::new(code::PERMISSION_DENIED, message)
}

fn nobody_knows() -> Error {
    Error::new(
        code::TRANSACTION_CONFLICT,
        "the step was interrupted, and nobody knows whether it had its effect: look, and take it back by hand",
    )
}

/// A step of a [`Saga`](crate::Saga): a call of a tool at one of its servers.
#[derive(Debug, Clone)]
#[must_use = "a step does nothing unless a saga makes it"]
pub struct SagaStep {
    pub(super) id: StepId,
    pub(super) server: ServerId,
    pub(super) tool: ToolName,
    pub(super) arguments: Object,
    pub(super) compensation: Option<Compensation>,
}

impl SagaStep {
    /// Creates the call of `tool` at `server`. The id tells the step from others of the saga.
    pub fn new(
        id: StepId,
        server: impl Into<ServerId>,
        tool: impl Into<ToolName>,
        arguments: Object,
    ) -> Self {
        Self { id, server: server.into(), tool: tool.into(), arguments, compensation: None }
    }

    mgp_types::setters! { self =>
        /// Sets the call that takes the step back, at the same server. Without this the server says which one does.
        pub fn undone_by(compensation: Compensation) => self.compensation = Some(compensation);
    }

    /// Refuses what is too large for the log.
    pub(super) fn check(&self) -> Result<(), Error> {
        let undo = self.compensation.as_ref().map_or(0, |undo| undo.arguments.written_bytes());
        if self.arguments.written_bytes() > MAX_ARGUMENT_BYTES || undo > MAX_COMPENSATION_BYTES {
            return Err(Error::invalid_params(format!(
                "a step of a saga has at most {MAX_ARGUMENT_BYTES} bytes of arguments, and \
                 {MAX_COMPENSATION_BYTES} of those that take it back: name large data instead of sending it"
            )));
        }
        Ok(())
    }
}

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
    arguments.iter().map(|(name, _)| (name.into_owned(), RawJson::from_text("[redacted]"))).collect()
}

/// Returns the id of the transaction that a server has for the call with this key.
pub(super) fn transaction_of(key: &IdempotencyKey) -> TransactionId {
    key.as_str().parse().expect("keys and ids have the same form")
}

/// The most bytes of the arguments of a step.
const MAX_ARGUMENT_BYTES: usize = 64 * 1024;
/// The most bytes of the arguments of the call that takes a step back, as the log keeps them.
const MAX_COMPENSATION_BYTES: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_key_is_also_the_id_of_a_transaction() {
        let key = IdempotencyKey::unique(&"s".repeat(128));
        assert_eq!(transaction_of(&key).as_str(), key.as_str());
    }

    #[test]
    fn arguments_that_the_log_would_not_keep_are_refused_before_the_call() {
        let arguments =
            |bytes: usize| Object::from_value(&serde_json::json!({"text": "x".repeat(bytes)})).unwrap();
        let step = |bytes| SagaStep::new("one".parse().unwrap(), "a", "create", arguments(bytes));
        step(1000).undone_by(Compensation::new("delete", arguments(1000))).check().unwrap();
        step(70_000).check().unwrap_err();
        step(1).undone_by(Compensation::new("delete", arguments(17_000))).check().unwrap_err();
    }
}
