use std::fmt;

use mgp_client_sdk::{Client, ClientBuilder, Core, Handlers, HttpWire};
use mgp_server_sdk::HttpConfig;
use mgp_transport::Wire;
use mgp_transport::child::ChildCommand;
use mgp_transport::era::EraMode;
use mgp_transport::http::serve;
use mgp_types::{Error, Revision, RpcService};
use tower_layer::{Identity, Layer, Stack};

use crate::erased::Erased;
use crate::seen::Erase;
use crate::server::server;

/// The argument by which this binary becomes a server.
pub(crate) const SERVE: &str = "--serve";

pub(crate) type Connected = Client<Erased>;
pub(crate) type Builder = ClientBuilder<Stack<Erase, Identity>>;

/// One way between client and server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Leg {
    pub(crate) revision: Revision,
    pub(crate) transport: Transport,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transport {
    Memory,
    Stdio,
    #[cfg(unix)]
    Unix,
    Http,
    Sse,
}

/// Whether the server speaks MGP.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Mcp,
    Mgp,
}

impl Leg {
    pub(crate) const ALL: &[Self] = &[
        Self::new(Revision::V2025_11_25, Transport::Memory),
        Self::new(Revision::V2025_11_25, Transport::Stdio),
        #[cfg(unix)]
        Self::new(Revision::V2025_11_25, Transport::Unix),
        Self::new(Revision::V2025_11_25, Transport::Http),
        Self::new(Revision::V2026_07_28, Transport::Memory),
        Self::new(Revision::V2026_07_28, Transport::Stdio),
        #[cfg(unix)]
        Self::new(Revision::V2026_07_28, Transport::Unix),
        Self::new(Revision::V2026_07_28, Transport::Http),
        // The transport ended with its revision.
        Self::new(Revision::V2024_11_05, Transport::Sse),
    ];

    const fn new(revision: Revision, transport: Transport) -> Self {
        Self { revision, transport }
    }

    pub(crate) fn is_stateless(self) -> bool {
        self.revision.is_stateless()
    }

    /// A plain client, connected to a plain server.
    pub(crate) async fn connect(self) -> Connected {
        self.connect_as(builder()).await
    }

    /// A client from `builder`, connected to a plain server.
    pub(crate) async fn connect_as(self, builder: Builder) -> Connected {
        self.to(Speaks::Mcp, builder).await.unwrap()
    }

    /// A client from `builder`, connected to a server in the era of this leg.
    pub(crate) async fn to<L, I>(
        self,
        speaks: Speaks,
        builder: ClientBuilder<L, I>,
    ) -> Result<Connected, Error>
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<Core<Wire, I::Service>, Service = Erased>
            + Layer<Core<HttpWire<I::Service>, I::Service>, Service = Erased>,
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
        L: Layer<Core<Wire, I::Service>, Service = Erased>
            + Layer<Core<HttpWire<I::Service>, I::Service>, Service = Erased>,
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

    /// A client from `builder` of the server that listens at `url`.
    async fn reach<L, I>(self, url: &str, builder: ClientBuilder<L, I>) -> Result<Connected, Error>
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<Core<HttpWire<I::Service>, I::Service>, Service = Erased>,
    {
        match self.transport {
            Transport::Sse => builder.connect_sse(format!("{url}/sse")).await,
            _ => builder.connect_http(format!("{url}/mcp")).await,
        }
    }

    /// Two clients of one server, where a server may have several.
    pub(crate) async fn connect_two(self) -> [Connected; 2] {
        let url = serve_http(Speaks::Mcp).await;
        let client = async || self.reach(&url, self.settled(builder())).await.unwrap();
        [client().await, client().await]
    }

    /// Has the client look for the era and revision of this leg only.
    fn settled<L, I>(self, builder: ClientBuilder<L, I>) -> ClientBuilder<L, I> {
        let mode = if self.is_stateless() { EraMode::Stateless } else { EraMode::Session };
        match self.revision {
            Revision::V2024_11_05 => builder.era(mode).revisions([self.revision]),
            _ => builder.era(mode),
        }
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

/// A place for a socket, which goes with it.
#[cfg(unix)]
struct Socket(std::path::PathBuf);

#[cfg(unix)]
impl Socket {
    fn new() -> Self {
        use std::sync::atomic::{AtomicUsize, Ordering};
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(std::env::temp_dir().join(format!("mgp-matrix-{}-{number}.sock", std::process::id())))
    }
}

#[cfg(unix)]
impl Drop for Socket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = format!("{:?}", self.transport).to_lowercase();
        write!(f, "{}, {transport}", self.revision.as_str())
    }
}
