//! Serves clients and operators until the kernel is told to stop.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::OptionFuture;
use mgp_transport::{connect, stdio};
use mgp_types::Principal;
use mgp_types::mgp::ShutdownReason;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::http::ListenCertificate;
use super::inherited::{HandedSocket, HandedSockets, InheritedSockets, to_hand_over};
use super::peers::PeerSocket;
use super::service_manager::{READY, ServiceManager};
use super::socket::{SocketAudience, UserSocket};
use super::{control, page};
use crate::front::connection_role::ConnectionRole;
use crate::lifecycle::{HttpListening, KernelEnd, ServedKernel, or_never, wait_for_stop};
use crate::listen::notifications;
use crate::peer::Lineage;
use crate::replicas::Peers;
use crate::sections::Sections;
use crate::state::kernel_note::KernelNote;
use crate::{Kernel, StartError};

/// The places at which a kernel serves, and the conditions under which it ends.
#[derive(Debug)]
pub struct ServeOptions {
    /// True if the kernel serves its other clients while the address is taken, and tries again until it is free;
    /// otherwise it does not start.
    pub retries: bool,
    /// The effect on the kernel when the client on standard input and output goes, if that is served.
    pub stdio: Option<OnTransportEnd>,
    /// The agent of the client on standard input and output, and of those that share the kernel with it.
    pub agent: Principal,
    /// The path of the socket for operators.
    pub socket: PathBuf,
    /// The users who may connect as operators.
    pub operators: SocketAudience,
    /// The path of the socket for clients that share the kernel.
    pub shared_at: PathBuf,
    /// The sockets that this process was started with.
    pub inherited: InheritedSockets,
    /// The service manager, which is told what the kernel does.
    pub manager: Arc<ServiceManager>,
    /// The time that calls have to end when the kernel stops.
    pub drain: Duration,
    /// The time for which the kernel goes on without clients and commands, if it ends by itself.
    pub linger: Option<Duration>,
    /// The files of the kernel's configuration, for its status.
    pub files: Vec<PathBuf>,
}

/// The effect on a kernel when one of the ways into it has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnTransportEnd {
    /// The kernel ends, too.
    Ends,
    /// The kernel goes on as long as there is another way.
    GoesOn,
}

/// Serves until it is told to end, or until nobody can connect any more. Then calls in work have time to end, and servers are
/// stopped. Returns the sockets if another kernel is to follow this one.
///
/// `listening` is called once, with the address at which clients can connect over HTTP. `order` waits for the next order to
/// end; one to stop, while the kernel ends already, takes its time from the calls in work.
///
/// # Errors
/// Fails if nobody can connect: the socket is taken, or an address that the kernel does not wait for. Then nothing was
/// served.
pub async fn serve(
    kernel: &Kernel,
    mut serving: ServeOptions,
    mut order: impl AsyncFnMut() -> KernelEnd,
    listening: impl FnOnce(Option<SocketAddr>),
) -> Result<Option<HandedSockets>, StartError> {
    let Sections { config, policies, audit, changes, lifecycle, .. } = kernel.sections();
    let (sockets, http) = ListeningSockets::open(kernel, &mut serving).await?;
    let peers = PeerSocket::open(kernel.sections()).await?;
    listening(http.as_ref().and_then(|(address, socket)| socket.is_ok().then_some(*address)));
    serving.manager.tell(READY);

    // The first command that connects may ask about it.
    let served = Arc::new(ServedKernel {
        since: audit.clock.now(),
        linger: serving.linger,
        files: std::mem::take(&mut serving.files),
        http: Mutex::default(),
        has_stdio: serving.stdio.is_some(),
        stop: Notify::new(),
        restart: Notify::new(),
    });
    let served = lifecycle.served.get_or_init(|| served);
    let gone_for = |linger| lifecycle.connections.gone_for(linger, move || changes.has_listeners());
    let unused = or_never(serving.linger.map(gone_for));
    let mut tasks = ServingTasks::start(kernel, &serving, &sockets, (http, peers), served);
    let end = {
        let ordered = order();
        tokio::pin!(ordered, unused);
        loop {
            tokio::select! {
                end = &mut ordered => break end,
                () = served.stop.notified() => break KernelEnd::Stop,
                () = served.restart.notified() => break KernelEnd::Restart,
                () = &mut unused => break KernelEnd::Stop,
                Some(ended) = tasks.clients.join_next() => {
                    if let Ok(Err(error)) = &ended {
                        tracing::warn!(%error, "a way in has ended");
                    }
                    if tasks.clients.is_empty() || matches!(ended, Ok(Ok(OnTransportEnd::Ends))) {
                        break KernelEnd::Stop;
                    }
                }
            }
        }
    };
    tracing::info!(?end, "the kernel ends");
    match end {
        KernelEnd::Stop => serving.manager.tell("STOPPING=1"),
        KernelEnd::Restart => serving.manager.reloading(),
    }
    lifecycle.set_ending(end);
    let handed = (end == KernelEnd::Restart).then_some(sockets);
    let hurried = async { while order().await != KernelEnd::Stop {} };
    let is_hurried = tasks.end(kernel, end, serving.drain, hurried).await;
    let _ = audit.log.flush().await;
    let _ = policies.keys.note_uses().await;
    let wants_http = config.wanted().listen.http.is_some();
    let handed = handed.filter(|_| !is_hurried).map(|sockets| sockets.hand_over(wants_http)).transpose();
    handed.map_err(|error| StartError::Listen { at: "its sockets again".to_owned(), error })
}

