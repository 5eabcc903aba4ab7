//! A server under test at the other end of a leg, in this process or in another.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use mgp_client_sdk::{Client, ClientBuilder, ClientCore, Handlers, HttpWire};
use mgp_server_sdk::{Server, ServerCore};
use mgp_transport::Wire;
use mgp_transport::child::ChildCommand;
use mgp_types::mcp::CallToolResult;
use mgp_types::{BoxedService, Error, RpcService};
use tokio::io::DuplexStream;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tower_layer::Layer;

use crate::leg::{Builder, Connected, Leg, SERVE, Transport};
use crate::sections::server::{self as sections, State};
use crate::seen::Erase;
use crate::server::server;

/// The kinds of servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A server of MCP alone.
    Mcp,
    /// The same server, which speaks MGP as well.
    Mgp,
    /// A server with all sections of MGP.
    Sections,
    /// A server with the same tools and none of the sections.
    Sectionless,
}

/// The places where a server is reached.
pub(crate) enum Place {
    Stdio,
    Io(DuplexStream),
    #[cfg(unix)]
    Unix(PathBuf),
    Http(TcpListener),
}

type Served = Result<(), mgp_server_sdk::Error>;

/// Serves on this process' standard input and output.
pub(crate) fn serve_stdio(kind: &str) -> ExitCode {
    let all = [Kind::Mcp, Kind::Mgp, Kind::Sections, Kind::Sectionless];
    let kind = all.into_iter().find(|one| format!("{one:?}") == kind).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(serve(kind, State::new(), Place::Stdio)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Serves a server of this kind; `state` is that of a server with sections.
pub(crate) async fn serve(kind: Kind, state: Arc<State>, place: Place) -> Served {
    match kind {
        Kind::Mcp | Kind::Mgp => at(server(kind), place).await,
        Kind::Sections => at(sections::with_sections(state), place).await,
        Kind::Sectionless => at(sections::plain(state), place).await,
    }
}

async fn at<L>(server: Server<L>, place: Place) -> Served
where
    L: Layer<ServerCore, Service: RpcService + Sync + Unpin>,
{
    match place {
        Place::Stdio => server.serve_stdio().await,
        Place::Io(stream) => {
            let (reader, writer) = tokio::io::split(stream);
            server.serve_io(reader, writer).await
        }
        #[cfg(unix)]
        Place::Unix(path) => server.serve_unix(path).await,
        Place::Http(listener) => server.serve_http(listener).await,
    }
}

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
        let mut host = Host { leg: self, kind, state: State::new(), at: At::Nowhere, serving: None };
        match self.transport {
            Transport::Memory | Transport::Stdio => {}
            #[cfg(unix)]
            Transport::Unix => {
                let folder = tempfile::tempdir().unwrap();
                let socket = folder.path().join(SOCKET);
                host.serve(Place::Unix(socket.clone()));
                while !socket.exists() {
                    tokio::task::yield_now().await;
                }
                host.at = At::Socket(folder);
            }
            Transport::Http | Transport::Sse => {
                let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
                host.at = At::Url(format!("http://{}", listener.local_addr().unwrap()));
                host.serve(Place::Http(listener));
            }
        }
        host
    }

    /// Returns a plain client, connected to a plain server.
    pub(crate) async fn connect(self) -> Connected {
        self.connect_as(builder()).await
    }

    /// Returns a client from `builder`, connected to a plain server.
    pub(crate) async fn connect_as(self, builder: Builder) -> Connected {
        self.to(Kind::Mcp, builder).await.unwrap()
    }

    /// Returns a client from `builder`, connected to a server in the era of this leg.
    pub(crate) async fn to<L, I>(self, kind: Kind, builder: ClientBuilder<L, I>) -> Result<Connected, Error>
    where
        I: Layer<Handlers, Service: RpcService + Sync + Unpin>,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        let client = self.dial(kind, self.settled(builder)).await?;
        assert_eq!(client.revision(), Some(self.revision));
        Ok(client)
    }

    /// Returns a client from `builder` as it is, whatever era it finds. Its server ends with the runtime of the test.
    pub(crate) async fn dial<L, I>(self, kind: Kind, builder: ClientBuilder<L, I>) -> Result<Connected, Error>
    where
        I: Layer<Handlers, Service: RpcService + Sync + Unpin>,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        let mut host = self.host(kind).await;
        let client = host.dial(builder).await;
        drop(host.serving.take());
        client
    }
}

/// A server, which ends with this value.
pub(crate) struct Host {
    leg: Leg,
    kind: Kind,
    /// The state that a server with sections shares with the test if it is [inside](Leg::is_inside).
    pub(crate) state: Arc<State>,
    at: At,
    serving: Option<JoinHandle<Served>>,
}

enum At {
    /// The server is a process that begins with its client.
    Nowhere,
    #[cfg(unix)]
    Socket(tempfile::TempDir),
    Url(String),
}

impl Host {
    fn serve(&mut self, place: Place) {
        self.serving = Some(tokio::spawn(serve(self.kind, self.state.clone(), place)));
    }

    /// Waits until the server has ended by itself.
    pub(crate) async fn ended(mut self) -> Served {
        self.serving.take().unwrap().await.unwrap()
    }

    /// Returns a client from `builder` in the era of the leg.
    pub(crate) async fn client<L, I>(&mut self, builder: ClientBuilder<L, I>) -> Connected
    where
        I: Layer<Handlers, Service: RpcService + Sync + Unpin>,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        let client = self.dial(self.leg.settled(builder)).await.unwrap();
        assert_eq!(client.revision(), Some(self.leg.revision));
        client
    }

    async fn dial<L, I>(&mut self, builder: ClientBuilder<L, I>) -> Result<Connected, Error>
    where
        I: Layer<Handlers, Service: RpcService + Sync + Unpin>,
        L: Layer<ClientCore<Wire, I::Service>, Service = BoxedService>
            + Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
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
            At::Socket(folder) => builder.connect_unix(folder.path().join(SOCKET)).await,
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
    ChildCommand::new(std::env::current_exe().unwrap()).args([SERVE, &format!("{kind:?}")])
}

pub(crate) fn builder() -> Builder {
    Client::builder("matrix", "1.0.0").layer(Erase)
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

#[cfg(unix)]
const SOCKET: &str = "leg.sock";
