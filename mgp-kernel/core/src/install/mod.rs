//! Servers by name: what a registry says of a server, and the entry of the configuration that follows from it.
//!
//! A registry takes what strangers write. So a plan is made first, which shows a person all of what would be started, and
//! nothing is written before the person agrees.

#[cfg_attr(not(feature = "bundles"), path = "no_bundle.rs")]
mod bundle;
mod registry;

use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use mgp_discovery::config::model::{ServerConfig, ServerConfinement};
use mgp_discovery::config::{ConfigFile, Reach, looks_like};
use mgp_discovery::launch::{LaunchError, PreparedLaunch, RequiredInput, ServerJson, command_line, launch};
use mgp_security::network::{Fetcher, NetworkPolicy, check_url};
use serde::{Deserialize, Serialize};
use url::{Position, Url};

use self::bundle::Bundle;
pub use self::registry::is_newer;
use self::registry::{ServerRegistry, is_name, version_of};
use crate::servers::confine::support;
use crate::terminal::{Failure, Result, TextForm, TextWriter, printable, with_causes};

/// The server that is wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct InstallRequest {
    /// The name in the registry, or a part of it.
    pub name: String,
    /// The version; the newest if left out.
    pub version: Option<String>,
    /// The id in the configuration; the last part of the name if left out.
    pub server_id: Option<String>,
    /// True if the program is not to be confined.
    pub unconfined: bool,
    /// True if it may come from, or be at, an address that is not public.
    pub private: bool,
    /// The values that the server asks for, by their names; a name may come several times.
    pub answers: Vec<(String, String)>,
}

/// The servers that a request may mean, and what would be written if it means one.
#[derive(Serialize, Deserialize)]
pub struct InstallLookup {
    /// The servers by name, each with its version and its description.
    pub found: Vec<(String, String, String)>,
    /// The plan, if one server is meant.
    pub plan: Option<InstallPlan>,
    /// The values that have to be given before there is a plan.
    pub needed: Vec<RequiredInput>,
}

mgp_types::partial_debug!(InstallLookup, self => found: self.found);

/// The entry of a server that would be written, in the words that a person judges it by.
#[derive(Serialize, Deserialize)]
pub struct InstallPlan {
    /// The id that the server gets.
    pub server_id: String,
    /// The name and version in the registry.
    pub package: String,
    /// The command that is started, or the address that is reached.
    pub(crate) command: String,
    /// The variables of the program, or the headers of requests, each with its value.
    pub(crate) variables: Vec<String>,
    /// The demands of the package beyond being started.
    permissions: Vec<String>,
    /// The secrets that have to be set before the server starts.
    secrets: Vec<String>,
    /// The reasons to think again.
    pub warnings: Vec<String>,
    notes: Vec<String>,
    #[serde(skip)]
    pub(crate) config: ServerConfig,
    #[serde(skip)]
    bundle: Option<Bundle>,
    /// True if the entry is there with a former version.
    #[serde(skip)]
    is_upgrade: bool,
}

mgp_types::partial_debug!(InstallPlan, self => package: self.package);

/// The installer of servers from one registry.
pub struct Installer {
    registry: ServerRegistry,
    fetcher: Fetcher,
}

mgp_types::partial_debug!(Installer);

impl Installer {
    /// Creates an installer that asks the registry of this name, or the official one.
    ///
    /// # Errors
    /// The name is no URL, or TLS is not available.
    pub fn new(registry: Option<&str>) -> Result<Self> {
        let policy = NetworkPolicy::default().allow_host_of(registry.unwrap_or_default());
        let fetcher = Fetcher::new(policy)?.max_bytes(MAX_ANSWER);
        Ok(Self { registry: ServerRegistry::of(registry)?, fetcher })
    }

    /// Returns the newest version of a server, if the registry has the server.
    ///
    /// # Errors
    /// The registry gives no answer.
    pub async fn newest(&self, name: &str) -> Result<Option<String>> {
        let servers = self.registry.search(&self.fetcher, name, None).await?;
        Ok(servers.iter().find(|server| server.name == name).map(|server| version_of(server).to_owned()))
    }

    /// Returns the servers that are meant, and the plan to install it if that is one.
    ///
    /// # Errors
    /// The registry gives no answer, or the one server cannot be installed, with the reason.
    pub async fn look_up(
        &self,
        request: &InstallRequest,
        configured: &[ServerConfig],
    ) -> Result<InstallLookup> {
        let servers = self.registry.search(&self.fetcher, &request.name, request.version.as_deref()).await?;
        let row = |server: &ServerJson| {
            let about = server.description.clone().unwrap_or_default();
            (server.name.clone(), version_of(server).to_owned(), about)
        };
        let found = servers.iter().map(row).collect();
        let mut lookup = InstallLookup { found, plan: None, needed: Vec::new() };
        if let [server] = &servers[..] {
            match Box::pin(self.plan(server, request, configured)).await {
                Ok(plan) => lookup.plan = Some(plan),
                Err(LaunchError::Missing(needed)) => lookup.needed = needed,
                Err(error) => {
                    let message = format!("{} cannot be installed: {error}", server.name);
                    return Err(Failure::usage(printable(&message)));
                }
            }
        }
        Ok(lookup)
    }

