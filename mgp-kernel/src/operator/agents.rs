//! Agents' clients that share a kernel with the one that started it, at a socket beside the operators' one.

use std::sync::Arc;

use mgp_transport::{ConnectionLimits, Until, connect};
use mgp_types::Principal;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::socket::UserSocket;
use crate::kernel::Kernel;

/// Answers whoever is let in as the clients of one `agent`, never as operators, until `stopped` says so. Then nobody is
/// let in any more, and the future ends when the calls of those who were have ended.
pub(crate) async fn serve(
    socket: UserSocket,
    kernel: Kernel,
    agent: Principal,
    mut stopped: watch::Receiver<bool>,
) {
    let places = Arc::new(Semaphore::new(MAX_CLIENTS));
    let mut clients = JoinSet::new();
    loop {
        let next = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, socket.accept().await)
        };
        let (place, (_, reader, writer)) = tokio::select! {
            next = next => next,
            () = told(&mut stopped) => break,
        };
        while clients.try_join_next().is_some() {}
        let (kernel, agent, mut stopped) = (kernel.clone(), agent.clone(), stopped.clone());
        clients.spawn(async move {
            let _place = place;
            let accept = kernel.accept(agent);
            let input = Until::new(reader, async move { told(&mut stopped).await });
            let (_, connection) = connect(input, writer, &accept, ConnectionLimits::default());
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a client at the socket is gone");
            }
        });
    }
    drop(socket);
    while clients.join_next().await.is_some() {}
}

async fn told(stopped: &mut watch::Receiver<bool>) {
    // It fails only if nobody is left who could tell.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

const MAX_CLIENTS: usize = 64;
