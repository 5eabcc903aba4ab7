//! The calls that take the steps of a saga back.

use std::collections::{HashMap, HashSet};

use mgp_lifecycle::transaction::{CompensationCall, Compensator, InterruptedStep, StepOutcome};
use mgp_types::canonical::Digest;
use mgp_types::ext::transaction::TransactionState;
use mgp_types::ext::{Compensation, ExtensionId, Impact, StepId};
use mgp_types::mgp::ServerId;
use mgp_types::{BoxFuture, Error, Object, code};
use parking_lot::Mutex;

use super::server::{KeyedCall, SagaServer, failure, not_taken_back};
use super::step::transaction_of;

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

pub(super) type ConfirmFn = Box<dyn Fn(UndoCall) -> BoxFuture<'static, bool> + Send + Sync>;
pub(super) type VerifyFn = Box<dyn Fn(UndoCall) -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

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
                return Err(maybe_taken_back());
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

/// Returns the error of a call that must not be made twice, at a server without keys.
fn maybe_taken_back() -> Error {
    Error::new(
        code::TRANSACTION_CONFLICT,
        "the call that takes the step back was interrupted, and nobody knows whether it had its effect: look, and take it \
         back by hand",
    )
}

fn nobody_knows() -> Error {
    Error::new(
        code::TRANSACTION_CONFLICT,
        "the step was interrupted, and nobody knows whether it had its effect: look, and take it back by hand",
    )
}
