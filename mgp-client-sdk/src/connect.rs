//! From a builder to a client, over any transport.

use mgp_transport::{Accept, Connection, Wire, connect, memory};
use mgp_types::{Error, RpcService};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_layer::Layer;

use crate::builder::{ClientAccept, ClientBuilder, Core, Prepared, Way};
use crate::handlers::Handlers;
use crate::{Client, Link};

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers>,
    I::Service: RpcService + Unpin,
{
    /// Connects over a byte stream, one message a line.
    ///
    /// # Errors
    /// See [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_io<R, W>(self, reader: R, writer: W) -> Result<Client<L::Service>, Error>
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
        L: Layer<Core<Wire, I::Service>>,
        L::Service: RpcService,
    {
        let prepared = self.prepare();
        let (wire, link) = prepared.stream(reader, writer);
        prepared.client(wire, link, Way::stream(prepared.builder.mode)).await
    }

    /// Connects to a server inside this process, over an in-memory stream: what it gets and answers goes
    /// through the same layers as over any other transport.
    ///
    /// # Errors
    /// See [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn in_process<A>(self, server: A) -> Result<Client<L::Service>, Error>
    where
        A: Accept<Service: Unpin>,
        L: Layer<Core<Wire, I::Service>>,
        L::Service: RpcService,
    {
        let prepared = self.prepare();
        let (near, far) = memory::pair(BUFFER_BYTES);
        let (_, connection) = connect(far.0, far.1, &server, prepared.builder.limits.clone());
        let (wire, link) = prepared.stream(near.0, near.1);
        let link = link.with_task(tokio::spawn(carry(connection)));
        prepared.client(wire, link, Way::stream(prepared.builder.mode)).await
    }

    /// Connects over any service that carries requests to one server, and nothing back.
    ///
    /// # Errors
    /// See [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect<W>(self, wire: W) -> Result<Client<L::Service>, Error>
    where
        W: RpcService,
        L: Layer<Core<W, I::Service>>,
        L::Service: RpcService,
    {
        self.connect_with(|_| async { Ok((wire, Link::none())) }).await
    }

    /// Connects over a transport of your own: `make` gets what answers the server, and returns the service
    /// that carries requests to it.
    ///
    /// # Errors
    /// Those of `make`, and see [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_with<W, M, F>(self, make: M) -> Result<Client<L::Service>, Error>
    where
        W: RpcService,
        M: FnOnce(ClientAccept<I::Service>) -> F,
        F: Future<Output = Result<(W, Link), Error>>,
        L: Layer<Core<W, I::Service>>,
        L::Service: RpcService,
    {
        let prepared = self.prepare();
        let (wire, link) = make(prepared.accept.clone()).await?;
        prepared.client(wire, link, Way::stream(prepared.builder.mode)).await
    }
}

impl<L, I, H: RpcService + Unpin> Prepared<L, I, H> {
    /// A connection over a byte stream, carried by a task of its own.
    pub(crate) fn stream<R, W>(&self, reader: R, writer: W) -> (Wire, Link)
    where
        R: AsyncRead + Unpin + Send + 'static,
        W: AsyncWrite + Unpin + Send + 'static,
    {
        let (wire, connection) = connect(reader, writer, &self.accept, self.builder.limits.clone());
        (wire, Link::none().with_task(tokio::spawn(carry(connection))))
    }
}

async fn carry<R, W, S>(connection: Connection<R, W, S>)
where
    R: AsyncRead + Unpin,
    W: AsyncWrite + Unpin,
    S: RpcService + Unpin,
{
    if let Err(error) = connection.await {
        tracing::debug!(%error, "the connection ended");
    }
}

const BUFFER_BYTES: usize = 64 << 10;
