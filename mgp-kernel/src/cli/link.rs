//! The connection of a command to a kernel: the running one, one that is started in the background, or, for commands that
//! need no server, one in the command's own process.

use std::io::ErrorKind::{ConnectionRefused, ConnectionReset, NotADirectory, NotFound, PermissionDenied};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use mgp_discovery::Config;
use mgp_kernel_core::StartError;
use mgp_kernel_core::admin::list::OperationEntry;
use mgp_kernel_core::admin::operation::{KernelNeed, Operation, PageRequest, ProofNeed, ServersToBegin};
use mgp_kernel_core::admin::servers::{ListServers, ServerRow};
use mgp_kernel_core::admin::status::{StepAside, SteppedAside};
use mgp_kernel_core::kernel::{Kernel, OperatorClient, ServerStarts, operator_client};
use mgp_kernel_core::listen::socket::{self, SocketReader, SocketWriter};
use mgp_kernel_core::proof::OperatorConnection;
use mgp_kernel_core::state::kernel_note::{KernelNote, waiting_notice};
use mgp_kernel_core::terminal::{Exit, Failure, Result, TextForm, printable};
use mgp_types::mcp::ProgressParams;
use mgp_types::mgp::ShutdownReason;
use mgp_types::{Error, Origin, code};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep};

use super::context::{CommandContext, EffectiveConfig};
use super::kernel_connector::{KernelConnector, StateInUse};
use super::output::Output;
use super::proof;

/// A connection of a command to a kernel.
pub(super) struct KernelLink {
    pub(super) client: OperatorClient,
    /// The output of the command.
    pub(super) output: Output,
    /// The kernel, if it belongs to this process and ends with the command.
    own: Option<Kernel>,
    /// True once the token of the environment was given.
    pub(super) is_token_given: AtomicBool,
}

/// Runs a command that is one operation.
pub(super) async fn operate<O: Operation<Reply: TextForm>>(cx: &CommandContext, operation: O) -> Result {
    KernelLink::with(cx, operation.need(), async |link| link.operate(&operation).await).await
}

impl KernelLink {
    /// Connects to the running kernel, or starts one in the background, whose servers start when somebody needs them.
    async fn with_servers(cx: &CommandContext) -> Result<Self> {
        let configured = Box::pin(cx.read_to_reach()).await?;
        configured.tell_warnings(&cx.output);
        let EffectiveConfig { config, state, socket, .. } = &configured;
        let starting = Some((cx.options(), vec!["--when-needed".into()]));
        let way =
            KernelConnector { config, state, operators: socket, at: socket, starting, output: &cx.output };
        let mut held = StateInUse::new(state, socket, &cx.output);
        let client = loop {
            if let Some(client) = running(&configured, &mut held).await? {
                break client;
            }
            drop(way.reach().await?);
            if let Some(client) = running(&configured, &mut held).await? {
                break client;
            }
            // It has shut down, and its socket is there still.
            held.wait().await?;
        };
        let note = KernelNote::read(state);
        if let Some(notice) = note.and_then(|note| waiting_notice(&note.waiting)) {
            cx.output.note(&notice);
        }
        Ok(Self::to(client, cx))
    }

    /// Connects to the kernel that is needed, does the `work`, and closes the connection.
    pub(super) async fn with<T>(
        cx: &CommandContext,
        need: KernelNeed,
        work: impl AsyncFnOnce(&Self) -> Result<T>,
    ) -> Result<T> {
        let link = Self::open(cx, need).await?;
        let outcome = work(&link).await;
        link.close().await;
        outcome
    }

    /// Connects to the kernel that is needed.
    async fn open(cx: &CommandContext, need: KernelNeed) -> Result<Self> {
        match need {
            KernelNeed::State => Self::to_stored(cx).await,
            KernelNeed::Running => Self::to_running(cx).await?.ok_or_else(no_kernel),
            KernelNeed::Servers(wanted) => {
                let link = Self::with_servers(cx).await?;
                if wanted != ServersToBegin::None {
                    link.settled(&wanted).await?;
                }
                Ok(link)
            }
        }
    }

