//! The connection of a command to a kernel: the running one, or one in the command's own process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::{Client, PlainStack};
use mgp_transport::Wire;
use mgp_types::mgp::{ExtensionSet, Offer, ServerState, ShutdownReason};
use mgp_types::{Error, code};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout_at};

use super::exit::{Exit, Failure};
use super::kernel_location::{EffectiveConfig, KernelLocation};
use super::output::{Output, printable};
use super::proof;
use super::state_in_use::StateInUse;
use crate::StartError;
use crate::call::connection_role::ConnectionRole;
use crate::catalog::ToolCatalog;
use crate::kernel::Kernel;
use crate::listen::socket;
use crate::operator::method;
use crate::operator::proof::OperatorConnection;
use crate::operator::servers::{ServerList, ServerRow};

/// A connection of a command to a kernel.
pub(super) struct KernelLink {
    pub(super) client: Client<PlainStack<Wire>>,
    /// True if the kernel runs independently. Otherwise it belongs to this process, and ends with the command.
    pub(super) running: bool,
    own: Option<Kernel>,
}

/// The part of a kernel that a command needs if it has to start the kernel itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelNeed {
    /// The stored data: keys, rules, grants, pins and the audit log. No server is started.
    State,
    /// The stored data and the configuration. No server is started.
    Configured,
    /// The running servers, with the data and the configuration.
    Servers,
    /// The running servers, with the vectors of their tools.
    Search,
}

impl KernelLink {
    /// Connects to the running kernel, or starts one from the same configuration.
    pub(super) async fn open(place: &KernelLocation, need: KernelNeed) -> Result<Self, Failure> {
        let configured = place.read()?;
        if matches!(need, KernelNeed::Servers | KernelNeed::Search) {
            configured.tell_warnings(&place.output());
        }
        let mut held = StateInUse::new(&configured.state, &configured.socket, place.output());
        let kernel = loop {
            if let Some(client) = reach(&configured).await? {
                return Ok(Self { client, running: true, own: None });
            }
            match started(&configured, need).await {
                Ok(kernel) => break kernel,
                Err(error) if error.is_in_use() => held.wait().await?,
                Err(error) => return Err(not_started(&error)),
            }
        };
        let tools = kernel.tools().clone();
        let mark = ConnectionRole::Operator(Arc::new(OperatorConnection::in_process()));
        let (session, own) = (kernel.fleet().client_session(), std::env::current_dir().ok());
        let own = kernel.accept_marked(socket::oneself(), mark, session, own);
        let client = builder().in_process(own).await?;
        let link = Self { client, running: false, own: Some(kernel) };
        if matches!(need, KernelNeed::Servers | KernelNeed::Search) {
            let output = place.output();
            let settled = link.settled(&output).await;
            output.waiting("");
            settled?;
            searchable(&tools, need).await;
        }
        Ok(link)
    }

    /// Connects to the running kernel, if there is one.
    pub(super) async fn to_running(place: &KernelLocation) -> Result<Option<Self>, Failure> {
        let client = reach(&place.read()?).await?;
        Ok(client.map(|client| Self { client, running: true, own: None }))
    }

    /// Connects to the running kernel, for commands that make sense for no other one.
    pub(super) async fn needed(place: &KernelLocation) -> Result<Self, Failure> {
        Self::to_running(place).await?.ok_or_else(|| {
            Failure::new(Exit::Unreachable, "no kernel runs, so no server runs either")
                .hint("`mgp serve` starts a kernel")
        })
    }

    /// Sends a request to the kernel. If the kernel asks for proof that a person is there, gives the proof and sends
    /// the request again.
    pub(super) async fn ask<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<R, Failure> {
        let result = match self.client.request(method, params).await {
            Err(error) if proof::is_asked_for(&error) => {
                proof::give(self).await?;
                self.client.request(method, params).await
            }
            result => result,
        };
        let result = result.map_err(|error| older(error, method))?;
        result.to().map_err(|error| {
            Failure::new(
                Exit::Unreachable,
                format!("the kernel's answer to {method} does not have the expected form: {error}"),
            )
            .hint("the kernel may be of another version: restart it with this one")
        })
    }

