//! Servers behind HTTP: Streamable HTTP in both eras, and the older HTTP+SSE.

use std::task::{Context, Poll};

use mgp_transport::era::{ClientInbound, EraMode, WireKind};
use mgp_transport::http::{
    HttpClient, HttpClientBuilder, HttpStatus, MirroredHeaders, SessionLost, SseClient,
};
use mgp_types::{BoxFuture, Error, Request, Response, RpcService};
use tower_layer::Layer;
use tower_service::Service;

use crate::builder::{ClientBuilder, ClientCore, Prepared, WireOptions};
use crate::headers::HeaderPlans;
use crate::{Client, ConnectionHandle, Handlers};

/// The way to a server behind HTTP.
#[derive(Debug)]
pub struct HttpWire<H>(HttpTransport<ClientInbound<H>>);

#[derive(Debug)]
enum HttpTransport<I> {
    Streamable(HttpClient<I>),
    Sse(SseClient<I>),
}

impl<L, I> ClientBuilder<L, I>
where
    I: Layer<Handlers>,
    I::Service: RpcService,
{
    /// Connects to a server behind HTTP: Streamable HTTP in the era of the server, or HTTP+SSE if it knows no newer
    /// transport.
    ///
    /// # Errors
    /// As [`connect_http_with`](Self::connect_http_with).
    pub async fn connect_http(self, url: impl Into<String>) -> Result<Client<L::Service>, Error>
    where
        I::Service: Sync,
        L: Layer<ClientCore<HttpWire<I::Service>, I::Service>>,
        L::Service: RpcService,
    {
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
    ) -> Result<Client<L::Service>, Error>
    where
        I::Service: Sync,
        L: Layer<ClientCore<HttpWire<I::Service>, I::Service>>,
        L::Service: RpcService,
    {
        let prepared = self.prepare();
        let transport = || configure(HttpClient::builder(url).limits(prepared.options.limits.clone()));
        let error = match prepared.streamable(transport(), url).await {
            Err(error) if knows_no_streamable(&error) => error,
            outcome => return outcome,
        };
        if prepared.options.mode == EraMode::Stateless {
            return Err(error);
        }
        tracing::debug!(%error, "the server refuses Streamable HTTP; trying HTTP+SSE");
        match prepared.sse(transport()).await {
            Ok(client) => Ok(client),
            Err(second) => {
                tracing::debug!(error = %second, "the server is not one of HTTP+SSE either");
                Err(error)
            }
        }
    }

    /// Connects to a server of HTTP+SSE, without a try of other transports.
    ///
    /// # Errors
    /// As [`connect_http_with`](Self::connect_http_with).
    pub async fn connect_sse(self, url: impl Into<String>) -> Result<Client<L::Service>, Error>
    where
        I::Service: Sync,
        L: Layer<ClientCore<HttpWire<I::Service>, I::Service>>,
        L::Service: RpcService,
    {
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
    ) -> Result<Client<L::Service>, Error>
    where
        I::Service: Sync,
        L: Layer<ClientCore<HttpWire<I::Service>, I::Service>>,
        L::Service: RpcService,
    {
        let prepared = self.prepare();
        let transport = configure(HttpClient::builder(url).limits(prepared.options.limits.clone()));
        prepared.sse(transport).await
    }
}

impl<L, H: RpcService + Sync> Prepared<L, H> {
    async fn streamable(&self, transport: HttpClientBuilder, url: &str) -> Result<Client<L::Service>, Error>
    where
        L: Layer<ClientCore<HttpWire<H>, H>>,
        L::Service: RpcService,
    {
        let client = transport.connect_with(self.accept.service())?;
        let wire = HttpWire(HttpTransport::Streamable(client.clone()));
        let agreement = self.agreement.clone();
        let mut link = ConnectionHandle::none().with_close(|| async move {
            client.close(agreement.session().as_deref()).await;
            Ok(())
        });
        let kind = WireKind::Http {
            status: |error| HttpStatus::of(error).map(HttpStatus::code),
            session_lost: SessionLost::is_behind,
        };
        let plans = HeaderPlans::new(|extensions, headers| {
            let mut mirrored = MirroredHeaders::default();
            for (name, value) in headers {
                mirrored.push(name, value);
            }
            extensions.insert(mirrored);
        });
        let way = WireOptions { mode: self.options.mode, kind, key: Some(url), plans: Some(plans) };
        self.client(wire, &mut link, way).await
    }

    async fn sse(&self, transport: HttpClientBuilder) -> Result<Client<L::Service>, Error>
    where
        L: Layer<ClientCore<HttpWire<H>, H>>,
        L::Service: RpcService,
    {
        let client = transport.connect_sse_with(self.accept.service()).await?;
        let wire = HttpWire(HttpTransport::Sse(client.clone()));
        let mut link = ConnectionHandle::none().with_close(|| async move {
            client.close();
            Ok(())
        });
        self.client(wire, &mut link, WireOptions::stream(EraMode::Session)).await
    }
}

/// Returns whether a server refuses in the way that servers of HTTP+SSE do.
fn knows_no_streamable(error: &Error) -> bool {
    HttpStatus::of(error).is_some_and(|status| matches!(status.code(), 400 | 404 | 405))
}

impl<H: RpcService> Service<Request> for HttpWire<H> {
    type Response = Response;
    type Error = Error;
    type Future = BoxFuture<'static, Result<Response, Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        match &mut self.0 {
            HttpTransport::Streamable(client) => client.poll_ready(cx),
            HttpTransport::Sse(client) => client.poll_ready(cx),
        }
    }

    fn call(&mut self, request: Request) -> Self::Future {
        match &mut self.0 {
            HttpTransport::Streamable(client) => client.call(request),
            HttpTransport::Sse(client) => client.call(request),
        }
    }
}

impl<H> Clone for HttpWire<H> {
    fn clone(&self) -> Self {
        Self(match &self.0 {
            HttpTransport::Streamable(client) => HttpTransport::Streamable(client.clone()),
            HttpTransport::Sse(client) => HttpTransport::Sse(client.clone()),
        })
    }
}