/// The sockets at which a kernel listens, kept for one that may follow it.
struct ListeningSockets {
    control: Arc<UserSocket>,
    /// The socket of the clients that share the kernel. A client that has the kernel alone does not need it.
    sharing: Option<Arc<UserSocket>>,
    /// The socket for clients over HTTP, once the kernel listens there.
    http: Arc<Mutex<Option<HandedSocket>>>,
}

/// The address for clients over HTTP, and the socket, or why the kernel does not listen there yet.
type HttpSocket = Option<(SocketAddr, io::Result<TcpListener>)>;

impl ListeningSockets {
    /// Listens at all places, and writes the note of the kernel.
    async fn open(kernel: &Kernel, serving: &mut ServeOptions) -> Result<(Self, HttpSocket), StartError> {
        let unheard = |at: String| move |error: io::Error| StartError::Listen { at, error };
        let config = &kernel.sections().config;
        // An address in the file that has to be accepted first is not in effect.
        let address =
            config.load().listen.address().map_err(|error| StartError::Config(error.to_string()))?;
        if let (Some(address), Some(tls)) = (address, &config.load().listen.tls) {
            ListenCertificate::read(tls, "listen.tls").map_err(unheard(address.to_string()))?;
        }
        // Whoever connects finds the note, because it is written before anybody can.
        let waiting = config.waiting_when_read().to_vec();
        KernelNote::of_this_process(&config.wanted()).with_waiting(waiting).keep(config.state());
        let ServeOptions { socket, shared_at, operators, inherited, .. } = &mut *serving;
        let at = socket.display().to_string();
        let control = UserSocket::open(socket, *operators, inherited.local(socket)).map_err(unheard(at))?;
        let sharing = UserSocket::open(shared_at, SocketAudience::User, inherited.local(shared_at));
        let sharing = sharing.inspect_err(|error| {
            tracing::warn!(at = %shared_at.display(), %error, "no other client can join");
        });
        let http = match address {
            Some(address) => Some(bound(address, serving).await?),
            None => None,
        };
        let (control, sharing) = (Arc::new(control), sharing.ok().map(Arc::new));
        Ok((Self { control, sharing, http: Arc::default() }, http))
    }

