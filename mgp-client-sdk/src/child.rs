//! Servers that are child processes of the client.

use std::ffi::OsStr;
use std::io;

use mgp_transport::Wire;
use mgp_transport::child::ChildCommand;
use mgp_transport::era::{EraMode, ProbeEndedConnection};
use mgp_types::{Error, RpcService};
use tower_layer::Layer;

use crate::builder::{ClientBuilder, Core, Prepared, Way};
use crate::{Client, Handlers};

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers>,
    I::Service: RpcService + Unpin,
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
        L: Layer<Core<Wire, I::Service>>,
        L::Service: RpcService,
    {
        let args: Vec<_> = args.into_iter().collect();
        self.connect_child(|| ChildCommand::new(program.as_ref()).args(&args)).await
    }

    /// Starts a server by `command` and connects to its standard input and output.
    ///
    /// Some old servers exit when they are asked what they are. Such a one is started a second time, which is
    /// why `command` is a function, and is then offered a session.
    ///
    /// # Errors
    /// The process cannot be started, and see
    /// [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_child(self, command: impl Fn() -> ChildCommand) -> Result<Client<L::Service>, Error>
    where
        L: Layer<Core<Wire, I::Service>>,
        L::Service: RpcService,
    {
        let prepared = self.prepare();
        let mode = prepared.builder.mode;
        match prepared.child(command(), mode).await {
            Err(error) if mode == EraMode::Auto && ProbeEndedConnection::is_behind(&error) => {
                tracing::debug!("the server ends when it is asked what it is; starting it again");
                prepared.child(command(), EraMode::Session).await
            }
            outcome => outcome,
        }
    }
}

impl<L, I, H: RpcService + Unpin> Prepared<L, I, H> {
    async fn child(&self, command: ChildCommand, mode: EraMode) -> Result<Client<L::Service>, Error>
    where
        L: Layer<Core<Wire, H>>,
        L::Service: RpcService,
    {
        let (process, stdout, stdin) = command.spawn().map_err(cannot_start)?;
        let (wire, link) = self.stream(stdout, stdin);
        // The process closes its own stdin first, which ends the connection behind it.
        let link = link.with_close(|| async {
            let report = process.shutdown().await;
            tracing::debug!(how = ?report.how, "the server exited");
            Ok(())
        });
        self.client(wire, link, Way::stream(mode)).await
    }
}

fn cannot_start(error: io::Error) -> Error {
    Error::disconnected("the server cannot be started").with_source(error)
}
