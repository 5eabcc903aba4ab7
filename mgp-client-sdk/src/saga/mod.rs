//! Calls at several servers that are taken back together.
//!
//! Each server knows the calls that it was sent; only the client knows all of them. So the client keeps the log: the book of
//! transactions of `mgp-lifecycle`, in memory or in a store.

mod server;
mod undo;

use std::sync::Arc;
use std::time::Duration;

use mgp_lifecycle::transaction::{OpenStep, StepCall, StepOutcome, StepStage, TransactionBook};
use mgp_types::ext::transaction::{
    BeginTransaction, CompensatedStep, RollbackTransaction, TransactionState, TransactionStep,
};
use mgp_types::ext::{ExtensionId, IdempotencyKey, StepId, TransactionId};
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object, Principal, code};

use self::server::{KeyedCall, SagaServer, had_no_effect};
pub use self::undo::{SagaEntry, SagaStep, UndoCall};
use self::undo::{SagaUndo, transaction_of};
use crate::{Client, ClientBuilder};

/// Calls at several servers that are taken back together.
///
/// Steps are made one after the other. Each is logged with what takes it back before the next one is made: the call that
/// [`SagaStep::undone_by`] names, or else the one that the server says. A server with transactions has one for each step, so
/// that it takes the step back by itself if the client is gone before the log has it.
///
/// A step that fails ends nothing: its caller makes another one, finishes the saga, or rolls it back. A saga is an hour old
/// at the most; then it can only be rolled back. One that is dropped stays in the log as it is.
///
/// A saga is best effort, without isolation, as a transaction of one server is.
///
/// ```no_run
/// use mgp_client_sdk::{Client, Object, Saga, SagaOutcome, SagaStep, json};
///
/// # async fn order(shop: Client, bank: Client) -> Result<(), Box<dyn std::error::Error>> {
/// let mut saga =
///     Saga::builder("order-7".parse()?).server("shop", shop).server("bank", bank).begin().await?;
/// let ordered = SagaStep::new("order".parse()?, "shop", "order", Object::from_value(&json!({"book": 7}))?);
/// saga.step(ordered).await?;
/// let paid = SagaStep::new("pay".parse()?, "bank", "pay", Object::from_value(&json!({"euro": 20}))?);
/// match saga.step(paid).await {
///     Ok(result) if !result.is_error() => saga.finish().await?,
///     _ => match saga.rollback().await? {
///         SagaOutcome::Clean => println!("nothing was ordered"),
///         SagaOutcome::Partial { failed } => println!("look after {failed:?}"),
///     },
/// }
/// # Ok(())
/// # }
/// ```
pub struct Saga {
    id: TransactionId,
    log: TransactionBook,
    server_timeout: Duration,
    undo: Arc<SagaUndo>,
}

/// The outcome of a rollback.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a rollback can leave steps behind"]
#[expect(clippy::exhaustive_enums, reason = "a rollback is complete, or it is not")]
pub enum SagaOutcome {
    /// Every step that had an effect was taken back.
    Clean,
    /// Some steps were not taken back, and somebody has to look after them.
    Partial {
        /// These steps and why, the last one first.
        failed: Vec<CompensatedStep>,
    },
}

impl Saga {
    /// Returns the settings of a saga with this id, which is used once in its log.
    pub fn builder(id: TransactionId) -> SagaBuilder {
        let (server_timeout, undo) = (Duration::from_mins(5), SagaUndo::default());
        SagaBuilder { id, log: TransactionBook::in_memory(), server_timeout, undo }
    }