    /// Returns the sockets for the kernel that follows, once all that accepted at them has ended: that for clients over HTTP
    /// only if it is still wanted.
    fn hand_over(self, wants_http: bool) -> io::Result<HandedSockets> {
        let sockets = [Some(self.control), self.sharing].into_iter().flatten().filter_map(Arc::into_inner);
        let mut handed = sockets.map(UserSocket::hand_over).collect::<io::Result<Vec<_>>>()?;
        handed
            .extend(self.http.lock().take().filter(|_| wants_http).map(|socket| ("http".to_owned(), socket)));
        Ok(HandedSockets(handed))
    }
}

/// The tasks that serve a kernel, and the ways to tell them to end. Each ends by itself when it is told to; those that do not
/// are aborted with their set.
struct ServingTasks {
    clients: JoinSet<io::Result<OnTransportEnd>>,
    operators: JoinSet<()>,
    /// The clients that share the kernel do not keep it running.
    sharers: JoinSet<()>,
    /// Set when no more calls are taken.
    stopping: watch::Sender<bool>,
    /// Set when servers have ended, too.
    closing: watch::Sender<bool>,
}

impl ServingTasks {
    fn start(
        kernel: &Kernel,
        serving: &ServeOptions,
        sockets: &ListeningSockets,
        (http, peers): (HttpSocket, Option<PeerSocket>),
        served: &Arc<ServedKernel>,
    ) -> Self {
        let ((stopping, stopped), (closing, closed)) = (watch::channel(false), watch::channel(false));
        let (mut clients, mut operators, mut sharers) = (JoinSet::new(), JoinSet::new(), JoinSet::new());
        let control = Arc::clone(&sockets.control);
        operators.spawn(control::serve_operators(control, kernel.clone(), closed.clone()));
        operators.spawn(page::serve(kernel.clone(), closed.clone()));
        if let Some(peers) = peers {
            operators.spawn(peers.serve(Arc::new(kernel.sections().clone()), closed.clone()));
        }
        operators.spawn(notifications::notify(kernel.sections().clone(), closed));
        if let Some(socket) = &sockets.sharing {
            let (socket, agent) = (Arc::clone(socket), serving.agent.clone());
            let shared = control::serve_agents(socket, kernel.clone(), agent, stopped.clone(), serving.drain);
            sharers.spawn(shared);
        }
        if let Some(then) = serving.stdio {
            let agent = serving.agent.clone();
            let served = serve_stdio(kernel.clone(), agent, stopped.clone(), serving.drain);
            clients.spawn(async move { served.await.map(|()| then) });
        }
        if let Some((address, socket)) = http {
            let error = socket.as_ref().err().map(ToString::to_string);
            *served.http.lock() = Some(HttpListening { address, error });
            let (served, kept) = (Arc::clone(served), Arc::clone(&sockets.http));
            clients.spawn(serve_http(kernel.clone(), served, (address, socket), kept, stopped));
        }
        Self { clients, operators, sharers, stopping, closing }
    }

