//! The eras and transports, for the tests that go over all of them.

use std::fmt;

use mgp_client_sdk::{Client, ClientBuilder, ClientCore, Handlers, HttpWire};
use mgp_transport::era::EraMode;
use mgp_types::{BoxedService, Error, Revision, RpcService};
use tower_layer::{Identity, Layer, Stack};

use crate::seen::Erase;

/// The argument by which this binary becomes a server.
pub(crate) const SERVE: &str = "--serve";

pub(crate) type Connected = Client<BoxedService>;
pub(crate) type Builder = ClientBuilder<Stack<Erase, Identity>>;

/// A way between client and server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

    /// Has the client look for the era and revision of this leg only.
    pub(crate) fn settled<L, I>(self, builder: ClientBuilder<L, I>) -> ClientBuilder<L, I> {
        let mode = if self.is_stateless() { EraMode::Stateless } else { EraMode::Session };
        match self.revision {
            Revision::V2024_11_05 => builder.era(mode).revisions([self.revision]),
            _ => builder.era(mode),
        }
    }

    /// Returns a client from `builder` of the server that listens at `url`.
    pub(crate) async fn reach<L, I>(self, url: &str, builder: ClientBuilder<L, I>) -> Result<Connected, Error>
    where
        I: Layer<Handlers>,
        I::Service: RpcService + Sync + Unpin,
        L: Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service = BoxedService>,
    {
        match self.transport {
            Transport::Sse => builder.connect_sse(format!("{url}/sse")).await,
            _ => builder.connect_http(format!("{url}/mcp")).await,
        }
    }
}

impl fmt::Display for Leg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let transport = format!("{:?}", self.transport).to_lowercase();
        write!(f, "{}, {transport}", self.revision.as_str())
    }
}
