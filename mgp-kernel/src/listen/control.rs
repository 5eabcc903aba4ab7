//! The sockets of a kernel that runs: that of operators, and beside it that of the clients of an agent that share the kernel with
//! the client that started it.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::connect;
use mgp_types::{Method, Object, Outbox, Principal, Request, StreamId};
use tokio::sync::watch;
use tokio::time::sleep;

use super::descendants::serve_each;
use super::serve::LATEST_END;
use super::socket::{AcceptedConnection, SocketPeer, UserSocket, operator};
use crate::front::connection_role::ConnectionRole;
use crate::kernel::Kernel;
use crate::lifecycle::socket_connections::RESTARTING;
use crate::lifecycle::wait_for_stop;
use crate::peer::{Lineage, speaker};
use crate::proof::OperatorConnection;

/// Answers those who are let in, as operators, until `stopped` says so. Then nobody is let in any more; what was asked before
/// has a moment to be answered, and then the future ends.
pub(super) async fn serve_operators(socket: Arc<UserSocket>, kernel: Kernel, stopped: watch::Receiver<bool>) {
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

/// Answers those who are let in as clients of one `agent`, never as operators, until `stopped` says so. Then nobody is
/// let in any more; the calls of the connected clients have `drain` to end, and then the future ends.
pub(super) async fn serve_agents(
    socket: Arc<UserSocket>,
    kernel: Kernel,
    agent: Principal,
    stopped: watch::Receiver<bool>,
    drain: Duration,
) {
    let each = |arrived| share(kernel.clone(), agent.clone(), arrived, stopped.clone(), drain);
    serve_each(socket, kernel.clone(), "agents", stopped.clone(), each).await;
}

async fn share(
    kernel: Kernel,
    agent: Principal,
    arrived: AcceptedConnection,
    stopped: watch::Receiver<bool>,
    drain: Duration,
) {
    let AcceptedConnection { process, reader, writer, .. } = arrived;
    let client = kernel.sections().fleet.client_session();
    let connections = &kernel.sections().lifecycle.connections;
    let process = process.as_ref();
    let _connection = connections.client(agent.clone(), Arc::clone(&client), process.map(shown));
    // Where it is not known who started the client, an agent may have.
    let is_started = process.is_none_or(|lineage| kernel.sections().lifecycle.clients.note(lineage));
    let mark = if is_started { ConnectionRole::Unattended } else { ConnectionRole::Nothing };
    let accept = kernel.accept_marked(agent, mark, client, process.and_then(Lineage::folder));
    let (wire, connection) = connect(reader, writer, &accept, kernel.sections().config.connection_limits());
    let end = async {
        wait_for_stop(stopped).await;
        if kernel.sections().lifecycle.is_restarting() {
            let notice = Request::notify(Method::from_static(RESTARTING), Object::new());
            // A client that is gone needs no notice. The others leave once they have all answers, and all that they sent
            // before they heard of it is read.
            let _ = Outbox::new(Arc::new(wire), StreamId::STANDALONE).notify(notice).await;
            sleep(LATEST_END).await;
        }
    };
    if let Err(error) = connection.run_until(end, drain).await {
        tracing::debug!(%error, "a client at the socket is gone");
    }
}

/// Returns the number of the process at the socket, and the name of the program that has started it.
fn shown(lineage: &Lineage) -> (u32, Box<str>) {
    let client = speaker(lineage);
    let program = client.as_ref().unwrap_or(lineage).process();
    (lineage.process().id.pid, program.name.clone())
}