    /// Waits until every server is connected or has failed once. The kernel tries a failed server again for minutes,
    /// which is too long for a command.
    async fn settled(&self, output: &Output) -> Result<(), Failure> {
        let began = Instant::now();
        let end = began + PATIENCE;
        loop {
            let ServerList { servers } = self.ask(method::SERVERS, &()).await?;
            let waits = |server: &ServerRow| {
                let has_failed = server.fault.is_some() || server.last_error.is_some();
                let begins = matches!(
                    server.state,
                    ServerState::Registered | ServerState::Connecting | ServerState::Restarting
                );
                server.enabled && begins && !has_failed
            };
            let waiting: Vec<_> = servers.iter().filter(|server| waits(server)).collect();
            if waiting.is_empty() || Instant::now() >= end {
                return Ok(());
            }
            if began.elapsed() >= SILENT {
                output.waiting(&waiting_for(&waiting, servers.len(), began.elapsed()));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Closes the connection, and ends the kernel if it belongs to this process.
    pub(super) async fn close(self) {
        // All requests have been answered, so an error of the closing connection changes nothing.
        let _ = self.client.close().await;
        if let Some(kernel) = self.own {
            kernel.shutdown(ShutdownReason::KernelShutdown, GRACE).await;
            // The events have to be written when the command ends.
            let _ = kernel.audit().log.flush().await;
        }
    }
}

/// Returns the line that a person is shown while servers start.
fn waiting_for(waiting: &[&ServerRow], all: usize, since: Duration) -> String {
    let names: Vec<_> = waiting.iter().take(MOST_NAMES).map(|server| printable(server.id.as_str())).collect();
    let more = if waiting.len() > names.len() { ", ..." } else { "" };
    let (number, names, secs) = (waiting.len(), names.join(", "), since.as_secs());
    format!("waiting for {number} of {all} servers to start: {names}{more} ({secs} s)")
}

/// Waits until the search index has all listed tools, because the index follows the catalog; and their vectors, if they
/// are needed.
async fn searchable(tools: &ToolCatalog, need: KernelNeed) {
    let end = Instant::now() + INDEX_PATIENCE;
    while tools.index.snapshot().len() < tools.catalog.snapshot().tools().len() && Instant::now() < end {
        sleep(LOOK_EVERY).await;
    }
    if need == KernelNeed::Search {
        let embedded = async {
            tools.load_encoder().await;
            tools.index.embedded().await;
        };
        // If that takes longer, searches go by the built-in table.
        let _ = timeout_at(end, embedded).await;
    }
}

async fn reach(configured: &EffectiveConfig) -> Result<Option<Client<PlainStack<Wire>>>, Failure> {
    let path = &configured.socket;
    let (reader, writer) = match socket::connect(path).await {
        Ok(halves) => halves,
        // No kernel runs, or one that died has left the socket.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Err(Failure::new(
                Exit::Auth,
                format!("the kernel at {} belongs to another user", path.display()),
            ));
        }
        Err(error) => {
            return Err(Failure::new(
                Exit::Unreachable,
                format!("the kernel at {} cannot be reached: {error}", path.display()),
            ));
        }
    };
    let connected = builder().connect_io(reader, writer).await;
    connected.map(Some).map_err(|error| {
        if error.code() == code::PERMISSION_DENIED {
            return Failure::new(Exit::Auth, error.message().to_owned());
        }
        let message =
            format!("the program at {} is not a kernel, or refuses connections: {error}", path.display());
        Failure::new(Exit::Unreachable, message)
    })
}

/// Starts a kernel in this process, with the part that is needed.
async fn started(configured: &EffectiveConfig, need: KernelNeed) -> Result<Kernel, StartError> {
    let (mut config, state) = (configured.config.clone(), configured.state.clone());
    let files = configured.own_files();
    match need {
        KernelNeed::State => config.servers.clear(),
        KernelNeed::Configured => config.servers.iter_mut().for_each(|server| server.enabled = false),
        KernelNeed::Servers | KernelNeed::Search => return Kernel::start_from(config, state, files).await,
    }
    Kernel::open(config, state, files).await
}

fn builder() -> mgp_client_sdk::ClientBuilder {
    Client::builder("mgp", env!("CARGO_PKG_VERSION")).mgp(Offer::new(ExtensionSet::standard())).caching(false)
}

fn older(error: Error, method: &str) -> Failure {
    if error.code() == code::METHOD_NOT_FOUND {
        return Failure::new(Exit::Unreachable, format!("the running kernel does not know {method}"))
            .hint("the kernel is of another version: restart it with this one");
    }
    error.into()
}

pub(super) fn not_started(error: &StartError) -> Failure {
    let mut message = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(source) = cause {
        let told = source.to_string();
        if !message.ends_with(&told) {
            message = format!("{message}: {told}");
        }
        cause = source.source();
    }
    Failure::usage(message)
}

/// The longest time that a command waits for its servers to start.
const PATIENCE: Duration = Duration::from_secs(30);
/// The time after which a person is shown what the command waits for.
const SILENT: Duration = Duration::from_millis(700);
/// The largest number of servers that are named in one line.
const MOST_NAMES: usize = 4;
/// The longest time that a command waits for the search index of its own kernel.
const INDEX_PATIENCE: Duration = Duration::from_secs(5);
/// The time that the servers of a command's own kernel have to end.
const GRACE: Duration = Duration::from_secs(2);
/// The time between two looks at the servers or at the index.
const LOOK_EVERY: Duration = Duration::from_millis(20);