    /// Ends all that is served: the ways in, once the calls that clients wait for now, and then those that other kernels passed on,
    /// are answered or have had `drain`; then the connections, with the calls that came meanwhile; then servers. When `hurried` is
    /// done, calls have no more time. Returns whether it was.
    async fn end(
        mut self,
        kernel: &Kernel,
        end: KernelEnd,
        drain: Duration,
        hurried: impl Future<Output = ()>,
    ) -> bool {
        let Sections { config, lifecycle, .. } = kernel.sections();
        let (began, reason) = (Instant::now(), ShutdownReason::KernelShutdown);
        let left = || drain.saturating_sub(began.elapsed()).max(LATEST_END.min(drain));
        let ending = async {
            let _ = timeout(drain, lifecycle.unanswered.answered()).await;
            let listens = lifecycle.served.get().is_some_and(|served| served.http.lock().is_some());
            if end == KernelEnd::Restart || listens {
                // Clients that keep a connection busy leave it, because each answer tells them to; a balancer sees that this
                // kernel is not ready any more.
                sleep(drain.min(NOTICE).saturating_sub(began.elapsed())).await;
            }
            if end == KernelEnd::Stop {
                KernelNote::remove(config.state());
            }
            kernel.stop_waiting();
            // Sessions end with the ways in, and with them what other kernels passed on to them.
            let refusing = OptionFuture::from(kernel.sections().peers().map(Peers::refuse_clients));
            tokio::pin!(refusing);
            let _refused = timeout(left(), &mut refusing).await;
            let _ = self.stopping.send(true);
            // Connections end with `drain` by themselves, before servers do: a call is not to be answered with the end of its
            // server.
            let drained = async {
                while self.clients.join_next().await.is_some() {}
                while self.sharers.join_next().await.is_some() {}
            };
            let _ = timeout(drain + LATEST_END, drained).await;
            kernel.shutdown(reason, left()).await;
        };
        let is_hurried = tokio::select! {
            () = ending => false,
            () = hurried => true,
        };
        if is_hurried {
            KernelNote::remove(config.state());
            let _ = self.stopping.send(true);
            kernel.shutdown(reason, Duration::ZERO).await;
        }
        // Operators can watch the kernel stop to the end, and whoever has stopped it is answered.
        let _ = self.closing.send(true);
        let _ = timeout(LATEST_END, self.operators.join_next()).await;
        self.operators.shutdown().await;
        self.clients.shutdown().await;
        self.sharers.shutdown().await;
        is_hurried
    }
}

/// Listens at the address for clients over HTTP, or returns why that fails if the kernel waits for it.
async fn bound(
    address: SocketAddr,
    serving: &mut ServeOptions,
) -> Result<(SocketAddr, io::Result<TcpListener>), StartError> {
    let socket = match serving.inherited.http(address) {
        Some(socket) => TcpListener::from_std(socket),
        None => TcpListener::bind(address).await,
    };
    match socket {
        Ok(socket) => Ok((socket.local_addr().unwrap_or(address), Ok(socket))),
        Err(error) if serving.retries => Ok((address, Err(error))),
        Err(error) => Err(StartError::Listen { at: address.to_string(), error }),
    }
}

/// Serves clients over HTTP as soon as the address is free, until `stopped` says so. Keeps the socket for a kernel that may
/// follow.
async fn serve_http(
    kernel: Kernel,
    served: Arc<ServedKernel>,
    (address, socket): (SocketAddr, io::Result<TcpListener>),
    kept: Arc<Mutex<Option<HandedSocket>>>,
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
    *kept.lock() = to_hand_over(&socket);
    // From here on only the kernel that may follow keeps the address open.
    drop(kept);
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
    let lineage = Lineage::of(std::process::id());
    let _ = lineage.as_ref().map(|lineage| kernel.sections().lifecycle.clients.note(lineage));
    let session = kernel.sections().fleet.client_session();
    let connections = &kernel.sections().lifecycle.connections;
    let process = lineage.as_ref().map(control::shown);
    let _connection = connections.client(client.clone(), Arc::clone(&session), process);
    let folder = std::env::current_dir().ok();
    let accept = kernel.accept_marked(client, ConnectionRole::Nothing, session, folder);
    let limits = kernel.sections().config.connection_limits();
    let (_, connection) = connect(input, output, &accept, limits);
    if let Err(error) = connection.run_until(wait_for_stop(stopped), drain).await {
        tracing::debug!(%error, "the client on standard input and output was lost");
    }
    tracing::info!("the client on standard input and output is gone");
    Ok(())
}

/// The time that connections have to end once their time to drain is over.
pub(super) const LATEST_END: Duration = Duration::from_secs(1);
/// The shortest time from the order to end until no more connections are accepted.
const NOTICE: Duration = Duration::from_millis(500);
/// The time between the first two attempts to listen at an address that is taken; it doubles with each.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
