//! The builder of a saga.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use mgp_lifecycle::transaction::TransactionBook;
use mgp_types::ext::transaction::BeginTransaction;
use mgp_types::ext::{ExtensionId, TransactionId};
use mgp_types::mgp::ServerId;
use mgp_types::{Error, Object};

use super::run::{Saga, owner};
use super::server::SagaServer;
use super::undo::{ConfirmFn, SagaUndo, UndoCall, VerifyFn};
use crate::{Client, ClientBuilder};

impl<L, I> ClientBuilder<L, I> {
    /// Declares that the client repeats calls by their keys, and takes calls back; a [`Saga`] does both.
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
    pub(super) fn new(id: TransactionId) -> Self {
        Self {
            id,
            log: TransactionBook::in_memory(),
            server_timeout: Duration::from_mins(5),
            undo: SagaUndo::default(),
        }
    }

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
    }

    /// Sets how long a server with transactions waits for this client before it takes back by itself what a step did
    /// that the client did not hear of. Default: five minutes; at least a second and at most an hour.
    pub const fn server_timeout(mut self, timeout: Duration) -> Self {
        self.server_timeout = timeout;
        self
    }

    /// Asks somebody before a step is taken back by a call that may destroy something, unless that call was
    /// [authorised](Saga::authorise_undo). Without this such a call is not made. An answer is for the server and the
    /// arguments of the question; one that takes ten minutes is too late.
    pub fn confirm_undo<F, A>(mut self, ask: F) -> Self
    where
        F: Fn(UndoCall) -> A + Send + Sync + 'static,
        A: Future<Output = bool> + Send + 'static,
    {
        let ask: ConfirmFn = Box::new(move |call| Box::pin(ask(call)));
        self.undo.confirm = Some(ask);
        self
    }

    /// Looks after each step that a server says is taken back. A step whose look fails counts as not taken back.
    pub fn verify_undo<F, A>(mut self, look: F) -> Self
    where
        F: Fn(UndoCall) -> A + Send + Sync + 'static,
        A: Future<Output = Result<(), Error>> + Send + 'static,
    {
        let look: VerifyFn = Box::new(move |call| Box::pin(look(call)));
        self.undo.verify = Some(look);
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
