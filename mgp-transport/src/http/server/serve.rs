use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::HttpServer;
use super::config::HttpConfig;
use super::routes::Routes;
use crate::Accept;

/// Where to listen.
#[derive(Debug)]
#[non_exhaustive]
pub enum Listen {
    /// At this address. One that others can reach needs [`HttpConfig::allow_host`] as well.
    At(SocketAddr),
    /// On a socket that listens already.
    On(TcpListener),
}

impl From<u16> for Listen {
    /// The port on the loopback address: what runs on this machine can connect, and nobody else.
    fn from(port: u16) -> Self {
        Self::At((Ipv4Addr::LOCALHOST, port).into())
    }
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::At(address)
    }
}

impl From<TcpListener> for Listen {
    fn from(socket: TcpListener) -> Self {
        Self::On(socket)
    }
}

/// Serves MCP over HTTP/1.1: `/mcp` in both eras, and HTTP+SSE at `/sse` and `/message` beside it.
///
/// Runs until it is dropped, which ends every connection at once; see [`serve_until`] for a gentle end.
///
/// # Errors
/// The address cannot be listened at.
pub async fn serve<A: Accept>(listen: impl Into<Listen>, accept: A, config: HttpConfig) -> io::Result<()> {
    serve_until(listen, accept, config, std::future::pending()).await
}

/// [`serve`] until `stop` is done.
///
/// From then on no connection is accepted. Calls in work have [`HttpConfig::shutdown_grace`] to end; then
/// sessions and their streams are closed, and after the same time again what is left is dropped.
///
/// # Errors
/// The address cannot be listened at.
pub async fn serve_until<A: Accept>(
    listen: impl Into<Listen>,
    accept: A,
    config: HttpConfig,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let socket = match listen.into() {
        Listen::At(address) => TcpListener::bind(address).await?,
        Listen::On(socket) => socket,
    };
    let config = config.reachable_at(socket.local_addr()?.ip());
    let routes = HttpServer::new(accept).with_config(config).routes();
    let (stopping, stopped) = watch::channel(());
    let mut connections = JoinSet::new();
    accept_until(&socket, &routes, &mut connections, &stopped, stop).await;
    drop((socket, stopped));
    let _ = stopping.send(());
    let grace = routes.server().config().shutdown_grace;
    if !ended(&mut connections, grace).await {
        routes.server().close_sessions();
        ended(&mut connections, grace).await;
    }
    connections.shutdown().await;
    routes.server().close_sessions();
    Ok(())
}

async fn accept_until<A: Accept>(
    socket: &TcpListener,
    routes: &Routes<A>,
    connections: &mut JoinSet<()>,
    stopped: &watch::Receiver<()>,
    stop: impl Future<Output = ()>,
) {
    let permits =
        Arc::new(Semaphore::new(routes.server().config().max_connections.min(Semaphore::MAX_PERMITS)));
    tokio::pin!(stop);
    loop {
        let next = async {
            let permit = Arc::clone(&permits).acquire_owned().await;
            (permit, socket.accept().await)
        };
        let (permit, accepted) = tokio::select! {
            () = &mut stop => return,
            next = next => next,
        };
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok((stream, _)) => {
                let connection = run(stream, routes.clone(), stopped.clone());
                connections.spawn(async move {
                    let _permit = permit;
                    connection.await;
                });
            }
            // A peer that left at once, or no file descriptors: neither ends the server.
            Err(error) => {
                tracing::warn!(%error, "connection not accepted");
                sleep(Duration::from_millis(50)).await;
            }
        }
    }
}

async fn run<A: Accept>(stream: TcpStream, routes: Routes<A>, mut stopped: watch::Receiver<()>) {
    // Answers are written in one piece; waiting for more only delays them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY not set");
    }
    let config = Arc::clone(routes.server().config());
    let service = service_fn(move |request| routes.handle(request));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout)
        .max_buf_size(config.max_header_bytes)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let outcome = tokio::select! {
        biased;
        outcome = connection.as_mut() => outcome,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = outcome {
        tracing::debug!(%error, "connection ended");
    }
}

async fn ended(connections: &mut JoinSet<()>, within: Duration) -> bool {
    timeout(within, async { while connections.join_next().await.is_some() {} }).await.is_ok()
}

impl HttpConfig {
    /// Accepts the bound address as a host, unless it stands for all addresses.
    fn reachable_at(self, address: IpAddr) -> Self {
        match address {
            _ if address.is_unspecified() || address.is_loopback() => self,
            IpAddr::V4(address) => self.allow_host(address.to_string()),
            IpAddr::V6(address) => self.allow_host(format!("[{address}]")),
        }
    }
}
