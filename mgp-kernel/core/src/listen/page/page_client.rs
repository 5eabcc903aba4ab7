//! The client that does for a browser what its person asks for: one more client of the operations of operators.

use std::time::Duration;

use mgp_types::{Error, Object, RawJson};
use parking_lot::Mutex;
use tokio::time::Instant;

use crate::admin::list::OperationEntry;
use crate::admin::operation::Operation;
use crate::admin::operators::ProvePresence;
use crate::kernel::{Kernel, OperatorClient};
use crate::lifecycle::page_door::{PageHolder, PageRole};
use crate::proof::OperatorConnection;

/// The connection of a browser's operator to the kernel in this process. All rules for operators at the socket apply to it: a
/// passphrase is given on it, and counts for a while.
pub(crate) struct PageClient {
    kernel: Kernel,
    /// The person at the browser.
    pub(super) holder: PageHolder,
    /// The connection, and the time until which the passphrase counts that was given on it.
    connected: Mutex<Option<(OperatorClient, Option<Instant>)>>,
}

impl PageClient {
    pub(super) const fn new(kernel: Kernel, holder: PageHolder) -> Self {
        Self { kernel, holder, connected: Mutex::new(None) }
    }

    /// Has the kernel do an operation.
    pub(super) async fn ask<O: Operation>(&self, operation: &O) -> Result<O::Reply, Error> {
        let reply = self.client().await?.request(OperationEntry::name_of::<O>(), operation).await?;
        reply.to().map_err(|error| Error::internal("the answer has another form").with_source(error))
    }

    /// Sends a request of a form to the kernel.
    pub(super) async fn send(&self, method: &str, params: Object) -> Result<RawJson, Error> {
        self.client().await?.request(method, params.to_raw()).await
    }

    /// Gives the passphrase, which counts for a while.
    pub(super) async fn prove(&self, passphrase: String) -> Result<(), Error> {
        self.ask(&ProvePresence { passphrase: Some(passphrase), token: None }).await?;
        if let Some((_, end)) = &mut *self.connected.lock() {
            *end = Some(Instant::now() + PROOF_HOLDS);
        }
        Ok(())
    }

    /// Calls a tool on a connection on which nothing was proved, so that the call is one of a client, for which all rules hold.
    pub(super) async fn call(&self, params: Object) -> Result<RawJson, Error> {
        self.connect().await?.request("tools/call", params.to_raw()).await
    }

    async fn connect(&self) -> Result<OperatorClient, Error> {
        let connection = match self.holder.role {
            PageRole::Account => OperatorConnection::of_account(None),
            PageRole::Member | PageRole::Auditor => OperatorConnection::of_member(),
            PageRole::Proved => OperatorConnection::of_person(),
        };
        self.kernel.operate_as(self.holder.by.clone(), connection, None).await
    }

    /// Returns the connection, or a new one once the passphrase no longer counts on the last one.
    async fn client(&self) -> Result<OperatorClient, Error> {
        let connected = self.connected.lock().clone();
        if let Some((client, _)) = connected.filter(|(_, end)| end.is_none_or(|end| Instant::now() <= end)) {
            return Ok(client);
        }
        let client = self.connect().await?;
        *self.connected.lock() = Some((client.clone(), None));
        Ok(client)
    }
}

/// The time for which a passphrase counts, as at a terminal.
const PROOF_HOLDS: Duration = Duration::from_mins(10);
