//! The endpoints of servers, with and without resolved references.

use std::collections::BTreeMap;

use super::model::{ServerConfig, ServerOauth, TelemetrySettings, TokenIntrospection, TransportKind};
use super::template::{Environment, InvalidReference, Secret, Template, UnresolvedReference};
use crate::secrets::SecretStoreError;

/// The way in which a server is reached. `T` is the type of its parts: text with references, or [`Secret`]s in which
/// the references are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a kernel has to know how to reach each of them")]
pub enum Endpoint<T> {
    /// Starts a program, and talks to it over standard input and output.
    Child {
        /// The program.
        command: T,
        /// The arguments of the program.
        args: Vec<T>,
        /// The directory in which the program starts.
        cwd: Option<T>,
        /// The variables of the program, besides those that every program needs.
        env: BTreeMap<String, T>,
    },
    /// Connects over Streamable HTTP, or over HTTP+SSE where the server supports nothing else.
    Http {
        /// The URL of the server.
        url: T,
        /// The headers of requests.
        headers: BTreeMap<String, T>,
    },
    /// Connects over HTTP+SSE.
    Sse {
        /// The URL of the server.
        url: T,
        /// The headers of requests.
        headers: BTreeMap<String, T>,
    },
    /// Connects to a Unix socket.
    Unix {
        /// The path of the socket.
        socket: T,
    },
}

/// The reason for which a server has no endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EndpointError {
    /// The server has no `command`, `url` or `socket`.
    #[error("a server needs `command`, `url` or `socket`")]
    Nowhere,
    /// The server has two of `command`, `url` and `socket`.
    #[error("a server cannot have both `{0}` and `{1}`; keep one of them")]
    Ambiguous(&'static str, &'static str),
    /// The transport does not fit the key.
    #[error(
        "a server with `{key}` cannot use the transport `{transport}`; write `{fitting}`, or leave `transport` out"
    )]
    Unfitting {
        /// The key that says where the server is.
        key: &'static str,
        /// The transport that the file names.
        transport: &'static str,
        /// The transport that fits the key.
        fitting: &'static str,
    },
}

/// A server in which every reference has been resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpandedServer {
    /// The endpoint of the shared connection.
    pub endpoint: Endpoint<Secret>,
    /// The endpoints of agents with connections of their own, with the variables and headers of the server and of the
    /// agent.
    pub agents: BTreeMap<String, Endpoint<Secret>>,
}

