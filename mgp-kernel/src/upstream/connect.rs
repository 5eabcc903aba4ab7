use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mgp_client_sdk::Client;
use mgp_discovery::config::model::{ServerConfig, TransportKind};
use mgp_security::permission::AnswersPermissionsLayer;
use mgp_transport::ConnectionLimits;
use mgp_transport::child::{ChildCommand, Stderr};
use mgp_transport::http::HttpClient;
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{Error, RawJson, RpcService};
use tower_layer::Layer;

use super::environment;
use super::inbound::InboundLayer;
use super::shared::Shared;
use super::size::max_result_bytes;
use crate::asking::PassOnLayer;
use crate::erased::Erased;

/// Connects to the server once, in the way that is configured.
///
/// # Errors
/// The server is configured in a way that leads nowhere, cannot be reached, or does not agree.
pub(super) async fn connect(shared: Arc<Shared>) -> Result<Client<Erased>, Error> {
    let config = &shared.config;
    let Some(back) = shared.back.get() else { return Err(Error::internal("the server has no way yet")) };
    let name = shared.parts.config.load().kernel.name.clone().unwrap_or_else(|| "mgp".into());
    let declared = |json: &'static str| RawJson::from_written(json.into());
    let builder = Client::builder(name, env!("CARGO_PKG_VERSION"))
        .mgp(Offer::new(ExtensionSet::standard()))
        .capability("sampling", declared(r#"{"tools":{},"context":{}}"#))
        .capability("elicitation", declared(r#"{"form":{},"url":{}}"#))
        .capability("roots", declared(r#"{"listChanged":true}"#))
        .relay_clients()
        .caching(false)
        .handshake_timeout(startup_timeout(config))
        .limits(limits(config))
        .layer(Erasing)
        .inbound_layer(AnswersPermissionsLayer::new(back.permissions.clone()))
        .inbound_layer(InboundLayer::new(&shared))
        .inbound_layer(PassOnLayer::new(shared.calls.clone()));
    match way(config)? {
        Way::Child(program) => builder.connect_child(|| command(&shared, program)).await,
        Way::Http(url) => {
            let headers = headers(&shared)?;
            builder
                .connect_http_with(url, |transport| {
                    headers.iter().fold(transport, |transport, (name, value)| {
                        match (name.parse(), value.parse()) {
                            (Ok(name), Ok(value)) => transport.header(name, value),
                            // They were checked before.
                            _ => transport,
                        }
                    })
                })
                .await
        }
        #[cfg(unix)]
        Way::Unix(path) => builder.connect_unix(path).await,
        #[cfg(not(unix))]
        Way::Unix(_) => Err(wrong(config, "there are no Unix sockets here")),
    }
}

/// How long the server may take until it answers.
pub(super) fn startup_timeout(config: &ServerConfig) -> Duration {
    config.limits.startup_timeout_ms.map_or(STARTUP_TIMEOUT, Duration::from_millis)
}

/// A message has to be read before it can be said that its result is too long.
fn limits(config: &ServerConfig) -> ConnectionLimits {
    let mut limits = ConnectionLimits::default();
    let needed = max_result_bytes(config).saturating_add(AROUND_A_RESULT);
    limits.max_frame_bytes = limits.max_frame_bytes.max(needed);
    limits
}

enum Way<'a> {
    Child(&'a str),
    Http(&'a str),
    Unix(&'a str),
}

fn way(config: &ServerConfig) -> Result<Way<'_>, Error> {
    let way = match (&config.command, &config.url, &config.socket) {
        (Some(program), None, None) => Way::Child(program),
        (None, Some(url), None) => Way::Http(url),
        (None, None, Some(path)) => Way::Unix(path),
        (None, None, None) => return Err(wrong(config, "it needs a `command`, a `url` or a `socket`")),
        _ => return Err(wrong(config, "it has more than one of `command`, `url` and `socket`")),
    };
    let fits = match config.transport {
        None => true,
        Some(TransportKind::Stdio) => matches!(way, Way::Child(_)),
        // A server that knows no Streamable HTTP is spoken to over HTTP+SSE in any case.
        Some(TransportKind::Http | TransportKind::Sse) => matches!(way, Way::Http(_)),
        Some(TransportKind::Unix) => matches!(way, Way::Unix(_)),
        Some(_) => false,
    };
    if fits { Ok(way) } else { Err(wrong(config, "its `transport` is not one of how it is reached")) }
}

fn wrong(config: &ServerConfig, what: &str) -> Error {
    Error::invalid_params(format!("the server `{}` cannot be reached: {what}", config.id))
}

fn command(shared: &Shared, program: &str) -> ChildCommand {
    let config = &shared.config;
    let (log, server) = (shared.of_server.log.clone(), shared.server.clone());
    let mut command = ChildCommand::new(program).args(&config.args).id_into(Arc::clone(&shared.pid)).stderr(
        Stderr::lines(move |line| {
            tracing::debug!(%server, line, "the server wrote to its standard error");
            log.push(line);
        }),
    );
    if let Some(directory) = &config.cwd {
        command = command.current_dir(directory);
    }
    let own = shared.agent_config().map(|agent| &agent.env);
    environment::limited(command, std::iter::once(&config.env).chain(own))
}

/// The headers of the server, and those of the agent before them. Names are the same however they are written.
fn headers(shared: &Shared) -> Result<BTreeMap<String, String>, Error> {
    let own = shared.agent_config().map(|agent| &agent.headers);
    let mut headers = BTreeMap::new();
    for (name, value) in std::iter::once(&shared.config.headers).chain(own).flatten() {
        // Nothing is sent by this one; it knows what a header is.
        let unusable =
            || wrong(&shared.config, &format!("the header {name:?} or its value is not one of HTTP"));
        let (parsed, content) =
            (name.parse().map_err(|_| unusable())?, value.parse().map_err(|_| unusable())?);
        let _ = HttpClient::<()>::builder("http://localhost").header(parsed, content);
        headers.insert(name.to_ascii_lowercase(), value.clone());
    }
    Ok(headers)
}

/// Makes the client of every way one type.
#[derive(Clone)]
struct Erasing;

impl<S: RpcService<Future: 'static> + Sync> Layer<S> for Erasing {
    type Service = Erased;

    fn layer(&self, inner: S) -> Erased {
        Erased::new(inner)
    }
}

/// More than any envelope of a result, so that one a little too long is told from one that is endless.
const AROUND_A_RESULT: usize = 4 << 20;
const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);