    /// Makes a step. The saga is borrowed until the step has ended, so that no two run at once. A call without an answer is
    /// made once more, if its server knows keys.
    ///
    /// A tool that fails answers with a result, too: see [`CallToolResult::is_error`]. A step that failed can be made again
    /// under its id. One of which nobody knows how it ended cannot, and the saga can only be rolled back then.
    ///
    /// # Errors
    /// The call is refused or has no answer; the saga has another step of this id, is over, or has 100 steps; the log cannot
    /// be written, and then nothing was done. A log that fails after the call takes no answer away: the saga knows how the
    /// step ended, and the process that resumes it finds that out.
    pub async fn step(&mut self, step: SagaStep) -> Result<CallToolResult, Error> {
        step.check()?;
        let server = self.undo.server(&step.server)?;
        let key = IdempotencyKey::unique(&format!("{}-{}", self.id, step.id));
        let mut call = StepCall::new(step.server.clone(), step.tool.clone())
            .repeatable(key.clone(), step.arguments.clone());
        call.compensation = step.compensation.clone();
        let place = TransactionStep { transaction_id: self.id.clone(), step_id: Some(step.id) };
        let open = self.log.begin_step(&owner(), &place, call).await?;

        let has_transaction = step.compensation.is_none() && server.has(ExtensionId::Transactions);
        let transaction = has_transaction.then(|| transaction_of(&key));
        if let Some(id) = &transaction
            && let Err(error) = server.begin(id, self.server_timeout).await
        {
            end(open, StepOutcome::Failed).await;
            return Err(error);
        }
        let tool = step.tool.as_str();
        let call =
            KeyedCall { tool, arguments: &step.arguments, key: &key, transaction: transaction.as_ref() };
        let outcome = server.call(call).await;
        let mut ended = match &outcome {
            Ok(result) => server.outcome(tool, step.compensation, result).await,
            Err(error) if had_no_effect(error) => Ok(StepOutcome::Failed),
            Err(error) => Err(error.clone()),
        };
        if let Some(id) = &transaction {
            ended = server.settle(id, ended).await;
        }
        match ended {
            Ok(ended) => {
                end(open, ended).await;
                outcome
            }
            // The step stays open in the log, which means that nobody knows.
            Err(error) => outcome.and(Err(error)),
        }
    }

    /// Lets the step `id` be taken back though that may destroy something: by the tool and with the arguments that are logged
    /// now, and no others. A saga that is resumed has to be told anew.
    ///
    /// # Errors
    /// 2020 if the saga has no such step, or no call takes it back.
    pub fn authorise_undo(&mut self, id: &StepId) -> Result<(), Error> {
        let steps = self.log.steps(&owner(), &self.id)?;
        let step = steps.into_iter().find(|step| step.id == *id && step.stage == StepStage::Pending);
        let undo = step.and_then(|step| Some((step.call.server, step.call.compensation?)));
        let (server, undo) = undo.ok_or_else(|| {
            let unknown = format!("the saga {} has no step {id} that a call takes back", self.id);
            Error::new(code::TRANSACTION_NOT_FOUND, unknown)
        })?;
        self.undo.authorise(&server, &undo);
        Ok(())
    }

    /// Ends the saga and keeps what its steps did.
    ///
    /// # Errors
    /// 2020 if it is over, 2021 if nobody knows how a step ended, 2022 after an hour, 3001 if the log cannot be written.
    pub async fn finish(&mut self) -> Result<(), Error> {
        self.log.commit(&owner(), &self.id).await.map(drop)
    }

    /// Takes the steps back, the last one first, each at its server by the client that made it and with a key of its own.
    /// A step that cannot be taken back stops no other. A rollback goes on if its future is dropped; after its end it tells the
    /// same again.
    ///
    /// # Errors
    /// 2020 if the saga is not known any more, 2021 if it is finished, 3001 if the log cannot be written; then it can be rolled back
    /// again later.
    pub async fn rollback(&mut self) -> Result<SagaOutcome, Error> {
        let mut report = self.log.status(&owner(), &self.id)?;
        if !report.status.is_some_and(TransactionState::is_end) {
            let ask = RollbackTransaction::new(self.id.clone());
            report = self.log.rollback(&owner(), &ask, self.undo.clone()).await?;
        }
        if report.status == Some(TransactionState::Committed) {
            let message = format!("the saga {} is finished, and its effects are kept", self.id);
            return Err(Error::new(code::TRANSACTION_CONFLICT, message));
        }
        let failed: Vec<_> = report.failures().cloned().collect();
        Ok(if failed.is_empty() { SagaOutcome::Clean } else { SagaOutcome::Partial { failed } })
    }

    /// Returns the log as users may see it, the first step first.
    ///
    /// # Errors
    /// 2020 if the saga is not known any more.
    pub fn entries(&self) -> Result<Vec<SagaEntry>, Error> {
        let steps = self.log.steps(&owner(), &self.id)?;
        Ok(steps.into_iter().map(SagaEntry::new).collect())
    }
}

