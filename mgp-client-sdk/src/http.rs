//! Servers behind HTTP: Streamable HTTP in both eras, and the older HTTP+SSE.

use mgp_transport::era::{ClientInbound, EraMode, EraOptions, WireKind};
use mgp_transport::http::{HttpClient, HttpClientBuilder, HttpStatus, SessionLost};
use mgp_types::{Error, RpcService};
use tower_layer::Layer;

use crate::builder::{ClientBuilder, ClientCore, Prepared};
use crate::{Client, ConnectionHandle, Handlers};

/// The way to a server behind HTTP.
pub type HttpWire<H> = HttpClient<ClientInbound<H>>;

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers, Service: RpcService + Sync>,
    L: Layer<ClientCore<HttpWire<I::Service>, I::Service>, Service: RpcService>,
{
    /// Connects to a server behind HTTP: Streamable HTTP in the era of the server, or HTTP+SSE if it knows no newer
    /// transport.
    ///
    /// # Errors
    /// As [`connect_http_with`](Self::connect_http_with).
    pub async fn connect_http(self, url: impl Into<String>) -> Result<Client<L::Service>, Error> {
        let url = url.into();
        self.connect_http_with(&url, |transport| transport).await
    }

    /// Connects to a server behind HTTP, as [`connect_http`](Self::connect_http); `configure` sets headers, limits
    /// and the like.
    ///
    /// # Errors
    /// The server cannot be reached or refuses, or the handshake fails: see
    /// [`ClientEra::negotiate`](mgp_transport::era::ClientEra::negotiate). The HTTP status is the error's source where
    /// there is one.
    pub async fn connect_http_with(
        self,
        url: &str,
        configure: impl Fn(HttpClientBuilder) -> HttpClientBuilder,
    ) -> Result<Client<L::Service>, Error> {
        let prepared = self.prepare();
        let transport = || configure(HttpClient::builder(url).limits(prepared.options.limits.clone()));
        let error = match prepared.streamable(transport(), url).await {
            Err(error) if knows_no_streamable(&error) => error,
            outcome => return outcome,
        };
        if prepared.options.era.mode == EraMode::Stateless {
            return Err(error);
        }
        tracing::debug!(%error, "the server refuses Streamable HTTP; trying HTTP+SSE");
        prepared.sse(transport()).await.map_err(|second| {
            tracing::debug!(error = %second, "the server is not one of HTTP+SSE either");
            error
        })
    }

    /// Connects to a server of HTTP+SSE, without a try of other transports.
    ///
    /// # Errors
    /// As [`connect_http_with`](Self::connect_http_with).
    pub async fn connect_sse(self, url: impl Into<String>) -> Result<Client<L::Service>, Error> {
        self.connect_sse_with(url, |transport| transport).await
    }

    /// Connects to a server of HTTP+SSE, as [`connect_sse`](Self::connect_sse); `configure` sets headers, limits and
    /// the like.
    ///
    /// # Errors
    /// As [`connect_http_with`](Self::connect_http_with).
    pub async fn connect_sse_with(
        self,
        url: impl Into<String>,
        configure: impl FnOnce(HttpClientBuilder) -> HttpClientBuilder,
    ) -> Result<Client<L::Service>, Error> {
        let prepared = self.prepare();
        let transport = configure(HttpClient::builder(url).limits(prepared.options.limits.clone()));
        prepared.sse(transport).await
    }
}

impl<L, H: RpcService + Sync> Prepared<L, H>
where
    L: Layer<ClientCore<HttpWire<H>, H>, Service: RpcService>,
{
    async fn streamable(&self, transport: HttpClientBuilder, url: &str) -> Result<Client<L::Service>, Error> {
        let mut options = self.options.era.clone();
        options.kind = WireKind::Http {
            status: |error| HttpStatus::of(error).map(HttpStatus::code),
            session_lost: SessionLost::is_behind,
        };
        options.memory_key = Some(url.into());
        self.http(transport.connect_with(self.accept.service())?, options).await
    }

    async fn sse(&self, transport: HttpClientBuilder) -> Result<Client<L::Service>, Error> {
        let mut options = self.options.era.clone();
        options.mode = EraMode::Session;
        self.http(transport.connect_sse_with(self.accept.service()).await?, options).await
    }

    async fn http(&self, wire: HttpWire<H>, options: EraOptions) -> Result<Client<L::Service>, Error> {
        let (closing, agreement) = (wire.clone(), options.agreement.clone());
        let mut link = ConnectionHandle::none().with_close(|| async move {
            closing.close(agreement.session().as_deref()).await;
            Ok(())
        });
        self.client(wire, &mut link, options).await
    }
}

/// Returns whether a server refuses in the way that servers of HTTP+SSE do.
fn knows_no_streamable(error: &Error) -> bool {
    HttpStatus::of(error).is_some_and(|status| matches!(status.code(), 400 | 404 | 405))
}
