//! `mgp login` and `mgp logout`: tokens of servers, for which a person signs in once.

use std::sync::Arc;

use clap::Args;
use mgp_client_sdk::oauth::{LoopbackBrowser, MemoryTokenStore, OAuth, OAuthError, StoredLogin};
use mgp_discovery::config::model::ServerConfig;
use mgp_discovery::config::nearest;
use mgp_kernel_core::admin::operation::Operation as _;
use mgp_kernel_core::admin::server_orders::{ChangeLogin, ReconnectServer};
use mgp_kernel_core::servers::authorization;
use mgp_kernel_core::settings::running::AcceptedConfig;
use mgp_kernel_core::terminal::{Exit, Failure, Result, printable};
use serde_json::{Map, json};

use super::context::{CommandContext, EffectiveConfig};
use super::link::KernelLink;
use super::page::open_in_browser;

#[derive(Debug, Args)]
pub(super) struct LoginArgs {
    #[command(flatten)]
    server: LoginServer,
    /// Sign in on another device, by a code; for terminals without a browser
    #[arg(long)]
    device: bool,
    /// Print the page to sign in at instead of opening it
    #[arg(long, conflicts_with = "device")]
    no_browser: bool,
}

#[derive(Debug, Args)]
pub(super) struct LoginServer {
    /// The id of the server
    server: String,
    /// The agent whose login it is, at a server where agents have connections of their own
    #[arg(long)]
    agent: Option<String>,
}

pub(super) async fn login(cx: &CommandContext, args: LoginArgs) -> Result {
    let found = FoundServer::of(cx, &args.server)?;
    if let Some(way) = authorization::without_person(&found.server) {
        return Err(Failure::usage(format!("{} needs no login: {way}", found.server.id)));
    }
    let shown = cx.output.clone();
    let show = move |page: &str| {
        let is_opened = !args.no_browser && open_in_browser(page);
        let what = if is_opened { "sign in on the page that was opened, or open it" } else { "sign in at" };
        shown.note(&format!("{what}: {}", printable(page)));
    };
    let port = found.server.oauth.as_ref().and_then(|oauth| oauth.redirect_port);
    let browser = LoopbackBrowser::new(show);
    let oauth = found.oauth(port.into_iter().fold(browser, LoopbackBrowser::port))?;
    if args.device {
        let output = cx.output.clone();
        let shown = oauth.login_by_device(move |device| {
            let (page, code) = (printable(&device.page), printable(&device.code));
            output.note(&format!("open {page} on any device, and type the code {code}"));
        });
        shown.await.map_err(|error| found.refused(&error))?;
    } else {
        oauth.login().await.map_err(|error| found.refused(&error))?;
    }
    if found.is_shared() {
        let login = oauth.stored_login().await.map_err(|error| found.refused(&error))?;
        found.change(cx, Some(login.as_ref().map(StoredLogin::to_json).unwrap_or_default())).await?;
    }
    found.show(cx, true).await
}

pub(super) async fn logout(cx: &CommandContext, args: LoginServer) -> Result {
    let found = FoundServer::of(cx, &args)?;
    let had = if found.is_shared() {
        found.change(cx, None).await?
    } else {
        found.oauth(LoopbackBrowser::new(|_| {}))?.logout().await.map_err(|error| found.refused(&error))?
    };
    if !had {
        let message = format!("there is no login at {}", found.server.id);
        return Err(Failure::usage(message).hint("`mgp login SERVER` signs in"));
    }
    found.show(cx, false).await
}

/// A server that a person signs in to, and whose login it is.
struct FoundServer {
    configured: EffectiveConfig,
    server: ServerConfig,
    agent: Option<String>,
}

