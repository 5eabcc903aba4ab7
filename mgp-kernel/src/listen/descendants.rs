//! The refusal of processes that the kernel or one of its servers started: they are neither operators nor humans.

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::{ConnectionLimits, connect};
use mgp_types::mgp::{Actor, ActorType, AuditPort as _, EventType, Outcome};
use mgp_types::{Error, Outbox, code};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

use super::socket::{AcceptedConnection, UserSocket};
use crate::call::RefusingService;
use crate::kernel::Kernel;
use crate::lifecycle::wait_for_stop;
use crate::peer::{Lineage, Process, ProcessId};

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
                let accept = |_: Outbox| RefusingService(refusal());
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

fn refusal() -> Error {
    Error::new(
        code::PERMISSION_DENIED,
        "this process was started by the kernel or by one of its servers, and nothing that comes from there decides, \
         asks for tools, or answers for a human: a person has to do that in a terminal of their own",
    )
}

const MAX_CONNECTIONS: usize = 64;
const MAX_REFUSED: usize = 16;
const LONGEST_REFUSAL: Duration = Duration::from_secs(10);
