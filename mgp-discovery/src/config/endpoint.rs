//! The endpoints of servers, with and without resolved references.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::model::{
    AuditPush, ClusterSettings, Config, Notification, PageOauth, ServerConfig, ServerOauth, StoreSettings,
    TelemetrySettings, TokenIntrospection, TransportKind,
};
use super::template::Template;
use crate::secrets::{Environment, Secret};

/// The way in which a server is reached, with every reference resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a kernel has to know how to reach each of them")]
pub enum Endpoint {
    /// Starts a program, and talks to it over standard input and output.
    Child {
        /// The program.
        command: Secret,
        /// The arguments of the program.
        args: Vec<Secret>,
        /// The directory in which the program starts.
        cwd: Option<Secret>,
        /// The variables of the program, besides those that every program needs.
        env: BTreeMap<String, Secret>,
    },
    /// Connects over Streamable HTTP, or over HTTP+SSE where the server supports nothing else.
    Http {
        /// The URL of the server.
        url: Secret,
        /// The headers of requests.
        headers: BTreeMap<String, Secret>,
        /// True if Streamable HTTP is not tried.
        is_sse: bool,
    },
    /// Connects to a Unix socket.
    Unix {
        /// The path of the socket.
        socket: Secret,
    },
}

/// A server in which every reference has been resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExpandedServer {
    /// The endpoint of the shared connection.
    pub endpoint: Endpoint,
    /// The endpoints of agents with connections of their own, with the variables and headers of the server and of the
    /// agent.
    pub agents: BTreeMap<String, Endpoint>,
}

/// The reason for which one server cannot be reached or started as it is configured. Other servers are not affected.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerFault {
    /// The key that is at fault, such as `env.TOKEN`; empty for the server as a whole.
    pub key: String,
    /// The fault.
    pub what: String,
    /// The way to mend it, if there is one.
    pub instead: Option<String>,
}

impl ServerFault {
    /// Creates the fault of a key from a message, in which a semicolon stands before the way to mend it.
    pub(super) fn new(key: impl Into<String>, message: &str) -> Self {
        let mut parts = message.splitn(2, "; ").map(str::to_owned);
        Self { key: key.into(), what: parts.next().unwrap_or_default(), instead: parts.next() }
    }
}

mgp_types::write_as!(Display of ServerFault, self =>
    "{}{}{}{}", self.key, if self.key.is_empty() { "" } else { ": " }, self.what,
    self.instead.as_ref().map(|instead| format!("; {instead}")).unwrap_or_default()
);

impl std::error::Error for ServerFault {}

impl ServerConfig {
    /// Returns the transport to the server. Servers that were read from a file have one.
    pub fn transport_kind(&self) -> Result<TransportKind, ServerFault> {
        let ambiguous = |first: &str, second: &str| {
            let what = format!("a server cannot have both `{first}` and `{second}`; keep one of them");
            Err(ServerFault::new(second, &what))
        };
        let (key, fitting) = match (&self.command, &self.url, &self.socket) {
            (None, None, None) => {
                let what = "a server needs `command`, `url` or `socket`; write `command = \"program\"`";
                return Err(ServerFault::new("", what));
            }
            (Some(_), Some(_), _) => return ambiguous("command", "url"),
            (Some(_), _, Some(_)) => return ambiguous("command", "socket"),
            (_, Some(_), Some(_)) => return ambiguous("url", "socket"),
            (Some(_), None, None) => ("command", &[TransportKind::Stdio][..]),
            (None, Some(_), None) => ("url", &[TransportKind::Http, TransportKind::Sse][..]),
            (None, None, Some(_)) => ("socket", &[TransportKind::Unix][..]),
        };
        let transport = self.transport.unwrap_or(fitting[0]);
        if fitting.contains(&transport) {
            return Ok(transport);
        }
        let what = format!(
            "a server with `{key}` cannot use the transport `{}`; write `{}`, or leave `transport` out",
            transport.as_str(),
            fitting[0].as_str()
        );
        Err(ServerFault::new("transport", &what))
    }

    /// Returns the server with every reference resolved. The configuration itself keeps its references, so that it
    /// can be shown.
    pub fn expanded(&self, environment: &dyn Environment) -> Result<ExpandedServer, ServerFault> {
        let one = |text: &Option<String>, key: &str| {
            resolved(text.as_deref().unwrap_or_default(), key, environment)
        };
        let table = |texts: &BTreeMap<String, String>, key: &str| resolved_table(texts, key, environment);
        let shared = match self.transport_kind()? {
            TransportKind::Stdio => {
                let args = self.args.iter().enumerate();
                let args = args.map(|(index, arg)| resolved(arg, &format!("args[{index}]"), environment));
                let cwd = self.cwd.as_deref().map(|cwd| resolved(cwd, "cwd", environment));
                Endpoint::Child {
                    command: one(&self.command, "command")?,
                    args: args.collect::<Result<_, _>>()?,
                    cwd: cwd.transpose()?,
                    env: table(&self.env, "env")?,
                }
            }
            kind @ (TransportKind::Http | TransportKind::Sse) => {
                let url = one(&self.url, "url")?;
                if !is_http_url(url.expose()) {
                    let what = "this is not an address of http or https once its variables are resolved";
                    return Err(ServerFault::new("url", what));
                }
                let (headers, is_sse) = (table(&self.headers, "headers")?, kind == TransportKind::Sse);
                Endpoint::Http { url, headers, is_sse }
            }
            TransportKind::Unix => Endpoint::Unix { socket: one(&self.socket, "socket")? },
        };
        let mut agents = BTreeMap::new();
        for (id, own) in &self.agents {
            let mut reached = shared.clone();
            match &mut reached {
                Endpoint::Child { env, .. } => env.extend(table(&own.env, &format!("agents.{id}.env"))?),
                Endpoint::Http { headers, .. } => {
                    headers.extend(table(&own.headers, &format!("agents.{id}.headers"))?);
                }
                Endpoint::Unix { .. } => {}
            }
            agents.insert(id.clone(), reached);
        }
        Ok(ExpandedServer { endpoint: shared, agents })
    }

