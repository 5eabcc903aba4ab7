//! Ways to a server that need nothing else to be said.

use mgp_transport::Accept;
use mgp_types::mcp::Implementation;
use mgp_types::{Error, RpcService};

use crate::builder::{ClientBuilder, Core};
use crate::{Client, Handlers};

/// The service that a client without further layers works over.
pub type PlainStack<W> = Core<W, Handlers>;

impl Client<()> {
    /// What a client called `name` is made from.
    pub fn builder(name: impl Into<String>, version: impl Into<String>) -> ClientBuilder {
        ClientBuilder::new(Implementation::new(name, version))
    }

    /// A client of a server inside this process, as tests want it.
    ///
    /// # Errors
    /// See [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate).
    pub async fn of<A>(server: A) -> Result<Client<PlainStack<mgp_transport::Wire>>, Error>
    where
        A: Accept<Service: Unpin + RpcService>,
    {
        Self::builder("in-process", env!("CARGO_PKG_VERSION")).in_process(server).await
    }
}
