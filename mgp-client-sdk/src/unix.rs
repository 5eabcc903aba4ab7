//! Servers behind Unix sockets.

use std::path::Path;

use mgp_transport::{Wire, unix};
use mgp_types::{Error, RpcService};
use tower_layer::Layer;

use crate::builder::{ClientBuilder, ClientCore};
use crate::{Client, Handlers};

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers>,
    I::Service: RpcService + Unpin,
{
    /// Connects to a server that listens at a Unix socket.
    ///
    /// # Errors
    /// No process listens there, or the handshake fails: see
    /// [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn connect_unix(self, path: impl AsRef<Path>) -> Result<Client<L::Service>, Error>
    where
        L: Layer<ClientCore<Wire, I::Service>>,
        L::Service: RpcService,
    {
        let (reader, writer) = unix::connect(path)
            .await
            .map_err(|error| Error::disconnected("the server cannot be reached").with_source(error))?;
        self.connect_io(reader, writer).await
    }
}
