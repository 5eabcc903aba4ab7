//! The operations on one server: restart, start and stop, its standard error, what it is given and may reach, and the login of
//! a person at it, in the browser that shows the page of the kernel.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use mgp_client_sdk::oauth::{LoopbackBrowser, StoredLogin};
use mgp_discovery::Config;
use mgp_discovery::config::Reach;
use mgp_discovery::config::model::ServerConfig;
use mgp_security::permission::GrantTerms;
use mgp_types::Error;
use mgp_types::mgp::{AuditTarget, Permission, ServerId, ServerState, ShutdownReason};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use super::operation::{KernelNeed, Operation, OperatorCall};
use super::servers::{ServerList, ServerRow};
use crate::replicas::SharedLogins;
use crate::sections::Sections;
use crate::servers::authorization::{at_server, without_person};
use crate::servers::confine::support;
use crate::servers::upstream::{Upstream, granted, inherited, reach_here};
use crate::settings::running::AcceptedConfig;
use crate::terminal::{TextForm, TextWriter, printable};

/// Restarts a server.
#[derive(Debug, Serialize, Deserialize)]
pub struct RestartServer {
    /// The server.
    pub server_id: ServerId,
}

/// Starts a server that was stopped.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct StartServer {
    /// The id of the server
    #[arg(value_name = "SERVER")]
    server_id: ServerId,
}

/// Stops a server until it is started again.
#[derive(Debug, Serialize, Deserialize)]
pub struct StopServer {
    /// The server.
    pub server_id: ServerId,
}

/// Connects to a server with a URL anew, by the login that it has now. One that was stopped stays so.
#[derive(Debug, Serialize, Deserialize)]
pub struct ReconnectServer {
    /// The server.
    pub server_id: ServerId,
}

/// The state of a server after it was started or stopped.
#[derive(Debug, Serialize, Deserialize)]
pub struct ServerStateChanged {
    /// The state of the server.
    pub state: ServerState,
    /// The clients whose session at the server ended, with all that the server kept in memory for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) ended_sessions: Vec<String>,
}

/// Reads the last lines that a server wrote to its standard error.
#[derive(Debug, Args, Serialize, Deserialize)]
pub struct ReadServerLog {
    /// The id of the server
    #[arg(value_name = "SERVER")]
    pub server_id: ServerId,
    /// The number of lines
    #[arg(short = 'n', long, value_name = "N", default_value_t = 100)]
    pub lines: u32,
}

/// The last lines of a server, the oldest first.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ServerLog {
    /// The last lines of the log.
    pub lines: Vec<String>,
    /// The state of the server, over all of its connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<ServerState>,
    /// The reason why the server does not run, if it does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Operation for RestartServer {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = ServerStateChanged;

    async fn run(self, call: &OperatorCall) -> Result<ServerStateChanged, Error> {
        let server = recorded(call, &self.server_id, "dev.cloto.mgp.server_restarted").await?;
        let rows = ServerList::of(&call.kernel).servers;
        let row = rows.into_iter().find(|row| row.id == self.server_id);
        let ended_sessions = row.map(|row| row.sessions()).unwrap_or_default();
        server.restart(ShutdownReason::OperatorRequest).await?;
        Ok(ServerStateChanged { state: server.state(), ended_sessions })
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
        Ok(ServerStateChanged::of(&server))
    }
}

impl Operation for StopServer {
    const NEED: KernelNeed = KernelNeed::Running;
    type Reply = ServerStateChanged;

    async fn run(self, call: &OperatorCall) -> Result<ServerStateChanged, Error> {
        let server = recorded(call, &self.server_id, "dev.cloto.mgp.server_stopped").await?;
        server.stop(ShutdownReason::OperatorRequest, DRAIN).await;
        Ok(ServerStateChanged::of(&server))
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
        Ok(ServerStateChanged::of(&server))
    }
}

impl ServerStateChanged {
    /// Returns the state of a server whose clients keep their sessions.
    fn of(server: &Upstream) -> Self {
        Self { state: server.state(), ended_sessions: Vec::new() }
    }
}

impl TextForm for ServerStateChanged {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        writeln!(out, "{}", self.state)
    }

    fn notes(&self) -> Vec<String> {
        let clients = printable(&self.ended_sessions.join(", "));
        let note = format!("What the server kept in memory for its clients is lost: {clients}");
        if clients.is_empty() { Vec::new() } else { vec![note] }
    }
}

