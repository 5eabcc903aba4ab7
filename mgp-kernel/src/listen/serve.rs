//! Serves clients and operators until the kernel is told to stop.

use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use mgp_transport::{connect, stdio};
use mgp_types::Principal;
use mgp_types::mgp::ShutdownReason;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;

use super::http::ListenCertificate;
use super::kernel_note::KernelNote;
use super::socket::{SocketAudience, UserSocket};
use super::{control, page};
use crate::lifecycle::{HttpListening, ServedKernel, or_never, wait_for_stop};
use crate::notifications;
use crate::peer::Lineage;
use crate::sections::Sections;
use crate::{Kernel, StartError};

/// The places at which a kernel serves, and the conditions under which it ends.
#[derive(Debug, Clone)]
pub(crate) struct ServeOptions {
    /// The address for clients over HTTP, if there is one.
    pub(crate) http: Option<SocketAddr>,
    /// True if the kernel serves its other clients while the address is taken, and tries again until it is free;
    /// otherwise it does not start.
    pub(crate) retries: bool,
    /// The effect on the kernel when the client on standard input and output goes, if that is served.
    pub(crate) stdio: Option<OnTransportEnd>,
    /// The agent of the client on standard input and output, and of those that share the kernel with it.
    pub(crate) agent: Principal,
    /// The path of the socket for operators.
    pub(crate) socket: PathBuf,
    /// The users who may connect as operators.
    pub(crate) operators: SocketAudience,
    /// The path of the socket for clients that share the kernel.
    pub(crate) shared_at: PathBuf,
    /// The time that calls have to end when the kernel stops.
    pub(crate) drain: Duration,
    /// The time for which the kernel goes on without clients and commands, if it ends by itself.
    pub(crate) linger: Option<Duration>,
    /// The files of the kernel's configuration, for its status.
    pub(crate) files: Vec<PathBuf>,
}

/// The effect on a kernel when one of the ways into it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnTransportEnd {
    /// The kernel ends, too.
    Ends,
    /// The kernel goes on as long as there is another way.
    GoesOn,
}

/// Serves until `stop` is done, or until nobody can connect any more. Then calls in work have time to end, and servers
/// are stopped.
///
/// `listening` is called once, with the address at which clients can connect over HTTP.
///
/// # Errors
/// Fails if nobody can connect: the socket is taken, or an address that the kernel does not wait for. Then nothing was
/// served.
pub(crate) async fn serve(
    kernel: &Kernel,
    serving: ServeOptions,
    stop: impl Future<Output = ()>,
    listening: impl FnOnce(Option<SocketAddr>),
) -> Result<(), StartError> {
    let unheard = |at: String| move |error: io::Error| StartError::Listen { at, error };
    let Sections { config, policies, audit, changes, lifecycle, .. } = kernel.sections();
    if let (Some(address), Some(tls)) = (serving.http, &config.load().listen.tls) {
        ListenCertificate::read(tls).map_err(unheard(address.to_string()))?;
    }
    // Whoever connects finds the note, because it is written before anybody can.
    if let Err(error) = KernelNote::of_this_process(&config.wanted()).write(config.state()) {
        tracing::warn!(%error, "clients that join cannot see which kernel this is");
    }
    let at = serving.socket.display().to_string();
    let control = UserSocket::open(&serving.socket, serving.operators).map_err(unheard(at))?;
    // A client that has the kernel alone does not need this socket.
    let sharing = UserSocket::open(&serving.shared_at, SocketAudience::User).inspect_err(|error| {
        tracing::warn!(at = %serving.shared_at.display(), %error, "no other client can join");
    });
    let http = bound(&serving).await?;
    listening(http.as_ref().and_then(|(address, socket)| socket.is_ok().then_some(*address)));

    // The first command that connects may ask about it.
    let served = Arc::new(ServedKernel {
        since: audit.clock.now(),
        linger: serving.linger,
        files: serving.files,
        http: Mutex::default(),
        stop: Notify::new(),
    });
    let served = lifecycle.served.get_or_init(|| served);
    let (stopping, stopped) = watch::channel(false);
    let (closing, closed) = watch::channel(false);
    // Each task ends by itself when it is told to; those that do not are aborted with the set.
    let mut clients = JoinSet::new();
    let mut operators = JoinSet::new();
    // The clients that share the kernel do not keep it running.
    let mut sharers = JoinSet::new();
    operators.spawn(control::serve_operators(control, kernel.clone(), closed.clone()));
    operators.spawn(page::serve(kernel.clone(), closed.clone()));
    operators.spawn(notifications::notify(kernel.sections().clone(), closed.clone()));
    if let Ok(socket) = sharing {
        let as_who = serving.agent.clone();
        sharers.spawn(control::serve_agents(socket, kernel.clone(), as_who, stopped.clone(), serving.drain));
    }
    if let Some(then) = serving.stdio {
        let served = serve_stdio(kernel.clone(), serving.agent, stopped.clone(), serving.drain);
        clients.spawn(async move { served.await.map(|()| then) });
    }
    if let Some((address, socket)) = http {
        let error = socket.as_ref().err().map(ToString::to_string);
        *served.http.lock() = Some(HttpListening { address, error });
        clients.spawn(serve_http(kernel.clone(), Arc::clone(served), address, socket, stopped.clone()));
    }
    let gone_for = |linger| lifecycle.connections.gone_for(linger, move || changes.has_listeners());
    let unused = or_never(serving.linger.map(gone_for));
    tokio::pin!(stop, unused);
    loop {
        tokio::select! {
            () = &mut stop => break,
            () = served.stop.notified() => break,
            () = &mut unused => break,
            Some(ended) = clients.join_next() => {
                if let Ok(Err(error)) = &ended {
                    tracing::warn!(%error, "a way in has ended");
                }
                if clients.is_empty() || matches!(ended, Ok(Ok(OnTransportEnd::Ends))) {
                    break;
                }
            }
        }
    }
    tracing::info!("the kernel stops");
    KernelNote::remove(config.state());
    kernel.stop_waiting();
    let _ = stopping.send(true);
    let drained = async {
        while clients.join_next().await.is_some() {}
        while sharers.join_next().await.is_some() {}
    };
    // Connections end with `drain` by themselves, before servers do: a call is not to be answered with the end of its server.
    let _ = tokio::time::timeout(serving.drain + LATEST_END, drained).await;
    kernel.shutdown(ShutdownReason::KernelShutdown, serving.drain).await;
    // Operators can watch the kernel stop to the end, and whoever has stopped it is answered.
    let _ = closing.send(true);
    let _ = tokio::time::timeout(LATEST_END, operators.join_next()).await;
    operators.shutdown().await;
    clients.shutdown().await;
    sharers.shutdown().await;
    let _ = audit.log.flush().await;
    let _ = policies.keys.note_uses().await;
    Ok(())
}

