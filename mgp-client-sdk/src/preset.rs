//! The shortest ways to a client.

use mgp_transport::Accept;
use mgp_types::mcp::Implementation;
use mgp_types::{Error, RpcService};

use crate::builder::{ClientBuilder, Core};
use crate::{Client, Handlers};

/// The service of a client without further layers.
pub type PlainStack<W> = Core<W, Handlers>;

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
