//! Calls that have their effect once, and calls that are taken back together, as sections of a server.

use mgp_lifecycle::idempotency::{IdempotencyBook, IdempotencyLayer};
use mgp_lifecycle::transaction::TransactionBook;
use mgp_types::RawJson;
use mgp_types::ext::{ExtensionId, IdempotencyTtl};
use tower_layer::Stack;

use super::Server;
use super::transactions::TransactionLayer;
use crate::error::Fault;

impl<L> Server<L> {
    /// Carries calls with an idempotency key out once, and answers those that come again with the first result.
    ///
    /// Layers that decide who may call are to be added before, and so lie further out: they see calls that come again, too.
    pub fn idempotency(self, keys: &IdempotencyBook) -> Server<Stack<IdempotencyLayer, L>> {
        let (usual, most) = (IdempotencyTtl::default().seconds(), IdempotencyTtl::MAX.seconds());
        let settings = format!(r#"{{"default_ttl_seconds":{usual},"max_ttl_seconds":{most}}}"#);
        self.extension(ExtensionId::Idempotency.id(), RawJson::from_written(settings.into_bytes()))
            .layer(IdempotencyLayer::new(keys.clone()))
    }

    /// Serves transactions: the methods `transaction/begin`, `commit`, `rollback` and `status`, and calls that are steps of
    /// one. Transactions need [idempotency](Self::idempotency), which is served with them.
    ///
    /// A tool says with [`Tool::undone_by`](crate::Tool::undone_by) which tool takes its effect back, and its handler with
    /// [`Cx::undo_with`](crate::Cx::undo_with) which arguments that takes. Such a call passes the layers that are added
    /// after this, in the name of the one that began the transaction.
    ///
    /// There is no isolation: what a step does is seen by everybody at once.
    ///
    /// ```
    /// use mgp_lifecycle::idempotency::IdempotencyBook;
    /// use mgp_lifecycle::transaction::TransactionBook;
    /// use mgp_server_sdk::{Cx, Object, Server, Tool};
    ///
    /// let (transactions, keys) = (TransactionBook::in_memory(), IdempotencyBook::in_memory());
    /// let server = Server::new("tickets", "1.0.0")
    ///     .transactions(&transactions, &keys)
    ///     .tool(Tool::new("create", "Creates a ticket.").undone_by("delete"), async |_: Object, cx: Cx| {
    ///         // … the ticket is created …
    ///         let mut arguments = Object::new();
    ///         arguments.set("id", mgp_server_sdk::RawJson::from_text("PROJ-42"));
    ///         cx.undo_with(arguments);
    ///         "PROJ-42"
    ///     })
    ///     .tool(Tool::new("delete", "Deletes a ticket.").idempotent(), async |_: Object| "gone");
    /// # server.into_service()?;
    /// # Ok::<(), mgp_server_sdk::Error>(())
    /// ```
    ///
    /// Both books are in memory, or both are stored: a process that went on with stored transactions and without their keys
    /// might take a step back twice. Else the server cannot be served.
    pub fn transactions(
        mut self,
        transactions: &TransactionBook,
        keys: &IdempotencyBook,
    ) -> Server<Stack<TransactionLayer, Stack<IdempotencyLayer, L>>> {
        if transactions.is_stored() && !keys.is_stored() {
            let fault = "they are stored, and the keys of calls are not: open both books in a store";
            self.parts.faults.push(Fault::new("transactions", fault));
        }
        let settings = RawJson::from_written(br#"{"max_timeout_seconds":3600}"#.to_vec());
        let layer = TransactionLayer::new(transactions.clone(), keys.clone(), self.handle());
        self.extension(ExtensionId::Transactions.id(), settings).idempotency(keys).layer(layer)
    }
}
