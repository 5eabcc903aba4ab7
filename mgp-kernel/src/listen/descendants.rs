//! The refusal of processes that the kernel or one of its servers started: they are neither operators nor humans.

use std::future::{Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use mgp_transport::{ConnectionLimits, connect};
use mgp_types::mgp::{
    Actor, ActorType, AuditEvent, AuditPort as _, AuditTarget, EventType, Outcome, TraceId,
};
use mgp_types::{Error, Outbox, Request, Response, code};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower_service::Service;

use super::socket::AcceptedConnection;
use crate::kernel::Kernel;
use crate::listen::peer::{PeerProcess, Process, ProcessId};
use crate::record::random;

/// A filter that turns descendants of the kernel away at one of its sockets.
///
/// A refusal is recorded, and the process gets the reason as the answer to its requests. It takes no place from those
/// who may connect.
pub(super) struct DescendantFilter {
    kernel: Kernel,
    /// The name of the socket in the record.
    socket: &'static str,
    own: Option<ProcessId>,
    places: Arc<Semaphore>,
    refused: JoinSet<()>,
}

impl DescendantFilter {
    pub(super) fn new(kernel: Kernel, socket: &'static str) -> Self {
        let own = Process::own().map(|process| process.id);
        Self { kernel, socket, own, places: Arc::new(Semaphore::new(MAX_REFUSED)), refused: JoinSet::new() }
    }

    /// Returns the connection if the kernel has not started the process that made it.
    pub(super) async fn admit(&mut self, arrived: AcceptedConnection) -> Option<AcceptedConnection> {
        while self.refused.try_join_next().is_some() {}
        if !arrived.process.comes_from(self.own) {
            return Some(arrived);
        }
        self.record(&arrived.process).await;
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

    async fn record(&self, process: &PeerProcess) {
        let audit = self.kernel.audit();
        let PeerProcess::Known(lineage) = process else { return };
        let process = lineage.process();
        tracing::warn!(
            pid = process.id.pid,
            program = &*process.name,
            socket = self.socket,
            "a process that the kernel or one of its servers started was refused at a socket of the kernel"
        );
        let event = AuditEvent::new(
            audit.clock.now(),
            TraceId::from_random(random()),
            EventType::PermissionDenied,
            Actor::new(ActorType::Server, format!("process {}", process.id.pid)),
            AuditTarget::new(None, None),
            Outcome::Blocked,
        );
        let event = event
            .with_detail("reason", "descends from the kernel")
            .with_detail("socket", self.socket)
            .with_detail("program", &process.name);
        if let Err(error) = audit.log.record(event).await {
            tracing::error!(%error, "a refusal is not recorded");
        }
    }
}

fn refusal() -> Error {
    Error::new(
        code::PERMISSION_DENIED,
        "this process was started by the kernel or by one of its servers, and nothing that comes from there decides, \
         asks for tools, or answers for a human: a person has to do that in a terminal of their own",
    )
}

/// A service that answers all requests with one error.
#[derive(Clone)]
struct RefusingService(Error);

impl Service<Request> for RefusingService {
    type Response = Response;
    type Error = Error;
    type Future = Ready<Result<Response, Error>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request) -> Self::Future {
        ready(Err(self.0.clone()))
    }
}

const MAX_REFUSED: usize = 16;
const LONGEST_REFUSAL: Duration = Duration::from_secs(10);
