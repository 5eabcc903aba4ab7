//! The operators' socket of a kernel that runs.

use std::sync::Arc;

use mgp_transport::connect;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::descendants::DescendantFilter;
use super::socket::{AcceptedConnection, SocketPeer, UserSocket, operator};
use crate::call::connection_role::ConnectionRole;
use crate::kernel::Kernel;
use crate::listen::serve::{LATEST_END, carry, told};
use crate::operator::proof::OperatorConnection;

/// Answers those who are let in, as operators, until `stopped` says so. Then nobody is let in any more; what was asked before
/// has a moment to be answered, and then the future ends.
pub(crate) async fn serve(socket: UserSocket, kernel: Kernel, stopped: watch::Receiver<bool>) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut gate = DescendantFilter::new(kernel.clone(), "operators");
    loop {
        let arrived = tokio::select! {
            arrived = socket.accept() => arrived,
            () = told(stopped.clone()) => break,
        };
        while connections.try_join_next().is_some() {}
        let Some(AcceptedConnection { user, process, reader, writer }) = gate.admit(arrived).await else {
            continue;
        };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!("too many operators are connected; one more was not let in");
            continue;
        };
        let (kernel, stopped) = (kernel.clone(), stopped.clone());
        connections.spawn(async move {
            let _place = place;
            let _connection = kernel.lifecycle().connections.command();
            let folder = process.folder();
            let connection = Arc::new(match user {
                SocketPeer::Owner(_) => OperatorConnection::of_account(&process),
                SocketPeer::Root => OperatorConnection::of_superuser(),
                SocketPeer::Member(_) => OperatorConnection::of_member(),
            });
            let (client, role) = (
                kernel.fleet().client_session(),
                ConnectionRole::Operator(connection, Arc::clone(kernel.policies())),
            );
            let accept = kernel.accept_marked(operator(user.uid()), role, client, folder);
            let (_, connection) = connect(reader, writer, &accept, kernel.config().connection_limits());
            if let Err(error) = carry(connection, told(stopped), LATEST_END).await {
                tracing::debug!(%error, "a connection at the socket ended");
            }
        });
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}

const MAX_CONNECTIONS: usize = 64;
