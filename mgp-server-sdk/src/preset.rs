//! Serving in one line, with safe limits, until the client leaves or the server has drained.

use std::future::pending;
use std::time::Duration;

use mgp_lifecycle::server::ServerLifecycle;
use mgp_transport::{Accept, ConnectionLimits, connect};
use mgp_types::RpcService;
use mgp_types::mgp::ShutdownReason;
use tokio::io::{AsyncRead, AsyncWrite};
use tower_layer::Layer;

use crate::{Error, Server, ServerCore};

/// The number of clients of a socket that are served at once; further ones wait.
#[cfg(all(unix, feature = "unix"))]
const MAX_CONNECTIONS: usize = 256;

#[cfg(all(unix, feature = "unix"))]
const PAUSE: std::time::Duration = std::time::Duration::from_millis(50);

impl<L, S> Server<L>
where
    L: Layer<ServerCore, Service = S>,
    S: RpcService + Sync + Unpin,
{
    /// Serves one client on this process' standard input and output, until the client closes them.
    ///
    /// # Errors
    /// A registered entry cannot be served, or the connection broke.
    #[cfg(feature = "stdio")]
    pub async fn serve_stdio(self) -> Result<(), Error> {
        let (input, output) = mgp_transport::stdio::stdio()?;
        self.serve_io(input, output).await
    }

    /// Serves one client on a byte stream, one message per line, until the client closes it.
    ///
    /// # Errors
    /// A registered entry cannot be served, or the connection broke.
    pub async fn serve_io<R, W>(self, reader: R, writer: W) -> Result<(), Error>
    where
        R: AsyncRead + Unpin,
        W: AsyncWrite + Unpin,
    {
        let life = self.life();
        let accept = self.accept()?;
        Ok(draining(life.as_ref(), serve_one(reader, writer, &accept, life.clone())).await?)
    }

    /// Serves both eras over HTTP at `/mcp`, and HTTP+SSE beside it, until it is dropped. A port alone is one of the
    /// loopback address. With the feature `ext`, a server with a tool that declares the binary transport `multipart` takes
    /// requests in parts. Requests may name the host by its address only: [`serve_http_with`](Self::serve_http_with) takes
    /// other names.
    ///
    /// # Errors
    /// A registered entry cannot be served, or the server cannot listen at the address.
    #[cfg(feature = "http")]
    pub async fn serve_http(self, listen: impl Into<crate::ListenTarget>) -> Result<(), Error> {
        self.serve_http_with(listen, crate::HttpConfig::default()).await
    }

    /// Serves over HTTP like [`serve_http`](Self::serve_http), with settings: names of hosts, TLS, limits.
    ///
    /// ```no_run
    /// # async fn serve(server: mgp_server_sdk::Server) -> Result<(), mgp_server_sdk::Error> {
    /// use mgp_server_sdk::HttpConfig;
    ///
    /// let config = HttpConfig::default().allow_host("notes.example");
    /// server.serve_http_with(8080, config).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// A registered entry cannot be served, or the server cannot listen at the address.
    #[cfg(feature = "http")]
    pub async fn serve_http_with(
        self,
        listen: impl Into<crate::ListenTarget>,
        config: crate::HttpConfig,
    ) -> Result<(), Error> {
        let life = self.life();
        #[cfg(feature = "ext")]
        let config = if self.takes_parts() { config.multipart() } else { config };
        let accept = self.accept()?;
        let stop = drained(life.clone());
        Ok(draining(life.as_ref(), mgp_transport::http::serve_until(listen, accept, config, stop)).await?)
    }

    /// Serves any number of clients of the same user on a Unix domain socket at `path`, until it is dropped.
    /// A socket left there by a server that is gone is replaced.
    ///
    /// # Errors
    /// A registered entry cannot be served, or the server cannot listen at the path.
    #[cfg(all(unix, feature = "unix"))]
    pub async fn serve_unix(self, path: impl Into<std::path::PathBuf>) -> Result<(), Error> {
        let life = self.life();
        let accept = self.accept()?;
        let socket = mgp_transport::unix::listen(path)?;
        let serving = async {
            let mut connections = tokio::task::JoinSet::new();
            let mut drained = std::pin::pin!(drained(life.clone()));
            loop {
                while connections.len() >= MAX_CONNECTIONS {
                    connections.join_next().await;
                }
                while connections.try_join_next().is_some() {}
                let accepted = tokio::select! {
                    () = &mut drained => break,
                    accepted = socket.accept() => accepted,
                };
                match accepted {
                    Ok((reader, writer)) => {
                        connections.spawn(serve_one(reader, writer, &accept, life.clone()));
                    }
                    // The client left at once, or descriptors are short: neither ends the server.
                    Err(error) => {
                        tracing::warn!(%error, "connection not accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            }
            while connections.join_next().await.is_some() {}
            Ok(())
        };
        draining(life.as_ref(), serving).await
    }
}

/// Serves one client on a byte stream, until the client closes it or the server has drained.
fn serve_one<R: AsyncRead + Unpin, W: AsyncWrite + Unpin, A: Accept>(
    reader: R,
    writer: W,
    accept: &A,
    life: Option<ServerLifecycle>,
) -> impl Future<Output = Result<(), mgp_types::Error>> + use<R, W, A> {
    let limits = ConnectionLimits::default();
    let drain = limits.drain_timeout;
    connect(reader, writer, accept, limits).1.run_until(drained(life), drain)
}

/// Waits until the server has drained; for ever, if it has no [`ServerLifecycle`].
async fn drained(life: Option<ServerLifecycle>) {
    match life {
        Some(life) => drop(life.drained().await),
        None => pending().await,
    }
}

/// The time that calls have to finish when the process is asked to terminate.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(30);

/// Serves, and lets `life` drain when the process is asked to terminate.
async fn draining<T>(life: Option<&ServerLifecycle>, serving: impl Future<Output = T>) -> T {
    let Some(life) = life else { return serving.await };
    let stopping = async {
        terminated().await;
        life.shutdown(ShutdownReason::OperatorRequest, DRAIN_TIMEOUT).await;
        pending().await
    };
    tokio::select! {
        outcome = serving => outcome,
        never = stopping => never,
    }
}

#[cfg(unix)]
async fn terminated() {
    use tokio::signal::unix::{SignalKind, signal};
    match signal(SignalKind::terminate()) {
        Ok(mut signals) => drop(signals.recv().await),
        Err(error) => {
            tracing::warn!(%error, "the process cannot listen for the signal to terminate");
            pending::<()>().await;
        }
    }
}

#[cfg(not(unix))]
async fn terminated() {
    // The wait fails only where there is no console, so that nobody can ask this way.
    if tokio::signal::ctrl_c().await.is_err() {
        pending::<()>().await;
    }
}