    async fn plan(
        &self,
        server: &ServerJson,
        request: &InstallRequest,
        configured: &[ServerConfig],
    ) -> Result<InstallPlan, LaunchError> {
        if !is_name(&server.name) {
            let why = "its name does not consist of plain letters, digits, `.`, `_` and `-` around one `/`";
            return Err(LaunchError::Refused(why.to_owned()));
        }
        let (launch, bundle) = self.launched(server, request).await?;
        if !request.private {
            check_public(&launch)?;
        }
        let PreparedLaunch { mut config, permissions, secrets, image, mut notes, .. } = launch;
        if let Some(image) = image {
            let digest = image_digest(config.command.clone().unwrap_or_default(), image.clone()).await;
            if digest.is_none() {
                notes.push("its publisher can change the image, whose digest is not known".to_owned());
            }
            let named = config.args.iter_mut().filter(|word| **word == image);
            named.zip(digest).for_each(|(word, digest)| *word = format!("{image}@{digest}"));
        }
        config.id = request.server_id.clone().unwrap_or(config.id);
        let package = format!("{}@{}", server.name, version_of(server));
        config.package = Some(package.clone());
        notes.push(confine(&mut config, request.unconfined));
        Ok(InstallPlan {
            server_id: config.id.clone(),
            package,
            command: command_line(&config),
            variables: variables(&config),
            permissions: permissions.iter().map(|asked| format!("{}: {}", asked.kind, asked.words)).collect(),
            secrets,
            warnings: lookalikes(server, configured),
            notes,
            config,
            bundle,
            is_upgrade: false,
        })
    }

    /// Returns the launch of the first way to use a server that is possible on this machine.
    async fn launched(
        &self,
        server: &ServerJson,
        request: &InstallRequest,
    ) -> Result<(PreparedLaunch, Option<Bundle>), LaunchError> {
        let mut outcome = Err(LaunchError::NoSuchWay(server.ways()));
        for way in 0..server.ways() {
            let launched = async {
                let Some((url, sha256)) = server.bundle(way)? else {
                    return Ok((launch(server, way, &request.answers, None)?, None));
                };
                let patient = self.fetcher.clone().max_bytes(MAX_BUNDLE).timeout(PATIENCE);
                let bundle = Bundle::bring(url, &sha256, &server.id(), &self.registry, &patient).await;
                let bundle = bundle.map_err(LaunchError::Refused)?;
                let manifest = bundle.manifest().map_err(LaunchError::Refused)?;
                let unpacked = Some((manifest.as_str(), bundle.folder()));
                Ok((launch(server, way, &request.answers, unpacked)?, Some(bundle)))
            };
            outcome = launched.await;
            if !matches!(outcome, Err(LaunchError::Refused(_))) {
                break;
            }
        }
        outcome
    }
}

impl InstallPlan {
    /// Makes this the plan for an entry that is there: it keeps its id and the values of its variables and headers.
    pub fn upgrade(&mut self, old: &ServerConfig) {
        self.is_upgrade = true;
        self.server_id.clone_from(&old.id);
        self.config.id.clone_from(&old.id);
        self.config.env.extend(old.env.clone());
        self.config.headers.extend(old.headers.clone());
        self.variables = variables(&self.config);
    }

    /// Writes the server into a configuration, and unpacks its bundle. Of an entry that is there, what a person wrote beside
    /// its package stays.
    pub fn write_to(&self, file: &mut ConfigFile) -> Result<()> {
        if self.is_upgrade {
            file.update(&self.config, &UPGRADED)?;
        } else {
            file.add(&self.config)?;
        }
        let unpacked = self.bundle.as_ref().map_or(Ok(()), Bundle::unpack);
        unpacked.map_err(|error| Failure::usage(printable(&format!("the bundle is not unpacked: {error}"))))
    }
}

