//! A server under test at the other end of a leg, in this process or in another.

use std::sync::Arc;

use mgp_client_sdk::{Client, ClientBuilder, ClientCore, Handlers, HttpWire};
use mgp_transport::Wire;
use mgp_transport::child::ChildCommand;
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{BoxedService, Error, RpcService};
use tokio::task::JoinHandle;
use tower_layer::Layer;

#[cfg(unix)]
use crate::leg::Socket;
use crate::leg::{Builder, Connected, Leg, SERVE, Transport};
use crate::seen::Erase;
use crate::server::{Kind, Place, State, serve};

impl Leg {
    /// Tests that need no transport in particular run in memory, in both eras.
    pub(crate) fn is_memory(self) -> bool {
        self.transport == Transport::Memory
    }

    /// Returns whether the server is in this process.
    pub(crate) fn is_inside(self) -> bool {
        self.transport != Transport::Stdio
    }

    /// Returns whether one server has several clients.
    pub(crate) fn is_shared(self) -> bool {
        !matches!(self.transport, Transport::Memory | Transport::Stdio)
    }

    pub(crate) async fn host(self, kind: Kind) -> Host {
        let state = State::new();
        let mut host = Host { leg: self, kind, state, at: At::Nowhere, serving: None };
        match self.transport {
            Transport::Memory | Transport::Stdio => {}
            #[cfg(unix)]
            Transport::Unix => {
                let socket = Socket::new();
                host.serve(Place::Unix(socket.0.clone()));
                while !socket.0.exists() {
                    tokio::task::yield_now().await;
                }
                host.at = At::Socket(socket);
            }
            Transport::Http | Transport::Sse => {
                let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                host.at = At::Url(format!("http://{}", listener.local_addr().unwrap()));
                host.serve(Place::Http(listener));
            }
        }
        host
    }

    /// Returns a client with all sections of a server with all sections.
    pub(crate) async fn connect(self) -> (Host, Connected) {
        let mut host = self.host(Kind::Mgp).await;
        let client = host.client(builder()).await;
        (host, client)
    }
}

/// A server, which ends with this value.
pub(crate) struct Host {
    leg: Leg,
    kind: Kind,
    /// The state that the server shares with the test if it is [inside](Leg::is_inside).
    pub(crate) state: Arc<State>,
    at: At,
    serving: Option<JoinHandle<Result<(), mgp_server_sdk::Error>>>,
}

enum At {
    /// It begins with its client.
    Nowhere,
    #[cfg(unix)]
    Socket(Socket),
    Url(String),
}

impl Host {
    fn serve(&mut self, place: Place) {
        self.serving = Some(tokio::spawn(serve(self.kind, self.state.clone(), place)));
    }

    /// Waits until the server has ended by itself.
    pub(crate) async fn ended(mut self) -> Result<(), mgp_server_sdk::Error> {
        self.serving.take().unwrap().await.unwrap()
    }

    pub(crate) async fn client<L, I>(&mut self, builder: ClientBuilder<L, I>) -> Connected
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        let client = self.try_client(builder).await.unwrap();
        assert_eq!(client.revision(), Some(self.leg.revision));
        client
    }

    async fn try_client<L, I>(&mut self, builder: ClientBuilder<L, I>) -> Result<Connected, Error>
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        let builder = self.leg.settled(builder);
        match &self.at {
            At::Nowhere if self.leg.is_memory() => {
                assert!(self.serving.is_none(), "a server in memory has one client");
                let (near, far) = tokio::io::duplex(64 << 10);
                self.serve(Place::Io(far));
                let (reader, writer) = tokio::io::split(near);
                builder.connect_io(reader, writer).await
            }
            At::Nowhere => builder.connect_child(|| child(self.kind)).await,
            #[cfg(unix)]
            At::Socket(socket) => builder.connect_unix(&socket.0).await,
            At::Url(url) => self.leg.reach(url, builder).await,
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(serving) = &self.serving {
            serving.abort();
        }
    }
}

/// This binary as a server.
pub(crate) fn child(kind: Kind) -> ChildCommand {
    ChildCommand::new(std::env::current_exe().unwrap()).args([SERVE, kind.name()])
}

/// Returns a client that speaks MGP, without handlers.
pub(crate) fn builder() -> Builder {
    plain_builder().mgp(offer())
}

/// All sections but callbacks, which come with their handler.
pub(crate) fn offer() -> Offer {
    Offer::new(ExtensionSet::from_names(["streaming", "events", "lifecycle"]))
}

/// Returns a client that does not speak MGP.
pub(crate) fn plain_builder() -> Builder {
    Client::builder("sections", "1.0.0").mgp(None).layer(Erase)
}

/// Returns the text of a result.
pub(crate) fn text(result: &CallToolResult) -> &str {
    assert_eq!(result.content.len(), 1, "{result:?}");
    result.content[0].as_text().unwrap()
}

/// Calls a tool without arguments and returns its text.
pub(crate) async fn say<S: RpcService>(client: &Client<S>, tool: &str) -> String {
    text(&client.call_tool(tool, ()).await.unwrap()).to_owned()
}