/// Listens at the address for clients over HTTP, or returns why that fails if the kernel waits for it.
async fn bound(serving: &ServeOptions) -> Result<Option<(SocketAddr, io::Result<TcpListener>)>, StartError> {
    let Some(address) = serving.http else { return Ok(None) };
    match TcpListener::bind(address).await {
        Ok(socket) => Ok(Some((socket.local_addr().unwrap_or(address), Ok(socket)))),
        Err(error) if serving.retries => Ok(Some((address, Err(error)))),
        Err(error) => Err(StartError::Listen { at: address.to_string(), error }),
    }
}

/// Serves clients over HTTP as soon as the address is free, until `stopped` says so.
async fn serve_http(
    kernel: Kernel,
    served: Arc<ServedKernel>,
    address: SocketAddr,
    socket: io::Result<TcpListener>,
    stopped: watch::Receiver<bool>,
) -> io::Result<OnTransportEnd> {
    let socket = match socket {
        Ok(socket) => socket,
        Err(error) => tokio::select! {
            socket = free(address, &error) => socket,
            () = wait_for_stop(stopped.clone()) => return Ok(OnTransportEnd::GoesOn),
        },
    };
    *served.http.lock() = Some(HttpListening { address, error: None });
    kernel.serve_http(socket, wait_for_stop(stopped)).await?;
    Ok(OnTransportEnd::GoesOn)
}

/// Listens at `address`, where that failed with `error`, as soon as it is free.
async fn free(address: SocketAddr, error: &io::Error) -> TcpListener {
    tracing::warn!(
        %address, %error,
        "no client can connect over HTTP: another program has the address, which is tried again until it is free; \
         `http` of `[listen]` in mgp.toml names another one"
    );
    let mut pause = FIRST_PAUSE;
    loop {
        tokio::time::sleep(pause).await;
        if let Ok(socket) = TcpListener::bind(address).await {
            tracing::warn!(%address, "the address is free now, and clients can connect over HTTP");
            return socket;
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

async fn serve_stdio(
    kernel: Kernel,
    client: Principal,
    stopped: watch::Receiver<bool>,
    drain: Duration,
) -> io::Result<()> {
    let (input, output) = stdio::stdio()?;
    if let Some(lineage) = Lineage::of(std::process::id()) {
        let _ = kernel.sections().lifecycle.clients.note(&lineage);
    }
    let limits = kernel.sections().config.connection_limits();
    let (_, connection) = connect(input, output, &kernel.accept(client), limits);
    if let Err(error) = connection.run_until(wait_for_stop(stopped), drain).await {
        tracing::debug!(%error, "the client on standard input and output was lost");
    }
    tracing::info!("the client on standard input and output is gone");
    Ok(())
}

/// The time that connections have to end once their time to drain is over.
pub(super) const LATEST_END: Duration = Duration::from_secs(1);
/// The time between the first two attempts to listen at an address that is taken; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