    /// Returns the texts that may have references, each with its key: `env.TOKEN`, `agents.ada.env.TOKEN`.
    pub(crate) fn texts(&self) -> Vec<(String, &str)> {
        let mut texts: Vec<(String, &str)> = Vec::new();
        let one =
            [("command", &self.command), ("cwd", &self.cwd), ("url", &self.url), ("socket", &self.socket)];
        texts.extend(one.iter().filter_map(|(key, text)| Some(((*key).to_owned(), text.as_deref()?))));
        let args = self.args.iter().enumerate();
        texts.extend(args.map(|(index, text)| (format!("args[{index}]"), text.as_str())));
        texts.extend(named("env", &self.env).chain(named("headers", &self.headers)));
        if let Some(oauth) = &self.oauth {
            let one = [("client_secret", &oauth.client_secret), ("private_key", &oauth.private_key)];
            let said = one.iter().filter_map(|(key, text)| Some((key, text.as_deref()?)));
            texts.extend(said.map(|(key, text)| (format!("oauth.{key}"), text)));
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
            let reference = |secret: &str| SecretReference { secret: secret.to_owned(), key: key.clone() };
            found.extend(Template::parse(text).iter().flat_map(Template::secrets).map(reference));
        }
        found
    }
}

impl Config {
    /// Returns the names of all secrets that the configuration refers to, wherever the reference stands.
    pub fn secret_names(&self) -> BTreeSet<String> {
        let (mut names, mut left) = (BTreeSet::new(), vec![serde_json::to_value(self).unwrap_or_default()]);
        while let Some(value) = left.pop() {
            match value {
                Value::Array(items) => left.extend(items),
                Value::Object(members) => left.extend(members.into_iter().map(|(_, member)| member)),
                Value::String(text) => {
                    names
                        .extend(Template::parse(&text).iter().flat_map(Template::secrets).map(str::to_owned));
                }
                _ => {}
            }
        }
        names
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

impl PageOauth {
    /// Returns the secret of the page at the issuer, with every reference resolved.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded_secret(&self, environment: &dyn Environment) -> Result<Option<Secret>, ServerFault> {
        let secret = self.client_secret.as_deref();
        secret.map(|text| resolved(text, "ui.oauth.client_secret", environment)).transpose()
    }
}

impl Notification {
    /// Returns the URL of the webhook and the secret that signs what is posted there, with every reference resolved.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded_webhook(&self, environment: &dyn Environment) -> Result<(Secret, Secret), ServerFault> {
        let one = |text: &Option<String>, key: &str| {
            resolved(text.as_deref().unwrap_or_default(), key, environment)
        };
        Ok((one(&self.webhook, "approvals.notify.webhook")?, one(&self.secret, "approvals.notify.secret")?))
    }
}

/// The URL, the headers and the secret of a receiver of the record.
type ExpandedPush = (Secret, BTreeMap<String, Secret>, Option<Secret>);

impl AuditPush {
    /// Returns the URL, the headers and the secret that signs webhooks, with every reference resolved.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded(&self, environment: &dyn Environment) -> Result<ExpandedPush, ServerFault> {
        let secret = self.secret.as_deref().map(|text| resolved(text, "audit.push.secret", environment));
        let headers = resolved_table(&self.headers, "audit.push.headers", environment)?;
        Ok((resolved(&self.url, "audit.push.url", environment)?, headers, secret.transpose()?))
    }
}

impl StoreSettings {
    /// Returns the address of the database and the key, with every reference resolved; `None` if there is no address.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded(&self, environment: &dyn Environment) -> Result<Option<(Secret, Secret)>, ServerFault> {
        let Some(url) = &self.url else { return Ok(None) };
        let key = resolved(self.key.as_deref().unwrap_or_default(), "store.key", environment)?;
        Ok(Some((resolved(url, "store.url", environment)?, key)))
    }
}

impl ClusterSettings {
    /// Returns the settings with every reference resolved.
    ///
    /// # Errors
    /// A variable or a secret is missing.
    pub fn expanded(&self, environment: &dyn Environment) -> Result<Self, ServerFault> {
        let mut settings = self.clone();
        let Self { listen, certificate, key, authority } = &mut settings;
        for text in [listen, certificate, key, authority].into_iter().flatten() {
            resolved(text, "cluster", environment)?.expose().clone_into(text);
        }
        Ok(settings)
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

/// Returns whether a text is the address of a receiver of the record.
pub(super) fn is_receiver(text: &str) -> bool {
    let is_syslog = |url: url::Url| url.scheme() == "syslog+tls" && url.has_host() && url.port().is_some();
    is_http_url(text) || url::Url::parse(text).is_ok_and(is_syslog)
}

/// Returns whether a text is an address of http or https.
pub(super) fn is_http_url(text: &str) -> bool {
    url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
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
    let template = Template::parse(text).map_err(|error| error.to_string());
    template.and_then(|template| template.resolve(environment)).map_err(|why| ServerFault::new(key, &why))
}
