use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use mgp_types::mgp::{LifecycleChange, ServerId, ServerState, ShutdownReason};
use mgp_types::{Error, RpcService};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;

use super::gate::StateGate;
use super::order::Order;
use super::pulse::Health;
use super::shared::{Outlook, Shared};
use crate::Changes;

/// One server that is kept alive.
///
/// Clones share it. When the last one is dropped the supervisor ends, and the server is closed at once; gates do not
/// keep it. For a graceful end [`stop`](Self::stop) it first.
pub struct Supervised<T> {
    shared: Arc<Shared<T>>,
    owner: Arc<Owner>,
}

struct Owner {
    task: JoinHandle<()>,
    /// Never read; what listeners are made of, as it does not keep the channel open.
    listener: broadcast::Receiver<LifecycleChange>,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<T: Clone + Send + Sync + 'static> Supervised<T> {
    pub(super) fn new(
        shared: Arc<Shared<T>>,
        listener: broadcast::Receiver<LifecycleChange>,
        task: JoinHandle<()>,
    ) -> Self {
        Self { shared, owner: Arc::new(Owner { task, listener }) }
    }

    /// Which server it is.
    pub fn server(&self) -> &ServerId {
        &self.shared.server
    }

    /// Where the server is in its life.
    pub fn state(&self) -> ServerState {
        self.shared.position().state
    }

    /// The transitions from now on. A listener that is slow loses the oldest, and holds up nobody.
    pub fn changes(&self) -> Changes {
        Changes::new(self.owner.listener.resubscribe())
    }

    /// How the server does.
    pub fn health(&self) -> Health {
        *self.shared.health.borrow()
    }

    /// How the server does, for whoever waits for changes of it.
    pub fn watch_health(&self) -> watch::Receiver<Health> {
        self.shared.health.subscribe()
    }

    /// How many calls of gates the server works on, subscriptions that listen not counted.
    pub fn in_flight(&self) -> u64 {
        self.shared.live.load().as_ref().map_or(0, |live| live.in_flight())
    }

    /// The way to the server as it is connected now. Calls on it are not counted as in flight, and a restart does not
    /// wait for them.
    ///
    /// # Errors
    /// 2000, 2001 or 2002: the server takes no calls now; the recovery says whether and when it will.
    pub fn current(&self) -> Result<T, Error> {
        self.shared.service().ok_or_else(|| self.shared.refusal())
    }

    /// As [`current`](Self::current), and waits for a server that is about to be connected, for `wait` at most.
    ///
    /// # Errors
    /// As [`current`](Self::current); at once if nothing is planned that would make the server ready.
    pub async fn ready(&self, wait: Duration) -> Result<T, Error> {
        self.shared.within(wait, || self.shared.service()).await
    }

    /// A service that passes calls on to whatever incarnation of the server is connected.
    pub fn gate(&self) -> StateGate<T>
    where
        T: RpcService,
    {
        StateGate::new(Arc::clone(&self.shared))
    }

    /// Starts a server that is not running; [`ready`](Self::ready) waits for it.
    ///
    /// One that was restarted too often stays where it is: only [`restart`](Self::restart) brings it back.
    pub fn start(&self) {
        self.shared.order(Order::Start);
    }

    /// Stops the server gracefully, if it runs, and starts it again, however often it was restarted before.
    ///
    /// A server that is being connected to is not interrupted; one that waits to be restarted waits no more.
    ///
    /// # Errors
    /// The server could not be connected to, or was stopped meanwhile. Further attempts follow as configured.
    ///
    /// # Cancel safety
    /// Once polled, the restart goes on if the future is dropped.
    pub async fn restart(&self, reason: ShutdownReason) -> Result<(), Error> {
        let number = self.shared.order(Order::Restart { reason });
        self.served(number).await;
        self.current().map(drop)
    }

    /// Stops the server: it takes no new calls, gets `timeout` to finish those it has, and is closed. It is not started
    /// again until somebody does so, whatever the policy; restarts are then counted anew.
    ///
    /// A server that is connected ends [disconnected](ServerState::Disconnected). One that is still being connected to,
    /// or waits for a restart, ends in [error](ServerState::Error), the one state there is to go to.
    ///
    /// # Cancel safety
    /// Once polled, the stop goes on if the future is dropped.
    pub async fn stop(&self, reason: ShutdownReason, timeout: Duration) {
        let number = self.shared.order(Order::Stop { reason, timeout });
        self.served(number).await;
    }

    async fn served(&self, number: u64) {
        let mut position = self.shared.position.subscribe();
        // It fails only if the sender is gone, which is in our hands.
        let served =
            position.wait_for(|position| position.served >= number || position.outlook == Outlook::Ended);
        let _ = served.await;
    }
}

impl<T> Clone for Supervised<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared), owner: Arc::clone(&self.owner) }
    }
}

impl<T> fmt::Debug for Supervised<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Supervised")
            .field("server", &self.shared.server)
            .field("state", &self.shared.position().state)
            .finish_non_exhaustive()
    }
}