/// Logs how a step ended. Its effect is there whether or not the log can be written.
async fn end(open: OpenStep, outcome: StepOutcome) {
    if let Err(error) = open.end(outcome).await {
        tracing::error!(%error, "the end of a step is kept in memory alone");
    }
}

mgp_types::partial_debug!(Saga, self => id: self.id, entries: self.entries());

/// Returns the owner of sagas in the log, which belongs to this client alone.
fn owner() -> Principal {
    Principal::new("saga")
}

impl<L, I> ClientBuilder<L, I> {
    /// Declares that the client repeats calls by their keys ([`Call::idempotent`](crate::Call::idempotent)), and takes
    /// calls back ([`Call::in_transaction`](crate::Call::in_transaction)); a [`Saga`] does both.
    pub fn sagas(self) -> Self {
        let none = Object::new();
        [ExtensionId::Idempotency, ExtensionId::Transactions, ExtensionId::StructuredErrors]
            .into_iter()
            .fold(self, |builder, extension| builder.extension(extension.id(), &none))
    }
}

/// The settings of a [`Saga`] before it begins.
#[must_use = "a saga is begun or resumed"]
pub struct SagaBuilder {
    id: TransactionId,
    log: TransactionBook,
    server_timeout: Duration,
    undo: SagaUndo,
}

impl SagaBuilder {
    mgp_types::setters! { self =>
        /// Sets the log. Default: one in memory, which is forgotten with the process.
        ///
        /// A log in a store (`mgp_lifecycle::store`) has each call on the disk before it is made, and the next process
        /// [resumes](Self::resume) what this one began. The arguments of open sagas are in it as they are.
        pub fn log(log: &TransactionBook) => self.log = log.clone();

        /// Adds a server under a name of the caller's own. All calls at the server go through `client`, those that take
        /// a step back as well, so that they have the same authentication and pass the same layers.
        pub fn server(name: impl Into<ServerId>, client: Client) =>
            self.undo.servers.insert(name.into(), SagaServer(client));

        /// Sets how long a server with transactions waits for this client before it takes back by itself what a step
        /// did that the client did not hear of. Default: five minutes; at least a second and at most an hour.
        pub fn server_timeout(timeout: Duration) => self.server_timeout = timeout;
    }

    /// Asks somebody before a step is taken back by a call that may destroy something, unless that call was
    /// [authorised](Saga::authorise_undo). Without this such a call is not made. An answer is for the server and the
    /// arguments of the question; one that takes ten minutes is too late.
    pub fn confirm_undo<F, A>(mut self, ask: F) -> Self
    where
        F: Fn(UndoCall) -> A + Send + Sync + 'static,
        A: Future<Output = bool> + Send + 'static,
    {
        self.undo.confirm = Some(Box::new(move |call| Box::pin(ask(call))));
        self
    }

    /// Looks after each step that a server says is taken back. A step whose look fails counts as not taken back.
    pub fn verify_undo<F, A>(mut self, look: F) -> Self
    where
        F: Fn(UndoCall) -> A + Send + Sync + 'static,
        A: Future<Output = Result<(), Error>> + Send + 'static,
    {
        self.undo.verify = Some(Box::new(move |call| Box::pin(look(call))));
        self
    }

    /// Begins the saga.
    ///
    /// # Errors
    /// 2021 if the log has a saga of this id, 3001 if it has too many or cannot be written.
    pub async fn begin(self) -> Result<Saga, Error> {
        let begin = BeginTransaction::new(self.id.clone()).with_timeout_seconds(LONGEST_SAGA_SECONDS);
        self.log.begin(&owner(), &begin).await?;
        Ok(self.build())
    }

    /// Goes on with a saga of the log that another process began, or that was dropped.
    ///
    /// # Errors
    /// 2020 if the log has no saga of this id.
    pub fn resume(self) -> Result<Saga, Error> {
        self.log.status(&owner(), &self.id)?;
        Ok(self.build())
    }

    fn build(self) -> Saga {
        let Self { id, log, server_timeout, undo } = self;
        Saga { id, log, server_timeout, undo: Arc::new(undo) }
    }
}

mgp_types::partial_debug!(SagaBuilder, self => id: self.id);

/// The age in seconds at which a saga takes no more steps; the longest that the log knows.
const LONGEST_SAGA_SECONDS: u32 = 3600;
