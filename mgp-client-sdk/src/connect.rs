//! From a builder to a client, over any transport.

use std::time::Duration;

use mgp_lifecycle::ServerEnd;
use mgp_transport::{Accept, Wire, connect, memory};
use mgp_types::mcp::Implementation;
use mgp_types::{Error, RpcService};
use scopeguard::guard;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::oneshot;
use tower_layer::Layer;

use crate::builder::{ClientAccept, ClientBuilder, ClientCore, Prepared};
use crate::{Client, ConnectionHandle, Handlers};

const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
const BUFFER_BYTES: usize = 64 << 10;

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers, Service: RpcService + Unpin>,
{
    /// Connects over a byte stream, one message per line.
    ///
    /// # Errors
    /// The handshake fails: see [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_io<R, W>(self, reader: R, writer: W) -> Result<Client<L::Service>, Error>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
        L: Layer<ClientCore<Wire, I::Service>, Service: RpcService>,
    {
        let prepared = self.prepare();
        let (wire, mut link) = prepared.stream(reader, writer);
        prepared.client(wire, &mut link, prepared.options.era.clone()).await
    }

    /// Connects to a server that listens at a Unix socket.
    ///
    /// # Errors
    /// No process listens there, or the handshake fails: see
    /// [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    #[cfg(all(unix, feature = "unix"))]
    pub async fn connect_unix(self, path: impl AsRef<std::path::Path>) -> Result<Client<L::Service>, Error>
    where
        L: Layer<ClientCore<Wire, I::Service>, Service: RpcService>,
    {
        let (reader, writer) = mgp_transport::unix::connect(path)
            .await
            .map_err(|error| Error::disconnected("the server cannot be reached").with_source(error))?;
        self.connect_io(reader, writer).await
    }

    /// Connects to a server inside this process, over an in-memory stream: its requests and answers go through the same
    /// layers as over any other transport.
    ///
    /// # Errors
    /// The handshake fails: see [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn in_process<A>(self, server: A) -> Result<Client<L::Service>, Error>
    where
        A: Accept<Service: Unpin>,
        L: Layer<ClientCore<Wire, I::Service>, Service: RpcService>,
    {
        let prepared = self.prepare();
        let (near, far) = memory::pair(BUFFER_BYTES);
        let (_, connection) = connect(far.0, far.1, &server, prepared.options.limits.clone());
        let (wire, link) = prepared.stream(near.0, near.1);
        let mut link = link.with_task(tokio::spawn(carry(connection)));
        prepared.client(wire, &mut link, prepared.options.era.clone()).await
    }

    /// Connects over any service that carries requests to one server, and nothing back.
    ///
    /// # Errors
    /// The handshake fails: see [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect<W>(self, wire: W) -> Result<Client<L::Service>, Error>
    where
        W: RpcService,
        L: Layer<ClientCore<W, I::Service>, Service: RpcService>,
    {
        self.connect_with(|_| async { Ok((wire, ConnectionHandle::none())) }).await
    }

    /// Connects over any other transport: `make` gets the service that answers the server, and returns the service that
    /// carries requests to it.
    ///
    /// # Errors
    /// `make` fails, or the handshake does: see [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_with<W, M, F>(self, make: M) -> Result<Client<L::Service>, Error>
    where
        W: RpcService,
        M: FnOnce(ClientAccept<I::Service>) -> F,
        F: Future<Output = Result<(W, ConnectionHandle), Error>>,
        L: Layer<ClientCore<W, I::Service>, Service: RpcService>,
    {
        let prepared = self.prepare();
        let (wire, mut link) = make(prepared.accept.clone()).await?;
        prepared.client(wire, &mut link, prepared.options.era.clone()).await
    }
}

impl<L, H: RpcService + Unpin> Prepared<L, H> {
    /// Opens a connection over a byte stream, carried by a task of its own.
    pub(crate) fn stream<R, W>(&self, reader: R, writer: W) -> (Wire, ConnectionHandle)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (close, closed) = oneshot::channel::<()>();
        let end = async {
            // A client that is dropped aborts the connection; only [`Client::close`] closes it.
            if closed.await.is_err() {
                std::future::pending::<()>().await;
            }
        };
        let (wire, connection) = connect(reader, writer, &self.accept, self.options.limits.clone());
        let (done, closing) = oneshot::channel::<()>();
        let (over, ended) = oneshot::channel::<()>();
        let carried = guard(self.listeners.changes.clone(), |changes| changes.lose());
        let connection = connection.run_until(end, self.options.limits.drain_timeout);
        let task = tokio::spawn(async move {
            carry(connection).await;
            drop((carried, over, done));
        });
        let link = ConnectionHandle::none().with_task(task).with_close(|| async {
            // Sending fails only if the connection has ended by itself.
            let _ = close.send(());
            let outcome = tokio::time::timeout(CLOSE_TIMEOUT, closing).await;
            outcome.map(drop).map_err(|_| Error::timeout("the server did not read what was sent in time"))
        });
        let link = link.with_ended(async {
            // A child that dies closes the connection as one that ends well does.
            let _ = ended.await;
            ServerEnd::InError
        });
        (wire, link)
    }
}

async fn carry(connection: impl Future<Output = Result<(), Error>>) {
    if let Err(error) = connection.await {
        tracing::debug!(%error, "the connection ended");
    }
}

/// The service of a client without further layers.
pub type PlainStack<W> = ClientCore<W, Handlers>;

impl Client<()> {
    /// Returns the builder of a client called `name`.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(Implementation::new(name, version))
    }

    /// Connects to a server inside this process, as tests do.
    ///
    /// # Errors
    /// The handshake fails: see [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn of<A>(server: A) -> Result<Client<PlainStack<mgp_transport::Wire>>, Error>
    where
        A: Accept<Service: Unpin + RpcService>,
    {
        Self::builder("in-process", env!("CARGO_PKG_VERSION")).in_process(server).await
    }
}
