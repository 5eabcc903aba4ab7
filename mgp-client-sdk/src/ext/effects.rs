//! Calls that have their effect once, and transactions of one server.

use mgp_types::ext::transaction::{
    self, BeginTransaction, NamedTransaction, RollbackTransaction, TransactionBegun, TransactionCommitted,
    TransactionReport, TransactionStep,
};
use mgp_types::ext::{IdempotentCall, TransactionId};
use mgp_types::mcp::CallToolResult;
use mgp_types::{Error, Request, Response, RpcService};

use crate::{Call, Client};

impl<S: RpcService> Client<S> {
    /// Begins a transaction. Calls become its steps by [`Call::in_transaction`].
    pub fn begin_transaction(&self, begin: &BeginTransaction) -> Call<S, TransactionBegun> {
        self.call(Request::with_body(transaction::BEGIN, begin), Response::body)
    }

    /// Ends a transaction and keeps the effects of its steps.
    pub fn commit_transaction(&self, id: &TransactionId) -> Call<S, TransactionCommitted> {
        self.call(named(transaction::COMMIT, id), Response::body)
    }

    /// Ends a transaction and takes its steps back, the last one first. The report names the steps that are left.
    pub fn roll_back_transaction(&self, rollback: &RollbackTransaction) -> Call<S, TransactionReport> {
        self.call(Request::with_body(transaction::ROLLBACK, rollback), Response::body)
    }

    /// Reads the state of a transaction. A server knows it for a day after its end.
    pub fn transaction_status(&self, id: &TransactionId) -> Call<S, TransactionReport> {
        self.call(named(transaction::STATUS, id), Response::body)
    }
}

impl<S: RpcService> Call<S, CallToolResult> {
    /// Gives the call a key, so that a repetition with the same key and arguments has no further effect.
    ///
    /// The key is for a server that declares `idempotency`; other servers ignore it.
    pub fn idempotent(self, call: &IdempotentCall) -> Self {
        self.request_with(|request| call.write(request.meta_mut_or_new()))
    }

    /// Makes the call a step of a transaction.
    pub fn in_transaction(self, step: &TransactionStep) -> Self {
        self.request_with(|request| step.write(request.meta_mut_or_new()))
    }
}

fn named(method: &'static str, id: &TransactionId) -> Result<Request, Error> {
    Request::with_body(method, &NamedTransaction { transaction_id: id.clone() })
}
