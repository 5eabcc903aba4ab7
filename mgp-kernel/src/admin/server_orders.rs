//! Orders about one server: restarted, started and stopped, what it wrote to its standard error, and the login of a person
//! at it, in the browser that shows the page of the kernel.

use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use mgp_client_sdk::oauth::LoopbackBrowser;
use mgp_types::Error;
use mgp_types::mgp::{AuditTarget, ServerId, ServerState, ShutdownReason};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::operation::{KernelNeed, Operation, OperatorCall};
use super::servers::ServerList;
use crate::sections::Sections;
use crate::servers::authorization::{at_server, without_person};
use crate::servers::upstream::Upstream;
use crate::terminal::{TextForm, TextWriter, line_form, printable};

/// Restarts a server.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RestartServer {
    pub(crate) server_id: ServerId,
}

/// Starts a server that was stopped.
#[derive(Debug, Args, Serialize, Deserialize)]
pub(crate) struct StartServer {
    /// The id of the server
    #[arg(value_name = "SERVER")]
    server_id: ServerId,
}

/// Stops a server until it is started again.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StopServer {
    pub(crate) server_id: ServerId,
}

/// Connects to a server with a URL anew, by the login that it has now. One that was stopped stays so.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ReconnectServer {
    pub(crate) server_id: ServerId,
}

/// The state of a server after it was started or stopped.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ServerStateChanged {
    pub(crate) state: ServerState,
}

/// Reads the last lines that a server wrote to its standard error.
#[derive(Debug, Args, Serialize, Deserialize)]
pub(crate) struct ReadServerLog {
    /// The id of the server
    #[arg(value_name = "SERVER")]
    pub(crate) server_id: ServerId,
    /// The number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub(crate) lines: u32,
}

/// The last lines of a server, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct ServerLog {
    pub(crate) lines: Vec<String>,
    /// The state of the server, over all of its connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) state: Option<ServerState>,
    /// The reason why the server does not run, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reason: Option<String>,
}

impl Operation for RestartServer {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = ServerStateChanged;

    async fn run(self, call: &OperatorCall) -> Result<ServerStateChanged, Error> {
        let server = recorded(call, &self.server_id, "dev.cloto.mgp.server_restarted").await?;
        server.restart(ShutdownReason::OperatorRequest).await?;
        Ok(ServerStateChanged { state: server.state() })
    }
}

impl Operation for StartServer {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = ServerStateChanged;

    async fn run(self, call: &OperatorCall) -> Result<ServerStateChanged, Error> {
        let server = recorded(call, &self.server_id, "dev.cloto.mgp.server_started").await?;
        server.start();
        let end = Instant::now() + LONGEST_START;
        // The order to start is carried out later, so the state of a server that was stopped is none to answer with.
        let on_its_way = [ServerState::Registered, ServerState::Connecting, ServerState::Disconnected];
        while on_its_way.contains(&server.state()) && Instant::now() < end {
            sleep(LOOK_EVERY).await;
        }
        Ok(ServerStateChanged { state: server.state() })
    }
}

impl Operation for StopServer {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = ServerStateChanged;

    async fn run(self, call: &OperatorCall) -> Result<ServerStateChanged, Error> {
        let server = recorded(call, &self.server_id, "dev.cloto.mgp.server_stopped").await?;
        server.stop(ShutdownReason::OperatorRequest, DRAIN).await;
        Ok(ServerStateChanged { state: server.state() })
    }
}

impl Operation for ReconnectServer {
    type Reply = ServerStateChanged;

    async fn run(self, call: &OperatorCall) -> Result<ServerStateChanged, Error> {
        let server = known(&call.kernel, &self.server_id)?;
        let config = call.kernel.config.load_full();
        let has_url = config.server(self.server_id.as_str()).is_some_and(|server| server.url.is_some());
        if has_url && server.state() != ServerState::Disconnected {
            return RestartServer { server_id: self.server_id }.run(call).await;
        }
        Ok(ServerStateChanged { state: server.state() })
    }
}

line_form!(ServerStateChanged, |changed| changed.state);

impl Operation for ReadServerLog {
    type Reply = ServerLog;