impl Operation for ReadServerLog {
    type Reply = ServerLog;

    async fn run(self, call: &OperatorCall) -> Result<ServerLog, Error> {
        let server = known(&call.kernel, &self.server_id)?;
        let lines = server.log(self.lines.min(MAX_LINES) as usize);
        let mut rows = ServerList::of(&call.kernel).servers;
        rows.retain(|row| row.id == self.server_id);
        let reason = rows.iter().find_map(ServerRow::why).map(str::to_owned);
        Ok(ServerLog { lines, state: rows.last().map(|row| row.state), reason })
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
        if server.has_logins_of_agents() || without_person(server).is_some() {
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
        let (config, shared) = (call.kernel.config.load_full(), call.kernel.policies.logins.as_ref());
        let oauth = at_server(&config, &call.kernel.config.accepted, server, None, shared)?
            .browser(browser)
            .build()?;
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

/// Keeps a login that a command has made, for all kernels, or forgets the one there is.
#[derive(Serialize, Deserialize)]
pub struct ChangeLogin {
    /// The server.
    pub server_id: ServerId,
    /// The agent whose login it is; `None` where all agents share one.
    pub agent_id: Option<String>,
    /// The new login as text, which is secret; `None` to forget the one there is.
    pub login: Option<String>,
}

mgp_types::partial_debug!(ChangeLogin, self => server_id: self.server_id, agent_id: self.agent_id);

/// The result of a change of a login: whether there was something to change.
#[derive(Debug, Serialize, Deserialize)]
pub struct LoginChanged {
    /// True if there was something to change.
    pub changed: bool,
}

impl Operation for ChangeLogin {
    type Reply = LoginChanged;

    async fn run(self, call: &OperatorCall) -> Result<LoginChanged, Error> {
        let (config, shared) = (call.kernel.config.load_full(), call.kernel.policies.logins.as_ref());
        // A kernel that runs for one command has no servers, only their configuration.
        let id = self.server_id.as_str();
        let unknown = || Error::invalid_params(format!("the kernel has no server `{id}`: run `mgp reload`"));
        let server = config.server(id).ok_or_else(unknown)?;
        let oauth =
            at_server(&config, &call.kernel.config.accepted, server, self.agent_id.as_deref(), shared)?
                .build()?;
        let login = self.login.map(|login| StoredLogin::from_json(&login)).transpose()?;
        let agent = self.agent_id.as_deref().map(|agent| ("agent_id", agent));
        let target = AuditTarget::new(Some(self.server_id), None);
        call.record("dev.cloto.mgp.login_changed", target, agent.as_slice()).await?;
        let changed = match login {
            Some(login) => oauth.keep_login(&login).await.map(|()| true),
            None => oauth.logout().await,
        };
        Ok(LoginChanged { changed: changed? })
    }
}

/// Shows what a server is given, what it may reach, and the login at it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ShowServer {
    pub(crate) server_id: ServerId,
}

/// The details of a server.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ServerDetails {
    /// The names of the variables that its program is given. Their values are shown nowhere.
    pub(crate) variables: BTreeSet<String>,
    /// The confinement of its program by the system, in words; `None` where the kernel starts no program.
    pub(crate) confined: Option<String>,
    /// The permissions and settings by which a confined program reaches more than the system's programs, itself and a temporary
    /// folder.
    pub(crate) opened: Vec<String>,
    /// The login at the server, in words; `None` where there is nothing to sign in to.
    pub(crate) login: Option<String>,
}

impl Operation for ShowServer {
    type Reply = ServerDetails;

