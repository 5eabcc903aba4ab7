//! Servers that are child processes of the client.

use std::ffi::OsStr;
use std::time::Duration;

use mgp_lifecycle::ServerEnd;
use mgp_transport::Wire;
use mgp_transport::child::{ChildCommand, ChildProcess};
use mgp_transport::era::{EraMode, ProbeEndedConnection};
use mgp_types::{Error, Origin, RpcService};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tower_layer::Layer;

use crate::builder::{ClientBuilder, ClientCore, Prepared};
use crate::{Client, ConnectionHandle, Handlers};

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers, Service: RpcService + Unpin>,
    L: Layer<ClientCore<Wire, I::Service>, Service: RpcService>,
{
    /// Starts a server as a child process and connects to its standard input and output.
    ///
    /// # Errors
    /// As [`connect_child`](Self::connect_child).
    pub async fn connect_stdio<A>(
        self,
        program: impl AsRef<OsStr>,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Client<L::Service>, Error>
    where
        A: AsRef<OsStr>,
    {
        let args: Vec<_> = args.into_iter().collect();
        self.connect_child(|| ChildCommand::new(program.as_ref()).args(&args)).await
    }

    /// Starts a server by `command` and connects to its standard input and output.
    ///
    /// Some servers exit when they get the first request of the handshake, because it is of an era that they do not know.
    /// The client starts such a server a second time, which is why `command` is a function, and begins with the request
    /// of the other era.
    ///
    /// # Errors
    /// The process cannot be started, or the handshake fails: see
    /// [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_child(
        self,
        command: impl Fn() -> ChildCommand,
    ) -> Result<Client<L::Service>, Error> {
        let prepared = self.prepare();
        let mode = prepared.options.era.mode;
        let other = match mode {
            EraMode::Auto => Some(EraMode::Session),
            EraMode::PreferSession => Some(EraMode::Stateless),
            _ => None,
        };
        match (prepared.child(command(), mode).await, other) {
            (Err(error), Some(other)) if ProbeEndedConnection::is_behind(&error) => {
                tracing::debug!("the server exits on the first request; starting it again");
                prepared.child(command(), other).await
            }
            (outcome, _) => outcome,
        }
    }
}

impl<L, H: RpcService + Unpin> Prepared<L, H>
where
    L: Layer<ClientCore<Wire, H>, Service: RpcService>,
{
    async fn child(&self, command: ChildCommand, mode: EraMode) -> Result<Client<L::Service>, Error> {
        let cannot_start = |error| Error::disconnected("the server cannot be started").with_source(error);
        let (process, stdout, stdin) = command.spawn().map_err(cannot_start)?;
        let (wire, link) = self.stream(stdout, stdin);
        let mut link = keep(process, link);
        let mut options = self.options.era.clone();
        options.mode = mode;
        let outcome = self.client(wire, &mut link, options).await;
        if outcome.as_ref().is_err_and(|error| error.origin() == Origin::Connection) {
            // The exit status and the last lines come a moment after the end of the output.
            link.take_ended().await;
        }
        outcome
    }
}

/// The time that a server may go on after it has closed its output.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);

/// Keeps the process as long as the link is kept, and reports by its status how it ended.
fn keep(mut process: ChildProcess, mut link: ConnectionHandle) -> ConnectionHandle {
    let (close, closing) = oneshot::channel::<oneshot::Sender<()>>();
    let (exited, mut exit) = oneshot::channel();
    let over = link.take_ended();
    let keeper = tokio::spawn(async move {
        tokio::select! {
            status = process.wait() => {
                // Sending fails only if nobody waits for the status.
                let _ = exited.send(status.is_ok_and(|status| status.success()));
            }
            Ok(closed) = closing => {
                // The shutdown closes the process' stdin first, which ends the connection behind it.
                let status = process.shutdown().await;
                tracing::debug!(?status, "the server exited");
                let _ = closed.send(());
            }
        }
    });
    link.with_task(keeper)
        .with_close(|| async {
            let (closed, done) = oneshot::channel();
            // Sending fails only if the process has exited by itself.
            if close.send(closed).is_ok() {
                let _ = done.await;
            }
            Ok(())
        })
        .with_ended(async move {
            let well = tokio::select! {
                well = &mut exit => well,
                // A server that has only closed its output is of no use any more.
                _ = over => timeout(EXIT_TIMEOUT, exit).await.unwrap_or(Ok(false)),
            };
            if well == Ok(true) { ServerEnd::InOrder } else { ServerEnd::InError }
        })
}
