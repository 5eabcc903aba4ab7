//! The operators' socket of a kernel that runs.

use std::sync::Arc;

use mgp_transport::connect;
use tokio::sync::watch;

use super::descendants::serve_each;
use super::socket::{AcceptedConnection, SocketPeer, UserSocket, operator};
use crate::front::connection_role::ConnectionRole;
use crate::kernel::Kernel;
use crate::lifecycle::wait_for_stop;
use crate::listen::serve::LATEST_END;
use crate::peer::Lineage;
use crate::proof::OperatorConnection;

/// Answers those who are let in, as operators, until `stopped` says so. Then nobody is let in any more; what was asked before
/// has a moment to be answered, and then the future ends.
pub(crate) async fn serve(socket: UserSocket, kernel: Kernel, stopped: watch::Receiver<bool>) {
    let each = |arrived| operate(kernel.clone(), arrived, stopped.clone());
    serve_each(socket, kernel.clone(), "operators", stopped.clone(), each).await;
}

async fn operate(kernel: Kernel, arrived: AcceptedConnection, stopped: watch::Receiver<bool>) {
    let AcceptedConnection { user, uid, process, reader, writer } = arrived;
    let Some(_connection) = kernel.sections().lifecycle.connections.command() else { return };
    let connection = Arc::new(match user {
        SocketPeer::Owner => OperatorConnection::of_account(process.as_ref()),
        SocketPeer::Root => OperatorConnection::of_superuser(),
        SocketPeer::Member => OperatorConnection::of_member(),
    });
    let role = ConnectionRole::Operator(connection, Arc::clone(&kernel.sections().policies));
    let client = kernel.sections().fleet.client_session();
    let accept =
        kernel.accept_marked(operator(uid), role, client, process.as_ref().and_then(Lineage::folder));
    let (_, connection) = connect(reader, writer, &accept, kernel.sections().config.connection_limits());
    if let Err(error) = connection.run_until(wait_for_stop(stopped), LATEST_END).await {
        tracing::debug!(%error, "a connection at the socket ended");
    }
}