/// The reason for which one server cannot be started. Other servers are not affected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ServerFault {
    /// A variable is not set.
    #[error(transparent)]
    UndefinedVariable(#[from] UndefinedVariable),
    /// The user has no secret of this name.
    #[error("{key}: the secret {secret} is not set; run `mgp secrets set {secret}`")]
    UndefinedSecret {
        /// The key in which the reference stands, such as `env.TOKEN`.
        key: String,
        /// The name of the secret.
        secret: String,
    },
    /// The user's secrets cannot be read.
    #[error("{key}: {error}")]
    Secrets {
        /// The key in which the reference stands, such as `env.TOKEN`.
        key: String,
        /// The error of the store.
        error: SecretStoreError,
    },
    /// A reference is malformed.
    #[error("{key}: {error}")]
    BadReference {
        /// The key in which the reference stands, such as `env.TOKEN`.
        key: String,
        /// The error in the reference.
        error: InvalidReference,
    },
    /// The server has no endpoint.
    #[error(transparent)]
    Endpoint(#[from] EndpointError),
    /// The URL is not an address of http or https once its variables are resolved.
    #[error("{key}: the value is not an address of http or https once its variables are resolved")]
    Address {
        /// The key in which the URL stands.
        key: String,
    },
}

/// A reference to a variable that is not set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: the variable {variable} is not set; set it, or write `${{{variable}:-otherwise}}`")]
#[non_exhaustive]
pub struct UndefinedVariable {
    /// The key in which the reference stands, such as `env.TOKEN`.
    pub key: String,
    /// The name of the variable.
    pub variable: String,
}

impl ServerConfig {
    /// Returns the endpoint of the server, with references as they are written. Servers that were read from a file
    /// have an endpoint.
    pub fn endpoint(&self) -> Result<Endpoint<String>, EndpointError> {
        use TransportKind::{Http, Sse, Stdio, Unix};

        let unfitting = |key, transport: TransportKind, fitting| {
            Err(EndpointError::Unfitting { key, transport: transport.as_str(), fitting })
        };
        match (&self.command, &self.url, &self.socket) {
            (None, None, None) => Err(EndpointError::Nowhere),
            (Some(_), Some(_), _) => Err(EndpointError::Ambiguous("command", "url")),
            (Some(_), _, Some(_)) => Err(EndpointError::Ambiguous("command", "socket")),
            (_, Some(_), Some(_)) => Err(EndpointError::Ambiguous("url", "socket")),
            (Some(command), None, None) => match self.transport {
                None | Some(Stdio) => Ok(Endpoint::Child {
                    command: command.clone(),
                    args: self.args.clone(),
                    cwd: self.cwd.clone(),
                    env: self.env.clone(),
                }),
                Some(other) => unfitting("command", other, "stdio"),
            },
            (None, Some(url), None) => match self.transport {
                None | Some(Http) => Ok(Endpoint::Http { url: url.clone(), headers: self.headers.clone() }),
                Some(Sse) => Ok(Endpoint::Sse { url: url.clone(), headers: self.headers.clone() }),
                Some(other) => unfitting("url", other, "http"),
            },
            (None, None, Some(socket)) => match self.transport {
                None | Some(Unix) => Ok(Endpoint::Unix { socket: socket.clone() }),
                Some(other) => unfitting("socket", other, "unix"),
            },
        }
    }

    /// Returns the server with every reference resolved. The configuration itself keeps its references, so that it
    /// can be shown.
    pub fn expanded(&self, environment: &dyn Environment) -> Result<ExpandedServer, ServerFault> {
        let endpoint = self.endpoint()?;
        let shared = endpoint.resolved(environment)?;
        let mut agents = BTreeMap::new();
        for (id, own) in &self.agents {
            let mut reached = shared.clone();
            match &mut reached {
                Endpoint::Child { env, .. } => {
                    env.extend(resolved_table(&own.env, &format!("agents.{id}.env"), environment)?);
                }
                Endpoint::Http { headers, .. } | Endpoint::Sse { headers, .. } => {
                    headers.extend(resolved_table(
                        &own.headers,
                        &format!("agents.{id}.headers"),
                        environment,
                    )?);
                }
                Endpoint::Unix { .. } => {}
            }
            agents.insert(id.clone(), reached);
        }
        Ok(ExpandedServer { endpoint: shared, agents })
    }
}

impl ServerConfig {
    /// Returns the texts that may have references, each with its key: `env.TOKEN`, `agents.ada.env.TOKEN`.
    pub(super) fn texts(&self) -> Vec<(String, &str)> {
        let mut texts: Vec<(String, &str)> = Vec::new();
        let one =
            [("command", &self.command), ("cwd", &self.cwd), ("url", &self.url), ("socket", &self.socket)];
        texts.extend(one.iter().filter_map(|(key, text)| Some(((*key).to_owned(), text.as_deref()?))));
        texts.extend(
            self.args.iter().enumerate().map(|(index, text)| (format!("args[{index}]"), text.as_str())),
        );
        texts.extend(named("env", &self.env).chain(named("headers", &self.headers)));
        if let Some(oauth) = &self.oauth {
            let one = [("client_secret", &oauth.client_secret), ("private_key", &oauth.private_key)];
            texts.extend(
                one.iter().filter_map(|(key, text)| Some((format!("oauth.{key}"), text.as_deref()?))),
            );
        }
        for (id, own) in &self.agents {
            texts.extend(named(&format!("agents.{id}.env"), &own.env));
            texts.extend(named(&format!("agents.{id}.headers"), &own.headers));
        }
        texts
    }

    /// Returns the secrets that the server refers to, each with the key that does.
    pub fn secret_references(&self) -> Vec<SecretReference> {
        let mut found = Vec::new();
        for (key, text) in self.texts() {
            let template = Template::parse(text);
            let secrets = template.iter().flat_map(Template::secrets);
            found.extend(
                secrets.map(|secret| SecretReference { secret: secret.to_owned(), key: key.clone() }),
            );
        }
        found
    }
}

/// Returns the texts of a table, each with its key.
fn named<'t>(table: &str, texts: &'t BTreeMap<String, String>) -> impl Iterator<Item = (String, &'t str)> {
    texts.iter().map(move |(name, text)| (format!("{table}.{name}"), text.as_str()))
}