    /// Connects to the running kernel, or opens its data in this process, where that ends with the command: nothing stays
    /// behind of a command that needs no server.
    pub(super) async fn to_stored(cx: &CommandContext) -> Result<Self> {
        let configured = Box::pin(cx.read_to_reach()).await?;
        let mut held = StateInUse::new(&configured.state, &configured.socket, &cx.output);
        let kernel = loop {
            if let Some(client) = running(&configured, &mut held).await? {
                return Ok(Self::to(client, cx));
            }
            match started(&configured).await {
                Ok(kernel) => break kernel,
                Err(error) if error.is_in_use() => held.wait().await?,
                Err(error) => return Err(error.into()),
            }
        };
        let (connection, own) = (OperatorConnection::of_this_process(), std::env::current_dir().ok());
        let client = kernel.operate_as(socket::oneself(), connection, own).await?;
        Ok(Self { own: Some(kernel), ..Self::to(client, cx) })
    }

    /// Connects to the running kernel, if there is one.
    pub(super) async fn to_running(cx: &CommandContext) -> Result<Option<Self>> {
        Ok(reach(&Box::pin(cx.read_to_reach()).await?).await?.map(|client| Self::to(client, cx)))
    }

    /// Returns the connection of a command to a kernel that runs independently.
    fn to(client: OperatorClient, cx: &CommandContext) -> Self {
        Self { client, output: cx.output.clone(), own: None, is_token_given: AtomicBool::new(false) }
    }

    /// Returns whether the kernel runs independently of the command.
    pub(super) const fn is_to_running(&self) -> bool {
        self.own.is_none()
    }

    /// Has the kernel do the operation that a command is, and prints the reply.
    pub(super) async fn operate<O: Operation<Reply: TextForm>>(&self, operation: &O) -> Result {
        let reply = self.ask(operation).await.map_err(|failure| operation.refused(failure))?;
        let exit = operation.exit(&reply)?;
        self.output.result(&reply)?;
        Ok(exit)
    }

    /// Has the kernel do an operation.
    pub(super) async fn ask<O: Operation>(&self, operation: &O) -> Result<O::Reply> {
        self.request(OperationEntry::name_of::<O>(), operation).await
    }

    /// Returns the rows of a whole list, whose pages `ask` asks for and `rows` takes from the replies, each with the offset of
    /// the next page.
    pub(super) async fn all<O: Operation, T>(
        &self,
        ask: impl Fn(PageRequest) -> O,
        rows: impl Fn(O::Reply) -> (Vec<T>, Option<u64>),
    ) -> Result<Vec<T>> {
        let (mut all, mut next) = (Vec::new(), Some(0));
        while let Some(offset) = next {
            let (more, behind) = rows(self.ask(&ask(PageRequest { offset, limit: None })).await?);
            all.extend(more);
            next = behind;
        }
        Ok(all)
    }

