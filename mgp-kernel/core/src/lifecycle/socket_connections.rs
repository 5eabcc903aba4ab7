//! The connections to a kernel that runs: agents' clients and commands of operators. A kernel in the background ends
//! some time after the last of them has left.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use mgp_types::{ClientSession, Principal};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// The notification by which a kernel tells the clients that share it that another one is about to follow it at the same
/// sockets: they keep new requests for that one.
pub const RESTARTING: &str = "kernel/restarting";

/// The connections at the sockets of a kernel. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct SocketConnections(Arc<SocketTable>);

#[derive(Debug, Default)]
struct SocketTable {
    number: watch::Sender<usize>,
    clients: Mutex<BTreeMap<u64, SocketClient>>,
    next: AtomicU64,
    /// True once the kernel ends because nobody is connected.
    is_unused: AtomicBool,
}

/// A client that is connected.
#[derive(Debug, Clone)]
pub(crate) struct SocketClient {
    /// The agent of the client, before it has named itself.
    pub(crate) agent: Principal,
    /// The session, which knows the name that the client gives.
    pub(crate) session: Arc<ClientSession>,
    /// The process at the other end and the name of its program, where the system tells them.
    pub(crate) process: Option<(u32, Box<str>)>,
    pub(crate) since: Instant,
}

/// A guard that counts a connection until it is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionGuard {
    connections: SocketConnections,
    client: Option<u64>,
}

impl SocketConnections {
    /// Counts a client of `agent`.
    pub(crate) fn client(
        &self,
        agent: Principal,
        session: Arc<ClientSession>,
        process: Option<(u32, Box<str>)>,
    ) -> ConnectionGuard {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let client = SocketClient { agent, session, process, since: Instant::now() };
        self.0.clients.lock().insert(number, client);
        self.0.number.send_modify(|number| *number += 1);
        ConnectionGuard { connections: self.clone(), client: Some(number) }
    }

    /// Counts a command; returns `None` where it comes too late, so that it waits for the next kernel.
    pub(crate) fn command(&self) -> Option<ConnectionGuard> {
        self.0.number.send_modify(|number| *number += 1);
        let guard = ConnectionGuard { connections: self.clone(), client: None };
        (!self.0.is_unused.load(Ordering::SeqCst)).then_some(guard)
    }

    /// Returns the clients that are connected, in the order in which they came.
    pub(crate) fn clients(&self) -> Vec<SocketClient> {
        self.0.clients.lock().values().cloned().collect()
    }

    /// Waits until at most `others` clients and commands are connected.
    pub(crate) async fn at_most(&self, others: usize) {
        // Waiting fails only if the sender is gone, and `self` holds it.
        let _ = self.0.number.subscribe().wait_for(|number| *number <= others).await;
    }

    /// Waits until nobody has been connected for `linger`, and the kernel is not in use otherwise either. The client
    /// that had the kernel started has some time to connect.
    pub(crate) async fn gone_for(&self, linger: Duration, is_in_use: impl Fn() -> bool) {
        let mut number = self.0.number.subscribe();
        let mut patience = linger.max(FIRST_VISIT);
        loop {
            if *number.borrow_and_update() > 0 {
                patience = linger;
                // Waiting fails only if the sender is gone, and `self` holds it.
                let _ = number.wait_for(|number| *number == 0).await;
            }
            tokio::select! {
                _ = number.changed() => patience = linger,
                () = sleep(patience) => {
                    if *number.borrow() == 0 && !is_in_use() {
                        self.0.is_unused.store(true, Ordering::SeqCst);
                        // Whoever came before is counted by now, and whoever comes later sees that it is too late.
                        if *number.borrow() == 0 {
                            return;
                        }
                        self.0.is_unused.store(false, Ordering::SeqCst);
                    }
                    sleep(LOOK_AGAIN).await;
                }
            }
        }
    }
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let connections = &self.connections.0;
        if let Some(client) = self.client {
            connections.clients.lock().remove(&client);
        }
        connections.number.send_modify(|number| *number = number.saturating_sub(1));
    }
}

/// The time for which a kernel that was started for a client waits for it, whatever `linger` says.
const FIRST_VISIT: Duration = Duration::from_secs(30);
const LOOK_AGAIN: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    async fn ended_after(connections: &SocketConnections, linger: Duration) -> Duration {
        let began = Instant::now();
        connections.gone_for(linger, || false).await;
        began.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_counts_from_the_last_visit_and_a_short_one_counts_as_well() {
        let connections = SocketConnections::default();
        let linger = Duration::from_mins(5);
        let connection = connections.client(Principal::new("local"), ClientSession::new(|_| {}), None);
        let coming_and_going = async {
            sleep(Duration::from_mins(10)).await;
            drop(connection);
            sleep(Duration::from_mins(4)).await;
            drop(connections.command().unwrap());
        };
        let (ended, ()) = tokio::join!(ended_after(&connections, linger), coming_and_going);
        assert_eq!(ended.as_secs(), 19 * 60);
        assert!(connections.clients().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_linger_the_last_client_ends_it_and_nobody_before_the_first() {
        let connections = SocketConnections::default();
        let coming_and_going = async {
            sleep(Duration::from_secs(5)).await;
            let connection = connections.client(Principal::new("local"), ClientSession::new(|_| {}), None);
            sleep(Duration::from_secs(100)).await;
            drop(connection);
        };
        let (ended, ()) = tokio::join!(ended_after(&connections, Duration::ZERO), coming_and_going);
        assert_eq!(ended.as_secs(), 105);
        assert_eq!(ended_after(&SocketConnections::default(), Duration::ZERO).await, FIRST_VISIT);
    }

    #[tokio::test(start_paused = true)]
    async fn a_command_that_comes_when_it_ends_is_not_let_in() {
        let connections = SocketConnections::default();
        assert!(connections.command().is_some());
        ended_after(&connections, Duration::ZERO).await;
        assert!(connections.command().is_none());
        assert_eq!(*connections.0.number.borrow(), 0);
    }
}