impl TextForm for InstallPlan {
    fn write(&self, out: &mut TextWriter) -> io::Result<()> {
        let lines = [
            format!("{} as {}", self.package, self.server_id),
            format!("starts, or reaches: {}", self.command),
        ];
        let variables = self.variables.iter().map(|variable| format!("with {variable}"));
        let asked = self.permissions.iter().map(|asked| format!("asks for {asked}"));
        let secrets =
            self.secrets.iter().map(|name| format!("needs a secret: `mgp secrets set {name}` sets it"));
        let warnings = self.warnings.iter().map(|warning| format!("warning: {warning}"));
        let lines = lines.into_iter().chain(variables);
        let mut all = lines.chain(asked).chain(secrets).chain(warnings).chain(self.notes.iter().cloned());
        all.try_for_each(|line| writeln!(out, "{}", printable(&line)))
    }
}

/// Brings the whole of a document.
///
/// # Errors
/// Fails with the reason why it cannot be had.
pub async fn brought(fetcher: &Fetcher, url: &str) -> Result<Bytes, String> {
    let answer = fetcher.get(url, &HeaderMap::new()).await;
    let answer = answer.map_err(|error| with_causes(&error.to_string(), &error))?;
    if answer.status == StatusCode::OK { Ok(answer.body) } else { Err(answer.status.to_string()) }
}

/// Returns the digest of what the tag of an image names now, as the program says that starts containers: it has the
/// credentials of its user.
async fn image_digest(program: String, image: String) -> Option<String> {
    let asking = move || Command::new(program).args(INSPECT).arg(image).stdin(Stdio::null()).output();
    let said = tokio::task::spawn_blocking(asking).await.ok()?.ok()?;
    let digest = String::from_utf8(said.stdout).ok()?.trim().to_owned();
    let is_hex = |digits: &str| digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    digest.strip_prefix("sha256:").is_some_and(is_hex).then_some(digest)
}

/// Checks that a server is reached, or comes from, where everybody can see it.
fn check_public(launch: &PreparedLaunch) -> Result<(), LaunchError> {
    let is_public = |address: &str| {
        let base = Url::parse(address).map(|url| url[..Position::BeforePath].to_owned());
        let is_judged = |base: &String| check_url(base, &NetworkPolicy::default()).is_ok();
        base.is_ok_and(|base| base.starts_with("https://") && is_judged(&base))
    };
    let why = match (&launch.foreign_registry, &launch.address) {
        (Some(registry), _) => format!("its package comes from {registry}, not from the public registry"),
        (None, Some(address)) if !is_public(address) => format!("{address} is no public https address"),
        _ => return Ok(()),
    };
    Err(LaunchError::Refused(format!("{why}; `--private` accepts it")))
}

fn variables(config: &ServerConfig) -> Vec<String> {
    config.env.iter().chain(&config.headers).map(|(name, value)| format!("{name}={value}")).collect()
}

/// Confines the program of a server to its package and HTTPS where this system can, and returns what a person should know
/// of it.
fn confine(config: &mut ServerConfig, unconfined: bool) -> String {
    if config.command.is_none() {
        return format!("`mgp login {}` signs in, if the server demands that", config.id);
    }
    if config.reach() == Reach::All {
        return "the container confines it".to_owned();
    }
    if unconfined || support().confines_by_port().is_err() {
        config.confine = unconfined.then_some(false);
        return "it runs unconfined, with all that you may do".to_owned();
    }
    let mut confinement = ServerConfinement::default();
    confinement.connect = vec![443];
    config.confinement = Some(confinement);
    "it is confined to its package, a folder of its own, and HTTPS; permissions, and the table `confinement` of its entry, \
     open more".to_owned()
}

/// Returns warnings of names that look like those of other servers.
fn lookalikes(server: &ServerJson, configured: &[ServerConfig]) -> Vec<String> {
    let last = server.id();
    let names: Vec<&str> = server.identifiers().chain([server.name.as_str(), &last]).collect();
    let packages = configured.iter().filter_map(|server| server.package.as_deref()?.rsplit_once('@'));
    let others = configured.iter().map(|server| server.id.as_str()).chain(packages.map(|(name, _)| name));
    let alike = include_str!("well_known.txt").lines().chain(others).filter_map(|other| {
        let name = names.iter().find(|name| looks_like(name, other))?;
        Some(format!("`{name}` looks like `{other}`, and is another one: compare the names letter by letter"))
    });
    alike.collect()
}

/// The words with which a program that starts containers tells the digest of an image.
const INSPECT: [&str; 5] = ["buildx", "imagetools", "inspect", "--format", "{{.Manifest.Digest}}"];

/// The keys of an entry that an upgrade sets.
const UPGRADED: [&str; 8] = ["command", "args", "cwd", "env", "url", "headers", "transport", "package"];

/// The largest length of an answer of a registry.
const MAX_ANSWER: usize = 16 << 20;

/// The largest length of a bundle, and the time in which it has to come.
const MAX_BUNDLE: usize = 256 << 20;
const PATIENCE: Duration = Duration::from_mins(10);

#[cfg(test)]
mod tests;