    async fn run(self, call: &OperatorCall) -> Result<ServerDetails, Error> {
        let Sections { config, policies, .. } = &*call.kernel;
        let (accepted, config) = (&config.accepted, config.load_full());
        let running = known(&call.kernel, &self.server_id)?;
        let (server, shared) = (running.config(), policies.logins.as_ref());
        let login =
            if server.url.is_some() { Some(login(&config, accepted, server, shared).await) } else { None };
        let mut details = ServerDetails { login, ..ServerDetails::default() };
        if server.command.is_none() {
            return Ok(details);
        }
        let of_agents = server.agents.values().flat_map(|agent| agent.env.keys());
        details.variables.extend(server.env.keys().chain(of_agents).cloned());
        let of_kernel = inherited(&config, &server.id).into_iter();
        details.variables.extend(of_kernel.filter_map(|(name, _)| name.into_string().ok()));
        let system = support();
        let reach = reach_here(&config, server);
        details.confined = Some(match (reach, system.confines()) {
            (Reach::All, Err(why)) => format!("no: {why}"),
            (Reach::All, Ok(())) => "no".to_owned(),
            (_, Err(why)) => format!("no, although it has to be: {why}"),
            (Reach::Own, Ok(())) => format!("to what is its own, by the system: {system}"),
            (Reach::Folders, Ok(())) => {
                format!("to the system's files, open folders and the network, by the system: {system}")
            }
        });
        if reach != Reach::All {
            let granted = granted(policies, &config, server).map_err(Error::invalid_params)?;
            details.opened = opened(server, &granted);
        }
        Ok(details)
    }
}

fn opened(server: &ServerConfig, granted: &[(Permission, GrantTerms)]) -> Vec<String> {
    let by_permission = |(permission, terms): &(Permission, GrantTerms)| {
        let scope = terms.scope.as_ref().and_then(|scope| serde_json::to_string(scope).ok());
        format!("{permission}: {}", scope.as_deref().unwrap_or("everything"))
    };
    let mut opened: Vec<_> = granted.iter().map(by_permission).collect();
    let configured = server.confinement.as_ref().and_then(|extra| serde_json::to_string(extra).ok());
    opened.extend(configured.map(|extra| format!("`confinement` of its entry: {extra}")));
    opened
}

/// Returns the login at a server in words, with the command that changes it.
async fn login(
    config: &Config,
    accepted: &AcceptedConfig,
    server: &ServerConfig,
    shared: Option<&SharedLogins>,
) -> String {
    if let Some(way) = without_person(server) {
        return format!("none is needed: {way}");
    }
    let command = format!("`mgp login {}`", server.id);
    if server.has_logins_of_agents() {
        return format!("each agent has its own: {command} with `--agent AGENT`");
    }
    let stored = async {
        Ok::<_, Error>(at_server(config, accepted, server, None, shared)?.build()?.stored_login().await?)
    };
    match stored.await.map(|login| login.map(|login| login.ends_at())) {
        Ok(Some(Some(end))) => format!("signed in until {end}; {command} signs in again"),
        Ok(Some(None)) => "signed in".to_owned(),
        Ok(None) => format!("none; {command} signs in where the server demands it"),
        Err(error) => format!("not known: {}", error.message()),
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
fn known(kernel: &Sections, id: &ServerId) -> Result<Arc<Upstream>, Error> {
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
pub const MAX_LINES: u32 = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_told_by_the_permission_or_the_setting_that_opens_it() {
        let server =
            r#"{"command":"x","confinement":{"read":["~/notes"],"connect":[443],"unix_sockets":true}}"#;
        let server: ServerConfig = serde_json::from_str(server).unwrap();
        let scope = serde_json::from_str(r#"{"ports":[443]}"#).unwrap();
        let granted = [
            (Permission::FilesystemRead, GrantTerms::default()),
            (
                Permission::NetworkOutbound,
                GrantTerms { scope: Some(Box::new(scope)), ..GrantTerms::default() },
            ),
        ];
        let expected = [
            "filesystem.read: everything",
            r#"network.outbound: {"ports":[443]}"#,
            r#"`confinement` of its entry: {"folders":false,"read":["~/notes"],"write":[],"change_modes":false,"connect":[443],"listen":[],"unix_sockets":true}"#,
        ];
        assert_eq!(opened(&server, &granted), expected);
    }

    #[tokio::test]
    async fn a_login_that_no_person_has_to_make_is_told() {
        let told = async |server: &str| {
            let server = serde_json::from_str(server).unwrap();
            login(&Config::default(), &AcceptedConfig::new("".as_ref()), &server, None).await
        };
        let own = r#"{"id":"a","url":"https://a.example","oauth":{"grant":"client_credentials"}}"#;
        assert!(told(own).await.starts_with("none is needed"));
        let agents = r#"{"id":"a","url":"https://a.example","sharing":"agent"}"#;
        assert_eq!(told(agents).await, "each agent has its own: `mgp login a` with `--agent AGENT`");
    }
}
