//! Operators at the socket of a kernel that runs.

use std::sync::Arc;

use mgp_transport::connect;
use mgp_types::Principal;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::descendants::DescendantGate;
use super::socket::{Arrived, Peer, UserSocket, user_name};
use crate::call::marked::Mark;
use crate::kernel::Kernel;
use crate::listen::peer::PeerProcess;
use crate::operator::proof::OperatorConnection;

/// Answers whoever is let in, as operators, until the future is dropped; then all connections are closed.
pub(crate) async fn serve(socket: UserSocket, kernel: Kernel) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut gate = DescendantGate::new(kernel.clone(), "operators");
    loop {
        while connections.try_join_next().is_some() {}
        let arrived = socket.accept().await;
        let Some(Arrived { user, process, reader, writer }) = gate.admit(arrived).await else { continue };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!("too many operators are connected; one more was not let in");
            continue;
        };
        let kernel = kernel.clone();
        connections.spawn(async move {
            let _place = place;
            let _visit = kernel.lifecycle().visitors.command();
            let connection = Arc::new(OperatorConnection::at_socket(match user {
                // An agent of theirs may be connected in any way, so only the passphrase tells.
                Peer::Member(_) => PeerProcess::Unknown,
                Peer::Owner(_) | Peer::Root => process,
            }));
            let accept = kernel.accept_marked(operator(user), Mark::Operator(connection));
            let (_, connection) = connect(reader, writer, &accept, kernel.config().connection_limits());
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection at the socket ended");
            }
        });
    }
}

fn operator(peer: Peer) -> Principal {
    match peer {
        Peer::Root => Principal::operator("root"),
        Peer::Member(uid) => Principal::operator(format!("uid {uid}")),
        Peer::Owner(uid) => {
            user_name().map_or_else(|| Principal::operator(format!("uid {uid}")), Principal::operator)
        }
    }
}

const MAX_CONNECTIONS: usize = 64;

#[cfg(test)]
mod tests {
    use mgp_types::Role;

    use super::*;

    #[test]
    fn whoever_is_let_in_decides() {
        assert_eq!(operator(Peer::Owner(1000)).role(), Role::Operator);
        assert_eq!((operator(Peer::Root).role(), operator(Peer::Root).as_str()), (Role::Operator, "root"));
    }
}
