use std::fmt;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{self, Poll};
use std::time::Duration;

use http::Uri;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::rt::TokioIo;
use mgp_types::{BoxFuture, Error};
use tokio::io::{AsyncRead, AsyncWrite};
use tower_service::Service;

#[cfg(feature = "tls")]
type Network = hyper_rustls::HttpsConnector<HttpConnector>;
#[cfg(not(feature = "tls"))]
type Network = HttpConnector;

/// Certificates to trust besides those of the public authorities.
#[derive(Clone, Default)]
pub(super) struct Roots {
    #[cfg(feature = "tls")]
    pub(super) certificates: Vec<Vec<u8>>,
}

/// Makes the connections of a client, each within a bounded time.
#[derive(Clone)]
pub(super) struct Connector {
    way: Way,
    timeout: Duration,
}

/// How connections are made where it is not by TCP.
pub(super) type Dial = Arc<dyn Fn(Uri) -> BoxFuture<'static, io::Result<Box<dyn Duplex>>> + Send + Sync>;

/// A connection that carries HTTP.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Unpin + Send + 'static {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send + 'static> Duplex for T {}

#[derive(Clone)]
enum Way {
    Network(Network),
    Dialled(Dial),
}

impl Connector {
    pub(super) fn new(dial: Option<Dial>, roots: Roots, timeout: Duration) -> Result<Self, Error> {
        let way = match dial {
            Some(dial) => Way::Dialled(dial),
            None => Way::Network(network(roots)?),
        };
        Ok(Self { way, timeout })
    }

    /// Whether a URL of this scheme can be reached.
    pub(super) fn can_reach(&self, url: &Uri) -> bool {
        match self.way {
            Way::Network(_) => cfg!(feature = "tls") || url.scheme_str() != Some("https"),
            Way::Dialled(_) => true,
        }
    }
}

#[cfg(not(feature = "tls"))]
#[expect(clippy::unnecessary_wraps, reason = "only TLS can be missing")]
fn network(_: Roots) -> Result<Network, Error> {
    Ok(tcp())
}

#[cfg(feature = "tls")]
fn network(roots: Roots) -> Result<Network, Error> {
    let mut tcp = tcp();
    tcp.enforce_http(false);
    let mut trusted = rustls::RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    for certificate in roots.certificates {
        trusted
            .add(certificate.into())
            .map_err(|error| Error::invalid_params("a root certificate cannot be used").with_source(error))?;
    }
    // Named, not left to the default of the process: that one panics where a program has built in two.
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Error::internal("TLS is not available").with_source(error))?
        .with_root_certificates(trusted)
        .with_no_client_auth();
    let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls);
    Ok(builder.https_or_http().enable_http1().wrap_connector(tcp))
}

fn tcp() -> HttpConnector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    // A stream may be silent for hours; a peer that vanished must be noticed.
    tcp.set_keepalive(Some(Duration::from_mins(1)));
    tcp
}

impl Service<Uri> for Connector {
    type Response = Io;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Io>>;

    fn poll_ready(&mut self, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.way {
            Way::Network(network) => network.poll_ready(cx).map_err(io::Error::other),
            Way::Dialled(_) => Poll::Ready(Ok(())),
        }
    }

    fn call(&mut self, url: Uri) -> Self::Future {
        match &mut self.way {
            Way::Network(network) => {
                let connecting = network.call(url);
                let timeout = self.timeout;
                Box::pin(in_time(timeout, async move {
                    let stream = connecting.await.map_err(io::Error::other)?;
                    Ok(Io(Box::new(stream)))
                }))
            }
            Way::Dialled(dial) => {
                let connecting = dial(url);
                Box::pin(in_time(self.timeout, async move {
                    let stream = Dialled(TokioIo::new(connecting.await?));
                    Ok(Io(Box::new(stream)))
                }))
            }
        }
    }
}

async fn in_time(timeout: Duration, connecting: impl Future<Output = io::Result<Io>>) -> io::Result<Io> {
    match tokio::time::timeout(timeout, connecting).await {
        Ok(outcome) => outcome,
        Err(elapsed) => Err(io::Error::new(io::ErrorKind::TimedOut, elapsed)),
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

/// A connection of whatever kind. Boxed once per connection, which many requests share.
pub(super) struct Io(Box<dyn Stream>);

trait Stream: Read + Write + Connection + Unpin + Send {}

impl<T: Read + Write + Connection + Unpin + Send> Stream for T {}

struct Dialled(TokioIo<Box<dyn Duplex>>);

impl Connection for Dialled {
    fn connected(&self) -> Connected {
        Connected::new()
    }
}

impl Connection for Io {
    fn connected(&self) -> Connected {
        self.0.connected()
    }
}

macro_rules! delegate_io {
    ($io:ty) => {
        impl Read for $io {
            fn poll_read(
                mut self: Pin<&mut Self>,
                cx: &mut task::Context<'_>,
                buffer: ReadBufCursor<'_>,
            ) -> Poll<io::Result<()>> {
                Pin::new(&mut self.0).poll_read(cx, buffer)
            }
        }

        impl Write for $io {
            fn poll_write(
                mut self: Pin<&mut Self>,
                cx: &mut task::Context<'_>,
                bytes: &[u8],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.0).poll_write(cx, bytes)
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.0).poll_flush(cx)
            }

            fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut task::Context<'_>) -> Poll<io::Result<()>> {
                Pin::new(&mut self.0).poll_shutdown(cx)
            }

            fn is_write_vectored(&self) -> bool {
                self.0.is_write_vectored()
            }

            fn poll_write_vectored(
                mut self: Pin<&mut Self>,
                cx: &mut task::Context<'_>,
                slices: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                Pin::new(&mut self.0).poll_write_vectored(cx, slices)
            }
        }
    };
}

delegate_io!(Io);
delegate_io!(Dialled);
