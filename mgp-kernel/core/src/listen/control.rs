//! The sockets of a kernel that runs: that of operators, and beside it that of the clients of an agent that share the kernel with
//! the client that started it.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::{ConnectionLimits, connect};
use mgp_types::mgp::{Actor, ActorType, AuditPort as _, EventType, Outcome};
use mgp_types::{Error, Method, Object, Outbox, Principal, Request, StreamId, code};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::serve::LATEST_END;
use super::socket::{AcceptedConnection, SocketPeer, UserSocket, operator};
use crate::call::RefusingService;
use crate::front::connection_role::ConnectionRole;
use crate::kernel::Kernel;
use crate::lifecycle::socket_connections::RESTARTING;
use crate::lifecycle::wait_for_stop;
use crate::peer::{Lineage, Process, ProcessId, speaker};
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
        SocketPeer::Owner => OperatorConnection::of_account(process.clone()),
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
pub(super) fn shown(lineage: &Lineage) -> (u32, Box<str>) {
    let client = speaker(lineage);
    let program = client.as_ref().unwrap_or(lineage).process();
    (lineage.process().id.pid, program.name.clone())
}

/// A filter that turns descendants of the kernel away at one of its sockets.
///
/// A refusal is recorded, and the process gets the reason as the answer to its requests. It takes no place from those
/// who may connect.
struct DescendantFilter {
    kernel: Kernel,
    /// The name of the socket in the record.
    socket: &'static str,
    own: Option<ProcessId>,
    places: Arc<Semaphore>,
    refused: JoinSet<()>,
}

impl DescendantFilter {
    /// Returns the connection if the kernel has not started the process that made it.
    async fn admit(&mut self, arrived: AcceptedConnection) -> Option<AcceptedConnection> {
        while self.refused.try_join_next().is_some() {}
        let is_own = |lineage: &&Lineage| self.own.is_some_and(|own| lineage.comes_from(own));
        let Some(lineage) = arrived.process.as_ref().filter(is_own) else { return Some(arrived) };
        self.record(lineage.process()).await;
        // Where too many wait to get the reason, the next ones only lose their connection.
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            self.refused.spawn(async move {
                let _place = place;
                let accept = |_: Outbox| RefusingService(Error::new(code::PERMISSION_DENIED, REFUSAL));
                let AcceptedConnection { reader, writer, .. } = arrived;
                let (_, connection) = connect(reader, writer, &accept, ConnectionLimits::default());
                // The way in which the connection ends changes nothing.
                let _ = tokio::time::timeout(LONGEST_REFUSAL, connection).await;
            });
        }
        None
    }

    async fn record(&self, process: &Process) {
        let audit = &self.kernel.sections().audit;
        tracing::warn!(
            pid = process.id.pid,
            program = &*process.name,
            socket = self.socket,
            "a process that the kernel or one of its servers started was refused at a socket of the kernel"
        );
        let actor = Actor::new(ActorType::Server, format!("process {}", process.id.pid));
        let event = audit
            .event(EventType::PermissionDenied, actor, Outcome::Blocked)
            .with_detail("reason", "descends from the kernel")
            .with_detail("socket", self.socket)
            .with_detail("program", &process.name);
        if let Err(error) = audit.log.record(event).await {
            tracing::error!(%error, "a refusal is not recorded");
        }
    }
}

/// Serves each connection at a socket that may be there by `each`, until `stopped` says so, and then waits for those that go on.
/// Some connect at once; others lose their connection. `name` is that of the socket in the record.
pub(super) async fn serve_each<C: Future<Output = ()> + Send + 'static>(
    socket: Arc<UserSocket>,
    kernel: Kernel,
    name: &'static str,
    stopped: watch::Receiver<bool>,
    each: impl Fn(AcceptedConnection) -> C,
) {
    let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut filter = DescendantFilter {
        kernel,
        socket: name,
        own: Process::own().map(|process| process.id),
        places: Arc::new(Semaphore::new(MAX_REFUSED)),
        refused: JoinSet::new(),
    };
    let stop = wait_for_stop(stopped);
    tokio::pin!(stop);
    loop {
        let arrived = tokio::select! {
            arrived = socket.accept() => arrived,
            () = &mut stop => break,
        };
        while connections.try_join_next().is_some() {}
        let Some(arrived) = filter.admit(arrived).await else { continue };
        let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
            tracing::warn!(socket = name, "too many are connected at a socket; one more was not let in");
            continue;
        };
        let connection = each(arrived);
        connections.spawn(async move {
            connection.await;
            drop(place);
        });
    }
    drop(socket);
    while connections.join_next().await.is_some() {}
}

const REFUSAL: &str = "this process was started by the kernel or by one of its servers, and nothing that comes from there \
                       decides, asks for tools, or answers for a human: a person has to do that in a terminal of their own";

const MAX_CONNECTIONS: usize = 64;
const MAX_REFUSED: usize = 16;
const LONGEST_REFUSAL: Duration = Duration::from_secs(10);
