//! The handle of a supervised server.

use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{LifecycleChange, ServerId, ServerState, ShutdownReason};
use mgp_types::{Error, RpcService};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;

use super::probe::ServerHealth;
use super::supervised_service::SupervisedService;
use super::supervisor_shared::{ReturnOutlook, SupervisorCommand, SupervisorShared};
use crate::LifecycleChanges;

/// One supervised server.
///
/// Clones share it. When the last one is dropped the supervisor ends, and the server is closed at once; gates do not
/// keep it. For a graceful end [`stop`](Self::stop) it first.
pub struct Supervised<T> {
    pub(super) shared: Arc<SupervisorShared<T>>,
    pub(super) owner: Arc<SupervisorTask>,
}

pub(super) struct SupervisorTask {
    pub(super) task: JoinHandle<()>,
    /// A receiver of which listeners are made, because it does not keep the channel open. The field is never read.
    pub(super) listener: broadcast::Receiver<LifecycleChange>,
}

impl Drop for SupervisorTask {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Clone + Send + Sync + 'static> Supervised<T> {
    /// Returns the id of the server.
    pub fn server(&self) -> &ServerId {
        &self.shared.server
    }

    /// Returns the state of the server.
    pub fn state(&self) -> ServerState {
        self.shared.position().state
    }

    /// Returns the changes of state from now on. A slow listener loses the oldest, and holds up no other.
    pub fn changes(&self) -> LifecycleChanges {
        LifecycleChanges(self.owner.listener.resubscribe())
    }

    /// Returns the health of the server.
    pub fn health(&self) -> ServerHealth {
        *self.shared.health.lock()
    }

    /// Returns the number of calls of gates in progress, without subscriptions that listen.
    pub fn in_flight(&self) -> u64 {
        self.shared.live.load().as_ref().map_or(0, |live| live.in_flight())
    }

    /// Returns the service of the current incarnation. Calls on it are not counted as in flight, and a restart does not
    /// wait for them.
    ///
    /// # Errors
    /// 2000, 2001 or 2002: the server takes no calls now; the recovery tells whether and when it will.
    pub fn current(&self) -> Result<T, Error> {
        self.shared.service().ok_or_else(|| self.shared.refusal())
    }

    /// Returns the same service as [`current`](Self::current), and waits for a server that is about to be connected,
    /// for `wait` at most.
    ///
    /// # Errors
    /// The errors of [`current`](Self::current), at once if no planned step would make the server ready.
    pub async fn ready(&self, wait: Duration) -> Result<T, Error> {
        self.shared.within(wait, || self.shared.service()).await
    }

    /// Returns a service that passes calls to the current incarnation of the server.
    pub fn gate(&self) -> SupervisedService<T>
    where
        T: RpcService,
    {
        SupervisedService { shared: Arc::clone(&self.shared) }
    }

    /// Starts a server that is not running; [`ready`](Self::ready) waits for it.
    ///
    /// A server that was restarted too often stays where it is: only [`restart`](Self::restart) brings it back.
    pub fn start(&self) {
        self.shared.order(SupervisorCommand::Start);
    }

    /// Stops the server gracefully, if it runs, and starts it again, however often it was restarted before.
    ///
    /// An attempt to connect that goes on ends, and another one begins; a server that waits to be restarted waits no more.
    ///
    /// # Errors
    /// The server could not be connected to, or was stopped meanwhile. Further attempts follow as configured.
    ///
    /// # Cancel safety
    /// Once polled, the restart goes on if the future is dropped.
    pub async fn restart(&self, reason: ShutdownReason) -> Result<(), Error> {
        let number = self.shared.order(SupervisorCommand::Restart { reason });
        self.served(number).await;
        self.current().map(drop)
    }

    /// Stops the server: it takes no new calls, gets `timeout` to finish those it has, and is closed. The server is not
    /// started again before [`start`](Self::start) or [`restart`](Self::restart), whatever the policy; restarts are
    /// then counted anew.
    ///
    /// A server that is connected ends [disconnected](ServerState::Disconnected). A server that is still being
    /// connected to, or waits for a restart, ends in [error](ServerState::Error), the one state there is to go to.
    ///
    /// # Cancel safety
    /// Once polled, the stop goes on if the future is dropped.
    pub async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        let number = self.shared.order(SupervisorCommand::Stop { reason, timeout });
        self.served(number).await;
    }

    async fn served(&self, number: u64) {
        let mut position = self.shared.position.subscribe();
        // Waiting fails only if the sender is gone, and this handle keeps it.
        let served = position
            .wait_for(|position| position.served >= number || position.outlook == ReturnOutlook::Ended);
        let _ = served.await;
    }
}

impl<T> Clone for Supervised<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), owner: Arc::clone(&self.owner) }
    }
}

mgp_types::partial_debug!([T] Supervised<T>, self => server: self.shared.server, state: self.shared.position().state);