/// A place in a server's configuration that refers to a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SecretReference {
    /// The name of the secret.
    pub secret: String,
    /// The key in which the reference stands, such as `env.TOKEN`.
    pub key: String,
}

impl SecretReference {
    /// Returns whether every user of the machine can read the value while the program runs, in the list of processes.
    pub fn is_in_command_line(&self) -> bool {
        self.key == "command" || self.key.starts_with("args[")
    }
}

impl ServerOauth {
    /// Returns the secret and the private key of the kernel at the issuer, with every reference resolved.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded_credentials(
        &self,
        environment: &dyn Environment,
    ) -> Result<(Option<Secret>, Option<Secret>), ServerFault> {
        let one = |text: &Option<String>, key: &str| {
            text.as_deref().map(|text| resolved(text, key, environment)).transpose()
        };
        Ok((one(&self.client_secret, "oauth.client_secret")?, one(&self.private_key, "oauth.private_key")?))
    }
}

impl TokenIntrospection {
    /// Returns the secret of the kernel at the issuer, with every reference resolved.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded_secret(&self, environment: &dyn Environment) -> Result<Secret, ServerFault> {
        resolved(&self.client_secret, "introspection.client_secret", environment)
    }
}

impl TelemetrySettings {
    /// Returns the headers for OTLP with every reference resolved.
    pub fn expanded_otlp_headers(
        &self,
        environment: &dyn Environment,
    ) -> Result<BTreeMap<String, Secret>, ServerFault> {
        resolved_table(&self.otlp_headers, "otlp_headers", environment)
    }
}

impl Endpoint<String> {
    fn resolved(&self, environment: &dyn Environment) -> Result<Endpoint<Secret>, ServerFault> {
        let one = |text: &str, key: &str| resolved(text, key, environment);
        Ok(match self {
            Self::Child { command, args, cwd, env } => Endpoint::Child {
                command: one(command, "command")?,
                args: args
                    .iter()
                    .enumerate()
                    .map(|(index, arg)| one(arg, &format!("args[{index}]")))
                    .collect::<Result<_, _>>()?,
                cwd: cwd.as_deref().map(|cwd| one(cwd, "cwd")).transpose()?,
                env: resolved_table(env, "env", environment)?,
            },
            Self::Http { url, headers } => Endpoint::Http {
                url: resolved_url(url, environment)?,
                headers: resolved_table(headers, "headers", environment)?,
            },
            Self::Sse { url, headers } => Endpoint::Sse {
                url: resolved_url(url, environment)?,
                headers: resolved_table(headers, "headers", environment)?,
            },
            Self::Unix { socket } => Endpoint::Unix { socket: one(socket, "socket")? },
        })
    }
}

/// Returns whether a text is an address of http or https.
pub(super) fn is_http_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn resolved_url(text: &str, environment: &dyn Environment) -> Result<Secret, ServerFault> {
    let url = resolved(text, "url", environment)?;
    if is_http_url(url.expose()) { Ok(url) } else { Err(ServerFault::Address { key: "url".into() }) }
}

fn resolved_table(
    table: &BTreeMap<String, String>,
    key: &str,
    environment: &dyn Environment,
) -> Result<BTreeMap<String, Secret>, ServerFault> {
    table
        .iter()
        .map(|(name, text)| Ok((name.clone(), resolved(text, &format!("{key}.{name}"), environment)?)))
        .collect()
}

fn resolved(text: &str, key: &str, environment: &dyn Environment) -> Result<Secret, ServerFault> {
    let template =
        Template::parse(text).map_err(|error| ServerFault::BadReference { key: key.to_owned(), error })?;
    let key = key.to_owned();
    template.resolve(environment).map_err(|why| match why {
        UnresolvedReference::Variable(name) => UndefinedVariable { key, variable: name.to_owned() }.into(),
        UnresolvedReference::Secret(name) => ServerFault::UndefinedSecret { key, secret: name.to_owned() },
        UnresolvedReference::Store(error) => ServerFault::Secrets { key, error },
    })
}
