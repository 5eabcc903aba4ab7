//! Connecting a client over each leg of the matrix.

use mgp_client_sdk::{Client, ClientBuilder, ClientCore, Handlers, HttpWire};
use mgp_server_sdk::HttpConfig;
use mgp_transport::Wire;
use mgp_transport::child::ChildCommand;
use mgp_transport::http::serve;
use mgp_types::{BoxedService, Error, RpcService};
use tower_layer::Layer;

#[cfg(unix)]
use crate::leg::Socket;
use crate::leg::{Builder, Connected, Leg, SERVE, Transport};
use crate::seen::Erase;
use crate::server::server;

/// The protocols of a server: MCP alone, or MGP as well.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Mcp,
    Mgp,
}

impl Leg {
    /// Returns a plain client, connected to a plain server.
    pub(crate) async fn connect(self) -> Connected {
        self.connect_as(builder()).await
    }

    /// Returns a client from `builder`, connected to a plain server.
    pub(crate) async fn connect_as(self, builder: Builder) -> Connected {
        self.to(Speaks::Mcp, builder).await.unwrap()
    }

    /// Returns a client from `builder`, connected to a server in the era of this leg.
    pub(crate) async fn to<L, I>(
        self,
        speaks: Speaks,
        builder: ClientBuilder<L, I>,
    ) -> Result<Connected, Error>
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        let client = self.dial(speaks, self.settled(builder)).await?;
        assert_eq!(client.revision(), Some(self.revision));
        Ok(client)
    }

    /// A client from `builder` as it is, whatever era it finds.
    pub(crate) async fn dial<L, I>(
        self,
        speaks: Speaks,
        builder: ClientBuilder<L, I>,
    ) -> Result<Connected, Error>
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        match self.transport {
            Transport::Memory => builder.in_process(server(speaks).accept().unwrap()).await,
            Transport::Stdio => {
                let program = std::env::current_exe().unwrap();
                let arguments = [SERVE, speaks.name()];
                builder.connect_child(|| ChildCommand::new(&program).args(arguments)).await
            }
            Transport::Http | Transport::Sse => self.reach(&serve_http(speaks).await, builder).await,
            #[cfg(unix)]
            Transport::Unix => {
                let socket = Socket::new();
                let listener = mgp_transport::unix::listen(&socket.0).unwrap();
                tokio::spawn(serve_unix(speaks, listener));
                builder.connect_unix(&socket.0).await
            }
        }
    }

    /// Two clients of one server, where a server may have several.
    pub(crate) async fn connect_two(self) -> [Connected; 2] {
        let url = serve_http(Speaks::Mcp).await;
        let client = async || self.reach(&url, self.settled(builder())).await.unwrap();
        [client().await, client().await]
    }
}

impl Speaks {
    pub(crate) fn named(name: &str) -> Self {
        if name == Self::Mgp.name() { Self::Mgp } else { Self::Mcp }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Mcp => "mcp",
            Self::Mgp => "mgp",
        }
    }
}

pub(crate) fn builder() -> Builder {
    Client::builder("matrix", "1.0.0").layer(Erase)
}

/// Serves on a port of this machine; the server ends with the test's runtime.
async fn serve_http(speaks: Speaks) -> String {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, server(speaks).accept().unwrap(), HttpConfig::default()));
    format!("http://{address}")
}

#[cfg(unix)]
async fn serve_unix(speaks: Speaks, listener: mgp_transport::unix::Listener) {
    let (reader, writer) = listener.accept().await.unwrap();
    server(speaks).serve_io(reader, writer).await.unwrap();
}