    async fn run(self, call: &OperatorCall) -> Result<ServerLog, Error> {
        let server = known(&call.kernel, &self.server_id)?;
        let lines = server.log(self.lines.min(MAX_LINES) as usize);
        let (mut state, mut reason) = (None, None);
        let rows = ServerList::of(&call.kernel).servers.into_iter();
        for row in rows.filter(|row| row.id == self.server_id) {
            state = Some(row.state);
            reason = reason.or_else(|| row.why().map(str::to_owned));
        }
        Ok(ServerLog { lines, state, reason })
    }
}

impl TextForm for ServerLog {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        self.lines.iter().try_for_each(|line| writeln!(out, "{}", printable(line)))
    }
}

/// Begins a login at a server. The kernel connects to the server anew once a person has signed in.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BeginLogin {
    pub(crate) server_id: ServerId,
}

/// A login that was begun.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct BegunLogin {
    /// The page of the issuer, whose answer comes to a port of the kernel's machine.
    pub(crate) page: String,
}

impl Operation for BeginLogin {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = BegunLogin;

    async fn run(self, call: &OperatorCall) -> Result<BegunLogin, Error> {
        let running = known(&call.kernel, &self.server_id)?;
        let server = running.config();
        let grant = server.oauth.as_ref().map(|oauth| oauth.grant);
        if server.has_logins_of_agents() || grant.is_some_and(|grant| without_person(grant).is_some()) {
            let what = format!("there is no common login at `{}`: `mgp login {0}` says more", self.server_id);
            return Err(Error::invalid_params(what));
        }
        let (show, shown) = oneshot::channel();
        let show = Mutex::new(Some(show));
        let browser = LoopbackBrowser::new(move |page| {
            // Nobody waits for the page any more if the caller has gone.
            let _ = show.lock().take().map(|show| show.send(page.to_owned()));
        });
        let port = server.oauth.as_ref().and_then(|oauth| oauth.redirect_port);
        let browser = port.into_iter().fold(browser, LoopbackBrowser::port);
        let oauth = at_server(&call.kernel.config.load_full(), server, None)?.browser(browser).build()?;
        let target = AuditTarget::new(Some(self.server_id.clone()), None);
        call.record("dev.cloto.mgp.login_begun", target, &[]).await?;
        let (call, server_id) = (call.clone(), self.server_id.clone());
        let login = tokio::spawn(async move {
            let login = async {
                oauth.login().await?;
                ReconnectServer { server_id: server_id.clone() }.run(&call).await
            };
            login.await.inspect_err(|error| {
                tracing::warn!(server = %server_id, %error, "a login that was begun came to nothing");
            })
        });
        match shown.await {
            Ok(page) => Ok(BegunLogin { page }),
            Err(_) => match login.await {
                Ok(Err(error)) => Err(error),
                _ => Err(Error::internal("the login ended before it began")),
            },
        }
    }
}

/// Records what is about to be done with the server, and returns the server.
async fn recorded(call: &OperatorCall, id: &ServerId, what: &str) -> Result<Arc<Upstream>, Error> {
    let server = known(&call.kernel, id)?;
    let target = AuditTarget::new(Some(id.clone()), None);
    call.record(what, target, &[("state", server.state().as_str())]).await?;
    Ok(server)
}

/// Returns the server with this id, if it is in use.
pub(super) fn known(kernel: &Sections, id: &ServerId) -> Result<Arc<Upstream>, Error> {
    let (fleet, config) = (&kernel.fleet, kernel.config.load());
    fleet.get(id.as_str()).ok_or_else(|| {
        if config.servers.iter().any(|server| server.id == id.as_str() && !server.enabled) {
            return Error::invalid_params(format!(
                "the server `{id}` is switched off; `enabled = true` in its configuration starts it"
            ));
        }
        let near: Vec<_> = fleet.near(id.as_str()).iter().map(ToString::to_string).collect();
        Error::invalid_params(if near.is_empty() {
            format!("there is no server `{id}`; `mgp servers` shows those there are")
        } else {
            format!("there is no server `{id}`; did you mean {}?", near.join(", "))
        })
    })
}

/// The longest time that the answer to an order to start waits for the server's state.
const LONGEST_START: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);
const DRAIN: Duration = Duration::from_secs(10);
/// The largest number of lines of a log that are read at once.
pub(crate) const MAX_LINES: u32 = 1_000;
