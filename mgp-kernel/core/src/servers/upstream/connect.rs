//! One attempt to connect to a server, by the transport that is configured.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use mgp_client_sdk::{Client, EraMode};
use mgp_discovery::config::model::{ServerDialect, ServerGrant};
use mgp_discovery::config::{Endpoint, Environment as _, ProcessEnvironment, Secret};
use mgp_transport::ConnectionLimits;
use mgp_transport::child::{ChildCommand, StderrTarget};
use mgp_transport::http::{HttpClientBuilder, HttpStatus};
use mgp_types::ext::{ExtensionId, ReferenceGate};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{BoxedService, Error, Gate as _, Object, Principal, RawJson, code};

use super::confined::{self, ServerProgram};
use super::connection_key::{ClientKey, ConnectionKey};
use super::connection_shared::ConnectionShared;
use super::inbound::ServerInboundLayer;
use super::kernel_members::KernelMembersGate;
use super::start_attempt::StderrTail;
use crate::call::hints::HINTS;
use crate::data::transports;
use crate::replicas::PeerMarks;
use crate::servers::authorization;
use crate::settings;

/// Connects to the server once, in the way that is configured.
///
/// # Errors
/// Fails if the configuration leads nowhere, if the server cannot be reached, or if it does not agree.
pub(super) async fn connect(shared: Arc<ConnectionShared>) -> Result<Client<BoxedService>, Error> {
    let output = shared.state.attempt.lock().output.clone();
    let config = &shared.config;
    // The program begins with the lease, and ends before it does.
    let leased = match shared.support.peers(config) {
        Some(peers) => Some((peers, peers.leases.of(&config.id).await)),
        None => None,
    };
    let elsewhere = leased.as_ref().and_then(|(peers, held)| Some((peers, held, held.elsewhere.as_ref()?)));
    let running = shared.support.config.load_full();
    let is_dialect = config.dialect == Some(ServerDialect::ExtReference);
    let declared = |json: &'static str| RawJson::from_written(json.into());
    let builder = Client::builder(settings::NAME, env!("CARGO_PKG_VERSION"));
    // What results and reports tell of costs, sources, better tools, state and checkpoints reaches the clients that declared
    // it, too.
    let effects = running.effects.enabled.then_some(settings::EFFECTS);
    let passed = HINTS.into_iter().chain(CARRIED).chain(effects.into_iter().flatten());
    let builder = passed.fold(builder, |builder, id| builder.extension(id.id(), &Object::new()));
    let builder = if shared.support.data.is_on() {
        builder.extension(ExtensionId::DataReferences.id(), &transports())
    } else {
        builder
    };
    let builder = builder
        .mgp(Offer::new(ExtensionSet::standard()))
        .capability("sampling", declared(r#"{"tools":{},"context":{}}"#))
        .capability("elicitation", declared(r#"{"form":{},"url":{}}"#))
        .capability("roots", declared(r#"{"listChanged":true}"#))
        .relay_clients()
        .caching(false)
        .era(EraMode::PreferSession)
        .handshake_timeout(settings::startup_timeout(&running, config))
        .limits(limits(&shared))
        .on_stray_line({
            let (log, output) = (shared.of_server.log.clone(), output.clone());
            move |line| [&log, &output].into_iter().for_each(|log| log.push_stray(line))
        })
        .layer(KernelMembersGate.into_layer())
        // The kernel sees requests and results as MCP has them, lists included.
        .layer(ReferenceGate::new(is_dialect && elsewhere.is_none()).into_layer())
        .inbound_layer(ServerInboundLayer(Arc::downgrade(&shared)));
    if let Some((peers, lease, address)) = elsewhere {
        let configure = peers.transport(&marks(&shared.key, lease.epoch))?;
        let url = format!("https://{address}/servers/{}", config.id);
        return builder.era(EraMode::Session).connect_http_with(&url, configure).await.map(Client::boxed);
    }
    let revision = config.protocol.revision();
    let builder = revision.into_iter().fold(builder, |builder, revision| builder.revisions([revision]));
    // The registrant of a script may have changed it since the last start.
    let code = match shared.support.registry.get() {
        Some(registry) => registry.check_code(&shared.server).await?,
        None => None,
    };
    if shared.tasks_at.is_of_program() {
        shared.support.tables.tasks.end_of_program(&shared.tasks_at);
    }
    // The store of secrets may be a keyring that answers late.
    let of = Arc::clone(&shared);
    let resolved = tokio::task::spawn_blocking(move || Ok::<_, Error>((endpoint(&of)?, hidden(&of)?)));
    let (endpoint, hidden) =
        resolved.await.map_err(|_| Error::internal("the server's secrets were not read"))??;
    match endpoint {
        Endpoint::Child { command, args, cwd, env } => {
            let start = confined::start(&shared, ServerProgram { command, args, cwd, env }, code).await?;
            let client = builder
                .connect_child(|| heard(&shared, start.command(), hidden.clone(), output.clone()))
                .await
                .map(Client::boxed);
            // The folders of the previous start go now, and those of this start with the next one.
            *shared.state.started.lock() = Some(start);
            client
        }
        // A server without Streamable HTTP is connected to over HTTP+SSE.
        Endpoint::Http { url, headers, is_sse } => {
            let configure = transport(&shared, &url, &headers).await?;
            let connected = if is_sse {
                builder.connect_sse_with(url.expose(), configure).await
            } else {
                builder.connect_http_with(url.expose(), configure).await
            };
            advised(&shared, connected.map(Client::boxed))
        }
        #[cfg(unix)]
        Endpoint::Unix { socket } => builder.connect_unix(socket.expose()).await.map(Client::boxed),
        #[cfg(windows)]
        Endpoint::Unix { .. } => {
            Err(Error::invalid_params("on Windows, use `command` or `url`, not `socket`"))
        }
    }
}

/// The extensions of what clients carry for servers, and of reports with it.
const CARRIED: [ExtensionId; 3] =
    [ExtensionId::SessionState, ExtensionId::Streaming, ExtensionId::ProgressNotifications];

/// Returns the limits of the connection. They exceed the largest result: a message has to be read before its result can
/// be reported as too long.
fn limits(shared: &ConnectionShared) -> ConnectionLimits {
    let mut limits = shared.support.config.connection_limits();
    let most = settings::max_message_bytes(&shared.support.config.load());
    let needed = most.saturating_add(AROUND_A_RESULT);
    limits.max_frame_bytes = limits.max_frame_bytes.max(needed);
    limits
}

/// Returns the endpoint of the server for the agent of this connection.
fn endpoint(shared: &ConnectionShared) -> Result<Endpoint, Error> {
    let accepted = &shared.support.config.accepted;
    let expanded = shared.config.expanded(accepted).map_err(|fault| not_reached(shared, &fault))?;
    let mut agents = expanded.agents;
    let agent = shared.key.agent.as_ref().and_then(Principal::agent_name);
    let groups = shared.support.policies.access.groups();
    let own = agent.and_then(|agent| groups.find(agent, |name| agents.remove(name)));
    Ok(own.unwrap_or(expanded.endpoint))
}

fn not_reached(shared: &ConnectionShared, why: &dyn Display) -> Error {
    Error::invalid_params(format!("the server `{}` cannot be reached: {why}", shared.server))
}

/// Returns the secrets of the server, which are hidden in the lines that it writes to its standard error.
fn hidden(shared: &ConnectionShared) -> Result<Vec<Secret>, Error> {
    let references = shared.config.secret_references();
    let read = references.iter().map(|found| ProcessEnvironment.secret(&found.secret));
    let read: Result<Vec<_>, _> = read.filter_map(Result::transpose).collect();
    let mut secrets = read.map_err(|error| not_reached(shared, &error))?;
    secrets.retain(|secret| secret.expose().len() >= SHORTEST_HIDDEN);
    Ok(secrets)
}

/// Returns the command of the server with its standard error captured, in which its secrets are hidden.
fn heard(
    shared: &ConnectionShared,
    program: ChildCommand,
    secrets: Vec<Secret>,
    output: StderrTail,
) -> ChildCommand {
    let (log, server) = (shared.of_server.log.clone(), shared.server.clone());
    let stderr = StderrTarget::lines(move |line| {
        let line = &*without(line, &secrets);
        tracing::debug!(%server, line, "the server wrote to its standard error");
        log.push(line);
        output.push(line);
    });
    let program = match shared.support.peers(&shared.config) {
        Some(_) => program.exit_timeout(LEASED_END).terminate_timeout(LEASED_END),
        None => program,
    };
    program.id_into(Arc::clone(&shared.state.pid)).exit_into(Arc::clone(&shared.state.exit)).stderr(stderr)
}

/// Returns the marks of a connection to the kernel that runs the server.
pub(super) fn marks(key: &ConnectionKey, epoch: i64) -> PeerMarks {
    let client = key.agent.as_ref().map(ClientKey::of).or_else(|| key.client.clone());
    match client {
        Some(ClientKey { agent, session }) => {
            PeerMarks { epoch, caller: agent, has_session: session.is_some() }
        }
        // Like an operator, all clients here together use the connection that lists for all.
        None => PeerMarks { epoch, caller: Principal::operator(OTHER_KERNEL), has_session: true },
    }
}

/// The name of another kernel as a client of a server here, where its own clients share the connection.
const OTHER_KERNEL: &str = "other-kernel";

/// The time that a program with a lease has to end when it is told to, and once more when it did not.
const LEASED_END: Duration = Duration::from_millis(500);

/// Returns a line that a server wrote without the secrets that it was given.
fn without<'l>(line: &'l str, secrets: &[Secret]) -> Cow<'l, str> {
    secrets.iter().fold(Cow::Borrowed(line), |line, secret| {
        if line.contains(secret.expose()) { line.replace(secret.expose(), "***").into() } else { line }
    })
}

/// The shortest secret that is hidden, in bytes. A shorter text also occurs in lines that have nothing to do with it.
const SHORTEST_HIDDEN: usize = 6;

/// Tells of a login where a server demands one, and a person can sign in.
fn advised<T>(shared: &ConnectionShared, connected: Result<T, Error>) -> Result<T, Error> {
    if shared.config.oauth.as_ref().is_some_and(|oauth| oauth.grant != ServerGrant::Login) {
        return connected;
    }
    connected.map_err(|error| {
        let Some(status) = HttpStatus::of(&error).filter(|status| status.code() == 401).cloned() else {
            return error;
        };
        let agent = shared.key.agent.as_ref().and_then(Principal::agent_name);
        let agent = agent.map(|agent| format!(" --agent {agent}")).unwrap_or_default();
        let server = &shared.server;
        let message = format!("the server `{server}` demands authorization; run `mgp login {server}{agent}`");
        Error::new(code::AUTH_REQUIRED, message).with_source(status)
    })
}

/// Returns the configuration of the HTTP transport: as many connections as the server works on calls at once, and its
/// headers.
///
/// # Errors
/// Fails if a header is none of HTTP, or if nobody can be authorized.
async fn transport(
    shared: &ConnectionShared,
    url: &Secret,
    headers: &BTreeMap<String, Secret>,
) -> Result<impl Fn(HttpClientBuilder) -> HttpClientBuilder + use<>, Error> {
    let headers = headers.iter().map(|(name, value)| {
        let why = || format!("the header {name:?} or its value is none of HTTP");
        header(name, value).ok_or_else(|| not_reached(shared, &why()))
    });
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    let (config, policies) = (&shared.support.config, &shared.support.policies);
    let owner = shared.key.agent.as_ref();
    let oauth = authorization::of_server(config, &shared.config, owner, policies, url).await?;
    let places = settings::server_places(&shared.config).get();
    Ok(move |transport: HttpClientBuilder| {
        let transport = oauth.iter().fold(transport.max_idle_connections(places), |transport, oauth| {
            transport.authorize_with(Arc::clone(oauth) as _)
        });
        headers.iter().cloned().fold(transport, |transport, (name, value)| transport.header(name, value))
    })
}

fn header(name: &str, value: &Secret) -> Option<(HeaderName, HeaderValue)> {
    let mut value: HeaderValue = value.expose().parse().ok()?;
    value.set_sensitive(true);
    Some((name.parse().ok()?, value))
}

/// The number of bytes that a message may have beyond its result: more than any envelope, so that a result that is a
/// little too long is told from an endless one.
const AROUND_A_RESULT: usize = 4 << 20;