impl FoundServer {
    fn of(cx: &CommandContext, named: &LoginServer) -> Result<Self> {
        let configured = cx.read()?;
        let Some(server) = configured.config.server(&named.server).cloned() else {
            let known = configured.config.servers.iter().map(|server| server.id.as_str());
            let failure = Failure::usage(format!("there is no server {}", printable(&named.server)));
            let meant = nearest(&named.server, known).map(|meant| format!("did you mean {meant}?"));
            return Err(failure.hint(meant.unwrap_or_else(|| "`mgp servers` lists them".to_owned())));
        };
        if server.url.is_none() {
            let message =
                format!("{} is not reached over HTTP, so there is nothing to sign in to", server.id);
            return Err(
                Failure::usage(message).hint("secrets of programs belong in `env`: `mgp secrets set NAME`")
            );
        }
        match (&named.agent, server.has_logins_of_agents()) {
            (None, true) => {
                let message = format!("each agent signs in to {} for itself", server.id);
                Err(Failure::usage(message).hint(format!("run `mgp login {} --agent AGENT`", server.id)))
            }
            (Some(_), false) => {
                let message = format!("all agents share one connection to {}, and one login", server.id);
                Err(Failure::usage(message)
                    .hint("leave `--agent` out, or write `sharing = \"agent\"` in the server's entry"))
            }
            (Some(agent), true) if agent.starts_with('@') => {
                let message = "a login is one agent's, and not a group's";
                let hint = format!("credentials of a group stand under `[servers.agents.\"{agent}\"]`");
                Err(Failure::usage(message).hint(hint))
            }
            (agent, _) => Ok(Self { agent: agent.clone(), configured, server }),
        }
    }

    fn oauth(&self, browser: LoopbackBrowser) -> Result<Arc<OAuth>> {
        let config = &self.configured.config;
        let accepted = AcceptedConfig::new(&self.configured.state);
        let builder = authorization::at_server(config, &accepted, &self.server, self.agent.as_deref(), None)?;
        // The kernel keeps what all kernels share.
        let builder = if self.is_shared() { builder.store(MemoryTokenStore::new()) } else { builder };
        Ok(builder.browser(browser).build()?)
    }

    /// Returns whether the login is one that several kernels share.
    fn is_shared(&self) -> bool {
        self.configured.config.store.url.is_some()
    }

    /// Has the kernel keep a login for all kernels, or forget it, and returns whether there was something to change.
    async fn change(&self, cx: &CommandContext, login: Option<String>) -> Result<bool> {
        let (server_id, agent_id) = (self.server.id.as_str().into(), self.agent.clone());
        let change = ChangeLogin { server_id, agent_id, login };
        Ok(KernelLink::with(cx, change.need(), async |link| link.ask(&change).await).await?.changed)
    }

    /// Returns the failure of a login.
    fn refused(&self, error: &OAuthError) -> Failure {
        let exit = match error {
            OAuthError::Refused(_) | OAuthError::OtherIssuer | OAuthError::OtherLogin => Exit::Auth,
            OAuthError::Unfetched { .. } => Exit::Unreachable,
            OAuthError::NoAnswer(_) => Exit::Waiting,
            _ => Exit::Usage,
        };
        let id = &self.server.id;
        let hint = match exit {
            Exit::Unreachable => format!("check `url` of {id} in mgp.toml, and that the server runs"),
            Exit::Waiting => format!("`mgp login {id}` begins again, `--device` needs no browser here"),
            _ => format!(
                "`mgp login {id}` begins again; `[servers.oauth]` of {id} in mgp.toml names another issuer or client"
            ),
        };
        Failure::new(exit, format!("no login at {id}: {error}")).hint(hint)
    }

    /// Shows what changed, and has a running kernel connect to the server anew.
    async fn show(&self, cx: &CommandContext, is_logged_in: bool) -> Result {
        let mut changed = Map::from_iter([("server_id".to_owned(), json!(self.server.id))]);
        changed.extend(self.agent.iter().map(|agent| ("agent_id".to_owned(), json!(agent))));
        changed.insert("is_logged_in".to_owned(), is_logged_in.into());
        // The running kernel connects to the server anew.
        if let Some(link) = KernelLink::to_running(cx).await? {
            let restarted = link.ask(&ReconnectServer { server_id: self.server.id.as_str().into() }).await;
            link.close().await;
            changed.extend(restarted.ok().map(|it| ("state".to_owned(), it.state.to_string().into())));
        }
        let what = if is_logged_in { "signed in to" } else { "signed out of" };
        cx.output.line(&changed.into(), &format!("{what} {}", self.server.id))
    }
}