    /// Sends a request to the kernel. If the kernel asks for the operator passphrase, gives it and sends the request
    /// again.
    pub(super) async fn request<R: DeserializeOwned>(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<R> {
        // What takes long goes on for as long as the kernel says that it does.
        let ask = || {
            let output = self.output.clone();
            let tell = move |report: ProgressParams| report.message.iter().for_each(|text| output.note(text));
            self.client.request(method, params).on_progress(tell).max_timeout(Duration::MAX)
        };
        if OperationEntry::named(method).is_none_or(|operation| operation.proof == ProofNeed::All) {
            // The refusal of the request tells what is wrong with the token.
            let _ = proof::by_token(self).await;
        }
        let mut result = ask().await;
        if let Some(needed) = result.as_ref().err().and_then(proof::demanded) {
            proof::give(self, needed).await?;
            result = ask().await;
        }
        let result = result.map_err(|error| match error.code() {
            code::METHOD_NOT_FOUND => {
                Failure::unreachable(format!("the running kernel does not know {method}"))
                    .hint("the kernel is of another version: restart it with this one")
            }
            _ => error.into(),
        })?;
        result.to().map_err(|error| {
            Failure::unreachable(format!(
                "the kernel's answer to {method} does not have the expected form: {error}"
            ))
            .hint("the kernel may be of another version: restart it with this one")
        })
    }

    /// Lists the servers, and has those of `begin` start if they wait until somebody needs them.
    pub(super) async fn servers(&self, begin: ServersToBegin) -> Result<Vec<ServerRow>> {
        self.ask(&ListServers { begin }).await.map(|list| list.servers)
    }

    /// Lists the servers when each of `wanted` is connected or has failed once. The kernel tries a failed server again for
    /// minutes, which is too long for a command.
    pub(super) async fn settled(&self, wanted: &ServersToBegin) -> Result<Vec<ServerRow>> {
        self.settled_within(wanted, PATIENCE).await
    }

    /// Lists the servers as [`settled`](Self::settled) does, or as they are after `patience`.
    pub(super) async fn settled_within(
        &self,
        wanted: &ServersToBegin,
        patience: Duration,
    ) -> Result<Vec<ServerRow>> {
        let began = Instant::now();
        loop {
            let servers = self.servers(wanted.clone()).await?;
            let waits = |row: &&ServerRow| {
                let is_listed_soon = row.listing && began.elapsed() < LISTED_WITHIN;
                (row.is_connecting() || is_listed_soon && row.fault.is_none()) && wanted.has(&row.id)
            };
            let waiting: Vec<_> = servers.iter().filter(waits).collect();
            if waiting.is_empty() || began.elapsed() >= patience {
                self.output.waiting("");
                return Ok(servers);
            }
            if began.elapsed() >= SILENT {
                self.output.waiting(&waiting_for(&waiting, servers.len(), began.elapsed()));
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Lists the servers for a command about all tools. Servers of which no tool is known start; they are waited for briefly,
    /// as are those whose tools have changed, and longer if no tool of any server is known.
    pub(super) async fn heard(&self) -> Result<Vec<ServerRow>> {
        let servers = self.servers(ServersToBegin::None).await?;
        let unheard = servers.iter().filter(|row| row.is_unheard() || row.listing).map(|row| row.id.clone());
        let unheard = ServersToBegin::Only(unheard.collect());
        let knows_none = servers.iter().all(|row| row.tools == 0);
        self.settled_within(&unheard, if knows_none { PATIENCE } else { LISTED_WITHIN }).await
    }

    /// Closes the connection, and ends the kernel if it belongs to this process.
    pub(super) async fn close(self) {
        // All requests have been answered, so an error of the closing connection changes nothing.
        let _ = self.client.close().await;
        if let Some(kernel) = self.own {
            kernel.shutdown(ShutdownReason::KernelShutdown, GRACE).await;
            // The events have to be written when the command ends.
            let _ = kernel.sections().audit.log.flush().await;
        }
    }
}

/// Returns the failure of a command that needs a running kernel, and finds none.
pub(super) fn no_kernel() -> Failure {
    Failure::unreachable("no kernel is running, so no server is running either")
        .hint("`mgp serve` starts a kernel")
}

/// Returns the line that a person is shown while servers start.
fn waiting_for(waiting: &[&ServerRow], all: usize, since: Duration) -> String {
    let names: Vec<_> = waiting.iter().take(MAX_NAMES).map(|server| printable(server.id.as_str())).collect();
    let more = if waiting.len() > names.len() { ", ..." } else { "" };
    let (number, names, secs) = (waiting.len(), names.join(", "), since.as_secs());
    format!("waiting for {number} of {all} servers to start: {names}{more} ({secs} s)")
}

/// Connects to the running kernel, if there is one, once it follows the configuration. A kernel in the background that cannot,
/// or has another environment, and that nobody uses, ends first, as does one that is stopping; where the socket is named, the
/// kernel there is the one that is wanted.
async fn running(configured: &EffectiveConfig, held: &mut StateInUse<'_>) -> Result<Option<OperatorClient>> {
    let client = loop {
        match reach(configured).await? {
            Some(client) if configured.is_socket_named => return Ok(Some(client)),
            Some(client) => break client,
            // It ends, and another one may follow it there.
            None if configured.is_socket_named => held.wait().await?,
            None => return Ok(None),
        }
    };
    let note = KernelNote::read(&configured.state);
    let fits = note.as_ref().is_some_and(|note| note.fits(&configured.config));
    if fits || !steps_aside(&client, note, Some(&configured.config), held.output).await {
        return Ok(Some(client));
    }
    let _ = client.close().await;
    while socket::connect(&configured.socket).await.is_ok() {
        held.wait().await?;
    }
    Ok(None)
}

/// Has a kernel in the background that nobody uses end, for another one that is to start with the same state. It stays if it
/// can apply `config`. Returns whether it ends.
pub(super) async fn make_way(
    state: &Path,
    operators: &Path,
    config: Option<&Config>,
    output: &Output,
) -> bool {
    let Ok((reader, writer)) = socket::connect(operators).await else { return false };
    let Ok(client) = operator_client().connect_io(reader, writer).await else { return false };
    let ends = steps_aside(&client, KernelNote::read(state), config, output).await;
    let _ = client.close().await;
    ends
}

/// Returns whether the kernel ends now: it does already, or it is the one with this note, cannot apply `config`, and nobody
/// else uses it.
async fn steps_aside(
    client: &OperatorClient,
    note: Option<KernelNote>,
    config: Option<&Config>,
    output: &Output,
) -> bool {
    let config = note.as_ref().zip(config).and_then(|(note, config)| note.wanted(config));
    let request = StepAside { pid: note.map(|note| note.pid), config };
    match client.request(OperationEntry::name_of::<StepAside>(), &request).await {
        Ok(answer) => {
            let SteppedAside { ends, error } = answer.to().unwrap_or_default();
            if let Some(error) = error {
                output.warning(&format!("the running kernel keeps its previous configuration: {error}"));
            }
            ends
        }
        // One that just ends by itself closes the connection. One of an older version does not know the method, and stays.
        Err(error) => error.origin() == Origin::Connection,
    }
}

/// Connects to the socket of a kernel at `path`; `None` if no kernel runs.
pub(super) async fn join(path: &Path) -> Result<Option<(SocketReader, SocketWriter)>> {
    let error = match socket::connect(path).await {
        Ok(halves) => return Ok(Some(halves)),
        Err(error) => error,
    };
    let (exit, what) = match error.kind() {
        // No kernel runs, one that died has left the socket, or one ends just now.
        NotFound | NotADirectory | ConnectionRefused | ConnectionReset => return Ok(None),
        PermissionDenied => (Exit::Auth, "belongs to another user".to_owned()),
        _ => (Exit::Unreachable, format!("cannot be reached: {error}")),
    };
    Err(Failure::new(exit, format!("the kernel at {} {what}", path.display())))
}

/// Connects to the running kernel; `None` if no kernel runs, or the one that does ends.
///
/// # Errors
/// No kernel answers at the socket that somebody has named, or none that lets this user in.
async fn reach(configured: &EffectiveConfig) -> Result<Option<OperatorClient>> {
    let path = &configured.socket;
    let Some((reader, writer)) = join(path).await? else {
        if !configured.is_socket_named {
            return Ok(None);
        }
        let message = format!("no kernel answers at {}", path.display());
        return Err(Failure::unreachable(message)
            .hint("start that kernel, or leave `--socket` out: `mgp status` shows the socket of yours"));
    };
    let connected = operator_client().connect_io(reader, writer).await;
    let is_ending =
        |error: &Error| error.code() == code::SERVER_DRAINING || error.origin() == Origin::Connection;
    if connected.as_ref().is_err_and(is_ending) {
        // The kernel has shut down or breaks off, and its process ends. The lock of its state says when.
        return Ok(None);
    }
    connected.map(Some).map_err(|error| {
        if error.code() == code::PERMISSION_DENIED {
            return Failure::new(Exit::Auth, error.message().to_owned());
        }
        let path = path.display();
        Failure::unreachable(format!(
            "the program at {path} is not a kernel, or refuses connections: {error}"
        ))
    })
}

/// Starts a kernel in this process, none of whose servers start.
async fn started(configured: &EffectiveConfig) -> Result<Kernel, StartError> {
    let (config, state) = (configured.config.clone(), configured.state.clone());
    Kernel::open(config, state, configured.own_files(), ServerStarts::Never).await
}

/// The longest time that a command waits for its servers to start.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest time that a command waits for the lists of a server that changes again and again.
const LISTED_WITHIN: Duration = Duration::from_secs(2);
/// The time after which a person is shown what the command waits for.
const SILENT: Duration = Duration::from_millis(700);
/// The largest number of servers that are named in one line.
const MAX_NAMES: usize = 4;
/// The time that a command's own kernel has to end.
const GRACE: Duration = Duration::from_secs(2);
/// The time between two looks at the servers.
const LOOK_EVERY: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixListener;

    use super::*;

    #[tokio::test]
    async fn a_kernel_that_ends_while_a_command_connects_counts_as_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mgp.sock");
        let ended = path.clone();
        let ending = std::thread::spawn(move || {
            for _ in 0..5_000 {
                drop(UnixListener::bind(&ended).unwrap());
                std::fs::remove_file(&ended).unwrap();
            }
        });
        while !ending.is_finished() {
            join(&path).await.unwrap();
        }
        ending.join().unwrap();
    }
}
